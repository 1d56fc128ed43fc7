"""The compiler's answers about a tree: first the ones that need no order of its states, then all.

No state runs. Templates are rendered, but they call only execution functions that read: `harmless` has the list,
and stand-ins for the others. A mistake in a file with a stand-in is reported as uncertain.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from asyncstate.errors import CompileError
from asyncstate.extras.editor.analysis import ANALYSIS, JUDGE, MANUAL, LintFinding
from asyncstate.extras.editor.harmless import LeftOut
from asyncstate.extras.editor.index import REQUISITES
from asyncstate.extras.editor.messages import (
    Argument,
    Catalog,
    Compiled,
    Finding,
    Fix,
    Fixes,
    Found,
    Function,
    Rendered,
    Seen,
)
from asyncstate.extras.editor.tree import sls_name
from asyncstate.logs import get_logger
from asyncstate.runtime import StateRuntime
from asyncstate.services import Embedding

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Iterable, Iterator

    from asyncstate.config import Settings
    from asyncstate.errors import Issue
    from asyncstate.extras.editor.messages import Answer, Job
    from asyncstate.extras.editor.render_cache import Renderings
    from asyncstate.model.plan import Plan

log: logging.Logger = get_logger(__name__)

_ATTEMPTS = 20
"""The number of requisites that are tried, at one compilation each."""
_DEEPEST = 6
"""The depth to which pillar keys are offered."""


def early(job: Job, settings: Settings, kept: Renderings, is_out_of_date: Callable[[], bool]) -> Iterator[Answer]:
    """Yield the keys of this host, and the diagnostics of the tree that need no plan.

    Renderings are kept. Ends soon, with meaningless answers, once the job is out of date.
    """
    yield from _Look(job, settings, kept, is_out_of_date).answers(whole=False)


def whole(job: Job, settings: Settings, kept: Renderings) -> Iterator[Answer]:
    """Yield all state functions if the job asks for them, then the diagnostics of the tree, its states, and fixes.

    The functions come first, as they outlive the job: typing ends job after job before its diagnostics.
    """
    look = _Look(job, settings, kept)
    if job.catalog:
        yield look.catalog()
    yield from look.answers(whole=True)
    yield Fixes(tuple(look.fixes()))


def _guarded(findings: Iterable[Finding], left_out: LeftOut) -> Iterator[Finding]:
    """Yield the findings, as no mistakes in files whose calls were left out, and one for the calls left out."""
    for finding in findings:
        yield structs.replace(finding, mistake=finding.mistake and finding.file not in left_out.by_file)
    for path, names in left_out.by_file.items():
        for name in names:
            message = f"'{name}' may do more than read, so it is not called for an editor: its value is unknown here"
            yield Finding("not-called", message, path, 0, "asyncstate check calls it", mistake=False)


class _Look:
    """Compiles the highstate, then each SLS of a job that is not in it."""

    def __init__(
        self, job: Job, settings: Settings, kept: Renderings, is_out_of_date: Callable[[], bool] = lambda: False
    ) -> None:
        self._job = job
        self._is_out_of_date = is_out_of_date
        self._left_out = LeftOut()
        kept.begin(job.texts, self._left_out)
        embedding = Embedding(texts=job.texts, restraint=self._left_out, renderings=kept)
        self.runtime = StateRuntime(settings, embedding=embedding)
        self._rendered: set[str] = set()
        self._kept = kept
        self._settings = settings
        self._plans: list[tuple[Plan, list[LintFinding]]] = []

    def catalog(self) -> Catalog:
        """Return all state functions, also where the pillar does not render."""
        with suppress(CompileError), self.runtime.open_sync():
            pass
        return _catalog(self.runtime)

    def answers(self, *, whole: bool) -> Iterator[Answer]:
        """Yield the early answers, or all."""
        try:
            with self.runtime.open_sync():
                host = self.runtime.host
                if not whole:
                    yield Seen(tuple(_keys(host.pillar)), tuple(_keys(host.grains)))
                findings, states = self._tree(whole=whole)
        except CompileError as error:
            findings, states = list(map(_mistake, error.issues)), None
        if states is not None:
            yield Compiled(states)
        yield Found(tuple(dict.fromkeys(_guarded(findings, self._left_out))), whole)

    def _tree(self, *, whole: bool) -> tuple[list[Finding], tuple[Rendered, ...] | None]:
        """Return the findings of check and lint, and with ``whole`` the states."""
        JUDGE(self.runtime)
        pillar = self.runtime.planner.watch_pillar()
        found: list[Finding] = []
        states = None
        try:
            if whole:
                plan = self._shown(self.runtime.compile_sync(refusal=self._note))
                states = _states(plan)
                found += self._findings(plan.warnings, self._lint(plan, pillar.unused()))
            else:
                found += self._warnings(self.runtime.planner.check(refusal=self._note))
        except CompileError as error:
            log.debug("%s", error)
            found += map(_mistake, error.issues)
        for sls, env, path in list(self._outside()):
            found += [each for each in self._alone(sls, env, whole=whole) if each.file == path]
        return found, states

    def _note(self, sls: str) -> str:
        self._rendered.add(sls)
        return "out of date" if self._is_out_of_date() else ""

    def _outside(self) -> Iterator[tuple[str, str, str]]:
        """Yield the name, the environment and the path of each SLS of the job that was not rendered."""
        client = self.runtime.file_client
        for path in self._job.sls:
            for env in client.envs():
                for root in client.roots(env):
                    name = sls_name(os.path.relpath(path, root))
                    file = client.sls_file(name, env)
                    if file is not None and file.path == path and name not in {*self._rendered, "top"}:
                        yield name, env, path

    def _alone(self, sls: str, env: str, *, whole: bool) -> list[Finding]:
        try:
            if not whole:
                return self._warnings(self.runtime.planner.check([sls], saltenv=env))
            plan = self.runtime.compile_sync([sls], saltenv=env)
        except CompileError as error:
            return list(map(_mistake, error.issues))
        plan = self._shown(plan)
        return self._findings(plan.warnings, self._lint(plan, []))

    def _shown(self, plan: Plan) -> Plan:
        return self.runtime.shown(plan)

    def fixes(self) -> Iterator[Fix]:
        """Yield missing requisites that can be written into open files, if the tree compiles with them."""
        tried = 0
        for plan, findings in self._plans:
            for finding in findings:
                if finding.missing < 0 or finding.file not in self._job.sls or tried >= _ATTEMPTS:
                    continue
                tried += 1
                text = ANALYSIS.with_requisite(plan, finding, self._text)
                if text and self._compiles({**self._job.texts, finding.file: text}, plan.chunks[finding.chunk].sls):
                    yield _fix(finding, plan, self._text(finding.file), text)

    def _compiles(self, texts: dict[str, str], sls: str) -> bool:
        self._kept.begin(texts, LeftOut())
        embedding = Embedding(texts=texts, restraint=LeftOut(), renderings=self._kept)
        runtime = StateRuntime(self._settings, embedding=embedding)
        try:
            with runtime.open_sync():
                runtime.planner.watch_pillar()
                runtime.planner.check(None if sls in self._rendered else [sls])
        except CompileError:
            return False
        return True

    def _lint(self, plan: Plan, unused_pillar: list[str]) -> list[LintFinding]:
        texts = self._job.texts
        found: list[LintFinding] = ANALYSIS.findings(
            plan, settings=self.runtime.settings, unused_pillar=unused_pillar, read=self._text, texts=texts
        )
        self._plans.append((plan, found))
        return found

    def _warnings(self, warnings: tuple[Issue, ...]) -> list[Finding]:
        redactor = self.runtime.secrets.redactor
        said = sorted(map(redactor.issue, warnings), key=lambda issue: (issue.file, issue.line))
        return self._findings(warnings, ANALYSIS.as_findings(said))

    def _findings(self, warnings: tuple[Issue, ...], found: list[LintFinding]) -> list[Finding]:
        certain = {_place(issue) for issue in map(self.runtime.secrets.redactor.issue, warnings) if issue.mistake}
        return [
            Finding(each.rule, each.message, each.file, each.line, each.hint, _place(each) in certain, each.code)
            for each in ANALYSIS.one_for_each_place(found)
        ]

    def _text(self, path: str) -> str:
        text = self._job.texts.get(path)
        return self.runtime.file_client.read(path).decode(errors="replace") if text is None else text


def _place(finding: LintFinding | Issue) -> tuple[str, str, int]:
    return finding.message, finding.file, finding.line


def _fix(finding: LintFinding, plan: Plan, old: str, new: str) -> Fix:
    """Return the lines in which two texts differ."""
    missing = plan.chunks[finding.missing]
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    same = 0
    while same < min(len(before), len(after)) - start and before[-1 - same] == after[-1 - same]:
        same += 1
    title = f"Write the requisite: require {missing.state}: {missing.id}"
    text = "".join(after[start : len(after) - same])
    return Fix(finding.rule, finding.file, finding.line, title, start, len(before) - same, text)


def _mistake(issue: Issue) -> Finding:
    return Finding(issue.rule, issue.message, issue.file, issue.line, issue.hint, mistake=True, code=issue.code)


def _keys(data: Any, above: str = "", depth: int = 1) -> Iterator[str]:
    if isinstance(data, Mapping):
        for key, value in data.items():
            if isinstance(key, str):
                yield f"{above}{key}"
                if depth < _DEEPEST:
                    yield from _keys(value, f"{above}{key}:", depth + 1)


def _states(plan: Plan) -> tuple[Rendered, ...]:
    return tuple(
        Rendered(
            chunk.id, chunk.state, str(chunk.name), chunk.sls, chunk.file, chunk.line, tuple(_references(chunk.args))
        )
        for chunk in plan.chunks
    )


def _references(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the module and the target of each requisite, as the rendered file has it."""
    for keyword in REQUISITES.intersection(args):
        listed = args[keyword]
        for item in listed if isinstance(listed, list) else ():
            if isinstance(item, str):
                yield "", item
            elif isinstance(item, Mapping):
                yield from ((str(module), str(target)) for module, target in item.items())


def _catalog(runtime: StateRuntime) -> Catalog:
    return Catalog(
        {
            name: Function(
                entry["doc"],
                msgspec.convert(entry["arguments"], tuple[Argument, ...]),
                entry["example"],
                entry["file"],
            )
            for name, entry in MANUAL.documentation(runtime.host.loaders["states"]).items()
        }
    )
