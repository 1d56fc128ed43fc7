"""Calls of execution modules: arguments as Salt reads them, and the exit code that a function leaves behind."""

from __future__ import annotations

import inspect
import os
import re
import traceback
from typing import TYPE_CHECKING, Any

from asyncstate.cli.settings import parse_value
from asyncstate.errors import CommandExecutionError, FunctionNotFound, InvocationError
from asyncstate.extras.dropin.answer import FAILED, NO_SUCH_FUNCTION, Answer, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.extras.dropin.options import Request
    from asyncstate.load.plugin import LoadedFunction
    from asyncstate.runtime import StateRuntime

_KEYWORD = re.compile(r"([^\W\d][\w.-]*)=(?!=)(.*)")
"""Salt's form of a keyword argument. A word of several lines is never one: it may be a script."""
_IN_SHELL = frozenset({"run", "run_all", "run_bg", "run_stderr", "run_stdout", "retcode", "script", "script_retcode"})
"""Functions of ``cmd`` that use a shell if they are called from a command line, unless ``python_shell=False``."""
_BEFORE_SHELL = 6
"""The number of their positional arguments before ``python_shell``."""
_MASK = "**********"
_MASKED = frozenset({"pillar.get", "pillar.item", "pillar.items", "pillar.data", "pillar.ext"})
"""Functions whose values Salt masks unless they are called with ``unmask=True``."""
_VERBOSE = frozenset({"all", "garbage", "trace", "debug"})
_KEYS = frozenset({int, float, bool, type(None)})
"""The types of keys besides text that JSON writes."""
_SHOWN = _MASKED | {"pillar.raw"}
"""Functions that show secrets if they are asked to."""


def read_arguments(words: Sequence[str], unparsed: Sequence[str] = ()) -> tuple[list[Any], dict[str, Any]]:
    """Split words into positional and keyword arguments, read as YAML unless named in ``unparsed``."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for word in words:
        pair = _KEYWORD.fullmatch(word)
        if pair is None:
            positional.append(parse_value(word))
        else:
            keywords[pair[1]] = pair[2] if pair[1] in unparsed else parse_value(pair[2])
    return positional, keywords


def check_arguments(function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Raise Refused, in Salt's words, if a function cannot be called with these arguments."""
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    if not any(each.kind is each.VAR_KEYWORD for each in parameters):
        named = {each.name for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.POSITIONAL_ONLY)}
        if invalid := [f"{name}={value}" for name, value in kwargs.items() if name not in named]:
            raise Refused(f"The following keyword arguments are not valid: {', '.join(invalid)}")
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise misused(function, error) from None


def misused(function: Callable[..., Any], error: TypeError) -> Refused:
    """Return the refusal of a call with wrong arguments, with the documentation of the function."""
    usage = f"{inspect.unwrap(function).__doc__ or ''}\n"
    return Refused("", f"Passed invalid arguments: {error}.", "", "Usage:", usage=usage)


def call_module(console: Console, settings: Settings, request: Request, jid: str) -> Answer:
    """Call an execution function. Raises Refused if it is not there, or raises."""
    args, kwargs = read_arguments(request.arguments, request.no_parse)
    published = {"__pub_fun": request.function, "__pub_pid": os.getpid(), "__pub_jid": jid, "__pub_tgt": "salt-call"}

    async def call() -> Answer:
        from asyncstate.runtime import StateRuntime

        async with StateRuntime(settings, secrets=console.secrets) as runtime:
            found = await runtime.host.workers.run(runtime.host.loaders["modules"].get, request.function)
            check_arguments(found.func, args, kwargs)
            if request.module == "cmd" and request.name in _IN_SHELL and len(args) <= _BEFORE_SHELL:
                kwargs.setdefault("python_shell", True)
            own = found.module.bundled and found.module.name != "test"
            told = published if found.signature.has_kwargs and not own else {}
            return await _call(console, runtime, found, args, kwargs | told)

    try:
        answer = console.run(call, settings.event_loop)
    except FunctionNotFound as error:
        return _others_like(console, settings, request.function, error)
    unmask = kwargs.get("unmask")
    if unmask is None and request.function == "pillar.items":
        unmask = settings.extra.get("pillar_mask_output") is False
    answer.value = _shown(console, request.function, answer.value, unmask)
    return answer


async def _call(
    console: Console, runtime: StateRuntime, found: LoadedFunction, args: list[Any], kwargs: dict[str, Any]
) -> Answer:
    host = runtime.host
    context = host.context()
    try:
        value = await host.call(found, args, kwargs, context)
    except Exception as error:
        if isinstance(error, TypeError) and not isinstance(error, InvocationError):
            raise misused(found.func, error) from error
        raise _failure(console, found.name, error) from error
    outputters = found.module.attribute("__outputter__", {})
    return Answer(
        value=value,
        retcode=context.retcode or _retcode(host.shared.get("retcode", 0), value),
        outputter=outputters.get(found.name.partition(".")[2], "") if isinstance(outputters, dict) else "",
    )


def _failure(console: Console, function: str, error: Exception) -> Refused:
    """Return the refusal of a call that raised; at log level debug with its traceback, as in Salt."""
    lines = []
    if console.debug or console.log_level in _VERBOSE:
        lines = "".join(traceback.format_exception(error)).splitlines()
    match error:
        case CommandExecutionError():
            return Refused(*lines, f"Error running '{function}': {error}")
        case InvocationError() | FunctionNotFound():
            return Refused(*lines, str(error))
    return Refused(*lines, f"{function} raised {type(error).__name__}: {error}")


def _others_like(console: Console, settings: Settings, function: str, error: FunctionNotFound) -> Answer:
    """Answer a call of an unknown function with the documentation of the functions whose names begin with it.

    Raises Refused if there are none.
    """
    from asyncstate.runtime import StateRuntime

    with StateRuntime(settings, secrets=console.secrets).open_sync() as runtime:
        docs = runtime.call_sync("sys.doc", f"{function}*")
    if not docs:
        raise Refused(str(error), exit_code=NO_SUCH_FUNCTION)
    return Answer(value={**docs, function: str(error)}, retcode=None)


def _retcode(left: Any, value: Any) -> int:
    if isinstance(left, int) and left:
        return left
    failed = isinstance(value, dict) and not all(value.get(key, True) for key in ("result", "success"))
    return FAILED if failed else 0


def _shown(console: Console, function: str, value: Any, unmask: Any) -> Any:
    """Return the value as plain data, masked as in Salt, and with secrets hidden unless it was asked for them."""
    from asyncstate.model.encode import plain

    if function in _MASKED and not unmask:
        shown = _masked(plain(value))
    else:
        shown = plain(value) if function in _SHOWN else console.hide(value)
    return _with_types(value, shown)


def _with_types(value: Any, shown: Any) -> Any:
    """Return the shown value with the tuples and non-text keys of the original: ``raw`` shows them."""
    if type(shown) is list and type(value) in {list, tuple}:
        return type(value)(map(_with_types, value, shown))
    if type(shown) is dict and type(value) is dict and len(shown) == len(value):
        pairs = zip(value.items(), shown.items(), strict=True)
        return {_key(own, name): _with_types(each, other) for (own, each), (name, other) in pairs}
    return shown


def _key(own: Any, shown: str) -> Any:
    return own if type(own) in _KEYS and str(own) == shown else shown


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _masked(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_masked(each) for each in value]
    return value if value == "" else _MASK
