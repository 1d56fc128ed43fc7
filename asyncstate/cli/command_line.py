"""The command line of a run, as reports and the journal show it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SECRETIVE = "--pillar"
"""The option whose values may be secret without being marked as such."""
_HARMLESS = frozenset({"test", "saltenv", "pillarenv", "exclude", "mods", "queue", "concurrent"})
"""The arguments of the form ``name=value`` that are shown with their values."""
_HIDDEN = "..."


def shown_command(arguments: Iterable[str]) -> str:
    """Return the command line, quoted for a shell, without the values of the pillar and of state arguments."""
    return shlex.join(["asyncstate", *_shown(arguments)])


def _shown(arguments: Iterable[str]) -> Iterator[str]:
    before = ""
    for word in arguments:
        name, equals, _ = word.partition("=")
        if before == _SECRETIVE:
            yield _HIDDEN
        elif equals and (name == _SECRETIVE or (name.isidentifier() and name not in _HARMLESS)):
            yield f"{name}={_HIDDEN}"
        else:
            yield word
        before = word
