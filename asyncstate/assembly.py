"""Builds the engine of a run: its dispatch, its journal, and the results it carries over from an earlier run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.errors import ConfigError, meant_for_program
from asyncstate.guard.event_loop import LoopWatch
from asyncstate.model.chunk import MOD_PREFETCH
from asyncstate.redact.redacted_plan import RedactedPlan
from asyncstate.run.chunk.local import LocalDispatch
from asyncstate.run.engine import Engine
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from asyncstate.compile.planning import Touched
    from asyncstate.config import Settings
    from asyncstate.journal.keeper import Keeper
    from asyncstate.load.host import PluginHost
    from asyncstate.logs.fields import RunFields
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.event import AnyEvent
    from asyncstate.model.plan import Plan
    from asyncstate.redact import Secrets
    from asyncstate.resume.keeping import PlanRecords
    from asyncstate.resume.resumed import ResumedDispatch
    from asyncstate.run.dispatch import Ahead, Dispatch, Elsewhere
    from asyncstate.run.machine import Machine
    from asyncstate.run.options import RunOptions
    from asyncstate.run.recorder import Announcer


_SALT = "salt://"


class StateWork(Value):
    """What a state does, whatever its place in the order: ``key`` is the digest of it.

    ``sls``, ``id`` and ``name`` are as shown. ``words`` are the texts of its arguments, ``files`` its module and the
    sources that they name; None if the declaration of its module says all that it touches.
    """

    index: int
    function: str
    key: str
    sls: str
    id: str
    name: str
    words: str
    files: tuple[str, ...] | None


class Parts(Value):
    """The parts of a runtime that each of its runs uses.

    ``records`` makes a `PlanRecords`, ``touched`` returns the footprints of a plan's chunks; few runs need either.
    """

    settings: Settings
    host: PluginHost
    secrets: Secrets
    records: Callable[[], PlanRecords]
    touched: Callable[[Plan], Touched]

    @property
    def state_dir(self) -> str:
        """The state directory."""
        return self.settings.state_dir

    @property
    def own_folders(self) -> tuple[str, ...]:
        """The folders that only the program uses."""
        return (self.settings.cachedir, self.settings.state_dir, *self.host.plugin_paths())

    def harmless(self, text: str) -> bool:
        """Whether a text has no secret."""
        return self.secrets.redactor.harmless(text)

    def works(self, plan: Plan, wanted: Container[int]) -> Iterator[StateWork]:
        """Yield what these states of a plan do, by index."""
        from asyncstate.effects.observed import key_of_work  # noqa: PLC0415 - few runs are traced

        shown = RedactedPlan(plan, self.secrets).plan
        for chunk, as_shown in zip(plan.chunks, shown.chunks, strict=True):
            if chunk.index in wanted:
                words = "\n".join(chunk.texts(own=True))
                yield StateWork(
                    chunk.index,
                    chunk.function,
                    key_of_work(chunk),
                    as_shown.sls,
                    as_shown.id,
                    str(as_shown.name),
                    words,
                    self._files_of(chunk, words),
                )

    def _files_of(self, chunk: LowChunk, words: str) -> tuple[str, ...] | None:
        from asyncstate.effects.observed import is_replaced  # noqa: PLC0415 - as above

        function = self.host.loaders["states"].find(chunk.function)
        if function is not None and not is_replaced(chunk, bundled=function.module.bundled):
            return None
        module = [] if function is None or function.module.bundled else [function.module.file]
        files = self.host.file_client
        names = [line.removeprefix(_SALT) for line in words.splitlines() if line.startswith(_SALT)]
        found = [files.find(name.partition("?")[0], chunk.env) for name in names if files is not None]
        return (*module, *(path for path in found if path))


def assembled(
    plan: Plan,
    options: RunOptions,
    observers: Sequence[Callable[[AnyEvent], None]],
    parts: Parts,
    *,
    mock: bool,
    trace_effects: bool,
    about: Mapping[str, Any],
    resume: str | None,
    force: bool,
    elsewhere: Elsewhere | None,
) -> Engine:
    """Return the engine of a run, with the options of `StateRuntime.run`.

    Raises ValueError if a dry or mocked run is to resume another one, ConfigError if effects cannot be traced or the
    plan is for another machine.
    """
    if parts.settings.grains_alone and not mock:
        raise ConfigError(
            "The plan is for another machine, and cannot be run on this one. Leave out --for-machine (grains_alone), "
            "or only look: asyncstate check, show, lint, explain"
        )
    resumed: ResumedDispatch | None = None
    dispatch: Dispatch
    dispatch = local = LocalDispatch(plan, parts.host, test=options.test, mock=mock, watch=LoopWatch())
    if options.test and not mock and parts.settings.foresight:
        from asyncstate.ahead.foresight import Foresight  # noqa: PLC0415 - only dry runs foretell

        dispatch = Foresight(plan, local, lambda: parts.host.workers.run(parts.touched, plan), local.misused)
    if trace_effects:
        from asyncstate import extend  # noqa: PLC0415 - few runs are traced
        from asyncstate.run.traced import TracedDispatch  # noqa: PLC0415

        dispatch = TracedDispatch(dispatch, extend.provided("tracer", "--trace-effects (trace_effects=)")(plan, parts))
    if resume is not None:
        from asyncstate.resume.resumed import ResumedDispatch  # noqa: PLC0415 - few runs are resumed

        if options.test or mock:
            raise ValueError("only a real run can resume another one")
        dispatch = resumed = ResumedDispatch(plan, dispatch, RedactedPlan(plan, parts.secrets).tag)
    keep_journal = None
    if not mock and (resumed is not None or parts.settings.journaled != "off"):
        from asyncstate.resume.keeping import Keeping  # noqa: PLC0415 - a run without a journal keeps nothing

        keeping = Keeping(
            parts.settings,
            lambda: parts.records().key_of(plan),
            lambda shown: parts.records().recorder(plan, shown, failhard=options.failhard),
            resumed=resumed,
            run=resume,
            force=force,
        )

        def keep_journal(shown: RedactedPlan) -> tuple[Keeper | None, list[str]]:
            return keeping.begin(options, about, shown, engine.stop)

    def look_ahead(machine: Machine, announcer: Announcer, log_fields: RunFields) -> Ahead | None:
        if not _can_fetch_ahead(plan, parts.host):
            return None
        from asyncstate.ahead.offers import Offers  # noqa: PLC0415 - many runs have nothing to fetch
        from asyncstate.ahead.prefetcher import Prefetcher  # noqa: PLC0415

        offers = Offers(plan, parts.host, lambda chunk: resumed is not None and resumed.has_ended(chunk))
        local.prefetched = offers.prefetched
        if not (fetches := offers.fetches()):
            return None
        places = options.prefetch
        return Prefetcher(machine, offers, fetches, places=places, announcer=announcer, log_fields=log_fields)

    engine = Engine(
        plan,
        dispatch,
        options,
        observers,
        in_thread=parts.host.workers.run,
        secrets=parts.secrets,
        journal=keep_journal,
        elsewhere=elsewhere,
        ahead=look_ahead if options.prefetch and not (options.test or mock) else None,
    )
    return engine


def _can_fetch_ahead(plan: Plan, host: PluginHost) -> bool:
    """Whether a state module of a plan has a hook that offers prefetches, or fails to load."""
    states = host.loaders["states"]
    try:
        return any(states.find(f"{state}.{MOD_PREFETCH}") for state in {chunk.state for chunk in plan.chunks})
    except BaseException as error:
        if meant_for_program(error):
            raise
        return True
