"""The differences between two plans: lines for a terminal, a picture for a pull request, and data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import to_builtins

from asyncstate import extend
from asyncstate.model.plan import NodeKind
from asyncstate.model.walk import JOINTS, Walk
from asyncstate.plans.comparison import names_of, paired
from asyncstate.plans.words import difference_lines, label
from asyncstate.report.terminal import PLAIN, Palette, clean, count, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from asyncstate.plans.comparison import Differences
    from asyncstate.plans.record import PlanRecord

MOST: Final = 60
"""Limit of the states in a picture: larger ones are unreadable on GitHub."""
_STYLES: Final = (
    "  classDef added fill:#dafbe1,stroke:#1a7f37,color:#1f2328",
    "  classDef removed fill:#ffebe9,stroke:#cf222e,color:#1f2328,stroke-dasharray: 4 3",
    "  classDef changed fill:#fff8c5,stroke:#9a6700,color:#1f2328",
    "  classDef kept fill:#f6f8fa,stroke:#59636e,color:#1f2328",
)
_EDGE_ADDED: Final = "stroke:#1a7f37,stroke-width:3px"
_EDGE_REMOVED: Final = "stroke:#cf222e,stroke-dasharray:4 3"
_MARKS: Final = {"added": "(+) ", "removed": "(-) ", "changed": "(~) ", "kept": ""}
"""Words instead of bare signs, which Mermaid takes for a list at the start of a label."""


def diff_lines(differences: Differences, palette: Palette = PLAIN) -> Iterator[str]:
    """Yield the differences, coloured, and a summary."""
    colours = {"+": palette.green, "-": palette.red, "~": palette.yellow, ">": palette.cyan}
    for line in difference_lines(differences):
        yield palette.paint(colours.get(line.mark, ""), f"{'  ' * line.depth}{line.mark} {clean(line.text)}".rstrip())
    if not differences.comparable:
        yield palette.paint(
            palette.dim,
            "The plans were made with different keys: what they hide, and what they were compiled from, is not "
            "compared.",
        )
    yield summary(differences)


def summary(differences: Differences) -> str:
    """Return a line with the numbers of differences."""
    if not differences.any:
        return "The plans are the same." if differences.comparable else "What the plans show is the same."
    parts = [
        count(len(found), noun) + f" {what}"
        for found, noun, what in (
            (differences.added, "state", "added"),
            (differences.removed, "state", "removed"),
            (differences.changed, "state", "changed"),
            (differences.moved, "state", "moved"),
            (differences.edges_added, "edge", "added"),
            (differences.edges_removed, "edge", "removed"),
            (differences.inputs, "input", "changed"),
        )
        if found
    ]
    return ", ".join(parts or ["another selection"]) + "."


def diff_data(differences: Differences) -> dict[str, Any]:
    """Return the differences as plain data; ``same`` is true if there are none."""
    data: dict[str, Any] = to_builtins(differences)
    return {"same": not differences.any, **data}


def to_mermaid(before: PlanRecord, after: PlanRecord, differences: Differences) -> str:
    """Return the states that differ, and their neighbours, as a Mermaid flow chart: at most `MOST` of them."""
    escaped: Callable[[str], str] = extend.provided("pictures", "--out mermaid").mermaid_text
    picture = _Picture(before, after, differences)
    chosen = picture.chosen()
    lines = ["flowchart LR", *_STYLES]
    numbers = {name: number for number, name in enumerate(chosen)}
    for name, number in numbers.items():
        kind = picture.kind[name]
        lines.append(f'  s{number}["{_MARKS[kind]}{escaped(one_line(label(name)))}"]:::{kind}')
    if len(chosen) < len(picture.kind_of_interest):
        lines.append(f'  more["… and {len(picture.kind_of_interest) - len(chosen)} more states"]:::kept')
    styles: list[str] = []
    for drawn, ((earlier, later), kind) in enumerate(picture.edges(numbers).items()):
        lines.append(f"  s{numbers[earlier]} {'-.->' if kind == 'removed' else '-->'} s{numbers[later]}")
        if kind != "kept":
            styles.append(f"  linkStyle {drawn} {_EDGE_ADDED if kind == 'added' else _EDGE_REMOVED}")
    if not chosen:
        lines.append('  same["no state differs"]:::kept')
    return "\n".join([*lines, *styles, ""])


class _Picture:
    """The states and edges in a picture of two plans."""

    def __init__(self, before: PlanRecord, after: PlanRecord, differences: Differences) -> None:
        pairs, _, _ = paired(before.chunks, after.chunks)
        names_before, names_after = names_of(before, after, pairs)
        self._left = _Waits(before, names_before)
        self._right = _Waits(after, names_after)
        self.kind: dict[str, str] = dict.fromkeys((*names_before, *names_after), "kept")
        self.kind |= {each.tag: "changed" for each in differences.changed}
        self.kind |= {each.tag: "changed" for each in differences.moved}
        self.kind |= {each.tag: "added" for each in differences.added}
        self.kind |= {each.tag: "removed" for each in differences.removed}
        ends = [
            end
            for edge in (*differences.edges_added, *differences.edges_removed)
            for end in (edge.before, edge.after)
            if end in self.kind
        ]
        differing = [name for name, kind in self.kind.items() if kind != "kept"]
        self.kind_of_interest: dict[str, None] = dict.fromkeys((*differing, *ends))

    def chosen(self) -> list[str]:
        """Return the states to draw: the different ones, and as far as there is room, their direct neighbours."""
        found = dict.fromkeys(list(self.kind_of_interest)[:MOST])
        for name in list(found):
            for neighbour in (*self._left.beside(name), *self._right.beside(name)):
                if len(found) < MOST:
                    found.setdefault(neighbour)
        return list(found)

    def edges(self, chosen: Iterable[str]) -> dict[tuple[str, str], str]:
        """Return the edges between the states to draw, each with ``added``, ``removed`` or ``kept``."""
        names = set(chosen)
        left, right = self._left.between(names), self._right.between(names)
        return {
            edge: "kept" if edge in left and edge in right else "added" if edge in right else "removed"
            for edge in sorted(left | right)
        }


class _Waits:
    """The order between the states of a plan, looking through sets, stages, groups and checks."""

    def __init__(self, record: PlanRecord, names: list[str]) -> None:
        plan = record.plan()
        self._walk = Walk(plan, JOINTS | {NodeKind.CHECK}, plan.contingent)
        self._names = names
        self._number = {name: number for number, name in reversed(list(enumerate(names)))}

    def beside(self, name: str) -> list[str]:
        """Return the states directly before and after a state."""
        number = self._number.get(name)
        return (
            [] if number is None else [*self._named(self._walk.before(number)), *self._named(self._walk.after(number))]
        )

    def between(self, names: set[str]) -> set[tuple[str, str]]:
        """Return the pairs (earlier, later) among some states in which the later one waits."""
        known = [(name, self._number[name]) for name in names if name in self._number]
        return {
            (name, later) for name, number in known for later in self._named(self._walk.after(number)) if later in names
        }

    def _named(self, nodes: Iterable[int]) -> Iterator[str]:
        return (self._names[node] for node in nodes if node < len(self._names))
