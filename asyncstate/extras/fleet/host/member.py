"""Member: the part of one host in one run, from the offer to the last report.

offer ─▶ check ─▶ compile ─▶ plan out ─▶ wait for the go ─▶ check ─▶ run ─▶ rows and events out ─▶ end
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final, Protocol

import anyio
import msgspec

from asyncstate.errors import AsyncStateError, CompileError, FleetError, Issue, LockHeld
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.board import first_error
from asyncstate.extras.fleet.errors import BoardError, BoardRefused, MessageRefused
from asyncstate.extras.fleet.heartbeat import silence
from asyncstate.extras.fleet.host.mailbox import Mailbox
from asyncstate.extras.fleet.host.partition import host_plan, partition_of
from asyncstate.extras.fleet.host.peers import Peers
from asyncstate.extras.fleet.host.reporter import Reporter
from asyncstate.extras.fleet.host.station import Kept
from asyncstate.extras.fleet.protocol import (
    FINISHED,
    Go,
    HostPlan,
    Mistake,
    NodeResult,
    Stop,
    decode,
    encode,
    require_fields,
)
from asyncstate.logs import get_logger
from asyncstate.model.result import Outcome

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable, Sequence

    from asyncstate.extras.fleet.board import Board
    from asyncstate.extras.fleet.host.partition import Partition
    from asyncstate.extras.fleet.host.station import Prepared, Running, Station
    from asyncstate.extras.fleet.protocol import Offer, Verifier
    from asyncstate.model.event import AnyEvent
    from asyncstate.model.plan import Plan

log: logging.Logger = get_logger(__name__)

_PAUSE: Final = 5.0
_LONGEST_PAUSE: Final = 60.0
"""Seconds before the report of a part's end is retried: at first, and at most."""


class Shared(Protocol):
    """The interface shared by the parts of one host: its agent (`asyncstate.extras.fleet.host.agent.Agent`).

    ``running`` is the run whose states run now, "" if there is none; ``called`` are the runs of functions under way.
    """

    board: Board
    host: str
    station: Station
    verifier: Verifier
    draw: Callable[[], str]
    allow: Callable[[Offer, Plan], list[str]]
    running: str
    called: set[str]

    def accept(self, offer: Offer) -> str:
        """Return the reason to refuse an offer, else "". Raises MessageRefused for a possible repetition."""

    async def has_twin(self) -> bool:
        """Whether another machine renews the lease of this host: waits until it must have done so."""

    async def decline(self, run: str, why: str) -> None:
        """Tell the operator of a run the reason for refusing its offer, unless this host has answered it already."""

    def kept(self, offer: Offer) -> Kept | None:
        """Return the stored state of a run, None for a new one."""

    async def keep(self, kept: Kept) -> Kept:
        """Store the state of a run, on disk before it returns."""

    async def unless_running(self, task: Callable[[], Awaitable[None]]) -> None:
        """Do a task. If it gives up the board, running states come to their end before BoardError is raised."""

    def has_run(self, run: str) -> None:
        """Note that this host has finished with a run."""


def _words(error: BaseException) -> list[str]:
    """Return the messages of a group of errors, each once."""
    if isinstance(error, BaseExceptionGroup):
        return list(dict.fromkeys(words for each in error.exceptions for words in _words(each)))
    if isinstance(error, LockHeld):
        who = f" (process {error.pid}, since {error.since})" if error.pid else ""
        return [f"another run on this host{who} did not end within the --patience of this one"]
    if isinstance(error, AsyncStateError | OSError):
        return [str(error)]
    return [f"internal error; see its log: {type(error).__name__}: {error}"]


class _Over(Exception):
    """The part of this host ended before it ran; the text is the reason."""


class _OnTwin(Exception):
    """Another machine with the credentials of this host has sent the plan of this run, and reports for it."""


class Member:
    """The part of one host in one run."""

    def __init__(self, agent: Shared, offer: Offer) -> None:
        self._agent = agent
        self._board = agent.board
        self._offer = offer
        self._host = agent.host
        self._mail = Mailbox(agent.board, agent.host, offer.run)
        self._stop: Stop | None = None
        self._stopped = anyio.Event()
        self._running: Running | None = None
        self._readers: dict[str, tuple[str, ...]] = {}

    async def take_part(self) -> None:
        """Take part, to the last report; the last report of a failed part has the reason. Raises BoardError."""
        lost: list[BoardError] = []
        failed: list[BaseExceptionGroup[Exception]] = []
        try:
            await self._take_part()
        except* BoardRefused as errors:
            failed.append(errors)
        except* BoardError as errors:
            lost.append(first_error(errors))
        except* (AsyncStateError, OSError) as errors:
            failed.append(errors)
        except* Exception as errors:  # it would come again whenever the agent is started again
            log.exception("Internal error in the part of this host in run %s", self._offer.run)
            failed.append(errors)
        if lost:
            raise lost[0]
        for each in failed:
            waited = self._stop is not None and each.subgroup(LockHeld) is not None
            await self._fail(self._stop.reason if self._stop is not None and waited else "; ".join(_words(each)))

    async def _fail(self, why: str) -> None:
        """Report that the part failed as soon as the board takes it; give up if the disk of this host fails."""
        log.error("The part of this host in run %s failed: %s", self._offer.run, why)
        pause = _PAUSE
        while True:
            kept = self._agent.kept(self._offer) or Kept(offer=self._offer)
            if kept.ended:
                return
            try:
                if kept.go:
                    await self._end(kept, why)
                else:
                    await self._refuse(kept, [Issue(why)])
                return
            except BoardRefused as error:
                log.warning("That run %s is over cannot be told: %s", self._offer.run, error)
            except BoardError:
                raise
            except FleetError as error:
                log.error("That run %s is over cannot be kept: %s", self._offer.run, error)  # noqa: TRY400 - it is no fault
                return
            await anyio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _take_part(self) -> None:
        kept = self._agent.kept(self._offer)
        if kept is None:
            try:
                refused = self._agent.accept(self._offer)
            except MessageRefused as error:
                await self._agent.decline(self._offer.run, str(error))
                return
            kept = await self._agent.keep(Kept(offer=self._offer))
            called = self._offer.call.function if self._offer.call is not None else ""
            what = called or ", ".join(self._offer.sls) or "the highstate"
            log.info("Run %s is offered: %s", self._offer.run, what)
            if refused:
                await self._refuse(kept, [Issue(refused)])
                return
        async with anyio.create_task_group() as group:
            group.start_soon(self._mail.receive)
            group.start_soon(self._agent.unless_running, self._watch_stop)
            try:
                await self._prepare(kept)
            finally:
                self._agent.has_run(self._offer.run)
            group.cancel_scope.cancel()

    async def _watch_stop(self) -> None:
        async for entry in self._mail.entries("stop"):
            stop = self._read_stop(entry.key, entry.value)
            if stop is not None:
                self._stop = stop
                self._stopped.set()
                self._obey()

    def _read_stop(self, key: str, value: bytes) -> Stop | None:
        try:
            stop = decode(self._agent.verifier.open(value, key), Stop)
            require_fields(stop, run=self._offer.run, host=self._host)
        except MessageRefused as error:
            log.warning("A message at %s is refused: %s", key, error)
            return None
        return stop

    def _obey(self) -> None:
        if self._stop is not None and self._running is not None:
            if self._stop.now:
                self._running.cancel(self._stop.reason)
            else:
                self._running.stop(self._stop.reason)

    async def _prepare(self, kept: Kept) -> None:
        async with AsyncExitStack() as stack:
            try:
                prepared = await stack.enter_async_context(self._agent.station.prepare(self._offer))
                not_allowed = self._agent.allow(self._offer, prepared.plan)
            except CompileError as error:
                await self._refuse(kept, error.issues)
                return
            except AsyncStateError as error:
                await self._refuse(kept, [Issue(str(error))])
                return
            if not_allowed:
                await self._refuse(kept, list(map(Issue, not_allowed)))
                return
            try:
                kept = await self._agree(kept, prepared)
                part = partition_of(prepared.plan, prepared.shown, self._checked_go(kept), can_watch=prepared.can_watch)
                await self._run(kept, prepared, part)
            except BoardError:
                raise
            except _OnTwin:
                log.error("Another machine with the credentials of this host takes part in run %s", self._offer.run)  # noqa: TRY400 - it is no fault
                await self._agent.keep(msgspec.structs.replace(kept, ended="another machine takes part"))
            except (_Over, AsyncStateError) as error:
                await self._end(kept, str(error))

    async def _refuse(self, kept: Kept, issues: list[Issue] | tuple[Issue, ...]) -> None:
        """Publish the reasons why there is no plan."""
        mistakes = tuple(Mistake(each.message, each.file, each.line, each.hint, each.code) for each in issues)
        plan = HostPlan(run=self._offer.run, host=self._host, nonce=self._agent.draw(), mistakes=mistakes)
        await self._board.put(subjects.plan(self._host, self._offer.run), encode(plan))
        await self._end(kept, "it has no plan: " + "; ".join(each.message for each in issues[:3]))

    async def _end(self, kept: Kept, why: str) -> None:
        """End a part that did not run, or whose run cannot be reported, and tell the hosts that wait for its states."""
        # An earlier attempt may have sent true rows: then the controller tells the hosts that wait for the others.
        for node, readers in self._readers.items() if not kept.attempt else ():
            words = f"{self._host} did not run it: {why}."
            result = NodeResult(run=self._offer.run, host=self._host, node=node, result=False, ran=False, why=words)
            for reader in readers:
                await self._board.put(subjects.row(reader, self._host, self._offer.run, node), encode(result))
        attempt = kept.attempt + 1
        log.info("The part of this host in run %s is over: %s", self._offer.run, why)
        await Reporter(self._board, self._offer.run, self._host, attempt).end(why)
        await self._agent.keep(msgspec.structs.replace(kept, attempt=attempt, ended=why))

    async def _agree(self, kept: Kept, prepared: Prepared) -> Kept:
        """Publish the plan, and wait for the go. A go that came before the agent was killed still counts."""
        plan = prepared.plan
        if kept.go:
            if await prepared.past_events() is None:
                await self._require_wanted()
        else:
            if kept.digest != plan.digest or not kept.nonce:
                kept = msgspec.structs.replace(kept, nonce=self._agent.draw(), digest=plan.digest)
                kept = await self._agent.keep(kept)
            sent = host_plan(
                plan,
                prepared.shown,
                run=self._offer.run,
                host=self._host,
                nonce=kept.nonce,
                unfit=prepared.unfit,
            )
            await self._board.put(subjects.plan(self._host, self._offer.run), encode(sent))
        kept = msgspec.structs.replace(kept, go=kept.go or await self._wait_for_go(kept), attempt=kept.attempt + 1)
        self._readers = self._checked_go(kept).readers
        if self._offer.call is not None:
            self._agent.called.add(self._offer.run)
        elif self._agent.running:
            raise _Over(f"the host takes part in run {self._agent.running} now")
        else:
            self._agent.running = self._offer.run
        return await self._agent.keep(kept)

    async def _require_wanted(self) -> None:
        """Raise _Over for a run that was stopped or removed while this host was away."""
        key = subjects.stop(self._host, self._offer.run)
        sealed = await self._board.get(key)
        stop = self._read_stop(key, sealed) if sealed is not None else None
        if stop is not None:
            raise _Over(stop.reason)
        if await self._board.get(subjects.offer(self._host, self._offer.run)) is None:
            raise _Over("the run is not wanted any more: its offer is gone")

    async def _wait_for_go(self, kept: Kept) -> bytes:
        """Wait for the go: as long as the run has a controller, which lets hosts begin when their turn comes."""
        key = subjects.go(self._host, self._offer.run)
        found: list[bytes] = []
        over: list[_Over] = []

        async def look() -> None:
            async for entry in self._mail.entries("go"):
                try:
                    self._checked_go(msgspec.structs.replace(kept, go=entry.value))
                except _Over as error:
                    over.append(error)
                    group.cancel_scope.cancel()
                    return
                except MessageRefused as error:
                    log.warning("A go at %s is refused: %s", key, error)
                    continue
                found.append(entry.value)
                group.cancel_scope.cancel()
                return

        async def give_up() -> None:
            await self._stopped.wait()
            group.cancel_scope.cancel()

        async def lose_patience() -> None:
            await silence(self._board, self._offer.run, self._offer.patience)
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(look)
            group.start_soon(give_up)
            group.start_soon(lose_patience)
        if self._stop is not None:
            raise _Over(self._stop.reason)
        if over:
            await self._leave_to_twin(kept)
            raise over[0]
        if not found:
            raise _Over(f"there was no go, and no sign of the controller for {self._offer.patience:.0f} s")
        return found[0]

    async def _leave_to_twin(self, kept: Kept) -> None:
        """Raise _OnTwin if the plan on the board is another machine's: a report of this one would end that part."""
        value = await self._board.get(subjects.plan(self._host, self._offer.run))
        if value is not None and decode(value, HostPlan).nonce != kept.nonce and await self._agent.has_twin():
            raise _OnTwin

    def _checked_go(self, kept: Kept) -> Go:
        go = decode(self._agent.verifier.open(kept.go, subjects.go(self._host, self._offer.run)), Go)
        require_fields(go, run=self._offer.run, host=self._host)
        if go.nonce != kept.nonce:  # a host has one go in a run
            raise _Over("the tree of this host changed after its plan was joined with other plans")
        return go

    async def _run(self, kept: Kept, prepared: Prepared, part: Partition) -> None:
        """Run the part, and send the rows that other hosts wait for."""
        reporter = Reporter(self._board, self._offer.run, self._host, kept.attempt)
        others = Peers(self._board, self._mail, self._offer, part, self._agent.verifier)
        again = kept.attempt > 1
        past = await prepared.past_events() if again else None
        if past is not None:
            _tell_past(part.plan, prepared, others, past)
            for event in past:
                reporter.on_event(event)
        else:
            await self._run_now(prepared, part, others, reporter, again=again)
        await others.close(self._stop.reason if self._stop is not None else "its run ended before", again=again)
        await others.flush()
        await reporter.end(FINISHED)
        log.info("The part of this host in run %s came to its end", self._offer.run)
        await self._agent.keep(msgspec.structs.replace(kept, ended=FINISHED))

    async def _run_now(
        self, prepared: Prepared, part: Partition, others: Peers, reporter: Reporter, *, again: bool
    ) -> None:
        lost: list[BoardError] = []

        async def goes_on(task: Callable[[], Awaitable[None]]) -> None:
            """Let running states come to their end, even if the board is unreachable for good."""
            try:
                await task()
            except* BoardError as errors:
                lost.append(first_error(errors))
                refused = isinstance(lost[-1], BoardRefused)
                others.give_up(f"The server of the fleet {'refuses it' if refused else 'is out of reach'}: {lost[-1]}")

        async with anyio.create_task_group() as group:
            for task in (others.send, others.receive, others.watch_controller, others.remind, reporter.send):
                group.start_soon(goes_on, task)
            self._running = await prepared.start(part, others, reporter.on_event, again=again)
            self._obey()
            async with self._running:
                pass  # leaving the block waits for the end
            group.cancel_scope.cancel()
        if lost:
            raise lost[0]


def _tell_past(plan: Plan, prepared: Prepared, others: Peers, events: Sequence[AnyEvent]) -> None:
    """Send the outcomes of an earlier run of the part to the hosts that wait for them."""
    checks = plan.checks
    nodes = {(prepared.shown.tag(chunk.tag), False): chunk.index for chunk in plan.chunks}
    nodes |= {(prepared.shown.tag(plan.chunks[chunk].tag), True): node for chunk, node in checks.items()}
    ended: dict[int, Outcome] = {}
    for event in events:
        if event.ends is not None and event.ends[0] in nodes:
            call, row = event.ends
            ended[nodes[call]] = Outcome.of(row)
    for node, outcome in ended.items():
        checked = ended.get(checks.get(node, -1))
        unforeseen = outcome.result is False and checked is not None and checked.result is not False
        others.ended(node, msgspec.structs.replace(outcome, unforeseen=unforeseen))
