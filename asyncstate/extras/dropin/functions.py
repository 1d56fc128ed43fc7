"""Dispatch of function calls: the ``state`` module is implemented in this package, all others are plugins."""

from __future__ import annotations

from datetime import UTC, datetime
from fnmatch import fnmatchcase
from inspect import getdoc
from typing import TYPE_CHECKING, Any

from asyncstate.errors import PillarError
from asyncstate.extras.dropin.answer import NO_SUCH_FUNCTION, Answer, Refused
from asyncstate.extras.dropin.calling import call_module, check_arguments, misused, read_arguments
from asyncstate.extras.dropin.settings import past_pillar
from asyncstate.extras.dropin.states import StateModule

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.extras.dropin.options import Request


def answer_of(console: Console, settings: Settings, request: Request) -> Answer:
    """Run the function of a command line. Raises Refused.

    If the pillar does not render, functions that can do without get the part that renders, as in Salt.
    """
    try:
        return _answer_of(console, settings, request)
    except PillarError as error:
        console.say(*(str(issue) for issue in error.issues))
        return _answer_of(console, past_pillar(settings, error), request)


def _answer_of(console: Console, settings: Settings, request: Request) -> Answer:
    if request.all_grains:
        return _grains(console, settings)
    if request.doc:
        return _documentation(console, settings, request)
    jid = datetime.now(UTC).strftime("%Y%m%d%H%M%S%f")
    if request.module == "state":
        answer = _call_state(console, settings, request)
    else:
        answer = call_module(console, settings, request, jid)
        answer.value = _with_state_module(console, settings, request, answer.value)
    if request.with_metadata:
        answer.value = _with_metadata(settings, request, answer, jid)
        answer.outputter = "nested"
    return answer


def _call_state(console: Console, settings: Settings, request: Request) -> Answer:
    module = StateModule(console, settings, request)
    function = module.functions.get(request.name)
    if function is None:
        raise Refused(f"'{request.function}' is not available.{module.near(request.name)}", exit_code=NO_SUCH_FUNCTION)
    args, kwargs = read_arguments(request.arguments, request.no_parse)
    check_arguments(function, args, kwargs)
    try:
        return function(*args, **kwargs)
    except TypeError as error:
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
        raise misused(function, error) from error


def _with_state_module(console: Console, settings: Settings, request: Request, value: Any) -> Any:
    """Return an answer of ``sys``, with the functions of the state module added, which is no plugin here."""
    if request.function not in {"sys.doc", "sys.list_functions", "sys.list_modules"}:
        return value
    patterns = [word if "." in word else f"{word}.*" for word in request.arguments] or ["*"]
    docs = {
        name: text
        for name, text in _state_docs(console, settings, request).items()
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    }
    if not docs:
        return value
    if request.function == "sys.doc":
        return {**value, **docs}
    return sorted({*value, *(docs if request.function == "sys.list_functions" else ["state"])})


def _state_docs(console: Console, settings: Settings, request: Request) -> dict[str, str]:
    functions = StateModule(console, settings, request).functions
    return {f"state.{name}": getdoc(function) or "" for name, function in functions.items()}


def _with_metadata(settings: Settings, request: Request, answer: Answer, jid: str) -> dict[str, Any]:
    from asyncstate.cli.settings import parse_value

    told = {
        "jid": jid,
        "return": answer.value,
        "retcode": answer.retcode,
        "out": answer.outputter,
        "id": settings.id,
        "fun": request.function,
        "fun_args": request.arguments,
        "metadata": None if request.metadata is None else parse_value(request.metadata),
    }
    return {name: value for name, value in told.items() if value is not None and (name != "out" or value)}


def _grains(console: Console, settings: Settings) -> Answer:
    from asyncstate.runtime import StateRuntime

    with StateRuntime(settings, secrets=console.secrets).open_sync() as runtime:
        return Answer(value=console.hide(runtime.host.grains))


def _documentation(console: Console, settings: Settings, request: Request) -> Answer:
    """Print the documentation of the functions whose names begin like the given one."""
    from asyncstate.runtime import StateRuntime

    with StateRuntime(settings, secrets=console.secrets).open_sync() as runtime:
        docs: dict[str, str] = runtime.call_sync("sys.doc")
    docs |= _state_docs(console, settings, request)
    chosen = sorted(name for name in docs if name.startswith(request.function))
    console.write("".join(f"{name}:\n{docs[name]}\n\n" for name in chosen), redacted=True)
    return Answer(value=None, outputter="quiet")
