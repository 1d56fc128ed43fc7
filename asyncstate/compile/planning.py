"""States in serial order to a plan: aggregate groups, stages, footprints, transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from asyncstate.compile.findings import Findings
from asyncstate.compile.graph.assemble import PlanBuilder
from asyncstate.compile.graph.implicit import add_footprints
from asyncstate.compile.low.salt_sources import SaltSources
from asyncstate.compile.ordering import silence
from asyncstate.effects.declared import Footprint, touches_nothing
from asyncstate.model.chunk import MOD_AGGREGATE, MOD_TRANSACTION
from asyncstate.model.dag import FILE_ORDER
from asyncstate.model.requisite import CONDITIONS_BEFORE
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from asyncstate.compile.graph.stages import Stages
    from asyncstate.compile.graph.transactions import Transactions
    from asyncstate.compile.high.remote import RemoteReferences
    from asyncstate.compile.ordering import Given, Ordered
    from asyncstate.effects.footprint import Footprints
    from asyncstate.load.plugin import Capabilities
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Contradiction, Plan
    from asyncstate.model.requisite import RemoteRequisite
    from asyncstate.sources.packages.known import KnownPackages

_STEPS = "salt"
"""The state module with the steps of orchestrations. Their effects, on other hosts, are unknown to any other state."""

_WITHOUT_FOOTPRINTS = {
    "none": "implicit_order is none: what must happen between two states is not known",
    FILE_ORDER: "states run one after another, in the order of their files",
}
"""The options ``implicit_order`` that look at no footprints, and why package states then form no transaction."""


_CLAIM_NOTHING = frozenset({"cmd", "test", "module", "event", "http"})
"""State modules whose states leave nothing that another one could undo for certain."""
_CLAIM = frozenset({"creates", "runas"})
"""Arguments with which they do."""
_CONDITIONS = frozenset({*CONDITIONS_BEFORE, "cwd", "env", "prepend_path", "root", "runas", "shell"})
"""The conditions of a state, and the arguments with which their commands are called."""


class Touched(Value):
    """The footprints of a plan's chunks, by index; and those of their conditions, for chunks that have any."""

    by_all: Sequence[Footprint]
    by_conditions: Mapping[int, Footprint]


class Planning(Value):
    """Makes plans for one machine."""

    given: Given
    capabilities: Capabilities

    def plan(self, ordered: Ordered, saltenv: str, only_ids: Sequence[str] = (), where: str = "") -> Plan:
        """Return the plan of the states, whose graph is used up.

        ``only_ids`` keeps only these IDs and what they depend on; raises CompileError for one that ``where``, a name
        of the tree, does not have.
        """
        graph, order, serial, findings = ordered.graph, ordered.order, ordered.serial, ordered.findings
        if only_ids:
            from asyncstate.compile.graph.restrict import restrict  # noqa: PLC0415 - as asked for

            serial = restrict(graph, serial, only_ids, where)
        stages = None
        if not all(draft.automatic for draft in graph.drafts):
            from asyncstate.compile.graph.stages import add_stages, effective_stages  # noqa: PLC0415 - where orders are given

            stages = effective_stages(graph, serial, order.cap)
        serial, alone = self._aggregate(ordered, serial, stages)
        order.forget_keys()
        builder = PlanBuilder(graph, serial, order)
        if stages is not None:
            add_stages(builder, serial, stages)
        transactions = self._transactions(builder, findings, ordered.remote)
        unknown, known = self._order_by_footprints(builder, findings, transactions)
        wanting = sum(each.state not in _CLAIM_NOTHING or not _CLAIM.isdisjoint(each.args) for each in builder.chunks)
        contradictions = self._contradictions(builder, findings, known) if wanting > 1 else ()
        refused = {builder.number[node]: why for node, why in alone.items()}
        if transactions is not None:
            transactions.add_groups()
            refused |= transactions.refused
        silence(findings, self.given.opts, self.given.file_client)
        remote: tuple[RemoteRequisite, ...] = ()
        if ordered.remote:
            from asyncstate.compile.high.remote import remote_requisites  # noqa: PLC0415 - where there are any

            remote = remote_requisites(ordered.remote, builder.chunks, can_watch=self.capabilities.can_watch)
        return builder.finish(
            remote=remote,
            listening=ordered.listening,
            rows={**ordered.disabled, **ordered.listening.rows},
            findings=findings,
            saltenv=saltenv,
            refused=refused,
            unknown=unknown,
            contradictions=contradictions,
        )

    def _aggregate(
        self, ordered: Ordered, serial: list[int], stages: Stages | None
    ) -> tuple[list[int], dict[int, str]]:
        """Return the new serial order, and for eligible states without a group the reason."""
        option = self.given.opts.get("state_aggregate")
        if not option and not any("aggregate" in draft.args for draft in ordered.graph.drafts):
            return serial, {}
        from asyncstate.compile.graph.aggregate import aggregate, why_alone, why_alone_in_fleet  # noqa: PLC0415 - as above

        return aggregate(
            ordered.graph,
            ordered.order,
            serial,
            stages.of if stages is not None else None,
            option=option,
            has_mod_aggregate=lambda module: self.capabilities.has(module, MOD_AGGREGATE),
            alone=why_alone_in_fleet if self.given.remote else why_alone,
        )

    def _order_by_footprints(
        self, builder: PlanBuilder, findings: Findings, transactions: Transactions | None
    ) -> tuple[dict[int, str], list[Footprint] | None]:
        """Add the edges of the implicit order.

        Returns of each chunk whose effects it does not order why, and what all touch if the option looks at that.
        """
        mode = self._implicit_order(builder.chunks)
        if mode in _WITHOUT_FOOTPRINTS:
            if transactions is not None:
                transactions.refuse_all()
            if mode == FILE_ORDER:
                from asyncstate.compile.graph.stages import add_file_order  # noqa: PLC0415 - as asked for

                add_file_order(builder)
            return {}, None
        if transactions is None and mode != "learned" and all(map(touches_nothing, builder.chunks)):
            return {}, [Footprint()] * len(builder.chunks)
        footprints = self._footprints(builder.chunks, findings)
        known = add_footprints(builder, footprints, transactions)
        return footprints.unknown, known

    def _contradictions(
        self, builder: PlanBuilder, findings: Findings, known: list[Footprint] | None
    ) -> tuple[Contradiction, ...]:
        """Return the states that undo each other's work and those that a run refuses; certain ones are mistakes."""
        from asyncstate import extend  # noqa: PLC0415 - few trees may have any
        from asyncstate.effects.refusals import refused  # noqa: PLC0415

        chunks = builder.chunks
        if known is None:
            known = self._footprints(chunks, Findings()).of_all(chunks, range(len(chunks)))
        found: list[Contradiction] = []
        if (undone := extend.offered("contradictions")) is not None:
            found += undone(chunks, builder.dag, known, SaltSources(self.given.file_client), self._packages(chunks))
        found += refused(chunks, known) if self.given.machine.is_root else []
        for each in found:
            if each.certain:
                second = chunks[each.second]
                findings.noted(each.code, each.message, second.file, second.line, each.hint, mistake=True)
        return tuple(found)

    def touched(self, chunks: Sequence[LowChunk]) -> Touched:
        """Return what the chunks of a plan touch, also those that may run beside any other."""
        alone = [_without(chunk, "parallel") for chunk in chunks]
        tests = [_only_tests(chunk) for chunk in alone if not chunk.args.keys().isdisjoint(CONDITIONS_BEFORE)]
        known = self._footprints(alone, Findings()).of_all([*alone, *tests], range(len(alone) + len(tests)))
        tested = zip((chunk.index for chunk in tests), known[len(alone) :], strict=True)
        return Touched(known[: len(alone)], dict(tested))

    def _footprints(self, chunks: Sequence[LowChunk], findings: Findings) -> Footprints:
        from asyncstate.effects.calls import Templates  # noqa: PLC0415 - where some state touches anything
        from asyncstate.effects.footprint import Footprints  # noqa: PLC0415
        from asyncstate.effects.formula import FormulaRule  # noqa: PLC0415
        from asyncstate.effects.homes import Homes  # noqa: PLC0415
        from asyncstate.effects.surroundings import Surroundings  # noqa: PLC0415

        machine, mode = self.given.machine, self._implicit_order(chunks)
        opts, client = self.given.opts, self.given.file_client
        sources = SaltSources(client)
        packages = self._packages(chunks)
        return Footprints(
            self.given.states,
            FormulaRule(strict=mode == "strict", packages=packages, has_account=machine.has_account),
            findings.warn_at,
            machine.links,
            surroundings=Surroundings(client, opts, machine.python),
            templates=Templates(sources.template_of, usual_syntax=not opts.get("jinja_env")),
            script_of=sources.script_of,
            homes=Homes(chunks, machine.home_of),
            learned=machine.learned if mode == "learned" else None,
        )

    def _packages(self, chunks: Sequence[LowChunk]) -> KnownPackages | None:
        """Return what is known of packages, None if no state is about any."""
        if self.given.machine.packages is None or "pkg" not in {chunk.state for chunk in chunks}:
            return None
        return self.given.machine.packages(str(self.given.grains.get("os_family")))

    def _transactions(self, builder: PlanBuilder, findings: Findings, remote: RemoteReferences) -> Transactions | None:
        """Return what forms transactions; None if no module can, or if the options already say what to aggregate."""
        if self.given.opts.get("state_aggregate") is not None:
            return None
        modules = dict.fromkeys(chunk.state for chunk in builder.chunks)
        if not any(self.capabilities.has(module, MOD_TRANSACTION) for module in modules):
            return None
        from asyncstate.compile.graph.aggregate import why_alone_in_fleet  # noqa: PLC0415 - few modules can
        from asyncstate.compile.graph.transactions import Transactions, call_hook  # noqa: PLC0415

        explicit = {chunk.state for chunk in builder.chunks if chunk.args.get("aggregate")}
        waiting = {of for of, references in remote.items() if not all(each.reverse for each in references)}

        def refuses(chunk: LowChunk, first: bool) -> str | None:
            if chunk.state in explicit or not self.capabilities.has(chunk.state, MOD_TRANSACTION):
                return None
            function = self.given.states.find(f"{chunk.state}.{MOD_TRANSACTION}")
            if function is not None and (chunk.id, chunk.state) in waiting:
                return "it waits for a state of another host"
            if function is not None and self.given.remote and (why := why_alone_in_fleet(chunk.args)):
                return why
            return None if function is None else call_hook(function.func, chunk, findings, first=first)

        return Transactions(builder, refuses, self._no_transactions(self._implicit_order(builder.chunks)))

    def _implicit_order(self, chunks: Sequence[LowChunk]) -> str:
        """Return the option ``implicit_order``: in an orchestration, the order of the file unless it is ``none``."""
        mode = str(self.given.opts.get("implicit_order") or "footprint")
        return FILE_ORDER if mode != "none" and _STEPS in {chunk.state for chunk in chunks} else mode

    def _no_transactions(self, mode: str) -> str:
        """Return what keeps package states apart, "" if nothing does."""
        if mode in _WITHOUT_FOOTPRINTS:
            return _WITHOUT_FOOTPRINTS[mode]
        return "failhard is on: a state that fails must stop all later ones" if self.given.opts.get("failhard") else ""


def _without(chunk: LowChunk, argument: str) -> LowChunk:
    if argument not in chunk.args:
        return chunk
    return structs.replace(chunk, args={key: value for key, value in chunk.args.items() if key != argument})


def _only_tests(chunk: LowChunk) -> LowChunk:
    """Return a chunk that does nothing, with the conditions of another, and with what they are called with."""
    args = {key: value for key, value in chunk.args.items() if key in _CONDITIONS}
    return structs.replace(chunk, state="test", fun="nop", args=args)
