"""Lint: states whose order is not secured by a requisite, and other likely mistakes in a tree.

A requisite is a promise. An order that comes from the places of two states in a file, or from a path that both touch,
holds only until an author moves a state or changes its declared effects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.model.dag import FOOTPRINT
from asyncstate.model.plan import NodeKind
from asyncstate.model.rules import ANY, CODES
from asyncstate.model.walk import stands_for
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import PLAIN, Palette, clean, count
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from asyncstate.errors import Issue
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Contradiction, Plan

_SETTLED = (
    "say it with footprint: {reads: […], writes: […]} on the state, or write a requisite for each state whose place "
    "before or after it matters"
)


_CODE_OF = {rule: code for code, rule in CODES.items() if code.startswith("W")}


class Finding(Value):
    """One finding. ``chunk`` should require ``missing``; both are -1 if a requisite does not help.

    ``more`` counts the other findings of the same rule at the same place: a loop, or ``names``.
    """

    rule: str
    message: str
    file: str = ""
    line: int = 0
    hint: str = ""
    chunk: int = -1
    missing: int = -1
    more: int = 0
    code: str = ""

    @classmethod
    def of(cls, issue: Issue) -> Finding:
        """Return a warning of the compiler as a finding."""
        return cls(issue.rule or ANY, issue.message, issue.file, issue.line, issue.hint, code=issue.code)


def lint(plan: Plan, unused_pillar: Mapping[str, tuple[str, int]] | None = None) -> list[Finding]:
    """Return all findings by place; ``unused_pillar``: pillar keys never read, with file and line or ("", 0)."""
    found = list(map(Finding.of, plan.warnings))
    contradicting = [each for each in plan.contradictions if each.code == "E430"]
    found += _order_findings(plan, {(pair.first, pair.second) for pair in contradicting})
    found += [
        _at(
            plan.chunks[index],
            "unknown-effects",
            f"it is not known what this state touches: {why}",
            hint=_SETTLED,
        )
        for index, why in plan.unknown.items()
    ]
    found += _self_references(plan)
    found += _undone(plan, contradicting)
    found += _refused_later(plan)
    found.sort(key=lambda finding: (finding.file, finding.line))
    message = "no SLS file looks at pillar key {!r}; templates of managed files are not known before a run"
    return found + [
        Finding("unused-pillar", message.format(key), *place, code=_CODE_OF["unused-pillar"])
        for key, place in sorted((unused_pillar or {}).items())
    ]


def one_for_each_place(findings: Iterable[Finding]) -> list[Finding]:
    """Keep the first of all findings with the same rule, file and line, and count the others."""
    first: dict[tuple[str, str, int, int], Finding] = {}
    for number, finding in enumerate(findings):
        key = (finding.rule, finding.file, finding.line, 0 if finding.line and finding.rule != ANY else number)
        known = first.get(key)
        first[key] = finding if known is None else known.replaced(more=known.more + 1)
    return list(first.values())


def lint_lines(plan: Plan, findings: list[Finding], palette: Palette = PLAIN) -> Iterator[str]:
    """Yield ``file:line: rule: message [code]`` for each finding, and a count."""
    for finding in findings:
        place = f"{finding.file}:{finding.line}: " if finding.line else f"{finding.file}: " if finding.file else ""
        rule = palette.paint(palette.yellow, finding.rule)
        code = palette.paint(palette.dim, f"[{finding.code}]")
        others = f" (and {finding.more} more declared in this line)" if finding.more else ""
        yield f"{palette.paint(palette.dim, clean(place))}{rule}: {clean(finding.message)}{others} {code}"
        yield from (f"    {line}" for line in clean(finding.hint).splitlines())
    states, number = count(len(plan.chunks), "state"), count(len(findings), "finding")
    yield f"{number} in {states}." if findings else f"No findings in {states}."


def lint_data(plan: Plan, findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return the findings as data; ``state`` and ``requires`` are tags, empty where they do not apply."""
    return [
        {
            "rule": finding.rule,
            "code": finding.code,
            "message": finding.message,
            "file": finding.file,
            "line": finding.line,
            "hint": finding.hint,
            "state": plan.chunks[finding.chunk].tag if finding.chunk >= 0 else "",
            "requires": plan.chunks[finding.missing].tag if finding.missing >= 0 else "",
            "more": finding.more,
        }
        for finding in findings
    ]


def _at(chunk: LowChunk, rule: str, what: str, *, missing: LowChunk | None = None, hint: str = "") -> Finding:
    message = f"{describe_tag(chunk.tag)}: {what}"
    return Finding(
        rule,
        message,
        chunk.file,
        chunk.line,
        hint,
        chunk.index,
        -1 if missing is None else missing.index,
        0,
        _CODE_OF[rule],
    )


def _self_references(plan: Plan) -> Iterator[Finding]:
    """Yield states that listen to or use themselves; with other kinds of requisite, this does not compile."""
    listening = {listener.chunk for listener in plan.listeners if listener.chunk in listener.members}
    for chunk in plan.chunks:
        if chunk.index in listening:
            yield _at(chunk, "self", "it listens to itself: after a change of its own its mod_watch is called, too")
        if any({chunk.state: target} in _references(chunk.args.get("use")) for target in (chunk.id, chunk.name)):
            yield _at(chunk, "self", "it uses its own arguments, which changes nothing")


def _undone(plan: Plan, contradicting: Iterable[Contradiction]) -> Iterator[Finding]:
    """Yield the pairs that may undo each other's work. Certain ones are among the plan's warnings."""
    known = {(issue.file, issue.line) for issue in plan.warnings if issue.rule == "undone"}
    for pair in contradicting:
        chunk, other = plan.chunks[pair.second], plan.chunks[pair.first]
        if not pair.certain and (chunk.file, chunk.line) not in known:
            what = (
                f"it may want {pair.thing} differently than {describe_tag(other.tag)}: then each run changes it twice"
            )
            yield _at(chunk, "may-undo", what, hint=pair.hint)


def _refused_later(plan: Plan) -> Iterator[Finding]:
    """Yield what the next run may refuse because of what a later state gives away."""
    for pair in plan.contradictions:
        if pair.code == "E431" and not pair.certain and pair.first > pair.second:
            chunk = plan.chunks[pair.second]
            message = pair.message.replace("the next run refuses", "the next run may refuse")
            yield Finding("refused", message, chunk.file, chunk.line, pair.hint, chunk.index, code=pair.code)


def _references(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _order_findings(plan: Plan, contradicting: Collection[tuple[int, int]]) -> Iterator[Finding]:
    """Yield a finding for each missing requisite: the smallest set that would secure the whole order.

    States that contradict each other are left out: no order would help.

    ``before[n]`` has a bit for each node that requisites and stages put before n. For later states, a proposed
    requisite counts as written.
    """
    from asyncstate.extras.analyse.needs import needs, why

    dag, chunks, unknown = plan.dag, plan.chunks, frozenset(plan.unknown)
    before = [0] * len(plan.nodes)
    above = _above(plan)
    writable = _Writable(plan)
    for node in dag.topological_order(lambda node: node):
        mask = 0
        relying: dict[int, tuple[str, ...]] = {}
        for other in dag.predecessors(node):
            if dag.sources(other, node) == (FOOTPRINT,):
                for each in stands_for(plan, [other]):
                    if each < len(chunks):
                        relying[each] = tuple(dict.fromkeys((*relying.get(each, ()), *dag.resources(other, node))))
            else:
                mask |= before[other] | 1 << other
        if node < len(chunks):
            for other in sorted(relying, reverse=True):
                if mask >> other & 1:
                    continue
                if (other, node) in contradicting or _are_siblings(chunks[node], chunks[other]):
                    mask |= before[other] | 1 << other
                    continue
                needed = needs(chunks[node], chunks[other], relying[other], chunks, mask)
                if needed:
                    mask |= before[other] | 1 << other
                    what = f"it comes after {describe_tag(chunks[other].tag)} only because {why(needed, chunks[other])}"
                    yield writable.finding("footprint-order", what, chunks[node], chunks[other])
            other = above.get(node, -1)
            if node in unknown and other >= 0 and not (mask >> other & 1 or _are_siblings(chunks[node], chunks[other])):
                mask |= before[other] | 1 << other
                what = f"only its place in the file puts it after {describe_tag(chunks[other].tag)}"
                yield writable.finding("definition-order", what, chunks[node], chunks[other])
        before[node] = mask


class _Writable:
    """The requisites that are safe to add: one that names or belongs to several states could create a cycle."""

    def __init__(self, plan: Plan) -> None:
        self._rank = plan.rank
        self._declared: dict[tuple[str, str], tuple[int, int]] = {}
        """The first and the last place, in serial order, of the states from one declaration with `names`."""
        self._last: dict[tuple[str, str], int] = {}
        for chunk in plan.chunks:
            rank = plan.rank[chunk.index]
            first, last = self._declared.get((chunk.state, chunk.id), (rank, rank))
            self._declared[chunk.state, chunk.id] = min(first, rank), max(last, rank)
            if chunk.name != chunk.id:
                key = (chunk.state, str(chunk.name))
                self._last[key] = max(self._last.get(key, -1), plan.rank[chunk.index])
        self._checked = {
            node.chunk: plan.rank[number] for number, node in enumerate(plan.nodes) if node.kind is NodeKind.CHECK
        }

    def finding(self, rule: str, what: str, chunk: LowChunk, missing: LowChunk) -> Finding:
        """Return the finding that ``chunk`` lacks a requisite on ``missing``."""
        ordered = self._declared[missing.state, missing.id][1] < self._declared[chunk.state, chunk.id][0]
        checked = self._checked.get(chunk.index)
        if not ordered or (checked is not None and checked < self._rank[missing.index]):
            return _at(chunk, rule, what)
        if self._last.get((missing.state, missing.id), -1) >= self._rank[chunk.index]:
            hint = f"a requisite would name '{chunk.id}' itself or later states, too: give '{missing.id}' another ID"
            return _at(chunk, rule, what, hint=hint)
        hint = f"write, if that matters: - require: [{{{missing.state}: {missing.id}}}]"
        return _at(chunk, rule, what, missing=missing, hint=hint)


def requisite_hint(plan: Plan, chunk: LowChunk, missing: LowChunk) -> str:
    """Return the requisite by which a state requires another one, as SLS text; "" if none can express it."""
    return _Writable(plan).finding("footprint-order", "", chunk, missing).hint


def _are_siblings(chunk: LowChunk, other: LowChunk) -> bool:
    """Whether two states come from one declaration with ``names``: no requisite can name only one of them."""
    return chunk.state == other.state and chunk.id == other.id


def _above(plan: Plan) -> dict[int, int]:
    """Return for each state the previous one of the same SLS, in serial order, that has any effect."""
    last: dict[tuple[str, str], int] = {}
    above: dict[int, int] = {}
    for chunk in plan.chunks:
        if chunk.state == "test":
            continue
        key = (chunk.env, chunk.sls)
        if key in last:
            above[chunk.index] = last[key]
        last[key] = chunk.index
    return above
