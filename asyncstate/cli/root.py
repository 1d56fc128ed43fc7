"""The program: its group of commands, and the message and exit code of each error."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from typing import TYPE_CHECKING

import click

from asyncstate.cli.console import CHANGED, OUTPUT_LOST, Console, lasting_stderr
from asyncstate.cli.framework import Root, general_options
from asyncstate.cli.interrupts import Interrupted, check, in_words
from asyncstate.cli.settings import OPTIONS as SALT_OPTIONS
from asyncstate.errors import AsyncStateError, CompileError, Issue, LockHeld, RenderError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from asyncstate.cli.console import LastReport

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

INTERNAL_ERROR = 70
"""Exit code of a bug of this program (EX_SOFTWARE of sysexits.h)."""

LOCK_HELD = 75
"""Exit code if another run holds the lock: the same command may succeed later (EX_TEMPFAIL)."""

_SUCCESS = (0, CHANGED)

_OF_THE_MACHINE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ENOMEM, errno.EMFILE})
"""Errors of the operating system, never reported as a bug, even if Python names no file."""

_NO_MORE_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_UNMAPPED = "failed to map segment"
"""The message of the loader of shared libraries when memory runs out."""

root: Root = Root(name="asyncstate", params=general_options(), context_settings=_CONTEXT)
"""The command line as a click group."""


def dispatch(arguments: list[str], last: LastReport | None = None) -> int:
    """Run one command and return its exit code. Every error becomes a message; only bugs are reported as bugs.

    If the process has to end at once, ``last`` ends it.
    """
    console = Console()
    console.last = last
    console.debug = "--debug" in arguments
    console.arguments = tuple(arguments)
    with lasting_stderr():
        try:
            with in_words(None if last is None else console.end):
                code = _dispatch_and_write(console, arguments)
        except Interrupted as ended:
            console.complain(f"ended by {ended.name}")
            return ended.exit_code
    if _lacks_report(console, code):
        console.end(code, console.ended_by)
    return OUTPUT_LOST if console.incomplete and code in _SUCCESS else code


def _dispatch_and_write(console: Console, arguments: list[str]) -> int:
    try:
        code = _dispatch(console, arguments)
        check()
    except Interrupted as ended:
        console.problems.append(Issue("The run was ended before it began."))
        write_files(console, ended.exit_code)
        raise
    if not _lacks_report(console, code):
        write_files(console, code)
    return code


def _lacks_report(console: Console, code: int) -> bool:
    """Whether a run has begun but has no report: another process can make it from the journal."""
    last = console.last
    return code == INTERNAL_ERROR and last is not None and bool(last.run) and not last.is_written


def write_files(console: Console, code: int) -> None:
    """Write the files for programs about a run that did not begin: CI must not take an older file for its result."""
    if console.junit and console.problems and not console.results:
        from asyncstate.report.junit import problems_xml

        redactor = console.secrets.redactor
        console.write_file(console.junit, problems_xml([redactor.issue(each) for each in console.problems]))
    _write_metrics(console, code)
    if console.last is not None:
        console.last.is_written = True


def _write_metrics(console: Console, code: int) -> None:
    """Write the file of --metrics, readable by all: it has no secrets, and its reader runs as another user."""
    if not console.metrics:
        return
    import time

    from asyncstate.report.metrics import metrics_text

    success = code in _SUCCESS
    shown = OUTPUT_LOST if success and console.incomplete else code
    ended = console.ended_at or time.time()
    text = metrics_text(console.results, shown, ended, success=success and not console.incomplete)
    console.write_file(console.metrics, text, mode=0o644)


def _dispatch(console: Console, arguments: list[str]) -> int:
    try:
        code = root.main(arguments, prog_name="asyncstate", standalone_mode=False, obj=console)
    except click.ClickException as error:
        check()
        return _usage(console, error)
    except (KeyboardInterrupt, click.Abort) as error:
        if isinstance(error.__cause__, EOFError):  # click takes it for a person's; an import of a torn file raises it
            check()
            return _failure(console, error.__cause__)
        console.complain("interrupted")
        return 130
    except BrokenPipeError:
        return 0
    except Exception as error:  # noqa: BLE001 - the last resort: a bug here must not look like a mistake in the tree
        check()
        return _failure(console, error)
    return code if isinstance(code, int) else 0


def _usage(console: Console, error: click.ClickException) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        console.say(error.format_message())
        return 1
    hint = ""
    ctx = getattr(error, "ctx", None)
    if ctx is not None:
        hint = f"See: {ctx.command_path} --help"
    if isinstance(error, click.NoSuchOption) and error.option_name in SALT_OPTIONS:
        message = f"no such option: {error.option_name}. {SALT_OPTIONS[error.option_name]}"
        hint = "Salt's own command lines work as they are with: asyncstate salt-call"
    else:
        message = error.format_message() + _nearest_choice(error)
    console.complain(message, hint)
    return 1


def _nearest_choice(error: click.ClickException) -> str:
    """Return the nearest choice for an invalid value of an option or argument with choices; "" for other mistakes."""
    kind = getattr(getattr(error, "param", None), "type", None)
    given = re.search("'([^']*)' is not one of ", error.format_message())
    if given is None or not isinstance(kind, click.Choice):
        return ""
    from asyncstate.nearest import nearest

    near = nearest(given[1], [str(each) for each in kind.choices])
    return f" Did you mean {near!r}?" if near else ""


def _failure(console: Console, error: BaseException) -> int:
    console.release()
    notes = [*getattr(error, "__notes__", ())]
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
        notes += getattr(error, "__notes__", ())
    if _is_want_of_memory(error):
        from asyncstate.model.result import OUT_OF_MEMORY

        console.ended_by = OUT_OF_MEMORY
        console.problems.append(Issue(OUT_OF_MEMORY))
        console.complain("\n".join([OUT_OF_MEMORY, *notes]), "Run fewer states at once (-j), or allow more memory.")
        return INTERNAL_ERROR
    if _is_want_of_files(error):
        from asyncstate.model.result import INTERNAL_ERROR as INTERNAL

        wanted = "no more files could be opened"
        console.ended_by = INTERNAL
        console.problems.append(Issue(wanted))
        hint = "Run fewer states at once (-j), or allow more (ulimit -n); a plugin may have lowered the limit."
        console.complain("\n".join([wanted, *notes]), hint)
        return INTERNAL_ERROR
    if notes:  # a run has begun, so the tree compiled: the mistake is not in the tree
        return _bug(console, error, notes)
    if isinstance(error, CompileError):
        _show_issues(console, error.issues)
    elif isinstance(error, RenderError):
        _show_issues(console, [Issue(error.message, error.file, error.line, error.hint)])
    elif isinstance(error, AsyncStateError):
        _show_error(console, str(error))
        return LOCK_HELD if isinstance(error, LockHeld) else 1
    elif isinstance(error, OSError) and (error.filename is not None or error.errno in _OF_THE_MACHINE):
        _show_error(console, f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror))
    else:
        return _bug(console, error, notes)
    return 1


def _is_want_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, in Python or in the loader of shared libraries."""
    return isinstance(error, MemoryError) or (isinstance(error, ImportError) and _UNMAPPED in str(error))


def _is_want_of_files(error: BaseException | None) -> bool:
    """Whether descriptors ran out, directly, in the loader of shared libraries, or as the context of a later error."""
    while error is not None and getattr(error, "errno", None) not in _NO_MORE_FILES:
        if isinstance(error, ImportError) and any(os.strerror(number) in str(error) for number in _NO_MORE_FILES):
            return True
        error = error.__context__
    return error is not None


def _show_issues(console: Console, issues: Sequence[Issue]) -> None:
    console.problems += issues
    from asyncstate.report.issues import issue_lines, issue_text

    if console.out == "github":
        from asyncstate.report.github import harmless, issue_annotations

        console.lines([*map(harmless, issue_lines(issues)), *issue_annotations("error", issues)])
    elif not console.for_people and not console.answered:
        console.data([issue_text(issue) if console.codes else issue.message for issue in issues])
    elif console.answers_with_data or console.answered:
        console.say(*issue_lines(issues, console.palette(sys.stderr)))
    else:
        console.lines(issue_lines(issues, console.palette()))


def _show_error(console: Console, text: str) -> None:
    console.problems.append(Issue(text))
    if console.out == "github":
        from asyncstate.report.github import annotation

        console.lines([annotation("error", text)])
    if console.for_people or console.answered:
        console.complain(text)
    else:
        console.data([text])


def _bug(console: Console, error: BaseException, notes: Iterable[str]) -> int:
    from asyncstate.model.encode import plain
    from asyncstate.model.result import INTERNAL_ERROR as INTERNAL

    if console.debug:
        console.say(*"".join(traceback.format_exception(error)).splitlines())
    place = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({place[0].filename}:{place[0].lineno})" if place else ""
    first = str(plain(error)).partition("\n")[0]
    console.problems.append(Issue(f"internal error: {type(error).__name__}: {first}{where}"))
    console.ended_by = INTERNAL
    report = "this" if console.debug else "the output of the same command with --debug"
    console.complain(
        "\n".join([f"internal error: {type(error).__name__}: {first}{where}", *notes]),
        f"This is a bug in asyncstate. Please report it, with {report}.",
    )
    return INTERNAL_ERROR
