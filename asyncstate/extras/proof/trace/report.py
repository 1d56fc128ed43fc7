"""Finds the races between the states of a plan, and reports them as text.

As in ThreadSanitizer, a report has two states, the path, the writer, and the place of both declarations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from asyncstate.errors import Issue
from asyncstate.extras.proof.trace.races import BELOW, ENTRY, conflicts
from asyncstate.extras.proof.trace.touched import CHANGES, ENSURED, LISTED, LOOKED, MADE, REMOVED, SET, WRITTEN, above
from asyncstate.redact import MASK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from asyncstate.extras.proof.trace.races import Conflict, Marks
    from asyncstate.model.plan import Plan


class State(Protocol):
    """One of two states in a race."""

    @property
    def state(self) -> str:
        """Its module."""

    @property
    def function(self) -> str:
        """Its function, with its module."""

    @property
    def id(self) -> str:
        """Its ID."""

    @property
    def file(self) -> str:
        """The file that declares it."""

    @property
    def line(self) -> int:
        """The line there, 0 if unknown."""

    @property
    def where(self) -> str:
        """File and line, as far as known."""


class Contact(NamedTuple):
    """A path that both touched: how each touched it, in a word or two, and whether that changed it."""

    path: str
    earlier: str
    later: str
    earlier_writes: bool
    later_writes: bool


class Race(NamedTuple):
    """Two states of a plan, the ``earlier`` one first in the serial order, and all paths that both touched."""

    earlier: State
    later: State
    contacts: tuple[Contact, ...]


_ACCOUNTS = frozenset({"/etc/passwd", "/etc/group", "/etc/shadow", "/etc/gshadow"})
_MAKE_ACCOUNTS = frozenset({"user", "group"})

_SHOWN = 3
"""The number of paths of one race that are named."""


def find_races(plan: Plan, touched: Mapping[int, Mapping[str, int]], marks: Marks | None = None) -> list[Race]:
    """Return the races between states, by the place of the states in the serial order.

    ``touched`` has flags of paths by node, ``marks`` has marks of folders. Listeners run after everything else, one
    by one, so they race with nothing. Nor do states that touch different entries of one file. The paths of a state
    with ``no_log`` are hidden.
    """
    nodes = {
        node: _with_made_folders(plan, node, flags) for node, flags in touched.items() if plan.nodes[node].takes_a_slot
    }
    contacts: dict[tuple[int, int], dict[str, Contact]] = {}
    turns = [frozenset(members) for members in plan.turns]
    contingent = {(edge.before, edge.after) for edge in plan.contingent}
    for conflict in conflicts(plan.dag, plan.rank, nodes, marks, contingent):
        pair = plan.chunk_of(conflict.earlier).index, plan.chunk_of(conflict.later).index
        apart = all(conflict.path in plan.entries.get(state, ()) for state in pair) or _is_a_lookup(plan, conflict)
        if pair[0] != pair[1] and not apart and not any(in_turn.issuperset(pair) for in_turn in turns):
            path = MASK if any(plan.chunks[state].args.get("no_log") for state in pair) else conflict.path
            contact = Contact(
                path,
                _deed(conflict.before),
                _deed(conflict.after),
                bool(conflict.before & (CHANGES | ENTRY)),
                bool(conflict.after & (CHANGES | ENTRY)),
            )
            contacts.setdefault(pair, {}).setdefault(path, contact)
    return [
        Race(plan.chunks[one], plan.chunks[two], tuple(found.values()))
        for (one, two), found in sorted(contacts.items())
    ]


def race_issues(races: Iterable[Race]) -> list[Issue]:
    """Return the races as warnings for the report."""
    return [
        Issue(_message(race), file=race.later.file, line=race.later.line, hint=_settled(race), rule="")
        for race in races
    ]


def _with_made_folders(plan: Plan, node: int, flags: Mapping[str, int]) -> Mapping[str, int]:
    """Mark existing folders that a state with ``makedirs`` would have made, as any order gives the same result."""
    chunk = plan.chunk_of(node)
    if not chunk.args.get("makedirs"):
        return flags
    return {**flags, **{folder: flags.get(folder, 0) | ENSURED for folder in above(str(chunk.name))}}


def _is_a_lookup(plan: Plan, conflict: Conflict) -> bool:
    """Whether a state of known effects only looks up accounts concurrently with one that makes some.

    It declares the accounts that concern it, so the plan orders their making; its programs look up others, too.
    """
    if conflict.path not in _ACCOUNTS:
        return False
    one, other = plan.chunk_of(conflict.earlier), plan.chunk_of(conflict.later)
    return any(
        maker.state in _MAKE_ACCOUNTS and not changes & CHANGES and asking.index not in plan.unknown
        for maker, asking, changes in ((one, other, conflict.after), (other, one, conflict.before))
    )


def _message(race: Race) -> str:
    one, two, contacts = race.earlier, race.later, race.contacts
    lines = [f"race on {contacts[0].path}: no order between {one.function} {one.id} and {two.function} {two.id}"]
    lines += [
        f"{contact.path}: {one.id} {contact.earlier} it, {two.id} {contact.later} it" for contact in contacts[:_SHOWN]
    ]
    if len(contacts) > _SHOWN:
        lines.append(f"and {len(contacts) - _SHOWN} more paths")
    return "\n".join(lines)


def _settled(race: Race) -> str:
    """Return the place of the other state, and the requisite or the footprints that would remove the race."""
    one, two, contact = race.earlier, race.later, race.contacts[0]
    where = f"{one.id} is at {one.where}\n" if one.where else ""
    sides = [
        f"  in {state.id}  footprint: {{{'writes' if writes else 'reads'}: ['path:{contact.path}']}}"
        for state, writes in ((one, contact.earlier_writes), (two, contact.later_writes))
    ]
    requisite = f"settle it with a requisite\n  in {two.id}  require: [{{{one.state}: {one.id}}}]"
    return "\n".join([f"{where}{requisite}", "or with footprints, where the modules do not declare them", *sides])


def _deed(what: int) -> str:
    """Return the access of a state in one or two words."""
    for flag, word in (
        (REMOVED | MADE, "makes and removes"),
        (REMOVED, "removes"),
        (MADE, "makes"),
        (WRITTEN, "writes"),
        (SET, "sets the mode or owner of"),
        (ENTRY, "adds or removes names in"),
        (LISTED, "lists"),
        (ENSURED, "needs"),
        (LOOKED, "reads"),
        (BELOW, "needs"),
    ):
        if what & flag == flag:
            return word
    return "looks for"
