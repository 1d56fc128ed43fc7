"""The event stream of a run, as an operator reads it from the hosts' reports: each event once, in order."""

from __future__ import annotations

import signal
from contextlib import aclosing
from typing import TYPE_CHECKING, Final

import anyio
import msgspec

from asyncstate.errors import AsyncStateError, Issue
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.protocol import FINISHED, Report, decode, require_fields
from asyncstate.journal.entry import event_of
from asyncstate.logs import get_logger
from asyncstate.model.chunk import parse_tag

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterable, Mapping

    from asyncstate.extras.fleet.board import Board
    from asyncstate.extras.fleet.protocol import Go, HostPlan
    from asyncstate.model.event import AnyEvent
    from asyncstate.model.result import Row

log: logging.Logger = get_logger(__name__)

QUIET: Final = 5.0
"""Seconds of silence after which the board has no more reports of a run; at first, four times as long."""
CANCELLED: Final = 125
"""The exit code of a run that was cancelled, by no signal."""
_MOST_EARLY: Final = 1000
"""The number of a host's reports that may be kept until earlier ones arrive."""


class HostEnd(msgspec.Struct, frozen=True):
    """The end of a host's part. ``why`` is the reason of a failure without a report, else "".

    ``passed_over``: it did not begin because other hosts had failed.
    """

    exit_code: int
    why: str = ""
    passed_over: bool = False


class FleetEnd(msgspec.Struct, frozen=True):
    """The end of a run, by host; ``issues`` prevented its start, ``cancelled`` is the reason of a cancellation."""

    run: str
    hosts: dict[str, HostEnd]
    issues: tuple[Issue, ...] = ()
    cancelled: str = ""

    @property
    def exit_code(self) -> int:
        """0: success on all hosts; 1: no host has a plan; 2: a state or a host failed; else the cancellation's code."""
        codes = {each.exit_code for each in self.hosts.values()}
        if self.issues or codes == {1}:
            return 1
        if self.cancelled in signal.Signals.__members__:
            return 128 + signal.Signals[self.cancelled]
        if self.cancelled:
            return CANCELLED
        return 2 if any(codes) else 0


class Observer:
    """An observer of a run under way. All methods do nothing."""

    def planned(self, host: str, plan: HostPlan) -> None:
        """Note that a host has sent its plan."""

    def joined(self, plans: Mapping[str, HostPlan], goes: Mapping[str, Go]) -> None:
        """Note that the plans of these hosts were joined, with the states that each waits for."""

    def noted(self, words: str) -> None:
        """Take a note for the run's operator."""

    def begun(self, host: str, attempt: int) -> None:
        """Note that a host begins to report. Reports of an earlier attempt are void."""

    def event(self, host: str, event: AnyEvent) -> None:
        """Take an event of a host."""

    def told(self, host: str, time: float, stored: float) -> None:
        """Note that a host's events up to ``time`` of its run were stored at ``stored``, by the clock of the board."""

    def ended(self, host: str, end: HostEnd) -> None:
        """Note that the part of a host is over."""

    def lost(self, host: str, seconds: float) -> None:
        """Note that a host is lost."""


class Relay(Observer):
    """Forwards all calls to further observers, in order. Subclasses do more."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def planned(self, host: str, plan: HostPlan) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.planned(host, plan)

    def joined(self, plans: Mapping[str, HostPlan], goes: Mapping[str, Go]) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.joined(plans, goes)

    def noted(self, words: str) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.noted(words)

    def begun(self, host: str, attempt: int) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.begun(host, attempt)

    def event(self, host: str, event: AnyEvent) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.event(host, event)

    def told(self, host: str, time: float, stored: float) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.told(host, time, stored)

    def ended(self, host: str, end: HostEnd) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.ended(host, end)

    def lost(self, host: str, seconds: float) -> None:
        """Pass it on."""
        for observer in self._observers:
            observer.lost(host, seconds)


class Failures(Relay):
    """Calls ``failed`` with the host, once for each of its states that fails."""

    def __init__(self, observer: Observer, failed: Callable[[str], None]) -> None:
        super().__init__(observer)
        self._failed = failed

    def event(self, host: str, event: AnyEvent) -> None:
        """Call ``failed`` if a state failed, and pass it on."""
        if failed_state(event) is not None:
            self._failed(host)
        super().event(host, event)


def failed_state(event: AnyEvent) -> tuple[str, Row] | None:
    """Return the state that failed, or was held back, with this event, and its row; None if none did."""
    if event.ends is None:
        return None
    (tag, check), row = event.ends
    return (tag, row) if row["result"] is False and not check else None


class EventStream:
    """The events of one host in one run, from its reports in order. Each report counts once."""

    def __init__(self, host: str, observer: Observer) -> None:
        self._host = host
        self._observer = observer
        self._attempt = -1
        self._next = 0
        self._early: dict[int, tuple[Report, float]] = {}
        self._exit_code = 2
        self._running: dict[tuple[str, bool], None] = {}

    @property
    def running(self) -> list[str]:
        """The states that were running at the host's last report, as ``function: ID``."""
        return list(dict.fromkeys(_label(tag) for tag, _ in self._running))

    def add(self, report: Report, stored: float) -> HostEnd | None:
        """Take a report, and the time at which the board stored it; return the end of the part, if it has ended.

        Raises MessageRefused for a malformed event.
        """
        if report.attempt < 0 or report.seq < 0:
            raise MessageRefused(f"no report has the numbers {report.attempt}, {report.seq}")
        if report.attempt < self._attempt:
            return None
        if report.attempt > self._attempt:
            self._attempt, self._next, self._early = report.attempt, 0, {}
            self._running = {}
            self._observer.begun(self._host, report.attempt)
        if report.seq < self._next:  # it is read again; the number of an end had arrived although it seemed refused
            return self._end(report) if report.ended else None
        if report.seq < self._next + _MOST_EARLY or (report.ended and len(self._early) <= _MOST_EARLY):
            self._early[report.seq] = report, stored
        while self._next in self._early:
            current, stored = self._early.pop(self._next)
            self._next += 1
            for raw in current.events:
                time = self._tell(bytes(raw))
            if current.events:
                self._observer.told(self._host, time, stored)
            if current.ended:
                return self._end(current)
        return None

    def _end(self, last: Report) -> HostEnd:
        if last.lost > 0:
            self._exit_code = last.exit_code
            self._observer.noted(
                f"{self._host}: {last.lost} events of its report are lost, the server took no more of them. The "
                "journal of the host has them; `asyncstate fleet prune` makes room"
            )
        return HostEnd(self._exit_code) if last.ended == FINISHED else HostEnd(2, last.ended)

    def _tell(self, raw: bytes) -> float:
        """Pass an event to the observer; return its time."""
        try:
            event = event_of(raw)
        except AsyncStateError as error:
            raise MessageRefused(f"this is no event: {error}") from None
        if event is None:
            raise MessageRefused("this is no event that this version knows")
        if event.end_of_run is not None:
            self._exit_code = event.end_of_run
        if event.begins is not None:
            self._running[event.begins] = None
        if event.ends is not None:
            self._running.pop(event.ends[0], None)
        self._observer.event(self._host, event)
        return event.time


def _label(tag: str) -> str:
    try:
        parts = parse_tag(tag)
    except ValueError:  # a host may send anything
        return tag
    return f"{parts.state}.{parts.fun}: {parts.id}" + (f" ({parts.name})" if parts.name != parts.id else "")


async def read_event_streams(board: Board, run: str, hosts: Iterable[str], observer: Observer) -> dict[str, HostEnd]:
    """Pass the events of a run on the board to an observer; return the end of each host's part that has ended.

    It listens until all have ended, or nothing more comes. Raises BoardError.
    """
    missing, ends, streams = set(hosts), dict[str, HostEnd](), dict[str, EventStream]()

    def take(subject: str, data: bytes, stored: float) -> None:
        try:
            _, host, _ = subjects.parts(subject)
            report = decode(data, Report)
            require_fields(report, run=run, host=host)
            if host not in missing:
                return
            end = streams.setdefault(host, EventStream(host, observer)).add(report, stored)
        except (MessageRefused, ValueError) as error:
            log.warning("A report at %s is refused: %s", subject, error)
            return
        if end is not None:
            ends[host] = end
            missing.discard(host)
            observer.ended(host, end)

    for entry in await board.entries(subjects.ends(run)):
        take(entry.key, entry.value, 0.0)
    async with aclosing(board.messages(subjects.reports(run))) as messages:
        while missing:
            message = None
            with anyio.move_on_after(QUIET if streams else 4 * QUIET):
                message = await anext(messages, None)
            if message is None:
                break
            take(message.subject, message.data, message.stored)
    return ends
