"""The command line: one file a command, each imported when it is called."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 ok, 1 compile or usage error, 2 a state failed.

    124 is a time-out, 130 and 143 an interruption. Help and version are answered without importing click.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "_ASYNCSTATE_COMPLETE" not in os.environ and (
        not arguments or arguments[0] in {"--version", "-V", "--help", "-h"}
    ):
        return _introduce(arguments)
    from asyncstate.cli.root import dispatch

    return dispatch(arguments)


def _introduce(arguments: list[str]) -> int:
    from asyncstate._version import __version__
    from asyncstate.cli.overview import overview

    wants_version = arguments[:1] in (["--version"], ["-V"])
    text = f"asyncstate {__version__}" if wants_version else overview()
    stream = sys.stdout if arguments else sys.stderr
    stream.write(f"{text}\n")
    return 0 if arguments else 1
