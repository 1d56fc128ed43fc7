"""The compiler: from SLS names, or high data, to a Plan."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from asyncstate.compile.aggregate import aggregate
from asyncstate.compile.assemble import PlanBuilder
from asyncstate.compile.cycle import report_cycle
from asyncstate.compile.exclude import add_excludes, apply_excludes
from asyncstate.compile.extend import reconcile_extends
from asyncstate.compile.findings import Findings
from asyncstate.compile.footprint import Footprints, add_footprints
from asyncstate.compile.highstate import HighData, HighStateBuilder
from asyncstate.compile.listen import resolve_listeners
from asyncstate.compile.low import compile_low
from asyncstate.compile.order import SerialOrder, warn_odd_orders
from asyncstate.compile.requisite_in import expand_requisite_in
from asyncstate.compile.resolve import Resolver
from asyncstate.compile.stages import add_stages, effective_stages
from asyncstate.compile.verify import verify_high
from asyncstate.compile.wiring import Wiring
from asyncstate.errors import CompileError, Issue
from asyncstate.model.chunk import fresh
from asyncstate.model.dag import Dag
from asyncstate.model.plan import NodeKind, Plan, plan_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from asyncstate.sources.fileclient import FileClient
    from asyncstate.sources.matchers import Matcher
    from asyncstate.sources.topfile import Render, Top


class StateIndex(Protocol):
    """What the compiler asks about state modules."""

    def has(self, name: str, /) -> bool:
        """Whether there is a function ``module.function``."""


class Compiler:
    """Compiles trees for one machine. Every method raises CompileError with all mistakes it found.

    ``render(file, context)`` renders one SLS; ``states.has("module.function")`` says what state modules can do.
    """

    def __init__(
        self,
        *,
        opts: dict[str, Any],
        file_client: FileClient,
        render: Render,
        states: StateIndex,
        matcher: Matcher,
        pillar: Mapping[str, Any],
        grains: Mapping[str, Any],
    ) -> None:
        self._opts = opts
        self._file_client = file_client
        self._render = render
        self._states = states
        self._matcher = matcher
        self._pillar = pillar
        self._grains = grains
        self._capabilities: dict[tuple[str, str], bool] = {}

    def top(self) -> Top:
        """Read and merge the top files."""
        from asyncstate.sources.topfile import read_tops  # noqa: PLC0415 - only a highstate needs it

        return read_tops(self._file_client, self._opts, self._render)

    def top_matches(self) -> dict[Any, list[str]]:
        """Return the SLS names meant for this machine, by environment."""
        from asyncstate.sources.topfile import matches  # noqa: PLC0415 - only a highstate needs it

        return matches(self.top(), self._matcher, self._opts)

    def highdata(
        self, sls: Sequence[str] | None = None, saltenv: str | None = None, exclude: Sequence[Any] | str = ()
    ) -> HighData:
        """Render the SLS given, or what the top file says, into high data (``.data``), extensions not yet applied."""
        with _collector_paused():
            selection = self.top_matches() if sls is None else {self._env(saltenv): list(sls)}
            high = self._build(selection, exclude)
            if sls is not None:
                verify_high(high, high.findings)
            high.findings.check()
            return high

    def plan(
        self,
        sls: Sequence[str] | None = None,
        *,
        saltenv: str | None = None,
        exclude: Sequence[Any] | str = (),
        only_ids: Sequence[str] = (),
    ) -> Plan:
        """Compile the SLS given, or what the top file says.

        ``only_ids`` keeps these IDs and what they depend on. A highstate that has nothing to do is a plan without
        chunks whose one row says so, as in Salt.
        """
        with _collector_paused():
            if sls is None:
                return self._plan_highstate(self._env(saltenv), exclude, only_ids)
            high = self._build({self._env(saltenv): list(sls)}, exclude)
            return self._plan(high, self._env(saltenv), only_ids)

    def plan_high(self, high: dict[Any, Any]) -> Plan:
        """Compile high data that did not come from files; the dict given is left as it is."""
        with _collector_paused():
            return self._plan(HighData(fresh(high), Findings()), self._env(None), ())

    def _plan_highstate(self, saltenv: str, exclude: Sequence[Any] | str, only_ids: Sequence[str]) -> Plan:
        from asyncstate.sources.topfile import NO_STATES, matches, no_states_row  # noqa: PLC0415 - as above

        top = self.top()
        if top.failure:
            return _rows_only(no_states_row(top.failure), saltenv)
        selection = matches(top, self._matcher, self._opts)
        if not selection:
            return _rows_only(no_states_row(), saltenv)
        high = self._build(selection, exclude)
        high.findings.warnings[:0] = top.warnings
        if not high.data and not high.findings.errors:
            return _rows_only(no_states_row(NO_STATES), saltenv)
        return self._plan(high, saltenv, only_ids)

    def _build(self, selection: Mapping[str, Sequence[str]], exclude: Sequence[Any] | str) -> HighData:
        builder = HighStateBuilder(
            opts=self._opts, file_client=self._file_client, render=self._render, findings=Findings()
        )
        high = builder.build(selection)
        add_excludes(high, exclude)
        return high

    def _plan(self, high: HighData, saltenv: str, only_ids: Sequence[str]) -> Plan:
        findings = high.findings
        disabled = self._disabled_requisites()
        if not findings.errors:
            reconcile_extends(high, findings)
        referring = verify_high(high, findings)
        findings.check()
        if referring:
            expand_requisite_in(high, findings, disabled)
        apply_excludes(high)
        findings.check()
        low = compile_low(high, findings, self._disabled_states())
        wiring = Wiring(low.drafts)
        Resolver(wiring, high, findings, has_mod_watch=self._has_mod_watch, disabled=disabled).resolve()
        warn_odd_orders(low.drafts, findings)
        order = SerialOrder(wiring)
        serial = order.sort()
        if len(serial) + len(wiring.members) < len(wiring.chunk):
            report_cycle(wiring, findings)
        listening = resolve_listeners(
            low.drafts, [node for node in serial if wiring.kind[node] is NodeKind.CHUNK], findings
        )
        findings.check()
        if only_ids:
            serial = _restrict(wiring, serial, only_ids, saltenv)
        stages = effective_stages(wiring, serial, order.cap)
        aggregation = aggregate(
            wiring,
            order,
            serial,
            stages.of if stages is not None else None,
            option=self._opts.get("state_aggregate"),
            has_mod_aggregate=self._has_mod_aggregate,
        )
        serial = aggregation.serial
        builder = PlanBuilder(wiring, serial, order)
        if stages is not None:
            add_stages(builder, serial, stages)
        footprints = Footprints(self._footprint_source(), self._implicit_order(), findings)
        if self._implicit_order() != "none":
            add_footprints(builder, footprints)
        rows = {**low.disabled, **listening.rows}
        return builder.finish(
            listening=listening,
            rows=rows,
            findings=findings,
            saltenv=saltenv,
            refused=aggregation.refused,
            unknown=tuple(footprints.unknown),
        )

    def _env(self, saltenv: str | None) -> str:
        return saltenv or self._opts.get("saltenv") or "base"

    def _implicit_order(self) -> str:
        return str(self._opts.get("implicit_order") or "footprint")

    def _footprint_source(self) -> Any:
        """The states map, if it can hand out functions; a bare index cannot."""
        return self._states if hasattr(self._states, "find") else None

    def _disabled_requisites(self) -> frozenset[str]:
        disabled = self._opts.get("disabled_requisites") or ()
        return frozenset([disabled] if isinstance(disabled, str) else disabled)

    def _disabled_states(self) -> list[str]:
        patterns = self._grains.get("state_runs_disabled") or ()
        return [str(pattern) for pattern in ([patterns] if isinstance(patterns, str) else patterns)]

    def _has_mod_watch(self, module: str) -> bool:
        return self._can(module, "mod_watch")

    def _has_mod_aggregate(self, module: str) -> bool:
        return self._can(module, "mod_aggregate")

    def _can(self, module: str, function: str) -> bool:
        """Ask once whether a module has one of the optional functions."""
        key = (module, function)
        known = self._capabilities.get(key)
        if known is None:
            known = self._capabilities[key] = self._states.has(f"{module}.{function}")
        return known


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the garbage collector from going through a tree again and again while it grows: there is little garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _restrict(wiring: Wiring, serial: list[int], only_ids: Sequence[str], saltenv: str) -> list[int]:
    """Keep the states of some IDs and everything they depend on; a check keeps its state."""
    wanted = set(only_ids)
    known = {draft.id for draft in wiring.drafts}
    missing = [id_ for id_ in only_ids if id_ not in known]
    if missing:
        raise CompileError([Issue(f"No matches for ID '{id_}' found within saltenv '{saltenv}'") for id_ in missing])
    before: list[list[int]] = [[] for _ in wiring.chunk]
    for node, targets in enumerate(wiring.after):
        for target in targets:
            before[target].append(node)
    stack = [node for node, draft in enumerate(wiring.drafts) if draft.id in wanted]
    kept = set(stack)
    while stack:
        node = stack.pop()
        for other in (*before[node], *([wiring.chunk[node]] if wiring.kind[node] is NodeKind.CHECK else ())):
            if other not in kept:
                kept.add(other)
                stack.append(other)
    return [node for node in serial if node in kept]


def _rows_only(rows: dict[str, dict[str, Any]], saltenv: str) -> Plan:
    return Plan((), (), (), (), Dag(), rows=rows, saltenv=saltenv, digest=plan_digest((), (), Dag()))
