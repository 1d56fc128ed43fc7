"""High data to states in serial order: every mistake in a tree is found on this path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.compile.graph.assemble import Listening
from asyncstate.compile.graph.order import SerialOrder, settle_orders
from asyncstate.compile.graph.requisite_graph import RequisiteGraph
from asyncstate.compile.graph.resolve import Resolver
from asyncstate.compile.high.declarations import EXCLUDE, EXTEND
from asyncstate.compile.high.highstate import HighData
from asyncstate.compile.high.verify import sound_part, verify_high
from asyncstate.compile.low.arguments import MISSING_ARGUMENT, check_arguments
from asyncstate.compile.low.lowstate import compile_low
from asyncstate.compile.low.salt_sources import SaltSources
from asyncstate.model.requisite import FLEET_KEYWORDS, FLEET_LANE, FLEET_ORDER, HOST
from asyncstate.model.rules import ANY, Silenced
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from asyncstate.compile.findings import Findings
    from asyncstate.compile.high.remote import RemoteReferences
    from asyncstate.compile.low.lowstate import Draft
    from asyncstate.effects.observed import Learned
    from asyncstate.errors import Issue
    from asyncstate.load.loader import LazyLoader
    from asyncstate.load.plugin import Capabilities, StateIndex
    from asyncstate.sources.fileclient import FileClient
    from asyncstate.sources.machine import RealPaths
    from asyncstate.sources.packages.known import KnownPackages

    Judge = Callable[[Sequence[Draft]], Iterable[Issue]]


_HIDING = frozenset({"E202", "E210", "E215"})
"""Errors that hide states, such as an SLS that does not render; if two states have one ID, one of them is hidden."""
OF_MISSING_STATES = frozenset({"E217", "E305", MISSING_ARGUMENT})
"""Errors that may be due to states that are hidden: references to them, and what their extensions give."""


class Ordered(Value):
    """The states of a tree in serial order. ``disabled`` are the rows of states that a grain disables."""

    findings: Findings
    graph: RequisiteGraph
    order: SerialOrder
    serial: list[int]
    listening: Listening
    remote: RemoteReferences
    disabled: dict[str, dict[str, Any]]


class Machine(Value):
    """The machine that a plan is for, as far as it is known.

    ``links`` are its links, ``python`` is the folder of the Python that runs us, ``home_of`` finds the home of a user,
    ``has_account`` says which accounts (``user:www``) there are, ``packages`` what is known of the packages of its
    family of systems (the grain ``os_family``). ``learned`` says what states were seen to touch, for the option
    ``implicit_order: learned``. ``is_root``: root runs the plan there.
    """

    links: RealPaths | None = None
    python: str = ""
    home_of: Callable[[str], str] | None = None
    learned: Learned | None = None
    has_account: Callable[[str], bool] | None = None
    packages: Callable[[str], KnownPackages | None] | None = None
    is_root: bool = False


class Given(Value):
    """What trees of one machine are compiled with.

    ``states`` says which functions state modules have. ``functions``, the loader of state modules, has the arguments of
    each function, and ``modules``, the loader of execution modules, the keywords that states pass on; without them the
    compiler does not check arguments. ``judge(drafts)`` returns the mistakes in the values of states. ``remote``:
    requisites may name states of other hosts.
    """

    opts: dict[str, Any]
    grains: Mapping[str, Any]
    file_client: FileClient
    states: StateIndex
    functions: LazyLoader | None = None
    modules: LazyLoader | None = None
    judge: Judge | None = None
    machine: Machine = Machine()
    remote: bool = False


class Ordering:
    """Orders the states of one machine's trees."""

    def __init__(self, given: Given, capabilities: Capabilities) -> None:
        self._given = given
        self._capabilities = capabilities
        self._disabled_requisites: frozenset[str] = frozenset(_texts(given.opts.get("disabled_requisites")))
        self._disabled_states: list[str] = _texts(given.grains.get("state_runs_disabled"))

    def order(self, high: HighData) -> Ordered:
        """Return the states in serial order. High data is used up.

        If there are errors, they are in the findings, and the states are those that could be read: for whoever looks
        for further mistakes.
        """
        findings = high.findings
        lacks_states = any(issue.code in _HIDING or issue.code.startswith("E1") for issue in findings.errors)
        hidden = [draft for id_, body in high.hidden for draft in _alone(id_, body, findings)]
        high, remote = self._complete(high, lacks_states=lacks_states)
        low = compile_low(high, findings, self._disabled_states)
        self._check_calls([*low.drafts, *hidden], findings)
        _check_fleet_order(low.drafts, findings)
        graph = self._resolve_requisites(low.drafts, high)
        order = SerialOrder(graph)
        serial = order.sort()
        if len(serial) + len(graph.members) < len(graph.chunk):
            from asyncstate.compile.graph.cycle import open_cycles, report_cycle  # noqa: PLC0415 - a mistake

            report_cycle(graph, findings)
            open_cycles(graph)
            serial = order.sort()
        listening = Listening()
        if any("listen" in draft.args or "listen_in" in draft.args for draft in graph.drafts):
            from asyncstate.compile.graph.listen import resolve_listeners  # noqa: PLC0415 - where there are any

            listening = resolve_listeners(graph.drafts, graph.seen_in(serial), findings)
        _leave_out_consequences(findings, lacks_states=lacks_states)
        option = self._given.opts.get("state_aggregate")
        if option is not None or any("aggregate" in draft.args for draft in low.drafts):
            from asyncstate.compile.graph.aggregate import warn_odd_options  # noqa: PLC0415 - where there are any

            warn_odd_options(low.drafts, option, findings, why_not=self._capabilities.why_not_aggregated)
        return Ordered(findings, graph, order, serial, listening, remote, low.disabled)

    def _complete(self, high: HighData, *, lacks_states: bool) -> tuple[HighData, RemoteReferences]:
        """Apply what one SLS says about states of another (``extend``, ``_in``, ``exclude``), and check the result.

        Return what has the right form, and the references to states of other hosts.
        """
        findings = high.findings
        if EXTEND in high.data and not lacks_states:
            from asyncstate.compile.high.extend import reconcile_extends  # noqa: PLC0415 - where there are any

            reconcile_extends(high, findings)
        remote: RemoteReferences = {}
        if _may_name_hosts(high.data):
            from asyncstate.compile.high.remote import take_remote  # noqa: PLC0415 - as found

            own, refused = str(self._given.opts.get("id") or ""), not self._given.remote
            remote = take_remote(high, findings, own=own, refused=refused, disabled=self._disabled_requisites)
        referring = verify_high(high, findings)
        if findings.errors:
            high = sound_part(high)
        if referring:
            from asyncstate.compile.high.requisite_in import expand_requisite_in  # noqa: PLC0415 - where there are any

            expand_requisite_in(high, findings, self._disabled_requisites)
        if EXCLUDE in high.data:
            from asyncstate.compile.high.exclude import apply_excludes  # noqa: PLC0415 - where there are any

            apply_excludes(high)
        return high, remote

    def _check_calls(self, drafts: list[Draft], findings: Findings) -> None:
        """Find calls that would fail in a run."""
        if self._given.functions is None:
            return
        sources = SaltSources(self._given.file_client)
        used_by = sources.keywords_text
        check_arguments(drafts, self._given.functions, findings, modules=self._given.modules, used_by=used_by)
        sources.check(drafts, findings)
        if self._given.judge is not None:
            findings.warnings += dict.fromkeys(self._given.judge(drafts))
        silence(findings, self._given.opts, self._given.file_client)
        if self._given.opts.get("strict_arguments"):
            findings.refuse_mistakes()

    def _resolve_requisites(self, drafts: list[Draft], high: HighData) -> RequisiteGraph:
        graph = RequisiteGraph(drafts)
        resolver = Resolver(
            graph,
            high,
            high.findings,
            has_mod_watch=self._capabilities.can_watch,
            disabled=self._disabled_requisites,
        )
        resolver.resolve()
        settle_orders(drafts, high.findings)
        return graph


def _may_name_hosts(data: Any) -> bool:
    """Whether high data has references with a host, or other lists of mappings with such a key."""
    for body in data.values() if isinstance(data, dict) else ():
        for arguments in body.values() if isinstance(body, dict) else ():
            for argument in arguments if type(arguments) is list else ():
                for references in argument.values() if type(argument) is dict else ():
                    for reference in references if type(references) is list else ():
                        if type(reference) is dict and HOST in reference:
                            return True
    return False


def _alone(id_: Any, body: dict[str, Any], findings: Findings) -> list[Draft]:
    """Return the states of a declaration that is not part of the tree, after a check of its form."""
    high = HighData({id_: body}, findings)
    verify_high(high, findings)
    return compile_low(sound_part(high), findings).drafts


def _check_fleet_order(drafts: Iterable[Draft], findings: Findings) -> None:
    """Find each ``fleet_order`` that is no whole number, and each ``fleet_lane`` that is no name or list of names."""
    for draft in drafts:
        if FLEET_KEYWORDS.isdisjoint(draft.args):
            continue
        order, lane = draft.args.get(FLEET_ORDER, 0), draft.args.get(FLEET_LANE, "-")
        wrong = []
        if type(order) is not int:
            wrong.append((f"{FLEET_ORDER}: {order!r} is no whole number", "such as fleet_order: 10"))
        if not all(type(name) is str and name for name in (lane if type(lane) is list and lane else [lane])):
            wrong.append((f"{FLEET_LANE}: {lane!r} is no name", "such as fleet_lane: migrations"))
        for message, hint in wrong:
            message += f" in state '{draft.id}' in SLS '{draft.sls}'"
            findings.error("E310", message, env=draft.env, sls=draft.sls, id_=draft.id, state=draft.state, hint=hint)


def _leave_out_consequences(findings: Findings, *, lacks_states: bool) -> None:
    """Drop the errors that hidden states may explain."""
    if lacks_states:
        findings.errors = [issue for issue in findings.errors if issue.code not in OF_MISSING_STATES]
        findings.warnings = [issue for issue in findings.warnings if issue.code not in OF_MISSING_STATES]


def silence(findings: Findings, opts: Mapping[str, Any], file_client: FileClient) -> None:
    """Drop the warnings that the options, or comments in the tree, silence."""
    ignored = frozenset(opts.get("ignore_rules") or ())
    silenced = Silenced(lambda path: file_client.read(path).decode(errors="replace"))

    def unwanted(issue: Issue) -> bool:
        return (issue.rule or ANY) in ignored or silenced.holds(issue.rule, issue.file, issue.line, issue.code)

    if findings.warnings:
        findings.silence(unwanted)


def _texts(value: Any) -> list[str]:
    return [str(each) for each in ([value] if isinstance(value, str) else value or ())]
