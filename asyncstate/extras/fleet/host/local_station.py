"""This host, as its agent uses it: its runs share journal and lock with `asyncstate apply`."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread
import msgspec

from asyncstate import filesystem, residue
from asyncstate.compile.high.declarations import fits_nothing
from asyncstate.errors import FleetError
from asyncstate.extras.fleet.host import call, policy, replay
from asyncstate.extras.fleet.host.station import Kept
from asyncstate.extras.fleet.policy import Policy
from asyncstate.extras.fleet.subjects import token
from asyncstate.logs import get_logger
from asyncstate.model.encode import encoded
from asyncstate.runtime import StateRuntime
from asyncstate.services import Embedding

if TYPE_CHECKING:
    import logging
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from asyncstate.config import Settings
    from asyncstate.extras.fleet.host.partition import Partition, Shown
    from asyncstate.extras.fleet.host.peers import Peers
    from asyncstate.extras.fleet.host.station import Running
    from asyncstate.extras.fleet.protocol import Offer
    from asyncstate.model.event import AnyEvent
    from asyncstate.model.plan import Plan

log: logging.Logger = get_logger(__name__)

_RUN: Final = "fleet_run"
"""The key of a journal entry for the fleet's run."""
_SUFFIX: Final = ".run"
_MOST_KEPT: Final = 200
"""The number of ended runs that are kept."""


class LocalStation:
    """This host. ``settings`` hold for every run; an offer may override some of them.

    ``embedding`` is given to its runtimes; ``allowed`` decides which SLS may be rendered.
    """

    def __init__(self, settings: Settings, embedding: Embedding | None = None, allowed: Policy | None = None) -> None:
        self._settings = settings
        self._embedding = embedding or Embedding()
        self._allowed = allowed or Policy()

    async def grains(self) -> Mapping[str, Any]:
        """Return the grains of this host."""
        async with StateRuntime(self._settings, embedding=self._embedding) as runtime:
            return dict(runtime.host.grains)

    @asynccontextmanager
    async def prepare(self, offer: Offer) -> AsyncIterator[LocalPart]:
        """Compile an offer."""
        asked, options = offer.call, offer.options
        states = {} if asked is None else {call.FUNCTION: call.call}
        settings, embedding = self._settings_for(offer), self._embedding_for(offer)
        async with StateRuntime(settings, states=states, embedding=embedding) as runtime:
            if asked is None:
                plan = await runtime.compile(
                    list(offer.sls) or None,
                    saltenv=options.saltenv,
                    exclude=options.exclude,
                    remote=True,
                    refusal=lambda sls: policy.refusal_of_sls(self._allowed, sls),
                )
            else:
                arguments = {"name": asked.function, "arg": list(asked.arg), "kwarg": asked.kwarg}
                plan = await runtime.host.workers.run(runtime.single_plan, call.FUNCTION, arguments)
            yield LocalPart(runtime, offer, plan)

    def _embedding_for(self, offer: Offer) -> Embedding:
        """Return the embedding of the runtime of an offer."""
        del offer
        return self._embedding

    def _settings_for(self, offer: Offer) -> Settings:
        settings, options = self._settings, offer.options
        changed: dict[str, Any] = {
            "test": options.test,
            "new_file_diff": options.new_file_diff or settings.new_file_diff,
        }
        if offer.call is not None:
            changed["journal"] = "required"  # without an entry in the journal, the function would be called again
        elif settings.journaled == "off":
            changed["journal"] = "on"  # an agent that is killed goes on from it
        if options.pillarenv is not None:
            changed["pillarenv"] = options.pillarenv
        if options.top:
            changed["state_top"] = options.top
        if options.concurrency is not None:
            changed["concurrency"] = options.concurrency
        if options.pillar:
            changed["pillar"] = settings.pillar_with(options.pillar)
        return msgspec.structs.replace(settings, **changed)


class LocalPart:
    """A part that is compiled on this host; a `asyncstate.extras.fleet.host.station.Prepared`."""

    def __init__(self, runtime: StateRuntime, offer: Offer, plan: Plan) -> None:
        self.plan: Plan = plan
        self.shown: Shown = runtime.redacted(plan)
        self._runtime = runtime
        self._offer = offer

    def rename(self, plan: Plan) -> None:
        """Replace the plan by one that differs in the names of files only."""
        self.plan, self.shown = plan, self._runtime.redacted(plan)

    @property
    def unfit(self) -> tuple[str, ...]:
        """The exclusions of the offer that fit nothing in the tree."""
        warned = {issue.message for issue in self.plan.warnings}
        return tuple(each for each in self._offer.options.exclude if fits_nothing(each, typed=True) in warned)

    def can_watch(self, module: str) -> bool:
        """Whether a state module has ``mod_watch``."""
        return self._runtime.host.loaders["states"].has(f"{module}.mod_watch")

    async def past_events(self) -> Sequence[AnyEvent] | None:
        """Return the events of the part if it has ended before, else None."""

        def read() -> Sequence[AnyEvent] | None:
            found = self._runtime.past_run(_RUN, self._offer.run)
            return found.events() if found is not None and found.is_finished else None

        return await anyio.to_thread.run_sync(read)

    async def start(
        self, part: Partition, others: Peers, observe: Callable[[AnyEvent], None], *, again: bool
    ) -> Running:
        """Return the run of a part."""
        resume = await anyio.to_thread.run_sync(self._cut_off) if again and not self._offer.options.test else None
        return self._runtime.run(
            part.plan,
            observers=[observe],
            about=self._about(),
            resume=resume,
            events=False,
            lock=None if self._offer.call is None else False,
            wait=self._offer.patience,
            elsewhere=others,
        )

    def _about(self) -> dict[str, Any]:
        if self._offer.call is not None:
            return {"command": "fleet call", "function": self._offer.call.function, _RUN: self._offer.run}
        return {"command": "fleet apply", "sls": list(self._offer.sls), _RUN: self._offer.run}

    def _cut_off(self) -> str | None:
        found = self._runtime.past_run(_RUN, self._offer.run)
        if found is not None and found.is_under_way:
            raise FleetError(f"run {found.id} of this host, its part in this run, is still under way elsewhere")
        if found is None or found.is_finished:
            return None
        if self._offer.call is not None and found.has_unknown():
            raise FleetError(
                f"the agent ended while {self._offer.call.function} was called: whether the function came to its "
                "end is not known, and it is not called again"
            )
        return found.id


class RunFiles:
    """The stored state of this host's runs: a private file each. An `asyncstate.extras.fleet.host.station.Memory`."""

    def __init__(self, state_dir: str, host: str) -> None:
        self._folder = os.path.join(state_dir, "fleet", token(host))
        self._over: dict[str, float] = {}

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock of this host's agent. Raises FleetError if another agent has it."""
        path = os.path.join(self._folder, "agent.lock")
        try:
            filesystem.makedirs(self._folder, 0o700)
            lock = residue.take_lock(path)
        except OSError as error:
            raise self._trouble(error) from error
        if lock is None:
            raise FleetError(f"another agent serves this host already: it holds {path}")
        try:
            yield
        finally:
            os.close(lock)

    async def load(self) -> dict[str, Kept]:
        """Return all stored runs. Raises FleetError."""
        return await anyio.to_thread.run_sync(self._load)

    async def save(self, kept: Kept) -> None:
        """Store the state of a run, on disk before it returns, and drop the oldest ended ones. Raises FleetError."""
        await anyio.to_thread.run_sync(self._save, kept)
        if kept.ended:
            self._over[kept.offer.run] = kept.offer.issued
            if len(self._over) > _MOST_KEPT:
                oldest = min(self._over, key=self._over.__getitem__)
                del self._over[oldest]
                await anyio.to_thread.run_sync(self._forget, oldest)

    def _load(self) -> dict[str, Kept]:
        found: dict[str, Kept] = {}
        try:
            filesystem.makedirs(self._folder, 0o700)
            names = [name for name in filesystem.listdir(self._folder) if name.endswith(_SUFFIX)]
            for name in names:
                with filesystem.open_read(os.path.join(self._folder, name)) as file:
                    data = file.read()
                try:
                    kept = msgspec.json.decode(data, type=Kept)
                except (msgspec.MsgspecError, UnicodeDecodeError):
                    log.warning("%s in %s is damaged and passed over", name, self._folder)
                    continue
                found[kept.offer.run] = kept
            over = sorted((kept for kept in found.values() if kept.ended), key=lambda kept: kept.offer.issued)
        except OSError as error:
            raise self._trouble(error) from error
        for kept in over[:-_MOST_KEPT]:
            self._forget(kept.offer.run)
            del found[kept.offer.run]
        self._over = {kept.offer.run: kept.offer.issued for kept in over[-_MOST_KEPT:]}
        return found

    def _forget(self, run: str) -> None:
        try:
            filesystem.remove(self._path(run))
        except OSError as error:
            raise self._trouble(error) from error

    def _save(self, kept: Kept) -> None:
        self.write(self._path(kept.offer.run), encoded(kept))

    def write(self, path: str, data: bytes) -> None:
        """Write a file of this folder, at once or not at all, on disk before it returns. Raises FleetError."""
        try:
            filesystem.makedirs(self._folder, 0o700)
            with filesystem.Replacement(path, 0o600, is_temporary=False) as new:
                new.write(data)
                new.commit(sync=True)
        except OSError as error:
            raise self._trouble(error) from error

    def _path(self, run: str) -> str:
        return os.path.join(self._folder, f"{token(run)}{_SUFFIX}")

    def _trouble(self, error: OSError) -> FleetError:
        return FleetError(f"what this host keeps of its runs, {self._folder}: {error.strerror or error}")

    # which offers are taken

    def taken(self, enrolled: float) -> replay.Taken:
        """Return the runs that this host took; ``enrolled`` is the time of its credentials. Raises FleetError."""
        path = self._taken_path()
        try:
            with filesystem.open_read(path) as file:
                return msgspec.json.decode(file.read(), type=replay.Taken)
        except FileNotFoundError:
            return replay.Taken(closed=enrolled)
        except OSError as error:
            raise self._trouble(error) from error
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise FleetError(f"{path} is damaged: which runs were taken is unknown. Enrol the host again.") from None

    def keep_taken(self, taken: replay.Taken) -> None:
        """Store the runs that this host took, on disk before it returns. Raises FleetError."""
        self.write(self._taken_path(), encoded(taken))

    def _taken_path(self) -> str:
        return os.path.join(self._folder, "taken")


class Gate:
    """Checks of offers and plans: no run twice, and nothing that the host's policy forbids."""

    def __init__(self, files: RunFiles, allowed: Policy, *, enrolled: float, wall: Callable[[], float]) -> None:
        self._files = files
        self._policy = allowed
        self._wall = wall
        self._taken = files.taken(enrolled)

    def accept(self, offer: Offer) -> str:
        """Return the reason to refuse an offer, else "". Raises MessageRefused for a run that was taken before."""
        self._taken = replay.take(self._taken, offer.run, offer.issued, self._wall())
        self._files.keep_taken(self._taken)
        return "; ".join(_noted(offer, policy.refusals_of_offer(self._policy, offer)))

    def allow(self, offer: Offer, plan: Plan) -> list[str]:
        """Return the reasons why a plan may not run: the policy may be stricter than when its offer was taken."""
        refused = policy.refusals_of_offer(self._policy, offer)
        for words, chunk in policy.refusals_of_plan(self._policy, plan.chunks):
            where = f" ({chunk.file}:{chunk.line})" if chunk.file else ""
            refused.append(f"{words}: SLS {chunk.sls}{where} asks for it" if chunk.sls else words)
        return _noted(offer, list(dict.fromkeys(refused)))


def _noted(offer: Offer, refused: list[str]) -> list[str]:
    """Log the reasons of a refusal, and return them."""
    for words in refused:
        log.warning("Run %s is refused: %s", offer.run, words)
    return refused
