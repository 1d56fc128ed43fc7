"""Controller: one run across hosts, from the offers to the last report.

    targets ─▶ offers ─▶ plans ─▶ join ─▶ goes, held back ─▶ goes, as hosts may begin ─▶ reports, leases ─▶ record

Hosts wait for the controller only for permissions and notices of loss. If it dies, they go on as far as they can. All
goes are on the board before the first host begins, so another controller can take over the run without plans.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final

import anyio
import msgspec

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.board import first_error
from asyncstate.extras.fleet.controller.event_stream import (
    CANCELLED,
    EventStream,
    Failures,
    FleetEnd,
    HostEnd,
    Observer,
)
from asyncstate.extras.fleet.controller.leases import Leases
from asyncstate.extras.fleet.controller.plans import Plans
from asyncstate.extras.fleet.controller.records import host_infos, operator_account, read_lease
from asyncstate.extras.fleet.controller.selection import Selection
from asyncstate.extras.fleet.controller.sender import Sender
from asyncstate.extras.fleet.errors import BoardError, MessageRefused
from asyncstate.extras.fleet.heartbeat import beat
from asyncstate.extras.fleet.join.join import Join
from asyncstate.extras.fleet.protocol import (
    Call,
    Go,
    Offer,
    Options,
    Reached,
    Report,
    Rollout,
    RunRecord,
    decode,
    encode,
    require_fields,
)
from asyncstate.extras.fleet.rollout.admission import Admission, notes, resolved
from asyncstate.extras.fleet.rollout.barriers import Barriers
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable, Mapping

    from asyncstate.errors import Issue
    from asyncstate.extras.fleet.board import Board
    from asyncstate.extras.fleet.protocol import Signer

log: logging.Logger = get_logger(__name__)

_QUIET: Final = 30.0
"""Seconds without a report after which dropped messages on the server may be stalling the run."""
_NAMED: Final = 5
"""The number of running states of a lost host that are named."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """An operator's request: SLS (none: the highstate), or the ``call`` of a function.

    ``hosts`` are the hosts that fit the target, if known already.

    Hosts have ``deadline`` seconds for their plans. A host waits ``patience`` seconds for its go, or
    for other hosts without a sign of the controller; the run waits as long for a lost host if states are to wait
    for it. With ``plans_only`` the run ends once the plans are joined: nothing runs.
    """

    target: str
    hosts: tuple[str, ...] = ()
    sls: tuple[str, ...] = ()
    call: Call | None = None
    options: Options = Options()
    rollout: Rollout = Rollout()
    deadline: float = 60.0
    patience: float = 600.0
    plans_only: bool = False


class Controller:
    """One run. ``nodegroups`` come from the configuration, ``wall`` is the operator's time of day."""

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
        self._selection = Selection({}, self._nodegroups)
        self._goes: dict[str, Go] = {}
        self._admission = Admission(())
        self._staged = False
        self._barriers = Barriers({})
        self._halted = (False, False)
        self._ends: dict[str, HostEnd] = {}
        self._news = anyio.Event()
        self._cancelled = ""
        self._now = False
        self._record = RunRecord(run=run, target=request.target)
        self._plans = Plans(board, self._record, self._observer.planned)
        self._leases = Leases()
        self._streams: dict[str, EventStream] = {}
        self._reported = 0.0
        self._reading = anyio.CancelScope()
        self._sought: set[str] = set()
        self._sender = Sender(board, signer, run)

    def cancel(self, reason: str, *, now: bool = False) -> None:
        """Tell all hosts to start nothing more; with ``now``, to end running states, too."""
        self._cancelled = self._cancelled or reason
        self._now = self._now or now
        self._news.set()

    async def abandon(self, reason: str) -> None:
        """Clean up after `drive` was cancelled: end running states on hosts, and record the end of the run."""
        if self._record.begun:
            await self._sender.stop(list(self._record.hosts), reason, now=True)
            await self._keep(ended=self._wall(), exit_code=CANCELLED)

    async def drive(self) -> FleetEnd:
        """Do the run. Raises BoardError; FleetError if no host fits the target."""
        return await self._unwrapped(self._drive())

    async def take_up(self, record: RunRecord) -> FleetEnd:
        """Take over a run whose controller has died, at its present point. Raises BoardError, MessageRefused."""
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
        known = await self._select()
        hosts = list(self._request.hosts) or known.targets(self._request.target)
        canaries = known.canaries(self._request.rollout.canary, hosts)
        self._record = msgspec.structs.replace(self._record, hosts=tuple(hosts), canaries=canaries)
        resolved(self._request.rollout, self._record)  # refuses an invalid number before any host is asked
        await self._begin(hosts)
        return await self._go_on(hosts)

    async def _select(self) -> Selection:
        grains = {host: info.grains for host, info in (await host_infos(self._board)).items()}
        self._selection = Selection(grains, self._nodegroups)
        return self._selection

    async def _take_up(self, record: RunRecord) -> FleetEnd:
        await self._select()
        self._record = record
        if record.turns:
            await self._take_over(list(record.hosts))
        return await self._go_on(list(record.hosts))

    async def _go_on(self, hosts: list[str]) -> FleetEnd:
        async with anyio.create_task_group() as group:
            group.start_soon(self._beat)
            issues = [] if self._record.turns else await self._agree(hosts)
            if not issues:
                await self._gather()
            group.cancel_scope.cancel()
        end = FleetEnd(self._run, dict(sorted(self._ends.items())), tuple(issues), self._cancelled)
        await self._keep(ended=self._wall(), exit_code=end.exit_code)
        return end

    # the beginning

    async def _begin(self, hosts: list[str]) -> None:
        request = self._request
        self._record = RunRecord(
            run=self._run,
            target=request.target,
            sls=request.sls,
            function=request.call.function if request.call is not None else "",
            options=msgspec.structs.replace(request.options, pillar={}),
            rollout=request.rollout,
            hosts=tuple(hosts),
            canaries=self._record.canaries,
            begun=self._wall(),
            by=operator_account(),
            patience=request.patience,
            plans_only=request.plans_only,
        )
        await self._board.put(subjects.run(self._run), encode(self._record))
        offer = Offer(
            run=self._run,
            sls=request.sls,
            call=request.call,
            options=request.options,
            issued=self._wall(),
            patience=request.patience,
        )
        await self._sender.offer(offer, hosts)

    async def _beat(self) -> None:
        await beat(self._board, self._run, self._request.patience, self._heard)

    def _heard(self, interval: float) -> None:
        self._leases.attend(interval)
        self._news.set()

    async def _agree(self, hosts: list[str]) -> list[Issue]:
        """Gather the plans and join them; return the mistakes. Hosts without a plan have failed."""
        plans = self._plans = Plans(self._board, self._record, self._observer.planned)
        await plans.gather(self._request.deadline, self._until_cancelled)
        self._end_without_plan(hosts, f"did not answer within {self._request.deadline:.0f} s")
        sound = plans.sound
        turns: tuple[tuple[str, ...], ...] = ()
        blocked: dict[str, str] = {}
        issues: list[Issue] = []
        if not self._cancelled and sound:
            joined = plans.join(self._selection.among)
            if isinstance(joined, Join):
                self._goes, turns, blocked = joined.goes, joined.turns, joined.blocked
                self._observer.joined({host: sound[host] for host in self._goes}, self._goes)
            else:
                issues = joined
        if issues or self._cancelled:
            await self._sender.stop(hosts, self._cancelled or "the plans of the hosts do not fit together")
            for host in sound:
                self._end(host, HostEnd(1 if issues else CANCELLED, "nothing began"))
            self._goes = {}
            return issues
        for words in plans.notes():
            self._observer.noted(words)
        await self._leave_out(hosts, blocked)
        if self._request.plans_only:
            await self._sender.stop(hosts, "only its plan was asked for")
            for host in sound:
                self._end(host, HostEnd(0))
            self._goes = {}
            return []
        for words in notes(turns, resolved(self._record.rollout, self._record)[0]):
            self._observer.noted(words)
        await self._sender.hold(self._goes)
        await self._keep(turns=turns)
        return []

    async def _leave_out(self, hosts: list[str], blocked: Mapping[str, str]) -> None:
        """Tell hosts that the run begins without them; ``blocked`` hosts wait for hosts without a plan."""
        plans = self._plans
        late = [host for host in hosts if host not in plans.known]
        await self._sender.stop(late, "the run began without this host: its plan came too late")
        for host, why in plans.refused.items():
            await self._sender.stop([host], f"the run began without this host: {why}")
        for host, why in blocked.items():
            await self._sender.stop([host], f"did not begin: {why}")
            self._end(host, HostEnd(2, f"did not begin: {why}"))

    def _end_without_plan(self, hosts: list[str], unheard: str) -> None:
        if self._cancelled:
            unheard = "had sent no plan when the run was cancelled"
        for host, why in self._plans.failures(hosts, unheard):
            self._end(host, HostEnd(1 if host in self._plans.known else 2, why))

    async def _keep(self, **changed: Any) -> None:
        self._record = msgspec.structs.replace(self._record, **changed)
        await self._board.put(subjects.run(self._run), encode(self._record))

    async def _take_over(self, hosts: list[str]) -> None:
        """Go on with the goes of another controller. Plans that hosts have sent since then do not count.

        Raises MessageRefused for goes that this operator has not signed.
        """
        self._plans = Plans(self._board, self._record, self._observer.planned)
        for entry in await self._board.entries(subjects.held(self._run)):
            _, _, host = subjects.parts(entry.key)
            self._goes[host] = decode(self._signer.open(entry.value, entry.key), Go)
        await self._plans.look()
        self._observer.joined(
            {host: plan for host, plan in self._plans.known.items() if host in self._goes}, self._goes
        )
        left_out = [host for host in hosts if host not in self._goes]
        self._end_without_plan(left_out, "did not answer in time")
        for host in left_out:
            self._end(host, HostEnd(2, "did not begin: its plan came too late, or it waits for a host without one"))

    async def _until_cancelled(self) -> None:
        while not self._cancelled:
            await self._wait(math.inf)

    # the run

    async def _gather(self) -> None:
        """Take reports until every host has ended or is lost for good."""
        watch = self._leases
        watch.expect(self._goes)
        self._reported = anyio.current_time()
        await self._prepare_admission()
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, watch)
            group.start_soon(self._read_leases, watch)
            if any(go.barriers for go in self._goes.values()):
                group.start_soon(self._read_reached)
            told: tuple[bool, bool] = (False, False)
            told_lost: set[str] = set()
            told_over: set[str] = set()
            told_ended: set[tuple[str, str]] = set()
            while self._open():
                await self._admit()
                await self._sender.open(self._barriers.opened())
                await self._wait(math.inf)
                if self._cancelled and told != (True, self._now):
                    told = (True, self._now)
                    await self._sender.stop(self._open(), self._cancelled, now=self._now)
                for host, seconds in watch.newly_lost(self._open()):
                    log.info("Host %s is lost: there was no sign of it for %.0f s", host, seconds)
                    self._observer.lost(host, seconds)
                await self._tell_over(told_over)
                if anyio.current_time() - self._reported >= _QUIET:
                    await self._go_on_without(watch, told_ended)
                await self._give_up(watch, told_lost, told_over)
            group.cancel_scope.cancel()
        gone = [host for host in self._goes if host in watch.lost and self._ends[host].why]
        await self._sender.stop(gone, "the run ended without this host: it was lost")

    async def _prepare_admission(self) -> None:
        """Set up the admission of hosts; hosts that began under another controller go on."""
        record = self._record
        batch, most = resolved(record.rollout, record)
        self._staged = bool(batch or record.canaries)
        self._admission = Admission(
            record.turns, batch=batch, canaries=record.canaries, most=most, halted=record.halted
        )
        self._barriers = Barriers(self._goes)
        for host, end in self._ends.items():
            self._admission.over(host, failed=bool(end.exit_code))
            self._barriers.over(host)
        began = {subjects.parts(entry.key)[1] for entry in await self._board.entries(subjects.goes(self._run))}
        await self._let_begin(self._admission.began(began))

    async def _let_begin(self, hosts: list[str]) -> None:
        await self._sender.let_begin({host: self._goes[host] for host in hosts})

    async def _admit(self) -> None:
        """Admit the hosts that may begin; end hosts that never will."""
        if self._cancelled:
            return
        await self._let_begin(self._admission.next())
        why = self._admission.halted
        if not why or self._halted == (True, self._admission.ends_all):
            return
        self._halted = (True, self._admission.ends_all)
        await self._keep(halted=why)
        pending = self._admission.pending
        await self._sender.stop(pending, f"did not begin: {why}")
        for host in pending:
            self._end(host, HostEnd(2, f"did not begin: {why}", passed_over=True))
        if self._admission.ends_all:
            await self._sender.stop(self._open(), why)

    async def _read_reached(self) -> None:
        async for entry in self._board.watch(subjects.all_reached(self._run)):
            try:
                _, host, *_ = subjects.parts(entry.key)
                reached = decode(entry.value, Reached)
                require_fields(reached, run=self._run, host=host)
            except (MessageRefused, ValueError) as error:
                log.warning("A message at %s is refused: %s", entry.key, error)
                continue
            self._barriers.reached(host, reached.order)
            self._news.set()

    def _failed(self, host: str) -> None:
        self._admission.failed(host)
        self._news.set()

    def _open(self) -> list[str]:
        return [host for host in self._goes if host not in self._ends]

    async def _wait(self, seconds: float) -> None:
        """Wait for news, at most this long."""
        with anyio.move_on_after(seconds):
            await self._news.wait()
        self._news = anyio.Event()

    async def _give_up(self, watch: Leases, told: set[str], told_over: set[str]) -> None:
        """Tell the hosts that wait for a lost host, and end its part once no other host is waited for.

        Until then it may come back. If states are to wait for lost hosts, the patience of the run has to pass first.
        """
        patience = self._request.patience if self._request.options.on_lost == "wait" else 0.0
        open_ = self._open()
        told &= watch.lost
        for host in open_:
            if host in watch.lost and host not in told and watch.silence(host) >= patience:
                told.add(host)
                await self._tell_lost(host, watch.silence(host))
                self._admission.failed(host)
                self._barriers.over(host)
                if self._staged:  # another host gets its place, so it must not go on when it is back
                    told_over.add(host)
                    await self._sender.stop([host], "it was lost, and its place was given to others")
                    self._end_lost(host, watch)
        if all(host in told for host in open_):
            for host in open_:
                self._end_lost(host, watch)

    def _end_lost(self, host: str, watch: Leases) -> None:
        running = self._streams[host].running if host in self._streams else []
        more = f" and {len(running) - _NAMED} more" if len(running) > _NAMED else ""
        under_way = f"; under way then: {', '.join(running[:_NAMED])}{more}" if running else ""
        self._end(host, HostEnd(2, f"lost: there was no sign of it for {watch.silence(host):.0f} s{under_way}"))

    async def _tell_over(self, told: set[str]) -> None:
        """Tell the hosts that wait for a host whose part ended without a run: it sends nothing more."""
        for host, end in list(self._ends.items()):
            if end.why and host in self._goes and host not in told:
                told.add(host)
                await self._tell_lost(host, 0.0, end.why)

    async def _go_on_without(self, watch: Leases, told: set[tuple[str, str]]) -> None:
        """End waits for messages that the server has dropped, as it does if a host writes too many.

        A report may also have been lost on the way here, so all are read anew first. Idle hosts get a list of the ended
        hosts, including hosts that left the run, and look for their rows.
        """
        over = set(watch.without_part(self._open()))
        for host in over & self._sought:
            self._end(host, HostEnd(2, "its part is over, but the server no longer has its last report"))
        if over - self._sought:
            self._sought |= over
            self._reported = anyio.current_time()
            self._reading.cancel()
        idle = {host for host in self._open() if host not in self._streams or not self._streams[host].running}
        for host in self._ends.keys() & self._goes.keys():
            readers = {reader for reader in idle & self._readers(host) if (host, reader) not in told}
            told |= {(host, reader) for reader in readers}
            await self._sender.lost(host, readers, 0.0, self._ends[host].why or "the server no longer has its result")

    async def _tell_lost(self, host: str, seconds: float, why: str = "") -> None:
        await self._sender.lost(host, self._readers(host), seconds, why)

    def _readers(self, host: str) -> set[str]:
        """Return the hosts that wait for states of a host."""
        return {reader for named in self._goes[host].readers.values() for reader in named}

    def _end(self, host: str, end: HostEnd) -> None:
        if host not in self._ends:
            self._ends[host] = end
            self._admission.over(host, failed=bool(end.exit_code))
            self._barriers.over(host)
            self._observer.ended(host, end)
            self._news.set()

    async def _read(self, watch: Leases) -> None:
        """Read the reports on the board, then new ones; begin again whenever ``_reading`` is cancelled."""
        while True:
            with anyio.CancelScope() as self._reading:
                async with anyio.create_task_group() as group:
                    group.start_soon(self._read_reports, watch)
                    group.start_soon(self._read_ends, watch)

    async def _read_reports(self, watch: Leases) -> None:
        async for message in self._board.messages(subjects.reports(self._run)):
            self._take_report(watch, message.subject, message.data, message.stored)

    async def _read_ends(self, watch: Leases) -> None:
        """Read last reports that the stream of reports refused."""
        async for entry in self._board.watch(subjects.ends(self._run)):
            self._take_report(watch, entry.key, entry.value, 0.0)

    def _take_report(self, watch: Leases, subject: str, data: bytes, stored: float) -> None:
        try:
            _, host, _ = subjects.parts(subject)
            report = decode(data, Report)
            require_fields(report, run=self._run, host=host)
            if host in self._ends or host not in self._goes:
                return
            watch.seen(host)
            self._reported = anyio.current_time()
            stream = self._streams.setdefault(host, EventStream(host, Failures(self._observer, self._failed)))
            end = stream.add(report, stored)
        except (MessageRefused, ValueError) as error:
            log.warning("A report at %s is refused: %s", subject, error)
            return
        if end is not None:
            self._end(host, end)

    async def _read_leases(self, watch: Leases) -> None:
        own = set(map(subjects.lease, self._goes))
        async for entry in self._board.watch(subjects.lease()):
            lease = read_lease(entry) if entry.key in own else None
            if lease is None:
                continue
            watch.note_part(lease, self._run)
            if words := watch.two_machines(lease):
                self._observer.noted(words)
            if watch.renewed(lease.host, lease.interval):
                self._news.set()
