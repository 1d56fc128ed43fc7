"""Estimate of a run's remaining time, from the times of its states in a past run, if known.

what is left to do, by slots ─┐
the longest chain left ───────┴─▶ no less than the larger ──*──▶ at most
how far the past run, simulated with these slots, was from that bound ─╯
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from asyncstate.model.event import ChunkFinished, ChunkRetried, ChunkStarted, RunStarted
from asyncstate.report.terminal import count, short_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.extras.analyse.recording import Recording
    from asyncstate.extras.analyse.simulate import Rules
    from asyncstate.model.event import Event
    from asyncstate.model.plan import Plan

_PAUSE = 1.0
"""Seconds for which an estimate is kept, instead of one for each event."""
_ENOUGH = 0.5
"""The share of states that must be known for an estimate."""
_SAME = 1.2
"""Ratio of the largest to the smallest estimate below which one number is enough."""
_SOON = 5.0
_SLOWER = (1.0, 3.0)
_FASTER = (0.5, 1.0)


class Past(msgspec.Struct, frozen=True):
    """The known times of a plan's states: seconds by tag, alone and with the longest chain after each.

    ``order`` are the tags by the seconds of their ``tails``, the longest first. ``work`` is the sum of all seconds.
    ``over`` is the ratio of the simulated time with these ``slots`` to the bound. ``unknown`` is the number of unknown
    states. ``source`` names the past run.
    """

    seconds: Mapping[str, float]
    tails: Mapping[str, float]
    order: Sequence[str]
    work: float
    over: float
    slots: int
    unknown: int
    source: str


def past(plan: Plan, seconds: Mapping[str, float], slots: int, rules: Rules, source: str) -> Past | None:
    """Return the known times of a plan from the ``seconds`` of its states, by tag; None if too few are known."""
    from asyncstate.extras.analyse.recording import UNKNOWN, Recording
    from asyncstate.extras.analyse.simulate import longest_path, simulate

    tags = [chunk.tag for chunk in plan.chunks]
    unknown = sum(tag not in seconds for tag in tags)
    if not tags or len(tags) - unknown < _ENOUGH * len(tags):
        return None
    spans: list[tuple[float, ...]] = [(seconds.get(tag, 0.0),) for tag in tags]
    spans += [()] * (len(plan.nodes) - len(tags))
    times = Recording(tuple(spans), (UNKNOWN,) * len(plan.nodes))
    tails = dict(zip(tags, _tails(plan, times), strict=False))
    bound = max(longest_path(plan, times)[0], times.work / slots)
    over = simulate(plan, times, slots, rules).seconds / bound if bound else 1.0
    return Past(
        seconds={tag: seconds.get(tag, 0.0) for tag in tags},
        tails=tails,
        order=sorted(tails, key=lambda tag: -tails[tag]),
        work=times.work,
        over=max(over, 1.0),
        slots=slots,
        unknown=unknown,
        source=source,
    )


def _tails(plan: Plan, times: Recording) -> list[float]:
    """Return the seconds of each node with the longest chain after it."""
    dag = plan.dag
    tails = [0.0] * dag.size
    for node in reversed(dag.topological_order(int)):
        tails[node] = times.length(node) + max((tails[after] for after in dag.successors(node)), default=0.0)
    return tails


class Remaining:
    """Follows a run; `text` returns its remaining time, after a call of `learn`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._past: Past | None = None
        self._began: dict[str, float] = {}
        self._ended: dict[str, float] = {}
        self._paused: set[str] = set()
        self._at = 0
        self._text = ""
        self._said = float("-inf")

    def learn(self, known: Past) -> None:
        """Use the times of a past run. May be called from another thread, at any time."""
        self._past = known

    def on_event(self, event: Event) -> None:
        """Record the running states, and the times of the ended ones."""
        match event:
            case RunStarted():
                self._began.clear()
            case ChunkStarted(check=False):
                self.began(event.tag)
            case ChunkRetried():
                self._paused.add(event.tag)
            case ChunkFinished(check=False):
                self.ended(event.tag)

    def began(self, tag: str) -> None:
        """Note that a state begins."""
        self._began[tag] = self._clock()

    def ended(self, tag: str) -> None:
        """Note that a state has ended."""
        now = self._clock()
        self._ended[tag] = now - self._began.pop(tag, now)

    def between(self) -> tuple[float, float] | None:
        """Return the smallest and the largest remaining time in seconds; None if unknown."""
        known = self._past
        if known is None:
            return None
        now = self._clock()
        running = {tag: now - since for tag, since in list(self._began.items())}
        ended = [tag for tag in list(self._ended) if tag in known.seconds]
        work = known.work - sum(known.seconds[tag] for tag in ended)
        work -= sum(min(spent, known.seconds.get(tag, 0.0)) for tag, spent in running.items())
        chain = self._chain(known, running)
        least = max(chain, work / known.slots, 0.0)
        slower = self._slower(known, ended)
        low, high = (min(max(slower, least_), most) for least_, most in (_FASTER, _SLOWER))
        return least * low, least * known.over * high

    def _chain(self, known: Past, running: Mapping[str, float]) -> float:
        """Return the longest remaining chain: of the running states, and of the first that has not begun."""
        order = known.order
        while self._at < len(order) and order[self._at] in self._ended:
            self._at += 1
        longest = 0.0
        for place in range(self._at, len(order)):
            tag = order[place]
            if tag not in running and tag not in self._ended:
                longest = known.tails[tag]
                break
        for tag, spent in running.items():
            own = known.seconds.get(tag, 0.0)
            longest = max(longest, known.tails.get(tag, 0.0) - min(spent, own))
        return longest

    def _slower(self, known: Past, ended: Sequence[str]) -> float:
        """Return the ratio of the ended states' times to the past ones, without retried states."""
        counted = [tag for tag in ended if tag not in self._paused]
        before = sum(known.seconds[tag] for tag in counted)
        now = sum(self._ended[tag] for tag in counted)
        return now / before if before > _PAUSE else 1.0

    def text(self) -> str:
        """Return the remaining time and its source as text, "" if unknown."""
        if self._past is None:
            return ""
        now = self._clock()
        if now - self._said >= _PAUSE:
            self._said = now
            self._text = self._made()
        return self._text

    def _made(self) -> str:
        known, found = self._past, self.between()
        if known is None or found is None:
            return ""
        least, most = found
        if most <= 0:
            return f"longer than the run of {known.source}" if self._began and not known.unknown else ""
        if known.unknown:
            left = "a few seconds" if least < _SOON else _round(least)
            return f"at least {left} left, from the run of {known.source}; {count(known.unknown, 'state')} new"
        if most < _SOON:
            left = "a few seconds"
        elif most < least * _SAME or _round(least) == _round(most):
            left = f"about {_round((least + most) / 2)}"
        else:
            left = f"{_round(least)} to {_round(most)}"
        return f"{left} left, from the run of {known.source}"


def _round(seconds: float) -> str:
    """Return a time, rounded to the precision of the estimate."""
    step = next((step for limit, step in ((20, 1), (120, 5), (600, 30)) if seconds < limit), 60)
    rounded = round(seconds / step) * step
    return f"{rounded} s" if rounded < 60 else short_time(rounded)


def source_text(begun: float, now: float) -> str:
    """Return the start of a past run for people: ``12:01``, ``yesterday 12:01``, ``2026-11-20 12:01``."""
    then, today = time.localtime(begun), time.localtime(now)
    clock = time.strftime("%H:%M", then)
    if then[:3] == today[:3]:
        return clock
    if then[:3] == time.localtime(now - 86400)[:3]:
        return f"yesterday {clock}"
    return f"{time.strftime('%Y-%m-%d', then)} {clock}"
