"""The compiler: turns SLS names, or high data, into a Plan.

    SLS ──render, include──▶ high data ──extend, verify, _in, exclude──▶ complete high data ──names──▶ drafts
    drafts ──requisites──▶ graph ──sort──▶ serial order ──aggregate groups, stages, footprints──▶ Plan

An arrow names the steps in the order they happen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.compile.findings import Findings
from asyncstate.compile.high.declarations import EXCLUDE, EXTEND, normalise
from asyncstate.compile.high.highstate import HighData, HighStateBuilder, nowhere
from asyncstate.compile.high.verify import verify_high
from asyncstate.compile.ordering import Ordering, silence
from asyncstate.compile.planning import Planning
from asyncstate.data.limits import rare_collections
from asyncstate.errors import CompileError, Issue
from asyncstate.load.plugin import Capabilities
from asyncstate.model.chunk import fresh
from asyncstate.model.dag import Dag
from asyncstate.model.plan import Plan, plan_digest
from asyncstate.sources.fileclient import OneMoreSls

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from asyncstate.compile.high.highstate import AssignedAt
    from asyncstate.compile.ordering import Given
    from asyncstate.compile.planning import Touched
    from asyncstate.sources.fileclient import FileClient, SlsFile
    from asyncstate.sources.matchers import Matcher
    from asyncstate.sources.topfile import Render, Top


class Compiler:
    """Compiles trees for one machine. Every method raises CompileError with all mistakes it found.

    ``render(file, context)`` renders one SLS, ``matcher`` makes what says which targets of a top file mean the machine.
    """

    def __init__(self, given: Given, render: Render, matcher: Callable[[], Matcher]) -> None:
        self._opts = given.opts
        self._file_client = given.file_client
        self._render = render
        self._matcher = matcher
        capabilities = Capabilities(given.states)
        self._ordering = Ordering(given, capabilities)
        self._planning = Planning(given, capabilities)

    def top(self) -> Top:
        """Read and merge the top files."""
        from asyncstate.sources.topfile import read_tops  # noqa: PLC0415 - only a highstate needs it

        return read_tops(self._file_client, self._opts, self._render)

    def top_matches(self) -> dict[Any, list[str]]:
        """Return the SLS names meant for this machine, by environment."""
        from asyncstate.sources.topfile import matches  # noqa: PLC0415 - only a highstate needs it

        found = matches(top := self.top(), self._matcher(), self._opts)
        if top.errors:
            raise CompileError(top.errors)
        return found

    def highdata(
        self, sls: Sequence[str] | None = None, saltenv: str | None = None, exclude: Sequence[Any] | str = ()
    ) -> HighData:
        """Render the given SLS, or the top file's, into high data (``.data``); ``extend`` is not yet applied."""
        with rare_collections():
            selection = self.top_matches() if sls is None else {self._env(saltenv): list(sls)}
            high = self._build(selection, exclude, assigned_at=self._assigned_at if sls is None else nowhere)
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
        """Compile the given SLS, or the top file's.

        ``only_ids`` keeps only these IDs and what they depend on. If a highstate has nothing to do, the plan has no
        chunks and a single row that says so, as in Salt.
        """
        with rare_collections():
            env = self._env(saltenv)
            high = self._highstate(env, exclude) if sls is None else self._build({env: list(sls)}, exclude)
            tree = "the highstate" if sls is None else f"SLS '{','.join(sls)}'"
            return high if isinstance(high, Plan) else self._plan(high, env, only_ids, tree)

    def check(self, sls: Sequence[str] | None = None, *, saltenv: str | None = None) -> tuple[Issue, ...]:
        """Return the warnings about the given SLS, or the top file's, that need no plan.

        What states touch and which join one call is not looked at.
        """
        with rare_collections():
            env = self._env(saltenv)
            high = self._highstate(env, ()) if sls is None else self._build({env: list(sls)}, ())
            if isinstance(high, Plan):
                return high.warnings
            findings = self._ordering.order(high).findings
            findings.check()
            silence(findings, self._opts, self._file_client)
            return tuple(findings.warnings)

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
                    high.findings.error_at("E118", message, file.path, 0)
            return self._plan(high, file.saltenv)

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

    def touched(self, plan: Plan) -> Touched:
        """Return what the chunks of a plan touch."""
        return self._planning.touched(plan.chunks)

    def _plan(self, high: HighData, saltenv: str, only_ids: Sequence[str] = (), tree: str = "") -> Plan:
        ordered = self._ordering.order(high)
        where = f"{tree} within saltenv '{saltenv}'"
        plan = self._planning.plan(ordered, saltenv, () if ordered.findings.errors else only_ids, where)
        ordered.findings.check()
        return plan

    def _highstate(self, saltenv: str, exclude: Sequence[Any] | str) -> HighData | Plan:
        """Return the high data of the top file; a plan that says why if there is nothing to do."""
        from asyncstate.sources.topfile import NO_MATCH, NO_STATES, matches  # noqa: PLC0415 - as above

        top = self.top()
        if top.failure:
            return self._nothing(top.failure, top, saltenv)
        selection = matches(top, self._matcher(), self._opts)
        if not selection:
            return self._nothing(NO_MATCH, top, saltenv)
        high = self._build(selection, exclude, assigned_at=self._assigned_at)
        high.findings.warnings[:0] = top.warnings
        high.findings.errors[:0] = top.errors
        if not high.data and not high.findings.errors:
            assigned = ", ".join(dict.fromkeys(sls for names in selection.values() for sls in names))
            return self._nothing(NO_STATES, top, saltenv, f"the top file assigns {assigned}; there are no states in it")
        return high

    def _assigned_at(self, sls: str, env: str) -> tuple[str, int]:
        from asyncstate.sources.topfile import assigned_at, environments  # noqa: PLC0415 - as above

        client, opts = self._file_client, self._opts
        return assigned_at(client, opts, [env, *environments(client, opts)], sls)

    def _nothing(self, comment: str, top: Top, saltenv: str, why: str = "") -> Plan:
        """Return a plan with Salt's single failed row, and a mistake that says what was searched for, and where."""
        from asyncstate.sources.topfile import no_states_row, why_nothing  # noqa: PLC0415 - as above

        hint = why or why_nothing(top, self._file_client, self._opts, str(self._opts.get("id", "")))
        issue = Issue(comment, hint=hint, mistake=True, code="E117")
        return _rows_only(no_states_row(comment), saltenv, (*top.warnings, issue))

    def _build(
        self,
        selection: Mapping[str, Sequence[str]],
        exclude: Sequence[Any] | str,
        client: FileClient | None = None,
        assigned_at: AssignedAt = nowhere,
    ) -> HighData:
        builder = HighStateBuilder(
            opts=self._opts,
            file_client=client or self._file_client,
            render=self._render,
            findings=Findings(),
            assigned_at=assigned_at,
        )
        high = builder.build(selection)
        if exclude:
            from asyncstate.compile.high.exclude import add_excludes  # noqa: PLC0415 - as asked for

            add_excludes(high, exclude)
        return high

    def _env(self, saltenv: str | None) -> str:
        return saltenv or self._opts.get("saltenv") or "base"


def _rows_only(rows: dict[str, dict[str, Any]], saltenv: str, warnings: tuple[Issue, ...]) -> Plan:
    digest = plan_digest((), (), Dag())
    return Plan((), (), (), (), Dag(), rows=rows, warnings=warnings, saltenv=saltenv, digest=digest)
