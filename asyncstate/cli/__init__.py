"""The command line: one file a command, each imported when it is called.

Read in this order: ``root`` (the command that has all others), ``framework`` and ``options`` (what they share),
``selection`` (which states), ``session`` (a run, from its start to its report), ``console`` (what is written where),
then any command. ``salt`` reads Salt's spelling of options, ``interrupts`` turns signals into words and exit codes.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # what `signal` is made of: built in, where that takes milliseconds to import
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_EARLY = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 ok, 1 compile or usage error, 2 a state failed.

    70 is a bug, 74 an answer that could not be written, 124 a time-out, 125 a cancellation by a program, 128 and the
    number of a signal that one. Help and version are answered without importing click.
    """
    before = _end_early()
    try:
        from asyncstate.cli.interrupts import Interrupted, in_words

        with in_words():
            try:
                return _answer(argv)
            except Interrupted as ended:
                from asyncstate.cli.console import Console

                Console().complain(f"ended by {ended.name}")
                return ended.exit_code
    finally:
        for number, handler in before.items():
            _signal.signal(number, handler)


def _end_early() -> dict[int, object]:
    """Let a signal that comes while we are still being imported end the program with a word; return what was before."""
    before = {}
    for name in _EARLY:
        number = getattr(_signal, name)
        handler = _signal.getsignal(number)
        if handler not in (_signal.SIG_IGN, None):
            try:
                before[number] = _signal.signal(number, _end_at_once)
            except ValueError:  # only the main thread may
                return {}
    return before


def _end_at_once(number: int, _frame: object) -> None:
    name = next(name for name in _EARLY if getattr(_signal, name) == number)
    try:
        os.write(2, f"asyncstate: ended by {name}\n".encode())
    finally:
        os._exit(128 + number)


def _answer(argv: Sequence[str] | None) -> int:
    _claim_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "_ASYNCSTATE_COMPLETE" not in os.environ and (
        not arguments or arguments[0] in {"--version", "-V", "--help", "-h"}
    ):
        return _introduce(arguments)
    from asyncstate.cli.root import dispatch

    return dispatch(arguments)


def _claim_streams() -> None:
    """Put something in the place of closed standard streams: the next file opened would be taken for one of them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", errors="backslashreplace")


def _introduce(arguments: list[str]) -> int:
    from asyncstate._version import __version__
    from asyncstate.cli.overview import overview

    wants_version = arguments[:1] in (["--version"], ["-V"])
    text = f"asyncstate {__version__}" if wants_version else overview()
    stream = sys.stdout if arguments else sys.stderr
    lost = stream is None
    try:
        print(text, file=stream, flush=True)
    except OSError as error:
        from asyncstate.cli.console import drop_output

        lost = not isinstance(error, BrokenPipeError)
        drop_output(1 if arguments else 2)
    if lost and arguments:
        from asyncstate.cli.console import OUTPUT_LOST, Console

        Console().complain("standard output could not be written")
        return OUTPUT_LOST
    return 0 if arguments else 1
