"""Which code answers a function: the ``state`` module is part of the engine here, all others are plugins."""

from __future__ import annotations

from datetime import UTC, datetime
from inspect import getdoc
from typing import TYPE_CHECKING, Any

from asyncstate.cli.salt_call.answer import NO_SUCH_FUNCTION, Answer, Refused
from asyncstate.cli.salt_call.calling import call_module, check_arguments, misused, read_arguments
from asyncstate.cli.salt_call.states import StateModule

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.cli.salt_call.options import Request
    from asyncstate.config import Settings


def answer_of(console: Console, settings: Settings, request: Request) -> Answer:
    """Do what a command line asks for. Raises Refused; CompileError if the pillar does not render."""
    if request.all_grains:
        return _grains(console, settings)
    if request.doc:
        return _documentation(console, settings, request)
    jid = datetime.now(UTC).strftime("%Y%m%d%H%M%S%f")
    if request.module == "state":
        answer = _call_state(console, settings, request)
    else:
        answer = call_module(console, settings, request, jid)
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


def _with_metadata(settings: Settings, request: Request, answer: Answer, jid: str) -> dict[str, Any]:
    from asyncstate.cli.salt import parse_value

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
    functions = StateModule(console, settings, request).functions
    docs |= {f"state.{name}": getdoc(function) or "" for name, function in functions.items()}
    chosen = sorted(name for name in docs if name.startswith(request.function))
    console.write("".join(f"{name}:\n{docs[name]}\n\n" for name in chosen), redacted=True)
    return Answer(value=None, outputter="quiet")
