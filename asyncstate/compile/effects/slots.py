"""What slots read: ``__slot__:salt:file.read(/a)`` in an argument calls a function right before the state."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_SLOT = "__slot__:"
_FUNCTION = re.compile(r"__slot__:salt:([\w.]+)")
_PATH = re.compile(r"""(?<![^\s'"=,(])/[^\s'",()]+""")
_LOOK_AT_DATA = frozenset({"config", "data", "defaults", "environ", "grains", "hashutil", "pillar", "random", "test"})
"""Modules that read no files of the machine: grains, the pillar and the environment are read by every slot."""


class SlotsRead(NamedTuple):
    """The resources that slots read; ``unknown`` says why they may read more, "" if they do not."""

    reads: tuple[str, ...]
    unknown: str = ""


def slots_read(args: dict[str, Any]) -> SlotsRead | None:
    """Return what the slots of a state read; None if it has none. A path counts with everything below it."""
    found: dict[str, None] = {}
    unknown = ""
    for slot in _slots(args):
        paths = _PATH.findall(slot)
        found.update((f"path:{path.rstrip('/')}/**", None) for path in paths)
        function = _FUNCTION.match(slot)
        if function is not None and not paths and function[1].partition(".")[0] not in _LOOK_AT_DATA:
            unknown = f"a slot calls {function[1]}, and nobody can tell what that reads"
        found["environ:process"] = found["grains"] = None
    return SlotsRead(tuple(found), unknown) if found else None


def _slots(args: dict[str, Any]) -> Iterator[str]:
    """Yield the slots: arguments, and what is one level deep in lists and mappings, as in a run."""
    for value in args.values():
        kind = type(value)
        if kind is str:
            if value.startswith(_SLOT):
                yield value
        elif kind is list or kind is dict:
            for item in value if kind is list else value.values():
                for part in item.values() if type(item) is dict else (item,):
                    if type(part) is str and part.startswith(_SLOT):
                        yield part
