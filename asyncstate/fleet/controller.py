"""Controller: one run across hosts, from the offers to the last report.

    targets ─▶ offers ─▶ plans ─▶ join ─▶ goes ─▶ reports, leases ─▶ record

Nothing flows through it that hosts wait for, but for notices of loss. If it dies, the hosts go on with what they can.
"""

from __future__ import annotations

import math
import re
import signal
import time
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec

from asyncstate.errors import BoardError, CompileError, FleetError, Issue, MessageRefused
from asyncstate.fleet import subjects
from asyncstate.fleet.board import first_error
from asyncstate.fleet.join import join
from asyncstate.fleet.protocol import (
    Call,
    Go,
    HostPlan,
    Lease,
    Lost,
    Offer,
    Options,
    Pulse,
    Report,
    RunRecord,
    decode,
    encode,
    require_fields,
)
from asyncstate.fleet.records import host_infos, stop_hosts
from asyncstate.fleet.tale import HostEnd, Observer, Tale
from asyncstate.logs.loggers import get_logger
from asyncstate.nearest import nearest
from asyncstate.sources.matchers import Matcher

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from asyncstate.fleet.board import Board
    from asyncstate.fleet.protocol import Signer

log: logging.Logger = get_logger(__name__)

_PULSE: Final = 5.0
"""Seconds between two signs of the controller, at most: hosts with little patience hear of it more often."""
_MISSED: Final = 3.0
"""A host is lost that let this many intervals of its lease pass."""
_NAMES: Final = re.compile(r"(?:L@)?[^\s@*?\[\]()]+")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What an operator asks for: SLS (none: the highstate), or the ``call`` of a function.

    ``hosts`` are those that fit the target, if that is known.

    Hosts have ``deadline`` seconds for their plans. ``patience`` is that of the offers: how long a host waits for its
    go, or goes on waiting for others without a sign of the controller; and how long the run waits for a lost host if
    states are to wait for it.
    """

    target: str
    hosts: tuple[str, ...] = ()
    sls: tuple[str, ...] = ()
    call: Call | None = None
    options: Options = Options()
    deadline: float = 60.0
    patience: float = 600.0


class FleetEnd(msgspec.Struct, frozen=True):
    """How a run ended, by host; ``issues`` say why nothing began. ``cancelled`` is the reason of a cancellation."""

    run: str
    hosts: dict[str, HostEnd]
    issues: tuple[Issue, ...] = ()
    cancelled: str = ""

    @property
    def exit_code(self) -> int:
        """0: success on all hosts; 1: nothing began; 2: a state failed, or a host; else that of a cancellation."""
        if self.issues:
            return 1
        if self.cancelled in signal.Signals.__members__:
            return 128 + signal.Signals[self.cancelled]
        if self.cancelled:
            return 125
        return 2 if any(each.exit_code for each in self.hosts.values()) else 0


class Controller:
    """One run. ``nodegroups`` are those of the configuration, ``wall`` the time of day of the operator."""

    def __init__(
        self,
        board: Board,
        signer: Signer,
        run: str,
        request: Request,
        observer: Observer | None = None,
        *,
        nodegroups: Mapping[str, Any] | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._board = board
        self._signer = signer
        self._run = run
        self._request = request
        self._observer = observer or Observer()
        self._nodegroups = dict(nodegroups or {})
        self._wall = wall
        self._grains: dict[str, dict[str, Any]] = {}
        self._plans: dict[str, HostPlan] = {}
        self._goes: dict[str, Go] = {}
        self._ends: dict[str, HostEnd] = {}
        self._news = anyio.Event()
        self._cancelled = ""
        self._now = False
        self._record = RunRecord(run=run, target=request.target)
        self._leases = _Leases()

    def cancel(self, reason: str, *, now: bool = False) -> None:
        """Let all hosts start nothing more; with ``now``, end what runs, too."""
        self._cancelled = self._cancelled or reason
        self._now = self._now or now
        self._news.set()

    async def drive(self) -> FleetEnd:
        """Do the run. Raises BoardError; FleetError if no host fits the target."""
        return await self._unwrapped(self._drive())

    async def take_up(self, record: RunRecord) -> FleetEnd:
        """Take up a run whose controller has died, where it was. Raises BoardError."""
        return await self._unwrapped(self._take_up(record))

    async def _unwrapped(self, driving: Awaitable[FleetEnd]) -> FleetEnd:
        lost: list[BoardError] = []
        end: list[FleetEnd] = []
        try:
            end.append(await driving)
        except* BoardError as errors:
            lost.append(first_error(errors))
        if lost:
            raise lost[0]
        return end[0]

    async def _drive(self) -> FleetEnd:
        self._grains = {host: info.grains for host, info in (await host_infos(self._board)).items()}
        hosts = list(self._request.hosts) or self._targets()
        await self._begin(hosts)
        return await self._go_on(hosts)

    async def _take_up(self, record: RunRecord) -> FleetEnd:
        self._grains = {host: info.grains for host, info in (await host_infos(self._board)).items()}
        self._record = record
        return await self._go_on(list(record.hosts))

    async def _go_on(self, hosts: list[str]) -> FleetEnd:
        async with anyio.create_task_group() as group:
            group.start_soon(self._beat)
            issues = await self._agree(hosts)
            if not issues:
                await self._gather()
            group.cancel_scope.cancel()
        end = FleetEnd(self._run, dict(sorted(self._ends.items())), tuple(issues), self._cancelled)
        self._record = msgspec.structs.replace(self._record, ended=self._wall(), exit_code=end.exit_code)
        await self._board.put(subjects.run(self._run), encode(self._record))
        return end

    # who

    def _targets(self) -> list[str]:
        target = self._request.target
        hosts = {host for host in self._grains if self._fits(target, host)}
        if _NAMES.fullmatch(target):  # a host that is named is meant, even if it has never been seen
            hosts |= set(target.removeprefix("L@").split(",")) - {""} if not hosts or target.startswith("L@") else set()
        if hosts and (hosts & self._grains.keys() or target.startswith("L@")):
            return sorted(hosts)
        near = nearest(target, list(self._grains))
        known = f"known are {', '.join(sorted(self._grains)[:20])}" if self._grains else "no host has ever been there"
        raise FleetError(f"no host fits the target {target!r}: {f'did you mean {near!r}?' if near else known}")

    def _fits(self, expression: str, host: str) -> bool:
        return Matcher({"id": host, "nodegroups": self._nodegroups}, self._grains.get(host, {}), {}).compound(
            expression
        )

    # the beginning

    async def _begin(self, hosts: list[str]) -> None:
        request = self._request
        self._record = RunRecord(
            run=self._run,
            target=request.target,
            sls=request.sls,
            function=request.call.function if request.call is not None else "",
            options=msgspec.structs.replace(request.options, pillar={}),
            hosts=tuple(hosts),
            begun=self._wall(),
            patience=request.patience,
        )
        await self._board.put(subjects.run(self._run), encode(self._record))
        issued = self._wall()
        for host in hosts:
            offer = Offer(
                run=self._run,
                host=host,
                sls=request.sls,
                call=request.call,
                options=request.options,
                issued=issued,
                patience=request.patience,
            )
            await self._tell(subjects.offer(host, self._run), offer)

    async def _tell(self, key: str, message: Any) -> None:
        await self._board.put(key, self._signer.seal(encode(message), key))

    async def _beat(self) -> None:
        beat, interval = 0, min(_PULSE, self._request.patience / _MISSED)
        while True:
            await self._board.put(subjects.pulse(self._run), encode(Pulse(run=self._run, beat=beat)))
            self._leases.attend(interval)
            self._news.set()
            beat += 1
            await anyio.sleep(interval)

    async def _agree(self, hosts: list[str]) -> list[Issue]:
        """Gather the plans and join them; return what is wrong. Hosts without a plan have failed.

        Once hosts were joined, it is they whose plans are joined again: the same plans give the same goes.
        """
        await self._gather_plans(set(self._record.joined or hosts))
        for host in hosts:
            plan = self._plans.get(host)
            if plan is None and not self._cancelled:
                self._end(host, HostEnd(2, f"did not answer within {self._request.deadline:.0f} s"))
            elif plan is not None and plan.mistakes:
                said = "\n".join(str(Issue(each.message, each.file, each.line, each.hint)) for each in plan.mistakes)
                self._end(host, HostEnd(2, said))
        joined = self._record.joined or tuple(self._plans)
        sound = {host: plan for host, plan in self._plans.items() if not plan.mistakes and host in joined}
        issues: list[Issue] = []
        if not self._cancelled and sound:
            try:
                goes = join(sound, lambda expression: [host for host in sound if self._fits(expression, host)])
                self._goes = goes.goes
                self._observer.joined(sound, self._goes)
            except CompileError as error:
                issues = list(error.issues)
            except MessageRefused as error:
                issues = [Issue(str(error))]
        if issues or self._cancelled:
            await self._stop(hosts, self._cancelled or "the plans of the hosts do not fit together", now=False)
            for host in sound:
                self._end(host, HostEnd(1 if issues else 125, "nothing began"))
            self._goes = {}
            return issues
        late = [host for host in hosts if host not in self._plans]
        await self._stop(late, "the run began without this host: its plan came too late", now=False)
        self._record = msgspec.structs.replace(self._record, joined=tuple(self._goes))
        await self._board.put(subjects.run(self._run), encode(self._record))
        for host, go in self._goes.items():
            await self._tell(subjects.go(host, self._run), go)
        return []

    async def _gather_plans(self, missing: set[str]) -> None:
        async def read() -> None:
            async for entry in self._board.watch(subjects.plans(self._run)):
                try:
                    _, host, _ = subjects.parts(entry.key)
                    plan = decode(entry.value, HostPlan)
                    require_fields(plan, run=self._run, host=host)
                except (MessageRefused, ValueError) as error:
                    log.warning("A plan at %s is refused: %s", entry.key, error)
                    continue
                if host in missing or host in self._plans:
                    self._plans[host] = plan
                    self._observer.planned(host, plan)
                    missing.discard(host)
                if not missing:
                    group.cancel_scope.cancel()
                    return

        async def cancelled() -> None:
            while not self._cancelled:
                await self._wait(math.inf)
            group.cancel_scope.cancel()

        with anyio.move_on_after(self._request.deadline):
            async with anyio.create_task_group() as group:
                group.start_soon(read)
                group.start_soon(cancelled)

    async def _stop(self, hosts: list[str], reason: str, *, now: bool) -> None:
        await stop_hosts(self._board, self._signer, self._run, hosts, reason, now=now)

    # the run

    async def _gather(self) -> None:
        """Take reports until every host has ended or is lost for good."""
        watch = self._leases
        watch.expect(self._goes)
        async with anyio.create_task_group() as group:
            group.start_soon(self._read_reports, watch)
            group.start_soon(self._read_leases, watch)
            told: tuple[bool, bool] = (False, False)
            told_lost: set[str] = set()
            told_over: set[str] = set()
            while self._open():
                await self._wait(math.inf)
                if self._cancelled and told != (True, self._now):
                    told = (True, self._now)
                    await self._stop(self._open(), self._cancelled, now=self._now)
                for host, seconds in watch.newly_lost(self._open()):
                    log.warning("Host %s is lost: there was no sign of it for %.0f s", host, seconds)
                    self._observer.lost(host, seconds)
                await self._tell_over(told_over)
                await self._give_up(watch, told_lost)
            group.cancel_scope.cancel()
        gone = [host for host in self._goes if host in watch.lost and self._ends[host].why]
        await self._stop(gone, "the run ended without this host: it was lost", now=False)

    def _open(self) -> list[str]:
        return [host for host in self._goes if host not in self._ends]

    async def _wait(self, seconds: float) -> None:
        """Wait for news, at most this long."""
        with anyio.move_on_after(seconds):
            await self._news.wait()
        self._news = anyio.Event()

    async def _give_up(self, watch: _Leases, told: set[str]) -> None:
        """Tell those who wait for a lost host, and end its part once nobody else is waited for.

        Until then it may come back. If states are to wait for lost hosts, those have the patience of the run first.
        """
        patience = self._request.patience if self._request.options.on_lost == "wait" else 0.0
        open_ = self._open()
        told &= watch.lost
        for host in open_:
            if host in watch.lost and host not in told and watch.silence(host) >= patience:
                told.add(host)
                await self._tell_lost(host, watch.silence(host))
        if all(host in told for host in open_):
            for host in open_:
                self._end(host, HostEnd(2, f"lost: there was no sign of it for {watch.silence(host):.0f} s"))

    async def _tell_over(self, told: set[str]) -> None:
        """Tell those who wait for a host whose part ended without a run to report: it sends them nothing more."""
        for host, end in list(self._ends.items()):
            if end.why and host in self._goes and host not in told:
                told.add(host)
                await self._tell_lost(host, 0.0, end.why)

    async def _tell_lost(self, host: str, seconds: float, why: str = "") -> None:
        readers = {reader for named in self._goes[host].readers.values() for reader in named}
        for reader in sorted(readers):
            notice = Lost(run=self._run, host=reader, lost=host, seconds=seconds, why=why)
            await self._tell(subjects.lost(reader, self._run, host), notice)

    def _end(self, host: str, end: HostEnd) -> None:
        if host not in self._ends:
            self._ends[host] = end
            self._observer.ended(host, end)
            self._news.set()

    async def _read_reports(self, watch: _Leases) -> None:
        tales: dict[str, Tale] = {}
        async for message in self._board.messages(subjects.reports(self._run)):
            try:
                _, host, _ = subjects.parts(message.subject)
                report = decode(message.data, Report)
                require_fields(report, run=self._run, host=host)
                if host in self._ends or host not in self._goes:
                    continue
                watch.seen(host)
                tale = tales.setdefault(host, Tale(host, self._observer))
                end = tale.add(report, message.stored)
            except (MessageRefused, ValueError) as error:
                log.warning("A report at %s is refused: %s", message.subject, error)
                continue
            if end is not None:
                self._end(host, end)

    async def _read_leases(self, watch: _Leases) -> None:
        async for entry in self._board.watch(subjects.lease()):
            try:
                _, host = subjects.parts(entry.key)
                lease = decode(entry.value, Lease)
                require_fields(lease, run="", host=host)
            except (MessageRefused, ValueError) as error:
                log.warning("A lease at %s is refused: %s", entry.key, error)
                continue
            if host in self._goes:
                watch.renewed(host, lease.interval)
                self._news.set()


class _Leases:
    """When there was a sign of each host, by the clock of this process.

    The silence of hosts counts only while this process hears: not while it is stopped, or the board is out of reach.
    """

    def __init__(self) -> None:
        self._signs: dict[str, float] = {}
        self._intervals: dict[str, float] = {}
        self._heard = 0.0
        self.lost: set[str] = set()

    def expect(self, hosts: Iterable[str]) -> None:
        """Begin to wait for signs of these hosts."""
        self._heard = now = anyio.current_time()
        self._signs = dict.fromkeys(hosts, now)
        self._intervals = dict.fromkeys(self._signs, 10.0)

    def attend(self, interval: float) -> None:
        """Note that the board answers now, as it should do after each ``interval``."""
        now = anyio.current_time()
        if now - self._heard > max(2 * interval, _PULSE):
            self._signs = {host: sign if host in self.lost else now for host, sign in self._signs.items()}
        self._heard = now

    def renewed(self, host: str, interval: float) -> None:
        """Note a sign of a host; the next comes within ``interval`` seconds."""
        self._intervals[host] = min(max(interval, 0.01), 3600.0)
        self.seen(host)

    def seen(self, host: str) -> None:
        """Note a sign of a host."""
        self._signs[host] = anyio.current_time()
        self.lost.discard(host)

    def silence(self, host: str) -> float:
        """Return the seconds since the last sign of a host, up to the last time that the board answered."""
        return max(self._heard - self._signs[host], 0.0)

    def _limit(self, host: str) -> float:
        return _MISSED * self._intervals[host]

    def newly_lost(self, open_: list[str]) -> list[tuple[str, float]]:
        """Return the hosts among these that have just been lost, with the seconds of their silence."""
        found = [
            (host, self.silence(host))
            for host in open_
            if host not in self.lost and self.silence(host) >= self._limit(host)
        ]
        self.lost.update(host for host, _ in found)
        return found
