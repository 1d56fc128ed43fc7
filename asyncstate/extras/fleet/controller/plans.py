"""Plans: the plans of a run's hosts, gathered from the board and joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from asyncstate.errors import CompileError, Issue
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.controller.pool import Pool
from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.join.join import Join, join
from asyncstate.extras.fleet.join.soundness import require_sound
from asyncstate.extras.fleet.protocol import HostPlan, Mistake, decode, require_fields
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    import logging
    from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator

    from asyncstate.extras.fleet.board import Board, Entry
    from asyncstate.extras.fleet.protocol import RunRecord

log: logging.Logger = get_logger(__name__)


class Plans:
    """The plans of a run's hosts. ``planned`` is called for each as it comes; plans of other hosts are refused."""

    def __init__(self, board: Board, record: RunRecord, planned: Callable[[str, HostPlan], None]) -> None:
        self._board = board
        self._record = record
        self._planned = planned
        self._pool = Pool()
        self.known: dict[str, HostPlan] = {}
        self.refused: dict[str, str] = {}
        """The reason for each host whose plan is malformed."""

    @property
    def sound(self) -> dict[str, HostPlan]:
        """The plans that can run."""
        return {host: plan for host, plan in self.known.items() if not plan.mistakes}

    async def gather(self, seconds: float, stopped: Callable[[], Awaitable[None]]) -> None:
        """Wait until all hosts have sent their plans, for ``seconds`` at most, or until ``stopped`` returns."""
        missing = set(self._record.hosts)

        async def read() -> None:
            async for entry in self._board.watch(subjects.plans(self._record.run)):
                missing.discard(self._read(entry))
                if not missing:
                    group.cancel_scope.cancel()
                    return

        async def stop() -> None:
            await stopped()
            group.cancel_scope.cancel()

        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as group:
                group.start_soon(read)
                group.start_soon(stop)

    async def look(self) -> None:
        """Read the plans that the board has now."""
        for entry in await self._board.entries(subjects.plans(self._record.run)):
            self._read(entry)

    def _read(self, entry: Entry) -> str:
        """Take a plan; return its host, "" if it was not asked. A malformed plan is a failure of its host."""
        run = self._record.run
        try:
            _, host, _ = subjects.parts(entry.key)
        except ValueError as error:
            log.warning("A plan at %s is refused: %s", entry.key, error)
            return ""
        if host not in self._record.hosts:
            log.warning("A plan of host %s is refused: the run was not offered to it", host)
            return ""
        self.refused.pop(host, None)
        try:
            plan = decode(entry.value, HostPlan)
            require_fields(plan, run=run, host=host)
            require_sound(plan)
        except MessageRefused as error:
            log.warning("The plan of host %s is refused: %s", host, error)
            why = self.refused[host] = f"its plan is refused: {error}"
            plan = HostPlan(run=run, host=host, nonce="", mistakes=(Mistake(why),))
        self.known[host] = self._pool.plan(plan)
        self._planned(host, self.known[host])
        return host

    def join(self, among: Callable[[str, Iterable[str]], Collection[str]]) -> Join | list[Issue]:
        """Join the plans that can run, or return the mistakes between them. ``among`` is `Selection.among`."""
        hosts = self._record.hosts
        try:
            return join(
                self.sound,
                lambda expression: among(expression, hosts),
                absent=dict(self.failures(hosts, "it did not answer")),
                canaries=self._record.canaries,
                batched=bool(self._record.rollout.batch),
                lanes=self._record.rollout.lanes,
            )
        except CompileError as error:
            return list(error.issues)

    def notes(self) -> list[str]:
        """Return notes for the operator on the plans that can run: exclusions that fit none of them."""
        unfit = [set(plan.unfit) for plan in self.sound.values()]
        excluded = self._record.options.exclude
        return [
            f"no host of this run has an SLS or an ID that --exclude {each} means"
            for each in excluded
            if unfit and all(each in one for one in unfit)
        ]

    def failures(self, hosts: Iterable[str], unheard: str) -> Iterator[tuple[str, str]]:
        """Yield the hosts among these that cannot run, with the reason: ``unheard`` for a host that sent nothing."""
        for host in hosts:
            plan = self.known.get(host)
            if plan is None:
                yield host, unheard
            elif plan.mistakes:
                yield (
                    host,
                    "\n".join(str(Issue(each.message, each.file, each.line, each.hint)) for each in plan.mistakes),
                )
