"""Observed footprints in place of guesses: the option ``implicit_order: learned``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from asyncstate.effects.declared import says_it_itself
from asyncstate.effects.resources import PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from asyncstate.model.chunk import LowChunk

    Names = tuple[str, ...]
    Learned = Callable[[LowChunk], "Observed | None"]
    """Returns what a state was seen to touch, if its text and its inputs are unchanged since."""

GUESSED = frozenset({"cmd", "module"})
"""Bundled state modules whose footprints are guesses."""


class Observed(Protocol):
    """The resources that a state was seen to touch, named as in a footprint, and the paths of programs that it ran."""

    @property
    def reads(self) -> Names:
        """What it read."""

    @property
    def writes(self) -> Names:
        """What it wrote."""

    @property
    def makes(self) -> Names:
        """The folders that it made if they were missing."""

    @property
    def programs(self) -> Names:
        """The programs."""


def is_replaced(chunk: LowChunk, *, bundled: bool) -> bool:
    """Whether what a state was seen to touch counts in place of what its module says, which is then a guess."""
    return chunk.state in GUESSED or not bundled


def key_of_work(chunk: LowChunk) -> str:
    """Return the digest of a state's function, name and arguments, whatever its place in the order."""
    import hashlib  # noqa: PLC0415 - few runs learn, or use what was learned

    from asyncstate.plans.inputs import canonical  # noqa: PLC0415 - as above

    return hashlib.sha256(canonical([chunk.state, chunk.fun, chunk.name, chunk.own_args])).hexdigest()


def seen_at_work(
    chunks: Sequence[LowChunk],
    writes: Sequence[Names],
    learned: Learned,
    is_bundled: Callable[[LowChunk], bool],
) -> dict[int, Observed]:
    """Return the records of commands and custom states, by their numbers in ``chunks``.

    ``writes`` are the resources that each state writes, as far as guessed or declared. A state that runs a program
    which another state writes is left out: that program may be another one when it runs.
    """
    writers: dict[str, list[int]] = {}
    for number, names in enumerate(writes):
        for name in names:
            writers.setdefault(name, []).append(number)
    known = {}
    for number, chunk in enumerate(chunks):
        record = learned(chunk) if _is_guess(chunk, is_bundled) else None
        if record is not None and all(
            writer == number for path in record.programs for writer in writers.get(f"{PATH}{path}", ())
        ):
            known[number] = record
    return known


def in_place_of(guess: tuple[Names, Names, Names], record: Observed, chunk: LowChunk) -> tuple[Names, Names, Names]:
    """Return what a state reads, writes and makes, given its guess, in the same order, and its record.

    A custom state touches what it declares as well. Of a command's guess, resources that are no paths are kept: an
    account, the environment, the formula.
    """
    reads, writes, makes = (
        tuple(name for name in names if chunk.state not in GUESSED or not name.startswith(PATH)) for names in guess
    )
    return _joined(reads, record.reads), _joined(writes, record.writes), _joined(makes, record.makes)


def _joined(kept: Names, seen: Names) -> Names:
    return tuple(dict.fromkeys((*kept, *seen)))


def _is_guess(chunk: LowChunk, is_bundled: Callable[[LowChunk], bool]) -> bool:
    return not says_it_itself(chunk.args) and is_replaced(chunk, bundled=is_bundled(chunk))
