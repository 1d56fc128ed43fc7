"""Findings of a search, as lines of text and as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate import extend
from asyncstate.report.summary import describe_tag
from asyncstate.report.terminal import Palette, clean, count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.extras.proof.shake.outcome import Difference, Outcome
    from asyncstate.extras.proof.shake.search import Result, Unexplained, Unordered
    from asyncstate.model.plan import Plan

_LISTED = 8


def result_lines(plan: Plan, result: Result, palette: Palette | None = None) -> Iterator[str]:
    """Yield the unordered pairs: both states, the differences, and a remedy."""
    palette = palette or Palette()
    if result.broken_off or not result.runs:
        return
    for found in result.found:
        yield from map(clean, _lines(plan, found, palette))
        yield ""
    for each in result.unexplained:
        yield from map(clean, _unexplained_lines(plan, each, palette))
        yield ""
    if result.random:
        yield f"Two serial runs differ in {count(len(result.random), 'thing')}, which were not compared:"
        yield from (f"  {clean(line)}" for line in _difference_lines(result.random, "first", "second"))
        yield ""
    runs = f"{count(result.delayed, 'state')} delayed, {count(result.runs, 'run')}"
    so_far = "" if result.complete else " so far"
    if result.found:
        yield f"{count(len(result.found), 'order')} missing{so_far}: {runs}."
    else:
        yield f"No {'missing order' if result.unexplained else 'difference'}{so_far}: {runs}."
    if not result.complete:
        yield f"Cut off: {count(result.untried, 'state')} not delayed yet."


def _unexplained_lines(plan: Plan, each: Unexplained, palette: Palette) -> Iterator[str]:
    chunk = plan.chunk_of(each.delayed)
    yield (
        f"{_before(chunk.where)}{palette.paint(palette.yellow, _said(plan, each.delayed))} must run before a later "
        "state, and nothing says so; the search was cut off before it knew which"
    )
    yield "  if it runs last:"
    yield from (f"    {line}" for line in _difference_lines(each.differences, "serial", "delayed"))


def _lines(plan: Plan, found: Unordered, palette: Palette) -> Iterator[str]:
    earlier, later = (plan.chunk_of(node) for node in found.pair)
    at = f" ({earlier.where})" if earlier.where else ""
    yield (
        f"{_before(later.where)}{palette.paint(palette.yellow, _said(plan, found.pair.later))} must run after "
        f"{_said(plan, found.pair.earlier)}{at}, and nothing says so"
    )
    yield "  if it runs first:"
    yield from (f"    {line}" for line in _difference_lines(found.differences, "serial", "delayed"))
    yield from (f"  {line}" for line in settling(plan, found))


def _difference_lines(found: tuple[Difference, ...], first: str, second: str) -> Iterator[str]:
    for each in found[:_LISTED]:
        what = {"row": f"row of {describe_tag(each.name)}", "run": "the run"}.get(each.what, each.name)
        yield f"{what}: {each.part}: {shortened(each.serial)} ({first}), {shortened(each.found)} ({second})"
    if len(found) > _LISTED:
        yield f"and {len(found) - _LISTED} more"


def shortened(text: str) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:99]}…"


def settling(plan: Plan, found: Unordered) -> list[str]:
    """Return the remedy for a pair: a requisite, or a footprint on the state that declares too little."""
    earlier, later = (plan.chunk_of(node) for node in found.pair)
    unknown = [chunk for chunk in (earlier, later) if chunk.index in plan.unknown]
    lines = [f"the effects of {describe_tag(chunk.tag)} are unknown: {plan.unknown[chunk.index]}" for chunk in unknown]
    analysis = extend.offered("analysis")
    hint = "" if analysis is None else analysis.requisite_hint(plan, later, earlier)
    lines.append(hint or f"write a requisite: {describe_tag(later.tag)} requires {describe_tag(earlier.tag)}")
    where = describe_tag((unknown or [later])[0].tag)
    lines.append(f"or say what {where} touches: - footprint: {{reads: [path:/…], writes: [path:/…]}}")
    return lines


def result_data(plan: Plan, result: Result, serial: Outcome) -> dict[str, Any]:
    """Return the result as data; ``earlier`` and ``later`` are in serial order, ``serial`` is that order's outcome."""
    return {
        "found": [
            {
                "earlier": _state(plan, found.pair.earlier),
                "later": _state(plan, found.pair.later),
                "delayed": _state(plan, found.delayed),
                "differences": [_difference(each) for each in found.differences],
                "settle": settling(plan, found),
            }
            for found in result.found
        ],
        "unexplained": [
            {
                "delayed": _state(plan, each.delayed),
                "differences": [_difference(difference) for difference in each.differences],
            }
            for each in result.unexplained
        ],
        "random": [_difference(each) for each in result.random],
        "failed": failures(serial),
        "broken_off": result.broken_off,
        "delayed": result.delayed,
        "untried": result.untried,
        "runs": result.runs,
        "complete": result.complete,
    }


def failures(serial: Outcome) -> list[dict[str, str]]:
    """Return the states that failed in the serial run: their tags and comments. Their effects are not tested."""
    return [
        {"state": tag, "comment": str(row["comment"])} for tag, row in serial.rows.items() if row["result"] is False
    ]


def _difference(found: Difference) -> dict[str, str]:
    return {"what": found.what, "name": found.name, "part": found.part, "serial": found.serial, "found": found.found}


def _state(plan: Plan, node: int) -> dict[str, Any]:
    chunk = plan.chunk_of(node)
    return {"state": chunk.tag, "node": _kind(plan, node), "file": chunk.file, "line": chunk.line}


def _kind(plan: Plan, node: int) -> str:
    return plan.nodes[node].kind.name.lower()


_OF_ANOTHER_KIND = {"check": "the check for a prereq of ", "group": "the group of "}


def _said(plan: Plan, node: int) -> str:
    return f"{_OF_ANOTHER_KIND.get(_kind(plan, node), '')}{describe_tag(plan.chunk_of(node).tag)}"


def _before(where: str) -> str:
    return f"{where}: " if where else ""
