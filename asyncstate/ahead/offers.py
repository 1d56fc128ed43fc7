"""Prefetching with plugins: collects the offers of ``mod_prefetch`` hooks of state modules, and calls the fetches.

A plugin that cancels its own call looks like a cancelled run, so this uses the CancelledError of asyncio.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from asyncstate.ahead.prefetcher import Fetch, Fetched
from asyncstate.dunders.context import CancelToken, current
from asyncstate.errors import AsyncStateError, NotYet, RunCancelled, meant_for_program
from asyncstate.logs import get_logger
from asyncstate.model.chunk import MOD_PREFETCH, has_slot
from asyncstate.prefetch import Prefetched
from asyncstate.process.ending import reaper

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from asyncstate.load.host import PluginHost
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan

log: logging.Logger = get_logger(__name__)

_OPEN = ("onlyif", "unless")
"""Conditions that are unknown before the state runs: they call programs and functions."""


def offered(plan: Plan, host: PluginHost) -> Iterator[Fetch]:
    """Yield the possible prefetches for the states of a plan.

    A state with conditions that only its run can decide is left out. If a module's hook raises or returns something
    malformed, that is logged, and nothing is prefetched for the state.
    """
    hooks: dict[str, Callable[[dict[str, Any]], Any] | None] = {}
    with host.enter():
        for chunk in plan.chunks:
            if chunk.state not in hooks:
                hooks[chunk.state] = _hook(chunk.state, host)
            hook = hooks[chunk.state]
            if hook is None or not chunk.args.keys().isdisjoint(_OPEN):
                continue
            try:
                found = [_fetch(chunk, each) for each in hook(chunk.as_low())]
            except BaseException as error:
                if meant_for_program(error):
                    raise
                log.warning("%s of %s failed: %s: %s", MOD_PREFETCH, chunk.function, type(error).__name__, error)
            else:
                if found and not has_slot(chunk.args.values()):
                    yield from found


def _hook(state: str, host: PluginHost) -> Callable[[dict[str, Any]], Any] | None:
    try:
        found = host.loaders["states"].find(f"{state}.{MOD_PREFETCH}")
    except BaseException as error:
        if meant_for_program(error):
            raise
        return None  # the row of the state will report the error
    return None if found is None else found.func


def _fetch(chunk: LowChunk, declared: Mapping[str, Any]) -> Fetch:
    function = str(declared["function"])
    return Fetch(
        chunk=chunk.index,
        function=function,
        arguments=dict(declared.get("arguments") or {}),
        what=str(declared.get("what") or function),
        reads=tuple(map(str, declared.get("reads") or ())),
        together=bool(declared.get("together")),
    )


class Offers:
    """Calls the prefetch functions of one run; a `Fetcher`. ``prefetched`` is how states find the results.

    Nothing is fetched for chunks for which ``is_over`` is true: they ended in an earlier run.
    """

    def __init__(self, plan: Plan, host: PluginHost, is_over: Callable[[LowChunk], bool]) -> None:
        self.prefetched: Prefetched = Prefetched(str(host.opts["cachedir"]))
        self._plan = plan
        self._host = host
        self._is_over = is_over

    def announce_to(self, announced: Callable[[str], None]) -> None:
        """Have the topics of fetches that may start again announced."""
        self.prefetched.tell = announced

    def fetches(self) -> Sequence[Fetch]:
        """Return the prefetches that the state modules of the plan offer."""
        found = offered(self._plan, self._host)
        return [fetch for fetch in found if not self._is_over(self._plan.chunks[fetch.chunk])]

    async def fetch(self, fetches: Sequence[Fetch]) -> Fetched:
        """Fetch one thing, or several that go together, in a task of its own. Raises only CancelledError."""
        chunks = [self._plan.chunks[fetch.chunk] for fetch in fetches]
        wanted = [fetch for fetch, chunk in zip(fetches, chunks, strict=True) if self._is_allowed(chunk)]
        if not wanted:
            return Fetched("nothing")
        first = chunks[0]
        context = self._host.context(
            env=str(first.args.get("__env__") or first.env or "base"),
            sls=first.sls,
            test=False,
            cancel=CancelToken(),
        )
        context.prefetched = self.prefetched
        current.set(context)
        try:
            done = await self._host.workers.run(self._call, wanted)
        except NotYet as error:
            return Fetched("later", str(error), error.topic)
        except (asyncio.CancelledError, RunCancelled):
            if context.cancel is not None:
                context.cancel.cancel("no longer needed")
            raise asyncio.CancelledError from None
        except BaseException as error:  # noqa: BLE001 - the state fetches by itself, and says what is wrong
            return Fetched("failed", f"{error}" if isinstance(error, AsyncStateError) else repr(error))
        return done

    async def forget(self) -> None:
        """Remove the folders of prefetched files, once no program writes there any more."""
        await self._host.workers.run(self._close)

    def _close(self) -> None:
        if reaper.busy:
            reaper.wait()
        self.prefetched.close()

    def _call(self, fetches: Sequence[Fetch]) -> Fetched:
        full = self.prefetched.room()
        if full:
            return Fetched("failed", full)
        function = self._host.salt[fetches[0].function]
        if fetches[0].together:
            fetched = function([fetch.arguments for fetch in fetches])
        else:
            fetched = function(**fetches[0].arguments)
        return Fetched("fetched" if fetched else "nothing")

    def _is_allowed(self, chunk: LowChunk) -> bool:
        """Whether the conditions of a state that can be decided early let it run."""
        from asyncstate.run.chunk.conditions import globally_allowed, is_there  # noqa: PLC0415 - few runs fetch ahead

        if "creates" in chunk.args and is_there(chunk.args["creates"]):
            return False
        rules = self._host.opts.get("global_state_conditions")
        return not rules or globally_allowed(chunk.as_low(), rules, self._host.services.match)
