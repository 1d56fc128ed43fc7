"""The ``cmd`` states: run a command or a script, with Salt 3008's arguments and rows.

A shell reads each command (``shell``, else the grain of that name). ``stateful: True`` lets the command report its own
changes, as JSON or as a last line of ``name=value`` pairs; ``stateful: [{test_name: COMMAND}]`` names the command that
a dry run executes.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from asyncstate import filesystem
from asyncstate.data.commands import Effects, effects_of, script_effects
from asyncstate.data.commands.environment import pairs_of
from asyncstate.dunders import (
    Row,
    __context__,
    __env__,
    __grains__,
    __low__,
    __lowstate__,
    __opts__,
    __salt__,
    failed,
    is_dry_run,
    make_row,
    unchanged,
    would_change,
)
from asyncstate.errors import CommandExecutionError, InvocationError, RenderError
from asyncstate.process.output import Keeping, Kept, kept

_PASSED_ON = (
    "bg",
    "clean_env",
    "env",
    "group",
    "hide_output",
    "ignore_retcode",
    "output_encoding",
    "output_loglevel",
    "prepend_path",
    "redirect_stderr",
    "reset_system_locale",
    "rstrip",
    "runas",
    "stdin",
    "stdin_raw_newlines",
    "success_retcodes",
    "success_stderr",
    "success_stdout",
    "template",
)
"""Arguments that ``cmd.run`` passes to the execution module unchanged."""


def run(
    name: str,
    cwd: str | None = None,
    root: str | None = None,
    runas: str | int | None = None,
    shell: str | None = None,
    env: Any = None,
    stateful: Any = False,
    hide_output: bool = False,
    timeout: float | None = None,
    ignore_timeout: bool = False,
    **kwargs: Any,
) -> Row:
    """Run the command ``name``; the changes are its pid, retcode, stdout and stderr.

    Fails when the exit status is neither 0 nor in ``success_retcodes``. With ``ignore_timeout``, a command that was
    ended after ``timeout`` seconds is a success. ``bg: True`` does not wait for it. ``root`` runs it in a chroot there.

    Further keywords: ``clean_env``, ``group``, ``ignore_retcode``, ``output_encoding``, ``output_loglevel``,
    ``prepend_path``, ``redirect_stderr``, ``reset_system_locale``, ``rstrip``, ``stdin``, ``stdin_raw_newlines``,
    ``success_stderr``, ``success_stdout``, and ``template``, which renders the command. For Salt's sake, and without
    effect: ``use_vt``, ``python_shell``, ``log_callback``, ``password``.
    """
    test_name = _test_command(stateful)
    stateful = stateful is True or isinstance(stateful, list)
    dry_run = is_dry_run()
    command = test_name if dry_run and test_name else name
    if env is not None and not isinstance(env, (list, dict)):
        return failed(name, "Invalidly-formatted 'env' parameter. See documentation.")
    arguments = {key: kwargs[key] for key in _PASSED_ON if key in kwargs}
    arguments.update(cwd=cwd, runas=runas, shell=_shell(shell), env=env, timeout=timeout, in_row=True)
    if dry_run and not root and filesystem.foretells() and (problem := _unrunnable(command, arguments)):
        return failed(name, problem)
    if dry_run and not test_name:
        row = would_change(name, f'Command "{name}" would have been executed', {"cmd": name})
        return _unheard(row) if stateful else row
    if cwd and not os.path.isdir(cwd):
        return failed(name, _no_folder(cwd))
    arguments["hide_output"] = hide_output
    if root:
        arguments["root"] = root
    function = "cmd.run_chroot" if root else "cmd.run_all"
    try:
        with kept(None if stateful else _keeping()):
            done = __salt__[function](cmd=command, python_shell=True, **arguments)
    except (CommandExecutionError, InvocationError, RenderError, OSError) as error:
        return failed(name, str(error))
    if ignore_timeout and done["retcode"] == 1 and "Timed out after" in done["stdout"]:
        done["retcode"] = 0
    return _finished_row(name, f'Command "{command}" run', done, stateful=stateful)


def script(
    name: str,
    source: str | None = None,
    template: str | None = None,
    cwd: str | None = None,
    runas: str | int | None = None,
    shell: str | None = None,
    env: Any = None,
    stateful: Any = False,
    timeout: float | None = None,
    hide_output: bool = False,
    defaults: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Row:
    """Fetch a script from ``source`` (else ``name``), render it if ``template`` is given, and run it.

    Its arguments are ``args``, or what follows the first word of ``name``. ``context`` overrides ``defaults``. The
    further keywords are those of ``cmd.run``.
    """
    test_name = _test_command(stateful)
    stateful = stateful is True or isinstance(stateful, list)
    if is_dry_run() and test_name:
        name = test_name
    if env is not None and not isinstance(env, (list, dict)):
        return failed(name, "Invalidly-formatted 'env' parameter. See documentation.")
    for option, value in (("context", context), ("defaults", defaults)):
        if value and not isinstance(value, Mapping):
            return failed(name, f"Invalidly-formatted '{option}' parameter. Must be formed as a dict.")
    arguments = {key: kwargs[key] for key in (*_PASSED_ON, "args") if key in kwargs}
    arguments.update(cwd=cwd, runas=runas, shell=_shell(shell), env=env, timeout=timeout, in_row=True)
    if not arguments.get("args") and len(name.split()) > 1:
        arguments["args"] = name.split(maxsplit=1)[1]
    if isinstance(arguments.get("args"), (int, float)):
        arguments["args"] = str(arguments["args"])
    if filesystem.judges() and isinstance(arguments.get("args"), str):
        try:
            shlex.split(arguments["args"])
        except ValueError as error:
            return failed(name, str(error))
    variables = {**(defaults or {}), **(context or {})}
    rendering = {"template": template, "context": variables, "saltenv": str(__env__)}
    local = str(source or name).removeprefix("file://")
    if is_dry_run() and os.path.isabs(local):
        filesystem.require_readable(local)
    if filesystem.foretells():
        try:
            problem = _unrunnable(local, arguments)
            if not problem and not _is_there(local):
                problem = f"Unable to cache script {name if source is None else source} from saltenv '{__env__}'"
            problem = problem or str(__salt__["cmd.script_refusal"](local, **arguments, **rendering))
        except (CommandExecutionError, InvocationError, RenderError, OSError) as error:
            problem = str(error)
        if problem:
            return failed(name, problem)
    if is_dry_run() and not test_name:
        row = would_change(name, f"Command '{name}' would have been executed")
        return _unheard(row) if stateful else row
    if cwd and not os.path.isdir(cwd):
        return failed(name, _no_folder(cwd))
    arguments.update(rendering, hide_output=hide_output)
    source = name if source is None else source
    try:
        with kept(None if stateful else _keeping()):
            done = __salt__["cmd.script"](source, python_shell=True, **arguments)
    except (CommandExecutionError, InvocationError, RenderError, OSError) as error:
        return failed(name, str(error))
    comment = f"Command '{name}' run"
    if done.get("cache_error"):
        comment = f"Unable to cache script {source} from saltenv '{__env__}'"
    return _finished_row(name, comment, done, stateful=stateful)


def call(
    name: str,
    func: Callable[..., Any],
    args: list[Any] | tuple[Any, ...] = (),
    kws: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Row:
    """Call a Python function; for SLS files that are written in Python.

    A returned dict updates the row. Any other value is ``retval`` in the changes, and its truth value (None counts as
    true) is the result.

    Example::

        #!py

        def run():
            return {"longest": {"cmd.call": [{"func": max}, {"args": [[1, 3, 2]]}]}}
    """
    value = func(*args, **(kws or {}))
    if isinstance(value, dict):
        return failed(name, "") | value
    comment = value if isinstance(value, str) else ""
    return make_row(name, comment, {"retval": value}, result=value is None or bool(value))


async def wait(name: str, **kwargs: Any) -> Row:
    """Do nothing: only a watched state that changed makes the command run. Takes the arguments of ``cmd.run``."""
    return unchanged(name)


async def watch(name: str, **kwargs: Any) -> Row:
    """Do the same as ``cmd.wait``, for trees that call it by the name of the requisite; also what ``cmd.run`` takes."""
    return unchanged(name)


async def wait_script(name: str, **kwargs: Any) -> Row:
    """Do nothing: only a watched state that changed makes the script run. Takes the arguments of ``cmd.script``."""
    return unchanged(name)


async def wait_call(name: str, func: Callable[..., Any], **kwargs: Any) -> Row:
    """Do nothing: only a watched state that changed makes the call. Takes the arguments of ``cmd.call``.

    Example::

        #!py

        def run():
            told = [{"func": print}, {"args": ["changed"]}, {"watch": [{"file": "/etc/app.conf"}]}]
            watched = [{"source": "salt://app/app.conf"}]
            return {"/etc/app.conf": {"file.managed": watched}, "told": {"cmd.wait_call": told}}
    """
    return unchanged(name)


def mod_watch(name: str, sfun: str | None = None, **kwargs: Any) -> Row:
    """Run the command, script or function of a state whose watched states have changed."""
    if sfun in {"wait", "run", "watch", "wait_script", "script"}:
        answer = script if sfun in {"wait_script", "script"} else run
        if kwargs.get("stateful"):
            del kwargs["stateful"]
            row = answer(name, **kwargs)
            return _unheard(row) if is_dry_run() else _reinterpreted(row)
        return answer(name, **kwargs)
    if sfun in {"wait_call", "call"}:
        if kwargs.get("func"):
            return call(name, kwargs.pop("func"), **kwargs)
        return failed(name, f"cmd.{sfun} needs a named parameter func")
    return failed(name, f"cmd.{sfun} does not work with the watch requisite, please use cmd.wait or cmd.wait_script")


def mod_footprint(low: Mapping[str, Any]) -> dict[str, Any]:
    """Return the footprint of a command, as far as its text shows it; ``unknown`` is the reason if it may touch more.

    The text is parsed like a shell does, and a table has the effects of common programs. Every path that another
    program names counts as written, and so does everything in ``cwd`` and ``creates``. The text of a shell script is
    parsed, too, if the compiler knows it.
    """
    if low.get("fun") in {"call", "wait_call"}:
        return {"unknown": "it calls a Python function"}
    folder, user = low.get("cwd"), low.get("runas")
    folder = folder if isinstance(folder, str) else ""
    user = user if isinstance(user, str) else ""
    environment = pairs_of(low.get("env"))
    group = low.get("group")
    reads = ["environ:process", *([f"user:{user}"] if user else [])]
    reads += [f"group:{group}"] if group and isinstance(group, str) else []
    reads += [f"path:{path}" for path in (low.get("shell"),) if isinstance(path, str) and path.startswith("/")]
    reads += [f"path:{folder}"] if folder.startswith("/") and folder.strip("/") else []
    creates = low.get("creates") or []
    made = [f"path:{path}" for path in ([creates] if isinstance(creates, str) else creates)]
    if low.get("root"):
        return {"reads": reads, "writes": [f"path:{str(low['root']).rstrip('/')}/**", *made]}
    commands = [_script_command(low) if "script" in str(low.get("fun")) else str(low.get("name", ""))]
    test_name = _test_command(low.get("stateful"))
    commands += [str(test_name)] if test_name else []
    found = [effects_of(command, folder, user, environment) for command in commands]
    unknown = [effects.unknown for effects in found if effects.unknown and not (effects.bare and made)]
    if "script" in str(low.get("fun")):
        source = str(low.get("source") or _script_name(low))
        reads += [f"path:{path}" for path in (source.removeprefix("file://"),) if path.startswith("/")]
        text = str(low.get("__script__", ""))
        unknown = [f"it runs the script {source}, and what that does is not known"]
        if text:
            within = script_effects(text, _arguments(low), folder, user, environment)
            unknown = [f"in the script {source}, {within.unknown}"] if within.unknown else []
            found = [*found, within]
    elif low.get("template"):
        unknown.append("a template makes its text in the run")
    whole = found[0] if len(found) == 1 else _together(found)
    return {
        "reads": [*reads, *whole.reads],
        "writes": [*whole.writes, *made],
        "makes": whole.makes,
        "programs": whole.programs,
        "links": _by_place(whole.links),
        "copies": _by_place(whole.copies),
        "unknown": "; ".join(unknown),
    }


def _together(found: list[Effects]) -> Effects:
    return Effects(
        reads=tuple(name for effects in found for name in effects.reads),
        writes=tuple(name for effects in found for name in effects.writes),
        makes=tuple(name for effects in found for name in effects.makes),
        links=tuple(link for effects in found for link in effects.links),
        copies=tuple(copy for effects in found for copy in effects.copies),
        programs=tuple(name for effects in found for name in effects.programs),
    )


def _by_place(pairs: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for place, other in pairs:
        places.setdefault(place, []).append(other)
    return places


def _is_there(source: str) -> bool:
    """Return whether the tree, this machine or a server has a script. For dry runs."""
    return (
        filesystem.is_file(source) if os.path.isabs(source) else bool(__salt__["cp.cache_file"](source, str(__env__)))
    )


def _unrunnable(command: str, arguments: dict[str, Any]) -> str:
    """Return the error if a command could not start. For dry runs."""
    cwd = arguments["cwd"]
    if cwd and not os.path.isdir(cwd):
        return _no_folder(cwd)
    return str(__salt__["cmd.refusal"](command, python_shell=True, **arguments))


def _no_folder(cwd: str) -> str:
    return f'Desired working directory "{cwd}" is not available'


def _shell(shell: str | None) -> str | None:
    return shell or __grains__.get("shell")


def _test_command(stateful: Any) -> str | None:
    """Return the command of a dry run, if ``stateful`` names one."""
    first = stateful[0] if isinstance(stateful, list) and stateful else None
    return first.get("test_name") if isinstance(first, dict) else None


def _keeping() -> Keeping:
    """Return the folder for output that is too long for a row."""
    refused = "the state has no_log" if __low__.get("no_log") else ""
    folder, budget = os.path.join(str(__opts__["cachedir"]), "output"), int(__opts__.get("output_memory") or 256) << 20
    commands, files = _shared()
    return Keeping.of_many(folder, refused, commands, budget, files)


def _shared() -> tuple[int, Kept]:
    """Return the number of commands in the run, and the files of their output; made once."""
    known: tuple[int, Kept] | None = __context__.get("cmd.output")
    if known is None:
        chunks: Any = __lowstate__  # a list of chunks, though its proxy serves mappings
        number = sum(1 for low in chunks if low.get("state") == "cmd")
        known = __context__.setdefault("cmd.output", (number, Kept()))
    return known


def _finished_row(name: str, comment: str, done: dict[str, Any], *, stateful: bool) -> Row:
    row = make_row(name, comment, done, result=not done["retcode"])
    if stateful:
        row = _reinterpreted(row)
    if done["retcode"] == 0 and row["changes"] and is_dry_run():
        row["result"] = None
    return row


def _unheard(row: Row) -> Row:
    """Return the row of a dry run for a command that reports its changes itself: none are known before it runs."""
    if not filesystem.foretells():
        return row | {"changes": {}, "comment": ""}  # as in Salt
    report = "" if row["result"] is False else ". It reports itself what it changes."
    return row | {"changes": {}, "comment": f"{row['comment']}{report}"}


def _reinterpreted(row: Row) -> Row:
    """Replace the row's comment and changes by the ones that the command printed."""
    import json  # noqa: PLC0415 - few commands report in JSON

    done = row["changes"]
    row["changes"], row["comment"] = {}, ""
    output = done.get("stdout")
    if not output:
        row["comment"] = done.get("stderr") or ""
        return row
    end = 0
    try:
        data = json.loads(output)
    except ValueError:
        # Where the report is the only line, rfind gives -1 and all but the last character is kept, as in Salt.
        end = output.rstrip().rfind("\n")
        data = _pairs(output[end + 1 :])
        if data is None:
            row["changes"] = dict(done)
            return _fail(row, "Failed parsing script output! Stdout must be JSON or a line of name=value pairs.")
    else:
        if not isinstance(data, dict):
            return _fail(row, "script JSON output must be a JSON object (e.g., {})!")
    row["comment"] = data.pop("comment", row["comment"])
    if _is_true(data.get("changed", "no")):
        row["changes"] = {**done, **data}
        row["changes"]["stdout"] = row["changes"]["stdout"][:end]
    return row


def _pairs(line: str) -> dict[str, Any] | None:
    """Read ``name=value`` words quoted as in a shell; None if the line has anything else."""
    try:
        words = [word.split("=") for word in shlex.split(line)]
    except ValueError:
        return None
    return {word[0]: word[1] for word in words} if all(len(word) == 2 for word in words) else None


def _is_true(value: Any) -> bool:
    text = str(value).lower()
    if value and text in {"true", "yes", "1"}:
        return True
    if text in {"false", "no", "0"}:
        return False
    raise ValueError(f"Failed parsing boolean value: {value}")


def _fail(row: Row, comment: str) -> Row:
    row["comment"] = comment
    row["result"] = False
    return row


def _script_name(low: Mapping[str, Any]) -> str:
    return (str(low.get("name", "")).split(maxsplit=1) or [""])[0]


def _script_command(low: Mapping[str, Any]) -> str:
    """Return a command line with the arguments of a script; the script itself comes on standard input."""
    return f"/dev/stdin {_arguments(low)}"


def _arguments(low: Mapping[str, Any]) -> str:
    arguments = low.get("args") or str(low.get("name", ""))[len(_script_name(low)) :]
    return " ".join(map(shlex.quote, map(str, arguments))) if isinstance(arguments, (list, tuple)) else str(arguments)
