"""The footprint of one state, as its module or the state itself declares it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from asyncstate.effects.resources import ENTRY, folder_and_marks
from asyncstate.model.requisite import CONDITIONS
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from asyncstate.effects.calls import CallsRead
    from asyncstate.model.chunk import LowChunk

WITHOUT = frozenset({"test"})
"""The state modules that touch nothing."""
CONDITIONED = frozenset(CONDITIONS)
_SAYING = CONDITIONED | {"parallel", "footprint"}
"""The arguments with which a state of such a module may touch something."""
_MOST_NAMES = 100_000
"""The maximum of names in a part of a footprint. A list of a module's own class may be endless."""

_SAYS_UNKNOWN = "its module says that it touches more than can be told beforehand"


class Footprint(Value):
    """The resources that a state touches. ``unknown``: why it may also touch others; empty if it does not.

    ``programs`` are the names of the programs that it runs; None: its module does not say.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    makes: tuple[str, ...] = ()
    unknown: str = ""
    links: tuple[tuple[str, str], ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
    programs: tuple[str, ...] | None = None
    leaves: tuple[str, ...] = ()

    @classmethod
    def of(cls, declared: dict[str, Any]) -> Footprint:
        """Return the footprint that a module or a state declares. Raises ValueError for too many names."""
        programs = _names(declared["programs"]) if "programs" in declared else None
        return cls(
            _names(declared.get("reads")),
            _names(declared.get("writes")),
            _names(declared.get("makes")),
            _reason(declared.get("unknown")),
            _pairs(declared.get("links")),
            _pairs(declared.get("copies")),
            programs,
            _names(declared.get("leaves")),
        )

    @classmethod
    def joined(cls, footprints: Sequence[Footprint]) -> Footprint:
        """Return what several states read, write and make together."""
        return cls(
            tuple(dict.fromkeys(name for each in footprints for name in each.reads)),
            tuple(dict.fromkeys(name for each in footprints for name in each.writes)),
            tuple(dict.fromkeys(name for each in footprints for name in each.makes)),
        )

    def and_reads(self, names: Iterable[str]) -> Footprint:
        """Return this footprint with more that is read."""
        return self.replaced(reads=(*self.reads, *names))

    def and_calls(self, calls: CallsRead) -> Footprint:
        """Return this footprint with what calls of execution functions read."""
        return self.replaced(reads=(*self.reads, *calls.reads), unknown=self.unknown or calls.unknown)

    def with_wholes(self) -> Footprint:
        """Return this footprint with the files of its entries as a whole: a run may show that others are meant."""
        files = tuple(dict.fromkeys(name.partition(ENTRY)[0] for name in self.writes if ENTRY in name))
        return self.replaced(writes=(*self.writes, *files))

    def everything(self) -> tuple[str, ...]:
        """Return all names: read, written and made."""
        return (*self.reads, *self.writes, *(folder_and_marks(name)[0] for name in self.makes))


def says_it_itself(args: Mapping[str, Any]) -> bool:
    """Whether the tree says what a state touches, or that it may run beside any other."""
    return args.get("parallel") is True or isinstance(args.get("footprint"), dict)


def touches_nothing(chunk: LowChunk) -> bool:
    """Whether a state certainly touches nothing; it costs next to nothing to ask."""
    return chunk.state in WITHOUT and _SAYING.isdisjoint(chunk.args)


def _reason(declared: Any) -> str:
    return declared if isinstance(declared, str) else _SAYS_UNKNOWN if declared else ""


def _pairs(links: Any) -> tuple[tuple[str, str], ...]:
    if not (links and isinstance(links, dict)):
        return ()
    said = ((path, each if isinstance(each, (list, tuple)) else (each,)) for path, each in links.items())
    pairs = tuple(islice(((str(path), str(target)) for path, targets in said for target in targets), _MOST_NAMES + 1))
    return pairs if len(pairs) <= _MOST_NAMES else _too_many()


def _names(value: Any) -> tuple[str, ...]:
    if not value:
        return ()
    if isinstance(value, str):
        return (value,)
    if type(value) is list and len(value) <= _MOST_NAMES:
        return tuple(map(str, value))
    if not isinstance(value, (list, tuple, set, frozenset)):
        return ()
    names = tuple(islice(map(str, value), _MOST_NAMES + 1))
    return names if len(names) <= _MOST_NAMES else _too_many()


def _too_many() -> NoReturn:
    raise ValueError(f"it names more than {_MOST_NAMES:,} resources")
