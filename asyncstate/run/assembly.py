"""Builds the engine of a run: its dispatch, its journal, and the results it carries over from an earlier run."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from asyncstate.errors import ConfigError
from asyncstate.redact.redacted_plan import RedactedPlan
from asyncstate.run.chunk.ahead import Ahead
from asyncstate.run.chunk.local import LocalDispatch
from asyncstate.run.engine import Engine
from asyncstate.run.event_loop import LoopWatch
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from asyncstate.compile.planning import Touched
    from asyncstate.config import Settings
    from asyncstate.journal.keeper import Keeper
    from asyncstate.load.host import PluginHost
    from asyncstate.model.event import AnyEvent
    from asyncstate.model.plan import Plan
    from asyncstate.redact import Secrets
    from asyncstate.run.dispatch import Dispatch, Elsewhere
    from asyncstate.run.keeping import PlanRecords
    from asyncstate.run.options import RunOptions
    from asyncstate.run.resumed import ResumedDispatch


class Parts(Value):
    """The parts of a runtime that each of its runs uses.

    ``records`` makes a `PlanRecords`, ``touched`` returns the footprints of a plan's chunks; few runs need either.
    """

    settings: Settings
    host: PluginHost
    secrets: Secrets
    records: Callable[[], PlanRecords]
    touched: Callable[[Plan], Touched]

    def shown(self, plan: Plan) -> Plan:
        """Return a plan with its secrets hidden."""
        return RedactedPlan(plan, self.secrets).plan


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
    ahead: Ahead | None = None
    if options.prefetch and not (options.test or mock):
        ahead = Ahead(plan, parts.host, lambda chunk: resumed is not None and resumed.has_ended(chunk))
    dispatch: Dispatch = LocalDispatch(
        plan,
        parts.host,
        test=options.test,
        mock=mock,
        watch=LoopWatch(),
        prefetched=None if ahead is None else ahead.prefetched,
        touched=partial(parts.touched, plan) if parts.settings.foresight else None,
    )
    if trace_effects:
        from asyncstate import extend  # noqa: PLC0415 - few runs are traced
        from asyncstate.run.traced import TracedDispatch  # noqa: PLC0415

        dispatch = TracedDispatch(dispatch, extend.provided("tracer", "trace_effects")(plan, parts))
    if resume is not None:
        from asyncstate.run.resumed import ResumedDispatch  # noqa: PLC0415 - few runs are resumed

        if options.test or mock:
            raise ValueError("only a real run can resume another one")
        dispatch = resumed = ResumedDispatch(plan, dispatch, RedactedPlan(plan, parts.secrets).tag)
    keep_journal = None
    if not mock and (resumed is not None or parts.settings.journaled != "off"):
        from asyncstate.run.keeping import Keeping  # noqa: PLC0415 - a run without a journal keeps nothing

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

    engine = Engine(
        plan,
        dispatch,
        options,
        observers,
        in_thread=parts.host.workers.run,
        secrets=parts.secrets,
        journal=keep_journal,
        elsewhere=elsewhere,
        fetcher=ahead,
    )
    return engine
