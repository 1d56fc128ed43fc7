"""The command line: one file per command, each imported when it is called.

Read in this order: ``root`` (the program), ``framework`` and ``options`` (common to all commands), ``settings`` (those
of a command, and the states to compile), ``session`` (a run, from start to report), ``console`` (the output streams),
then any command. ``salt`` reads Salt's spelling of options, ``interrupts`` turns signals into messages and exit codes.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # the C part of `signal`, which takes milliseconds to import
import gc
import os
import sys

from asyncstate._code_pack import pack_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

_NO_MEMORY = b"asyncstate: memory ran out\n"
_NO_DESCRIPTOR = b"asyncstate: no file can be opened, so there is no report: see asyncstate runs list\n"
_DESCRIPTORS = 256
"""Limit of open files for the process that writes the last report."""
_INTERNAL_ERROR = 70
_SELDOM = (200_000, 50, 100)
"""Thresholds of the garbage collector: this program makes many objects and few cycles."""

_LONGEST_START = 30
"""Time limit for the start of the process that writes the last report, in seconds."""

_EARLY = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
_WRITTEN_WITHOUT_RUN = ("--junit", "--metrics")
"""Options whose files are written even if no run has begun."""
_LAST_REPORT = "import sys; sys.path[:] = eval(sys.argv[1]); from asyncstate.cli.last_report import main; main()"


def program() -> int:
    """Entry point of `asyncstate`: run the command line of this process, then end the process."""
    _end_early(LastReport(sys.argv[1:]))
    gc.set_threshold(*_SELDOM)
    pack = pack_of(os.path.dirname(os.path.dirname(__file__)))
    if pack is not None:
        sys.meta_path.insert(0, pack)
    code = main()
    if pack is not None:
        before = _deaf()  # the answer is out: no signal may change the exit code
        pack.renew()
        for number, handler in before.items():
            _signal.signal(number, handler)
    leave(code)
    return code


def leave(code: int) -> None:
    """End the process as the interpreter does, but free no objects: freeing takes a tenth of a short run.

    Threads are joined and exit functions called as usual. Returns, and leaves the end to the interpreter, if a stream
    cannot be flushed, or if third-party plugins were imported: their open files may be written only when freed.
    """
    if "asyncstate.load.imports" in sys.modules and sys.modules["asyncstate.load.imports"].foreign:
        return
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()  # noqa: SLF001 - concurrent.futures ends its threads there
    if "atexit" in sys.modules:
        sys.modules["atexit"]._run_exitfuncs()  # noqa: SLF001 - those of plugins and of logging
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            return
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 ok, 1 compile or usage error, 2 a state failed.

    70 a bug, 74 the answer could not be written, 124 a timeout, 125 a cancellation by a program, 128 + N a signal N.
    Help and version are printed without importing click.
    """
    if shell := os.environ.get("_ASYNCSTATE_COMPLETE"):
        from asyncstate import extend

        answer = extend.offered("shells")
        return 0 if answer is None else int(answer(shell, list(sys.argv[1:] if argv is None else argv)))
    arguments = sys.argv[1:] if argv is None else argv
    last = LastReport(arguments)
    last.is_written = argv is not None  # a calling program must not be replaced by exec
    before = _end_early(last)
    try:
        code = _answer(list(arguments), last)
        if argv is None and code > 128:
            _keep_from_signals()
        return code
    except MemoryError:  # not enough is left for the usual error message
        os.write(2, _NO_MEMORY)
        if argv is None:
            last.end(_INTERNAL_ERROR, "memory ran out")
        return _INTERNAL_ERROR
    finally:
        if argv is not None:  # a calling program goes on
            for number, handler in before.items():
                _signal.signal(number, handler)


def _keep_from_signals() -> None:
    """Keep later signals from changing the exit code while the interpreter ends; end a hanging one after ten seconds.

    Python drops its handlers at that point, so any signal would end the process.
    """
    try:
        _deaf()
        _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
        _signal.alarm(10)
    except ValueError:  # only the main thread may set handlers
        return


def _deaf() -> dict[int, object]:
    """Ignore the signals that end the program; return their handlers."""
    return {number: _signal.signal(number, _signal.SIG_IGN) for number in (getattr(_signal, name) for name in _EARLY)}


def _end_early(last: LastReport) -> dict[int, object]:
    """Let a signal that arrives during the imports end the program with a message; return the previous handlers."""

    def end_at_once(number: int, _frame: object) -> None:
        name = next(name for name in _EARLY if getattr(_signal, name) == number)
        try:
            os.write(2, f"asyncstate: ended by {name}\n".encode())
        finally:
            last.end(128 + number, name)

    before = {}
    for name in _EARLY:
        number = getattr(_signal, name)
        handler = _signal.getsignal(number)
        if handler not in (_signal.SIG_IGN, None):
            try:
                before[number] = _signal.signal(number, end_at_once)
            except ValueError:  # only the main thread may set handlers
                return {}
    return before


class LastReport:
    """The output still to be written if this process has to end at once. ``arguments`` are the command line.

    ``run`` is the ID of the current run; ``answered``: its answer has begun; ``is_written``: nothing is left to write.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self.arguments = arguments
        self.run = ""
        self.answered = False
        self.is_written = False

    def end(self, code: int, why: str) -> NoReturn:
        """End this process with an exit code, and write the requested report and files.

        Takes no lock, imports nothing and does not block: the process replaces itself (exec) with the one that writes.
        """
        try:
            files = any(word.startswith(_WRITTEN_WITHOUT_RUN) for word in self.arguments)
            if (self.run or files) and not self.is_written:
                _need_descriptor()
                answered = "answered" if self.answered else ""
                words = [repr(sys.path), str(code), why, self.run, answered, *self.arguments]
                # until that program has handlers of its own; a mask, because this may be any thread
                _signal.pthread_sigmask(_signal.SIG_BLOCK, [getattr(_signal, name) for name in _EARLY])
                _signal.alarm(_LONGEST_START)
                os.execv(sys.executable, [sys.executable, "-P", "-c", _LAST_REPORT, *words])  # noqa: S606 - no shell
        finally:
            os._exit(code)


def _need_descriptor() -> None:
    """Raise OSError if no file can be opened: the next program would fail with the exit code of its loader.

    A limit that a plugin lowered is first raised again, as far as this process may.
    """
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        resource = sys.modules.get("resource")  # an import would need a descriptor
        if resource is None:
            raise
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        limit = hard if hard == resource.RLIM_INFINITY else max(hard, _DESCRIPTORS)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
            os.close(os.open(os.devnull, os.O_RDONLY))
        except (OSError, ValueError):
            os.write(2, _NO_DESCRIPTOR)
            raise


def _answer(arguments: list[str], last: LastReport) -> int:
    _claim_streams()
    if not arguments or arguments[0] in {"--version", "-V", "--help", "-h"}:
        return _introduce(arguments)
    from asyncstate.cli.root import dispatch

    return dispatch(arguments, last)


def _claim_streams() -> None:
    """Open /dev/null for closed standard streams: otherwise the next opened file would get such a number."""
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
