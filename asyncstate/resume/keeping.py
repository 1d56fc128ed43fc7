"""Opens the journal of a run: writes its plan, and the results that it carries over from the run it resumes.

`PlanRecords` is the recorder of a host's plans, with the keyed digests that name a plan with its inputs.
"""

from __future__ import annotations

import os
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from asyncstate.data.urls import SALT_SCHEME, parse_salt_url
from asyncstate.errors import ResumeRefused
from asyncstate.journal.entry import FAILHARD, UNDER_WAY, Header, this_boot
from asyncstate.journal.keeper import keeper_of
from asyncstate.journal.store import Journal
from asyncstate.model.encode import plain
from asyncstate.plans.inputs import (
    Key,
    content_of,
    contents_of,
    contents_of_plugins,
    digests_of,
    inputs_of,
    name_in_tree,
)
from asyncstate.plans.record import Selection
from asyncstate.run.chunk.local import LocalDispatch
from asyncstate.run.options import RunOptions, Traits
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from asyncstate.config import Settings
    from asyncstate.journal.entry import RunEntry
    from asyncstate.journal.keeper import Keeper
    from asyncstate.journal.keeper import Plan as Kept
    from asyncstate.load.host import PluginHost
    from asyncstate.model.plan import Plan
    from asyncstate.plans.comparison import Differences, InputChange
    from asyncstate.plans.record import Inputs
    from asyncstate.plans.recording import PlanRecorder
    from asyncstate.redact.redacted_plan import RedactedPlan
    from asyncstate.resume.earlier_runs import EarlierRuns
    from asyncstate.resume.resumed import ResumedDispatch
    from asyncstate.sources.fileclient import FileClient


class PlanRecords(Value):
    """Records the plans that a host compiles. Every digest is keyed with a key in ``state_dir``."""

    settings: Settings
    host: PluginHost
    file_client: FileClient

    def recorder(
        self,
        plan: Plan,
        shown: RedactedPlan,
        selection: Selection | None = None,
        *,
        failhard: bool | None,
        make_key: bool = True,
    ) -> PlanRecorder:
        """Return the recorder of a plan; ``shown`` hides the plan's secrets.

        ``selection`` names the part of the tree that was compiled. If there is no key and ``make_key`` is false, a
        temporary one is used. Imports the state modules of the plan. Raises PlanError if the key cannot be read or
        made.
        """
        # Not needed for a plan that the journal has.
        from asyncstate.plans.recording import PlanRecorder, Treatment  # noqa: PLC0415

        settings, host = self.settings, self.host
        key = Key.of(settings.state_dir, make=make_key)
        options = RunOptions(run_id="", failhard=settings.failhard if failhard is None else failhard)
        traits = Traits.of(plan, options, LocalDispatch(plan, host).module_traits())
        return PlanRecorder(
            plan,
            shown,
            key,
            inputs=self._inputs_of(plan, key),
            selection=selection or Selection(),
            treatment=Treatment(
                traits.failhard,
                traits.exclusive,
                {chunk: tuple(lanes) for chunk, lanes in traits.lanes.items()},
                settings.lanes,
            ),
            host=str(host.opts.get("id") or ""),
        )

    def key_of(self, plan: Plan) -> str:
        """Return the name of a plan together with all its inputs. Raises PlanError."""
        key = Key.of(self.settings.state_dir)
        return key.of_value("plan and inputs", plan.digest, asdict(self._inputs_of(plan, key)))

    def contents(self, plan: Plan, named: Iterable[str] = ()) -> dict[str, str]:
        """Return the sha256 of the files of the tree that a plan is compiled from or that its states fetch, by path.

        ``named`` are more files, by their names in a record; files outside the roots are not looked at.
        """
        found = contents_of(plan.files, self._roots())
        for name in named:
            if name.startswith(SALT_SCHEME):
                path, env = parse_salt_url(name)
                more = self.file_client.find(path, env or "base")
                if more is not None and more not in found:
                    found[more] = content_of(more)
        return found

    def plugins(self) -> dict[str, str]:
        """Return the sha256 of the tree's plugin files, by path."""
        return contents_of_plugins(self.host.plugin_paths(bundled=False))

    def digests(self, contents: Mapping[str, str]) -> dict[str, str]:
        """Return the digests of files, by their names in the tree. Raises PlanError."""
        return digests_of(Key.of(self.settings.state_dir), contents, self._roots())

    def is_in_tree(self, path: str) -> bool:
        """Whether a path lies below a root of the tree."""
        return name_in_tree(path, self._roots()).startswith(SALT_SCHEME)

    def _roots(self) -> dict[str, list[str]]:
        client = self.file_client
        return {env: client.roots(env) for env in client.envs()}

    def _inputs_of(self, plan: Plan, key: Key) -> Inputs:
        host = self.host
        return inputs_of(
            key,
            files=self.contents(plan),
            plugins=self.plugins(),
            roots=self._roots(),
            pillar=host.pillar,
            grains=host.grains,
            opts=host.opts,
        )


_MOST_LINES = 20
_DYING = 3.0
"""Seconds in which a killed run releases its log: a program that it was just starting holds it a moment longer."""
_LOOK = 0.05


class Keeping(Value):
    """Opens the journal for one run. ``plan_key`` names the plan and its inputs, ``recorder`` makes its record.

    ``resumed`` gets the results of run ``run``, an ID or `asyncstate.journal.store.LATEST`; with ``force`` even if the
    plan differs.
    """

    settings: Settings
    plan_key: Callable[[], str]
    recorder: Callable[[RedactedPlan], PlanRecorder]
    resumed: ResumedDispatch | None
    run: str | None
    force: bool

    def begin(
        self, options: RunOptions, about: Mapping[str, Any], shown: RedactedPlan, stop: Callable[[str], None]
    ) -> tuple[Keeper | None, list[str]]:
        """Return the keeper of a run, None without one, and notices for the report. Blocks.

        ``stop`` is called if the journal is required and can no longer be written. Raises JournalError, ResumeRefused.
        """
        past = None
        if self.resumed is not None:
            past = self._past(shown)
            self.resumed.go_on_from(past)
        if self.settings.journaled == "off":
            return None, []

        def made() -> tuple[Header, Kept]:
            key = self.plan_key()
            boot, uptime = this_boot()
            header = Header(
                run=options.run_id,
                host=options.host,
                pid=os.getpid(),
                plan=key,
                resumes="" if past is None else past.run,
                boot=boot,
                uptime=uptime,
                about=plain(dict(about)),
            )
            return header, (key, lambda: self.recorder(shown).encoded())

        keeper, notices = keeper_of(self.settings, made)
        if keeper is not None:
            if self.settings.journaled == "required":
                keeper.trouble = lambda why: stop(f"the journal cannot be written: {why}")
            if past is not None:
                try:
                    keeper.record(*past.records())
                except BaseException:  # nothing else has the keeper yet
                    keeper.close()
                    raise
        return keeper, notices

    def _past(self, shown: RedactedPlan) -> EarlierRuns:
        """Return the results of the run to resume. Raises JournalError, ResumeRefused."""
        from asyncstate.plans.comparison import compare  # noqa: PLC0415 - a run that is resumed
        from asyncstate.resume.earlier_runs import EarlierRuns  # noqa: PLC0415 - as above

        journal = Journal.open(self.settings.state_dir)
        entry = resumable(journal, self.run)
        past = EarlierRuns.of(entry.id, journal.lines(entry.id))
        before, now = journal.plan(entry.id), self.recorder(shown).record()
        if not self.force:
            self._require_same(entry, past, compare(before, now))
        elif before.key != now.key:
            raise ResumeRefused(f"run {entry.id} was recorded with another key: nothing of it can be carried over")
        old = {chunk.tag: chunk.digest for chunk in before.chunks}
        same = {chunk.tag for chunk in now.chunks if old.get(chunk.tag) == chunk.digest}
        known = {chunk.tag for chunk in now.chunks}
        past.keep(lambda tag: tag in same or (tag not in known and not self.force))
        if entry.ending == FAILHARD:
            past.forget_failed({chunk.tag for chunk in now.chunks if chunk.failhard})
        return past

    def _require_same(self, entry: RunEntry, past: EarlierRuns, found: Differences) -> None:
        inputs = tuple(each for each in found.inputs if not _is_own(each, past))
        if found.comparable and not inputs and not found.of_states:
            return
        import msgspec  # noqa: PLC0415 - only what is refused

        from asyncstate.plans.words import difference_lines  # noqa: PLC0415 - as above

        shown = msgspec.structs.replace(found, inputs=inputs, moved=(), edges_added=(), edges_removed=())
        lines = [f"    {line.mark} {'  ' * line.depth}{line.text}" for line in difference_lines(shown)]
        if not found.comparable:
            lines.insert(0, "    the key of its digests (plan.key in the state directory) is another one")
        more = [f"    … and {len(lines) - _MOST_LINES} more"] if len(lines) > _MOST_LINES else []
        raise ResumeRefused(
            "\n".join(
                [
                    f"run {entry.id} cannot be resumed, because its plan has changed:",
                    *islice(lines, _MOST_LINES),
                    *more,
                    "Undo that, or use --force (force=True): what is still the same is carried over, all else runs.",
                ]
            )
        )


def resumable(journal: Journal, run: str | None) -> RunEntry:
    """Return the run to resume. Raises JournalError if there is none, ResumeRefused if there is nothing to resume."""
    until = time.monotonic() + _DYING
    while (found := journal.find(run, real=True)).ending == UNDER_WAY and time.monotonic() < until:
        time.sleep(_LOOK)
        journal.look_again()
    if found.test:
        raise ResumeRefused(f"run {found.id} was a dry run: there is nothing to resume")
    if found.is_finished:
        raise ResumeRefused(f"run {found.id} came to its end: there is nothing to resume")
    if found.ending == UNDER_WAY:
        raise ResumeRefused(f"run {found.id} is still under way")
    later = next((entry for entry in journal.runs() if entry.resumes == found.id), None)
    if later is not None:
        raise ResumeRefused(f"run {found.id} was resumed as run {later.id}: resume that, which has the results of both")
    return found


def _is_own(change: InputChange, past: EarlierRuns) -> bool:
    """Whether an input differs because the run itself changed it: a grain that one of its states set."""
    if change.kind != "grains":
        return False
    began = [tag.split("_|-") for tag, _ in (*past.ended, *past.unknown) if tag.startswith("grains_|-")]
    return any(change.name == part.partition(":")[0] for parts in began for part in parts[1:3])
