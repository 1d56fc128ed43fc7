"""Recorder: the rows of one run, and the report made from them. Each row is recorded once, and never changes.

Announcer: sends the events of the run to its journal and its observers. Onlookers need only some of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from itertools import count
from typing import TYPE_CHECKING, Any

from asyncstate.journal.entry import finished_line, started_line
from asyncstate.model.chunk import fresh
from asyncstate.model.dag import FOOTPRINT, GROUP
from asyncstate.model.event import AnyEvent, ChunkFinished, ChunkReady, ChunkStarted, StateEvent
from asyncstate.model.plan import TIMELESS, NodeKind
from asyncstate.model.requisite import RequisiteKind
from asyncstate.model.result import STATE_RAN, RunReport
from asyncstate.run.dispatch import SharedWork
from asyncstate.run.rows import CarriedRow, number_rows, sub_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from asyncstate.journal.keeper import Keeper
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row
    from asyncstate.redact.redacted_plan import RedactedPlan
    from asyncstate.run.machine import Machine


_AT_ONCE = 200
"""The number of steps of `ChunkReady` events before the event loop has its turn."""


class Onlooker(ABC):
    """An observer that needs no events of states without changes.

    An event costs ten times as much as a note that a state ended. If all observers are onlookers, `ChunkReady` is not
    sent, and for states without secrets calls of `began` and `ended` replace the events. The row is the engine's
    object: do not change or show it.
    """

    @abstractmethod
    def on_event(self, event: AnyEvent) -> None:
        """Take an event."""

    def __call__(self, event: AnyEvent) -> None:
        """Take an event, as any observer."""
        self.on_event(event)

    def began(self, tag: str) -> None:  # noqa: B027 - to note nothing is the choice of an onlooker
        """Note that a state begins; called instead of `ChunkStarted`. By default, does nothing."""

    @abstractmethod
    def ended(self, tag: str, row: Row) -> bool:
        """Note that a state ended with this row and return True; or return False to get the event instead."""


class Announcer:
    """Calls ``observers`` with each event as ``shown``, in order, before anything else happens.

    The ``journal`` comes first, so no event is shown that is not recorded. An observer that raises gets no further
    events; ``notices`` reports it, and the run goes on. If all observers are onlookers, events that none of them needs
    are not made.
    """

    def __init__(
        self,
        run_id: str,
        observers: Sequence[Callable[[AnyEvent], None]],
        shown: RedactedPlan,
        clock: Callable[[], float],
        began: float,
        *,
        journal: Keeper | None = None,
    ) -> None:
        self.run_id = run_id
        self.shown = shown
        self.notices: list[str] = []
        self.began = began
        self._journal = journal
        self._observers = list(observers)
        self._clock = clock
        self._sequence = 0
        self._line = bytearray()
        self._groups: dict[int, str] = {}
        self.behind: deque[Iterator[bool]] = deque()
        """Events that are still to be sent. No state starts before."""
        self._onlookers = [each for each in observers if isinstance(each, Onlooker)]
        self._note_begin = [each for each in self._onlookers if type(each).began is not Onlooker.began]
        self._count()

    def _count(self) -> None:
        self.shows: bool = len(self._observers) > len(self._onlookers)
        """Whether any observer needs every event."""
        self.heard: bool = self._journal is not None or bool(self._observers)
        """Whether anything receives the events."""

    def emit(
        self, kind: type[AnyEvent], to: Sequence[Callable[[AnyEvent], None]] | None = None, /, **fields: Any
    ) -> None:
        """Make an event and send it ``to`` these observers (default: all)."""
        event = kind(
            run_id=self.run_id,
            seq=self._sequence,
            time=self._seconds(),
            **fields,
        )
        event = self.shown.event(event)
        self._sequence += 1
        if self._journal is not None:
            self._journal.on_event(event)
        for observer in self._observers if to is None else to:
            try:
                observer(event)
            except BaseException as error:  # noqa: BLE001 - whatever a program's observer does, states go on
                self._drop(observer, error, event.seq, kind)

    def _drop(self, observer: Any, error: BaseException, seq: int, kind: type[AnyEvent]) -> None:
        self._observers = [known for known in self._observers if known is not observer]
        self._onlookers = [known for known in self._onlookers if known is not observer]
        self._note_begin = [known for known in self._note_begin if known is not observer]
        self._count()
        self.notices.append(
            f"The observer {_name(observer)} raised {type(error).__name__} at event {seq} ({kind.__name__}) "
            f"and gets no further events{_error_text(error)}"
        )

    def started(self, chunk: LowChunk, *, check: bool) -> None:
        """Send `ChunkStarted`."""
        if not self.shows and self.shown.is_open(chunk):
            journal, line = self._journal, self._line
            at = self._sequence, self._seconds()
            if journal is None or started_line(line, self.run_id, *at, chunk, check=check):
                self._sequence += 1
                if journal is not None:
                    journal.write(line)
                if self._note_begin and not check:
                    self._tell_began(chunk.tag)
                return
        if self.heard:
            self.emit(
                ChunkStarted,
                tag=chunk.tag,
                function=chunk.function,
                id=chunk.id,
                name=chunk.name,
                sls=chunk.sls,
                check=check,
            )

    def finished(self, chunk: LowChunk, tag: str, row: Row, why: str, *, check: bool, subs: Mapping[str, Row]) -> None:
        """Send `ChunkFinished`. Observers get copies, so that they cannot change a row."""
        wanted: Sequence[Callable[[AnyEvent], None]] | None = None
        if not self.shows and not subs and self.shown.is_open(chunk):
            journal, line = self._journal, self._line
            at = self._sequence, self._seconds()
            if journal is None or finished_line(line, self.run_id, *at, tag, row=row, why=why, check=check):
                wanted = () if check else self._tell_ended(tag, row)
                if not wanted:
                    self._sequence += 1
                    if journal is not None:
                        journal.write(line)
                    return
        if self.heard:
            subs = fresh(dict(subs))
            self.emit(ChunkFinished, wanted, tag=tag, row=fresh(row), why=why, check=check, sub_rows=subs)

    def _tell_began(self, tag: str) -> None:
        for onlooker in self._note_begin:
            try:
                onlooker.began(tag)
            except BaseException as error:  # noqa: BLE001 - as in `emit`
                self._drop(onlooker, error, self._sequence - 1, ChunkStarted)

    def _tell_ended(self, tag: str, row: Row) -> list[Onlooker]:
        """Notify the onlookers that a state ended; return those that need its event."""
        wanted = []
        for onlooker in self._onlookers:
            try:
                if not onlooker.ended(tag, row):
                    wanted.append(onlooker)
            except BaseException as error:  # noqa: BLE001 - as in `emit`
                self._drop(onlooker, error, self._sequence, ChunkFinished)
        return wanted

    def _seconds(self) -> float:
        return int((self._clock() - self.began) * 1e6) / 1e6  # a quarter of the time of round()

    def keep(self, shared: SharedWork) -> None:
        """Write the effects of a call on other states to the journal, without secrets."""
        if self._journal is None:
            return
        shown = self.shown
        self._journal.record(
            SharedWork(
                tag=shown.tag(shared.tag),
                rows={shown.tag(tag): shown.row(tag, row) for tag, row in shared.rows.items()},
                changes={
                    shown.tag(tag): (shown.row(tag, {"changes": changes})["changes"], said)
                    for tag, (changes, said) in shared.changes.items()
                },
                kept=shown.value(shared.kept),
            )
        )

    def ready(self, machine: Machine, node: int, released: list[int], tag: str) -> None:
        """Send `ChunkReady` for each released node, or begin to: `catch_up` sends the rest of many.

        For a group, its members name the chunk that released the group.
        """
        is_first = not self.behind
        self.behind.append(self._ready(machine, node, released, tag))
        if is_first:
            self.catch_up()

    def catch_up(self) -> None:
        """Send some of the events that are behind."""
        for _ in range(_AT_ONCE):
            if not self.behind:
                break
            if not next(self.behind[0], False):
                self.behind.popleft()

    def _ready(self, machine: Machine, node: int, released: list[int], tag: str) -> Iterator[bool]:
        """Send the events. Yields True after each of many small steps."""
        plan = machine.plan
        after = tag
        edges: dict[int, _Reasons] = {}
        if released:
            yield from _edges(machine, node, released, edges)
        if plan.nodes[node].kind is NodeKind.GROUP:
            after = self._groups.pop(node, "")
        for other in released:
            what = plan.nodes[other]
            if what.kind is NodeKind.GROUP:
                self._groups[other] = after
            else:
                # Only a contingent edge, or its proof, can have released a node that no edge leads to.
                sources, resources = edges[other] if edges[other][0] else ((FOOTPRINT,), ())
                self.emit(
                    ChunkReady,
                    tag=plan.chunks[what.chunk].tag,
                    after=after,
                    because=sources,
                    resources=resources,
                    check=what.kind is NodeKind.CHECK,
                )
            yield True


_Reasons = tuple[tuple[str, ...], tuple[str, ...]]
"""Sources and resources of edges."""


def _edges(machine: Machine, node: int, released: list[int], found: dict[int, _Reasons]) -> Iterator[bool]:
    """Find why nodes waited for ``node``, edge by edge: the labels of edges from it, or from sets it completed."""
    from asyncstate.model.walk import edges_beyond, is_grouped  # noqa: PLC0415 - where a state waited for another

    dag, nodes = machine.plan.dag, machine.plan.nodes
    found.update(dict.fromkeys(released, ((), ())))

    def is_complete(joint: int) -> bool:
        return nodes[joint].kind in TIMELESS and machine.outcomes.of(joint) is not None

    for at, successor in edges_beyond([node], dag.successors, is_complete):
        if successor in found:
            sources, resources = found[successor]
            grouped = at != node and is_grouped(machine.plan, node, at)
            more = (GROUP,) if grouped else dag.sources(at, successor)
            found[successor] = _union(sources, more), _union(resources, dag.resources(at, successor))
        yield True


def _union(known: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(known + more)) if known else more


def _name(observer: Any) -> str:
    name = getattr(observer, "__qualname__", None)
    return name if type(name) is str else type(observer).__qualname__


def _error_text(error: BaseException) -> str:
    try:
        return f": {error}"
    except BaseException:  # noqa: BLE001 - an exception whose text raises has none
        return ""


class Recorder:
    """Collects rows: ``rows`` by state tag, and in ``subs`` the rows of sub-states by the tag of their state.

    These rows still contain secrets, which are hidden where rows are shown.
    """

    def __init__(self, plan: Plan, announcer: Announcer) -> None:
        self.rows: dict[str, Row] = {}
        self.subs: dict[str, dict[str, Row]] = {}
        self._plan = plan
        self._announcer = announcer

    def record(self, chunk: LowChunk, row: Row, why: str, *, check: bool = False, keep: bool = True) -> None:
        """Record the row of a chunk that ended and the rows of its sub-states, and send its events.

        ``keep=False`` only sends the events: a check's row is recorded only if the check skipped the chunk. Events get
        copies, so that an observer cannot change a row.
        """
        tag = chunk.tag
        if type(row) is CarriedRow:
            subs, row = row.sub_rows, dict(row)
        else:
            subs = self._sub_rows(chunk, row) if "sub_state_run" in row else {}
        if keep:
            self.rows[tag] = row
            if subs:
                self.subs[tag] = subs
        if self._announcer.heard:
            self._announcer.finished(chunk, tag, row, why, check=check, subs=subs)
            if "fire_event" in chunk.args:
                self._fire(chunk, row)

    def _sub_rows(self, chunk: LowChunk, row: Row) -> dict[str, Row]:
        subs = sub_rows(row, chunk.as_low(), (other.tag for other in self._plan.chunks))
        if chunk.args.get("no_log"):
            for tag in subs:
                self._announcer.shown.hush(tag, chunk.id)
        return subs

    def _fire(self, chunk: LowChunk, row: Row) -> None:
        """Send the event that ``fire_event`` requests, under the tag Salt would use."""
        wanted = chunk.args["fire_event"]
        if wanted is True or (isinstance(wanted, str) and wanted):
            shown = self._announcer.shown
            name = f"salt/state_result/{self._announcer.run_id}/{shown.state_event(chunk, wanted)}"
            self._announcer.emit(StateEvent, name=name, row=shown.row(chunk.tag, fresh(row)))

    def report(
        self, check_ranks: Mapping[int, int], not_started: list[int], *, cut_short: bool, **fields: Any
    ) -> RunReport:
        """Number the rows and return the report of the run. ``not_started`` are the nodes that were not started.

        ``check_ranks`` is the rank of the prereq check of each chunk that its check skipped. ``fields`` are the other
        fields of the report.
        """
        plan = self._plan
        broken = {} if cut_short else _broken_listeners(plan, self.rows)
        rows = number_rows(plan, {**self.rows, **broken}, self.subs, check_ranks)
        tags = dict.fromkeys(plan.chunk_of(node).tag for node in not_started)
        return RunReport(
            rows=rows,
            not_started=tuple(tag for tag in tags if tag not in rows),
            handled=_handled_failures(plan, self.rows),
            digest=plan.digest,
            busy_ms=round(sum(row["duration"] for row in rows.values() if isinstance(row.get("duration"), float)), 3),
            **fields,
        )

    def untold(self, report: RunReport) -> tuple[dict[str, Row], tuple[int, ...]]:
        """Return the rows of a report that its events do not contain, and `RunFinished.order`."""
        rows, subs = self.rows, self.subs
        tags = [tag for parent in rows for tag in (parent, *subs.get(parent, ()))] if subs else list(rows)
        once = {tag for tag, times in Counter(tags).items() if times == 1} if subs else rows.keys()
        others = {tag: row for tag, row in report.rows.items() if tag not in once or tag in self._plan.rows}
        place = dict(zip(dict.fromkeys((*tags, *others)), count(), strict=False))
        order = tuple(map(place.__getitem__, report.rows))
        return others, () if order == tuple(range(len(order))) else order


def _broken_listeners(plan: Plan, rows: Mapping[str, Row]) -> dict[str, Row]:
    """Return the rows of missing listeners that would have been called."""
    return {
        listener.tag: dict(listener.row)
        for listener in plan.broken_listeners
        if any(rows.get(plan.chunks[target].tag, _UNCHANGED)["changes"] for target in listener.targets)
    }


_UNCHANGED: Row = {"changes": {}}


def _handled_failures(plan: Plan, rows: Mapping[str, Row]) -> tuple[str, ...]:
    """Return the tags of failures with ``onfail_stop: false`` handlers that all ran and succeeded."""
    verdicts: dict[str, list[bool]] = {}
    for chunk in plan.chunks:
        if chunk.args.get("onfail_stop") is not False:
            continue
        row = rows.get(chunk.tag)
        good = row is not None and row["result"] is True and row.get(STATE_RAN, True)
        for requisite in plan.requisites[chunk.index]:
            if requisite.kind.family is not RequisiteKind.ONFAIL:
                continue
            for node in plan.nodes[requisite.node].members or (requisite.node,):
                if plan.nodes[node].chunk >= 0:
                    verdicts.setdefault(plan.chunks[plan.nodes[node].chunk].tag, []).append(bool(good))
    return tuple(tag for tag, goods in verdicts.items() if all(goods) and tag in rows and rows[tag]["result"] is False)
