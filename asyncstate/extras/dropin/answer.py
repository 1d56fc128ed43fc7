"""The answer of a ``salt-call`` function: its value, its exit code, and the outputter that it prefers."""

from __future__ import annotations

from typing import Any

import msgspec

from asyncstate.errors import AsyncStateError

FAILED = 1
"""Exit code of a call that failed, and of data that does not compile."""
STATE_FAILED = 2
"""Exit code of a run in which a state failed."""
PILLAR_FAILED = 5
"""Exit code of a run whose pillar does not render."""
NO_SUCH_FUNCTION = 255
"""Exit code of a function that does not exist."""


class Answer(msgspec.Struct, kw_only=True):
    """The value that a function returned, with its secrets hidden, and the exit code that it asked for.

    ``retcode`` is None if no function was called. ``ended`` is the exit code of a run that was cut short, whatever the
    command line says of exit codes.
    """

    value: Any
    retcode: int | None = 0
    outputter: str = ""
    ended: int = 0


class Refused(AsyncStateError):
    """A call that gave no answer: ``lines`` for standard error, ``usage`` for standard output, and the exit code."""

    def __init__(self, *lines: str, exit_code: int = FAILED, usage: str = "") -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
        self.usage = usage
        self.exit_code = exit_code
