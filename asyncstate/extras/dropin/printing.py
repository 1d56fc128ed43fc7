"""Writes an answer with the outputter that the command line, or the function, chose, and gives the exit code."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from asyncstate.errors import AsyncStateError
from asyncstate.extras.dropin.answer import FAILED, Answer

if TYPE_CHECKING:
    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.extras.dropin.options import Request


def print_answer(console: Console, settings: Settings, request: Request, answer: Answer) -> int:
    """Write an answer, and return the exit code: as Salt's, but a run that was cut short keeps its own."""
    text = _text(console, settings, request, answer)
    if request.out_file:
        _write_file(console, request, text)
    elif text:
        console.write(text, redacted=True, data=request.out in ("json", "yaml"))
    if answer.ended:
        return answer.ended
    if answer.retcode is None:
        return FAILED
    return answer.retcode if request.retcode_passthrough else min(answer.retcode, FAILED)


def _text(console: Console, settings: Settings, request: Request, answer: Answer) -> str:
    from asyncstate.extras.dropin.outputters import Form, printed

    opts = settings.opts()
    wanted = request.out or str(opts.get("output") or "")
    name = wanted if wanted not in {"", "highstate"} else answer.outputter or "nested"
    form = Form(
        coloured=bool(console.palette().reset),
        indent=request.out_indent if request.out_indent is not None else opts.get("output_indent", Form().indent),
        retcode=answer.retcode or 0,
        opts=opts,
    )
    shown: dict[str, Any] = {"local": answer.value}
    text = printed(shown, name, form, console.say).rstrip()
    return f"{text}\n" if text else ""


def _write_file(console: Console, request: Request, text: str) -> None:
    from asyncstate import filesystem
    from asyncstate.cli.output_file import write_file

    before = b""
    try:
        if request.out_file_append:
            with suppress(FileNotFoundError):
                before = filesystem.read_bytes(request.out_file)
        write_file(request.out_file, before + text.encode("utf-8", "backslashreplace"))
    except (OSError, AsyncStateError) as error:
        console.unwritten(request.out_file, getattr(error, "strerror", None) or str(error))
