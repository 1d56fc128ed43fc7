"""``onlyif``, ``unless``, ``creates`` before a state function, ``check_cmd`` after it.

They may run commands, so they run in a worker thread. They never change low data, so that a condition gets the same
data in the prereq check and in the run.
"""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Any

from asyncstate.data.paths import traverse
from asyncstate.dunders.context import current
from asyncstate.errors import AsyncStateError, CommandExecutionError
from asyncstate.model.encode import plain
from asyncstate.process.descriptors import is_refusal
from asyncstate.run.chunk.slots import fill_slots
from asyncstate.run.rows import WrongInTree
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from asyncstate.model.result import Row


class WrongCondition(WrongInTree):
    """A condition is malformed."""


_COMMAND_OPTIONS = ("cwd", "root", "runas", "env", "prepend_path", "umask", "timeout", "success_retcodes")


def is_there(creates: Any) -> bool:
    """Whether everything that a ``creates`` names exists; False if it is malformed."""
    try:
        return _creates(creates).skip
    except WrongCondition:
        return False


class Answer(Value):
    """The answer of one condition: whether to skip the state, and the comment. ``warning``: an error Salt hides."""

    comment: str
    skip: bool
    warning: str = ""


def check_conditions(low: Mapping[str, Any], salt: Mapping[str, Any]) -> Row | None:
    """Evaluate all three conditions; return the row of a skipped state, or None if the state is to run.

    As in Salt all are evaluated, any of them may skip the state, and the comments of all are joined. Raises
    WrongCondition for a malformed condition, and the exceptions of a condition's function.
    """
    options = _command_options(low)
    answers = []
    if "onlyif" in low:
        answers.append(_onlyif(_as_list(low["onlyif"]), salt, options))
    if "unless" in low:
        answers.append(_unless(_as_list(low["unless"]), salt, options))
    if "creates" in low:
        answers.append(_creates(low["creates"]))
    if not any(answer.skip for answer in answers):
        return None
    row: Row = {
        "name": low["name"],
        "changes": {},
        "result": True,
        "comment": "\n".join(answer.comment for answer in answers),
        "skip_watch": True,
    }
    warnings = [answer.warning for answer in answers if answer.warning]
    return {**row, "warnings": warnings} if warnings else row


def globally_allowed(low: Mapping[str, Any], rules: Any, match: Callable[[str, Any], bool]) -> bool:
    """Whether the option ``global_state_conditions`` allows a call of a state.

    ``rules``: compound targets by ``*``, module or ``module.function``. At least one of the targets that apply must
    match; if none applies, the call is allowed.
    """
    if not isinstance(rules, dict):
        return True
    names = ("*", low["state"], f"{low['state']}.{low['fun']}")
    targets = [target for name, given in rules.items() if name in names for target in _as_list(given)]
    return not targets or any(match("compound", target) for target in targets)


def not_allowed(name: str) -> Row:
    """Return the row of a state that `globally_allowed` forbids."""
    comment = "Failed to meet global state conditions. State not called."
    return {"name": name, "changes": {}, "result": None, "comment": comment}


def check_commands(low: Mapping[str, Any], salt: Mapping[str, Any]) -> Row:
    """Run ``check_cmd``; return its result and comment. Raises WrongCondition if it is not a command."""
    if not isinstance(low["check_cmd"], (str, list)):
        given = "nothing" if low["check_cmd"] is None else repr(low["check_cmd"])
        raise WrongCondition(f"check_cmd: expected a command or a list of commands, got {given}")
    shell = current.get().grains.get("shell")
    options = {"shell": shell} if shell else {}
    verdict: Row = {"result": False}
    for command in _as_list(low["check_cmd"]):
        if _run("check_cmd", command, salt, options) != 0:
            return {"result": False, "comment": "check_cmd determined the state failed"}
        verdict = {"result": True, "comment": "check_cmd determined the state succeeded"}
    return verdict


def checked(returned: Any, low: Mapping[str, Any], salt: Mapping[str, Any]) -> Any:
    """Return a function's row with the answer of ``check_cmd``; a value that is not a row is returned unchanged."""
    if not isinstance(returned, dict):
        return returned
    try:
        answer = check_commands(low, salt)
    except CommandExecutionError as error:  # keep the row: the state has made its changes
        answer = {"result": False, "comment": str(error)}
    return {**returned, "name": low["name"], **answer}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _command_options(low: Mapping[str, Any]) -> dict[str, Any]:
    left_out = _as_list(low.get("cmd_opts_exclude", []))
    options = {key: low.get(key) for key in _COMMAND_OPTIONS if key not in left_out}
    shell = low["shell"] if "shell" in low and "shell" not in left_out else current.get().grains.get("shell")
    if shell:
        options["shell"] = shell
    return options


def _call(kind: str, entry: Mapping[str, Any], salt: Mapping[str, Any]) -> tuple[Any, int]:
    """Call the function of a ``fun:`` condition; return its value and the return code it set."""
    function = _function(kind, entry["fun"], salt)
    given = entry.get("args", [])
    if not isinstance(given, (list, tuple, dict, str)):
        raise WrongCondition(f"{kind}: args of {entry['fun']} must be a list, not {given!r}")
    keywords = {key: value for key, value in entry.items() if key not in ("fun", "args", "get_return")}
    arguments, keywords = fill_slots(list(given), keywords, salt)
    try:
        inspect.signature(function).bind(*arguments, **keywords)
    except TypeError as error:
        raise WrongCondition(f"{kind}: {entry['fun']}: {error}") from None
    context = current.get()
    context.retcode = 0
    value = function(*arguments, **keywords)
    if entry.get("get_return"):
        value = traverse(value, entry["get_return"])
    return value, context.retcode


def _truth(kind: str, entry: Mapping[str, Any], value: Any) -> bool:
    try:
        return bool(value)
    except BaseException as error:  # noqa: BLE001 - a plugin's object
        said = f"{kind}: what {entry['fun']} returned is neither true nor false: {type(error).__name__}: {plain(error)}"
        raise WrongCondition(said) from None


def _function(kind: str, name: Any, salt: Mapping[str, Any]) -> Callable[..., Any]:
    if not isinstance(name, str):
        raise WrongCondition(f"{kind}: fun must be the name of a function, not {name!r}")
    try:
        function: Callable[..., Any] = salt[name]
    except KeyError as error:
        reason = error.__cause__ if isinstance(error.__cause__, AsyncStateError) else f"'{name}' is not available."
        raise WrongCondition(f"{kind}: {reason}") from None
    return function


def _retcode(kind: str, command: str, salt: Mapping[str, Any], options: dict[str, Any]) -> int | None:
    """Return the command's return code; None if it could not be started.

    Raises WrongCondition if the machine has no room for it: that is no answer, and the state would count as done.
    """
    try:
        return _run(kind, command, salt, options)
    except WrongCondition:
        raise
    except CommandExecutionError as error:
        if is_refusal(error.__cause__):
            raise WrongCondition(f"{kind}: the command could not be started: {command}: {error.__cause__}") from None
        return None


def _run(kind: str, command: Any, salt: Mapping[str, Any], options: dict[str, Any]) -> int:
    try:
        return int(salt["cmd.retcode"](command, ignore_retcode=True, python_shell=True, **options))
    except (TypeError, AttributeError, ValueError) as error:
        given = ", ".join(key for key, value in options.items() if value is not None)
        raise WrongCondition(
            f"{kind}: a command cannot be run like this: {error}" + (f" (look at: {given})" if given else "")
        ) from None


def _onlyif(entries: list[Any], salt: Mapping[str, Any], options: dict[str, Any]) -> Answer:
    for entry in entries:
        warning = ""
        if isinstance(entry, str):
            code = _retcode("onlyif", entry, salt, options)
            true = code == 0
            warning = f"onlyif: the command could not be started: {entry}" if code is None else ""
        elif not isinstance(entry, dict):
            return Answer("onlyif execution failed, bad type passed", skip=False)
        elif "fun" not in entry:
            return Answer(f"no `fun` argument in onlyif: {entry}", skip=False)
        else:
            value, code = _call("onlyif", entry, salt)
            true = not code and _truth("onlyif", entry, value)
        if not true:
            return Answer("onlyif condition is false", skip=True, warning=warning)
    if not entries:
        raise WrongCondition("onlyif: the list of conditions is empty")
    return Answer("onlyif condition is true", skip=False)


def _unless(entries: list[Any], salt: Mapping[str, Any], options: dict[str, Any]) -> Answer:
    warning = ""
    answer = None
    for entry in entries:
        if isinstance(entry, str):
            code = _retcode("unless", entry, salt, options)
            warning = f"unless: the command could not be started: {entry}" if code is None else warning
            true = code in (0, None)
        elif not isinstance(entry, dict):
            answer = Answer("unless condition is false, bad type passed", skip=False)
            continue
        elif "fun" not in entry:
            return Answer(f"no `fun` argument in unless: {entry}", skip=False)
        else:
            value, code = _call("unless", entry, salt)
            true = not code and _truth("unless", entry, value)
        if not true:
            return Answer("unless condition is false", skip=False)
        answer = Answer("unless condition is true", skip=True, warning=warning)
    if answer is None:
        raise WrongCondition("unless: the list of conditions is empty")
    return answer


def _creates(paths: Any) -> Answer:
    if isinstance(paths, str) and os.path.exists(paths):
        return Answer(f"{paths} exists", skip=True)
    for path in paths if isinstance(paths, list) else []:
        if not isinstance(path, (str, bytes, int)):
            raise WrongCondition(f"creates: expected a path or a list of paths, got {path!r} among them")
    if isinstance(paths, list) and all(os.path.exists(path) for path in paths):
        return Answer("All files in creates exist", skip=True)
    return Answer("Creates files not found", skip=False)
