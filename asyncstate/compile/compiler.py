"""The compiler: turns SLS names, or high data, into a Plan.

    SLS ──render, include──▶ high data ──extend, verify, _in, exclude──▶ complete high data ──names──▶ drafts
    drafts ──requisites──▶ graph ──sort──▶ serial order ──aggregate groups, stages, footprints──▶ Plan

An arrow names the steps in the order they happen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from asyncstate.compile.effects.aggregate import aggregate, warn_odd_options, why_alone, why_alone_in_fleet
from asyncstate.compile.effects.calls import Templates
from asyncstate.compile.effects.footprint import Footprints, FootprintSource, add_footprints
from asyncstate.compile.effects.formula import FormulaRule
from asyncstate.compile.effects.homes import Homes
from asyncstate.compile.effects.surroundings import Surroundings
from asyncstate.compile.effects.transactions import Transactions, call_hook
from asyncstate.compile.findings import Findings
from asyncstate.compile.graph.assemble import PlanBuilder
from asyncstate.compile.graph.cycle import report_cycle
from asyncstate.compile.graph.listen import resolve_listeners
from asyncstate.compile.graph.order import SerialOrder, settle_orders
from asyncstate.compile.graph.requisite_graph import RequisiteGraph
from asyncstate.compile.graph.resolve import Resolver
from asyncstate.compile.graph.restrict import restrict
from asyncstate.compile.graph.stages import add_stages, effective_stages
from asyncstate.compile.high.declarations import EXCLUDE, EXTEND, normalise
from asyncstate.compile.high.exclude import add_excludes, apply_excludes
from asyncstate.compile.high.extend import reconcile_extends
from asyncstate.compile.high.highstate import HighData, HighStateBuilder
from asyncstate.compile.high.remote import remote_requisites, take_remote
from asyncstate.compile.high.requisite_in import expand_requisite_in
from asyncstate.compile.high.verify import sound_part, verify_high
from asyncstate.compile.low.arguments import check_arguments
from asyncstate.compile.low.fleet_order import check_fleet_order
from asyncstate.compile.low.lowstate import compile_low
from asyncstate.compile.low.salt_sources import SaltSources
from asyncstate.data.packages import package_lists
from asyncstate.errors import Issue
from asyncstate.garbage_collector import rare_collections
from asyncstate.model.chunk import fresh
from asyncstate.model.dag import Dag
from asyncstate.model.hooks import MOD_AGGREGATE, MOD_TRANSACTION, MOD_WATCH
from asyncstate.model.plan import Plan, plan_digest
from asyncstate.model.rules import ANY, Silenced
from asyncstate.sources.fileclient import OneMoreSls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from asyncstate.compile.effects.aggregate import Aggregation
    from asyncstate.compile.effects.brought import PackageKnowledge
    from asyncstate.compile.effects.links import Links
    from asyncstate.compile.effects.seen import Learned
    from asyncstate.compile.graph.stages import Stages
    from asyncstate.compile.high.remote import RemoteReferences
    from asyncstate.compile.low.arguments import Functions
    from asyncstate.compile.low.draft import Draft
    from asyncstate.model.chunk import LowChunk
    from asyncstate.sources.fileclient import FileClient, SlsFile
    from asyncstate.sources.matchers import Matcher
    from asyncstate.sources.topfile import Render, Top


class StateIndex(FootprintSource, Protocol):
    """What the compiler needs to know about state modules."""

    def has(self, name: str, /) -> bool:
        """Whether there is a function ``module.function``."""

    def module(self, name: str, /) -> object | None:
        """Return the module of that name, or None if there is none."""

    def reason(self, name: str, /) -> str:
        """Return, in Salt's words, why there is no ``module.function``."""


class Compiler:
    """Compiles trees for one machine. Every method raises CompileError with all mistakes it found.

    ``render(file, context)`` renders one SLS. ``states.has("module.function")`` says which functions state modules
    have. ``functions``, the loader of state modules, says which arguments each function takes; without it the compiler
    does not check arguments. ``links`` are those of this machine, ``python`` is the folder of the Python that runs us,
    ``home_of`` finds the home of a user, ``has_account`` says which accounts (``user:www``) this machine has,
    ``packages`` what is known of the packages of its family of systems (the grain ``os_family``).
    ``learned`` says what states were seen to touch, for the option ``implicit_order: learned``. ``remote``: requisites
    may name states of other hosts.
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
        functions: Functions | None = None,
        links: Links | None = None,
        python: str = "",
        home_of: Callable[[str], str] | None = None,
        learned: Learned | None = None,
        has_account: Callable[[str], bool] | None = None,
        packages: Callable[[str], PackageKnowledge | None] = package_lists,
        remote: bool = False,
    ) -> None:
        self._opts = opts
        self._functions = functions
        self._links = links
        self._python = python
        self._home_of = home_of
        self._learned = learned
        self._has_account = has_account
        self._packages = packages
        self._allows_remote = remote
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
        """Render the given SLS, or those of the top file, into high data (``.data``); ``extend`` is not yet applied."""
        with rare_collections():
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
        """Compile the given SLS, or those of the top file.

        ``only_ids`` keeps only these IDs and what they depend on. If a highstate has nothing to do, the plan has no
        chunks and a single row that says so, as in Salt.
        """
        with rare_collections():
            if sls is None:
                return self._plan_highstate(self._env(saltenv), exclude, only_ids)
            high = self._build({self._env(saltenv): list(sls)}, exclude)
            return self._plan(high, self._env(saltenv), only_ids, f"SLS '{','.join(sls)}'")

    def plan_file(self, file: SlsFile) -> Plan:
        """Compile one file, at any path. It may only declare states, as in Salt's ``state.template``."""
        with rare_collections():
            high = self._build({file.saltenv: [file.sls]}, (), OneMoreSls(self._file_client, file))
            declared = {"include": high.includes.get(file.sls), "exclude": high.data.get(EXCLUDE)}
            for word, value in {**declared, "extend": high.data.get(EXTEND)}.items():
                if value:
                    message = (
                        f"The '{word}' declaration found on '{file.path}' is invalid when rendering single templates"
                    )
                    high.findings.error_at(message, file.path, 0)
            return self._plan(high, file.saltenv, ())

    def plan_high(self, high: dict[Any, Any]) -> Plan:
        """Compile high data that did not come from files. ``high`` itself is not changed.

        IDs may be written as in an SLS (``{"a": "test.nop", "b": {"test.nop": []}}``) or as in high data.
        """
        with rare_collections():
            findings = Findings()
            copied = fresh(high)
            special = {id_: copied.pop(id_) for id_ in (EXTEND, EXCLUDE) if id_ in copied}
            normalise(copied, "", self._env(None), findings)
            return self._plan(HighData(copied | special, findings), self._env(None))

    def _plan_highstate(self, saltenv: str, exclude: Sequence[Any] | str, only_ids: Sequence[str]) -> Plan:
        from asyncstate.sources.topfile import NO_MATCH, NO_STATES, matches  # noqa: PLC0415 - as above

        top = self.top()
        if top.failure:
            return self._nothing(top.failure, top, saltenv)
        selection = matches(top, self._matcher, self._opts)
        if not selection:
            return self._nothing(NO_MATCH, top, saltenv)
        high = self._build(selection, exclude)
        high.findings.warnings[:0] = top.warnings
        if not high.data and not high.findings.errors:
            assigned = ", ".join(dict.fromkeys(sls for names in selection.values() for sls in names))
            return self._nothing(NO_STATES, top, saltenv, f"the top file assigns {assigned}; there are no states in it")
        return self._plan(high, saltenv, only_ids)

    def _nothing(self, comment: str, top: Top, saltenv: str, why: str = "") -> Plan:
        """Return a plan with Salt's single failed row, and a mistake that says what was searched for, and where."""
        from asyncstate.sources.topfile import no_states_row, why_nothing  # noqa: PLC0415 - as above

        hint = why or why_nothing(top, self._file_client, self._opts, str(self._opts.get("id", "")))
        issue = Issue(comment, hint=hint, mistake=True)
        return _rows_only(no_states_row(comment), saltenv, (*top.warnings, issue))

    def _build(
        self, selection: Mapping[str, Sequence[str]], exclude: Sequence[Any] | str, client: FileClient | None = None
    ) -> HighData:
        builder = HighStateBuilder(
            opts=self._opts, file_client=client or self._file_client, render=self._render, findings=Findings()
        )
        high = builder.build(selection)
        add_excludes(high, exclude)
        return high

    def _plan(
        self, high: HighData, saltenv: str, only_ids: Sequence[str] = (), selected: str = "the highstate"
    ) -> Plan:
        findings = high.findings
        remote = self._complete(high)
        low = compile_low(high, findings, self._disabled_states())
        self._check_calls(low.drafts, findings)
        check_fleet_order(low.drafts, findings)
        graph = self._resolve_requisites(low.drafts, high)
        order = SerialOrder(graph)
        serial = order.sort()
        if len(serial) + len(graph.members) < len(graph.chunk):
            report_cycle(graph, findings)
        listening = resolve_listeners(graph.drafts, graph.seen_in(serial), findings)
        findings.check()
        if only_ids:
            serial = restrict(graph, serial, only_ids, f"{selected} within saltenv '{saltenv}'")
        stages = effective_stages(graph, serial, order.cap)
        warn_odd_options(low.drafts, self._opts.get("state_aggregate"), findings, why_not=self._why_not_aggregated)
        aggregation = self._aggregate(graph, order, serial, stages)
        order.forget_keys()
        builder = PlanBuilder(graph, aggregation.serial, order)
        if stages is not None:
            add_stages(builder, aggregation.serial, stages)
        transactions = self._transactions(builder, findings, remote)
        unknown = self._order_by_footprints(builder, findings, transactions)
        refused = {builder.number[node]: why for node, why in aggregation.refused.items()}
        if transactions is not None:
            transactions.add_groups()
            refused |= transactions.refused
        self._silence(findings)
        return builder.finish(
            remote=remote_requisites(remote, builder.chunks, can_watch=self._can_watch),
            listening=listening,
            rows={**low.disabled, **listening.rows},
            findings=findings,
            saltenv=saltenv,
            refused=refused,
            unknown=unknown,
        )

    def _complete(self, high: HighData) -> RemoteReferences:
        """Apply what one SLS says about states of another (``extend``, ``_in``, ``exclude``), and check the result.

        Return the references to states of other hosts.
        """
        findings = high.findings
        if not findings.errors:
            reconcile_extends(high, findings)
        remote = take_remote(
            high,
            findings,
            own=str(self._opts.get("id") or ""),
            refused=not self._allows_remote,
            disabled=self._disabled_requisites(),
        )
        referring = verify_high(high, findings)
        if findings.errors:
            sound = sound_part(high)
            apply_excludes(sound)
            drafts = compile_low(sound, sound.findings, self._disabled_states()).drafts
            self._check_calls(drafts, findings, whole=False)
        findings.check()
        if referring:
            expand_requisite_in(high, findings, self._disabled_requisites())
        apply_excludes(high)
        findings.check()
        return remote

    def _check_calls(self, drafts: list[Draft], findings: Findings, *, whole: bool = True) -> None:
        """Find calls that would fail in a run. Not ``whole``: states with errors are missing from ``drafts``."""
        if self._functions is None:
            return
        strict = bool(self._opts.get("strict_arguments"))
        sources = SaltSources(self._file_client)
        check_arguments(drafts, self._functions, findings, used_by=sources.text_of, strict=strict, whole=whole)
        sources.check(drafts, findings)
        self._silence(findings)
        if strict:
            findings.refuse_mistakes()

    def _silence(self, findings: Findings) -> None:
        """Drop the warnings that the options, or comments in the tree, silence."""
        ignored = frozenset(self._opts.get("ignore_rules") or ())
        silenced = Silenced(lambda path: self._file_client.read(path).decode(errors="replace"))

        def unwanted(issue: Issue) -> bool:
            return (issue.rule or ANY) in ignored or silenced.holds(issue.rule, issue.file, issue.line)

        if findings.warnings:
            findings.silence(unwanted)

    def _resolve_requisites(self, drafts: list[Draft], high: HighData) -> RequisiteGraph:
        graph = RequisiteGraph(drafts)
        resolver = Resolver(
            graph,
            high,
            high.findings,
            has_mod_watch=self._can_watch,
            disabled=self._disabled_requisites(),
        )
        resolver.resolve()
        settle_orders(drafts, high.findings)
        return graph

    def _can_watch(self, module: str) -> bool:
        """Return whether a module has ``mod_watch``, now or once the tree has installed what it lacks."""
        if self._can(module, MOD_WATCH):
            return True
        later = self._states.refused(module)
        return later is not None and MOD_WATCH in later.functions

    def _aggregate(
        self, graph: RequisiteGraph, order: SerialOrder, serial: list[int], stages: Stages | None
    ) -> Aggregation:
        return aggregate(
            graph,
            order,
            serial,
            stages.of if stages is not None else None,
            option=self._opts.get("state_aggregate"),
            has_mod_aggregate=lambda module: self._can(module, MOD_AGGREGATE),
            alone=why_alone_in_fleet if self._allows_remote else why_alone,
        )

    def _why_not_aggregated(self, module: str) -> str | None:
        """Return why a module can never be aggregated, or None. A module that refuses only this machine is accepted."""
        if self._can(module, MOD_AGGREGATE):
            return None
        if self._states.module(module) is not None:
            return f"that module has no {MOD_AGGREGATE}"
        refused = "__virtual__" in self._states.reason(f"{module}.{MOD_AGGREGATE}")
        return None if refused else "there is no such state module"

    def _order_by_footprints(
        self, builder: PlanBuilder, findings: Findings, transactions: Transactions | None
    ) -> dict[int, str]:
        """Add the edges of the option ``implicit_order``; say of each chunk whose effects it does not order why."""
        mode = str(self._opts.get("implicit_order") or "footprint")
        if mode == "none":
            if transactions is not None:
                transactions.refuse_all()
            return {}
        sources = SaltSources(self._file_client)
        templates = Templates(sources.template_of, usual_syntax=not self._opts.get("jinja_env"))
        surroundings = Surroundings(self._file_client, self._opts, self._python)
        homes = Homes(builder.chunks, self._home_of)
        formula = FormulaRule(
            strict=mode == "strict",
            packages=self._packages(str(self._grains.get("os_family"))) if _has_packages(builder) else None,
            has_account=self._has_account,
        )
        footprints = Footprints(
            self._states,
            formula,
            findings,
            self._links,
            surroundings=surroundings,
            templates=templates,
            script_of=sources.script_of,
            homes=homes,
            learned=self._learned if mode == "learned" else None,
        )
        add_footprints(builder, footprints, transactions)
        return footprints.unknown

    def _transactions(self, builder: PlanBuilder, findings: Findings, remote: RemoteReferences) -> Transactions | None:
        """Return what forms transactions; None if the tree or the options already say what to aggregate."""
        if self._opts.get("state_aggregate") is not None:
            return None
        explicit = {chunk.state for chunk in builder.chunks if chunk.args.get("aggregate")}
        waiting = {of for of, references in remote.items() if not all(each.reverse for each in references)}

        def refuses(chunk: LowChunk, first: bool) -> str | None:
            if chunk.state in explicit or not self._can(chunk.state, MOD_TRANSACTION):
                return None
            function = self._states.find(f"{chunk.state}.{MOD_TRANSACTION}")
            if function is not None and (chunk.id, chunk.state) in waiting:
                return "it waits for a state of another host"
            if function is not None and self._allows_remote and (why := why_alone_in_fleet(chunk.args)):
                return why
            return None if function is None else call_hook(function.func, chunk, findings, first=first)

        return Transactions(builder, refuses, self._no_transactions())

    def _no_transactions(self) -> str:
        """Return which option keeps package states apart, "" if none does."""
        if self._opts.get("implicit_order") == "none":
            return "implicit_order is none: what must happen between two states is not known"
        return "failhard is on: a state that fails must stop all later ones" if self._opts.get("failhard") else ""

    def _env(self, saltenv: str | None) -> str:
        return saltenv or self._opts.get("saltenv") or "base"

    def _disabled_requisites(self) -> frozenset[str]:
        disabled = self._opts.get("disabled_requisites") or ()
        return frozenset([disabled] if isinstance(disabled, str) else disabled)

    def _disabled_states(self) -> list[str]:
        patterns = self._grains.get("state_runs_disabled") or ()
        return [str(pattern) for pattern in ([patterns] if isinstance(patterns, str) else patterns)]

    def _can(self, module: str, function: str) -> bool:
        """Return whether a module has an optional function; each answer is cached."""
        key = (module, function)
        known = self._capabilities.get(key)
        if known is None:
            known = self._capabilities[key] = self._states.has(f"{module}.{function}")
        return known


def _has_packages(builder: PlanBuilder) -> bool:
    return any(chunk.state == "pkg" for chunk in builder.chunks)


def _rows_only(rows: dict[str, dict[str, Any]], saltenv: str, warnings: tuple[Issue, ...]) -> Plan:
    digest = plan_digest((), (), Dag())
    return Plan((), (), (), (), Dag(), rows=rows, warnings=warnings, saltenv=saltenv, digest=digest)
