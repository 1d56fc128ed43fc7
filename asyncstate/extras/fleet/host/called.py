"""The functions that a state calls, as far as its declaration names them: its own, and any in its arguments.

Conditions run commands and functions, slots call functions, and ``module.run`` calls any function. Calls made by
templates, or inside of functions, are not found. A call for an operator is a state, too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Protocol

from asyncstate.extras.fleet.host.call import FUNCTION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COMMAND: Final = "cmd.run"
"""The function that the commands of ``onlyif``, ``unless`` and ``check_cmd`` count as."""
_CONDITIONS: Final = ("onlyif", "unless", "check_cmd")
_SLOT: Final = re.compile(r"__slot__:\w+:\s*([\w.]+)")


class Calling(Protocol):
    """A state of a plan, by what its declaration may name functions in."""

    @property
    def state(self) -> str:
        """Its module."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def function(self) -> str:
        """Its own function, with its module."""

    @property
    def args(self) -> Mapping[str, Any]:
        """Its arguments."""

    def texts(self, *, keys: bool = False) -> Iterator[str]:
        """Yield its name and every text in its arguments."""


def functions_of(chunk: Calling) -> dict[str, str]:
    """Return the functions that a state calls, each with the argument that names it, "" for the state itself."""
    found = {str(chunk.name) if chunk.function == FUNCTION else chunk.function: ""}
    for condition in _CONDITIONS:
        entries = chunk.args.get(condition)
        for entry in entries if isinstance(entries, (list, tuple)) else (entries,):
            if isinstance(entry, str):
                found.setdefault(COMMAND, condition)
            elif isinstance(entry, dict) and "fun" in entry:
                found.setdefault(str(entry["fun"]), condition)
    if chunk.state == "module":
        keys = [key.partition(":")[0] for key in map(str, chunk.args) if "." in key]
        for name in (*keys, *([str(chunk.name)] if not keys or "." in str(chunk.name) else ())):
            found.setdefault(name, chunk.function)
    for text in chunk.texts(keys=True):
        for name in _SLOT.findall(text):
            found.setdefault(name, "a slot")
    return found
