"""Plans in files: ``apply --plan-out`` writes one, ``apply --plan`` applies a reviewed one, or refuses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from msgspec import structs

from asyncstate.cli.settings import Selection, require_file_again
from asyncstate.errors import AsyncStateError, PlanError
from asyncstate.plans.comparison import compare
from asyncstate.plans.record import Selection as Recorded
from asyncstate.plans.record import decode, encode, require_bounds
from asyncstate.plans.words import difference_lines, label

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from asyncstate.cli.console import Console
    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import RunReport
    from asyncstate.plans.comparison import Differences
    from asyncstate.plans.record import PlanRecord
    from asyncstate.runtime import StateRuntime

_NAMED: Final = 30
"""Number of lines in a refusal; the rest is counted."""


def read_plan(path: str) -> PlanRecord:
    """Return the plan in a file. Raises PlanError, which names the file."""
    from asyncstate.filesystem import read_input

    try:
        data = read_input(path)
    except OSError as error:
        raise PlanError(f"{path}: {error.strerror}") from None
    require_bounds(data, path)
    return decode(data, path)


def plan_of_run(settings: Settings, run: str | None) -> PlanRecord:
    """Return the plan of a past run with its selection. Raises JournalError, PlanError."""
    from asyncstate.cli.past_runs import journal_in, selection_of

    journal = journal_in(settings)
    entry = journal.find(run)
    record = journal.plan(entry.id)
    chosen = selection_of(entry)
    file = os.path.abspath(chosen.file) if chosen.file else ""
    return structs.replace(record, selection=structs.replace(chosen, file=file))


class SavedPlan:
    """The work of ``--plan`` and ``--plan-out`` in a run."""

    def __init__(
        self, console: Console, options: Mapping[str, Any], selection: Selection, reviewed: PlanRecord | None
    ) -> None:
        self._console = console
        self._options = options
        self._selection = recorded(selection, options)
        self._reviewed = reviewed
        self._record: PlanRecord | None = None
        self._runtime: StateRuntime | None = None

    def compiled(self, runtime: StateRuntime, plan: Plan) -> Plan:
        """Record the plan, and return the one to run, which uses only the recorded files.

        Raises PlanError if it differs from the reviewed one.
        """
        self._runtime = runtime
        plan = runtime.hold(plan, self._reviewed.inputs.files if self._reviewed is not None else ())
        self._record = runtime.record(plan, self._selection, make_key=self._reviewed is None)
        if self._reviewed is not None:
            require_same(self._reviewed, self._record, self._options["plan"])
        return plan

    def note_used(self) -> None:
        """Add the files that the states used to the record, also those whose names come from a template."""
        if self._record is not None and self._runtime is not None and self._options.get("plan_out"):
            inputs = self._record.inputs
            inputs = structs.replace(inputs, files={**inputs.files, **self._runtime.used()})
            self._record = structs.replace(self._record, inputs=inputs)

    def ended(self, report: RunReport) -> None:
        """Save the plan of a dry run with its forecast; after a real run, report the changes it did not foresee."""
        if self._reviewed is not None and not report.test:
            self._tell(unforeseen(self._reviewed, report))
        path = self._options.get("plan_out")
        if not path or self._record is None:
            return
        if report.cancelled:
            self._console.unwritten(path, "the dry run did not reach its end")
            return
        try:
            write_plan(path, self._record, report)
        except (OSError, AsyncStateError) as error:
            self._console.unwritten(path, error.strerror or str(error))

    def _tell(self, tags: list[str]) -> None:
        if tags:
            from asyncstate.report.terminal import clean, count

            self._console.say(
                f"{count(len(tags), 'state')} changed something that the dry run did not foresee:",
                *(f"  {clean(label(tag))}" for tag in tags[:_NAMED]),
                *([f"  … and {len(tags) - _NAMED} more"] if len(tags) > _NAMED else []),
            )


def write_plan(path: str, record: PlanRecord, report: RunReport) -> None:
    """Write a plan with the forecast of its dry run, readable by the owner only.

    Raises OSError; PathRefused; PlanError if the file would be too large to read.
    """
    from asyncstate.cli.output_file import write_file

    foreseen = tuple(tag for tag, row in report.rows.items() if row["changes"] or row["result"] is None)
    data = encode(structs.replace(record, foreseen=foreseen), indent=1)
    require_bounds(data, path)
    write_file(path, data, mode=0o600)


def recorded(selection: Selection, options: Mapping[str, Any]) -> Recorded:
    """Return the selection in the form of a record."""
    file = options.get("file")
    return Recorded(
        sls=None if selection.sls is None else tuple(selection.sls),
        saltenv=selection.saltenv,
        exclude=selection.exclude,
        ids=selection.ids,
        file=os.path.abspath(file) if file else "",
        pillar=tuple(sorted(map(str, options.get("pillar") or ()))),
    )


def select_again(record: PlanRecord, options: dict[str, Any]) -> Selection:
    """Return the selection of a plan, and set its environment in ``options``.

    A plan is untrusted data: it may name only SLS in the roots of the command line, or a file named there again.
    Raises UsageError for any other file; PlanError if keys of the plan's ``--pillar`` are missing.
    """
    chosen = record.selection
    require_file_again(chosen.file, options.get("file"), "the plan was made")
    missing = [key for key in chosen.pillar if key not in map(str, options.get("pillar") or ())]
    if missing:
        raise PlanError(
            f"the plan was made with --pillar and the keys {', '.join(missing)}. A plan does not hold their values: "
            "give them again"
        )
    options["saltenv"] = chosen.saltenv
    sls = None if chosen.sls is None else list(chosen.sls)
    return Selection(sls, chosen.saltenv, chosen.exclude, chosen.ids)


def require_same(reviewed: PlanRecord, now: PlanRecord, path: str) -> None:
    """Raise PlanError, which names the differences, unless the tree compiles to exactly the reviewed plan."""
    differences = compare(reviewed, now)
    if not differences.comparable:
        raise PlanError(
            f"{path}: this plan was made with another key, on {reviewed.host or 'another host'}: hidden values and "
            "files cannot be compared, so it is not known whether it is what the tree compiles to.\n"
            "Make it where it is applied, with the same state_dir: asyncstate plan --plan-out FILE"
        )
    if differences.any:
        raise PlanError("\n".join(_refusal(differences, path)))
    if reviewed.digest != now.digest:
        raise PlanError(f"{path}: the tree compiles to another plan. {_AGAIN}")
    if structs.replace(now, program=reviewed.program, inputs=reviewed.inputs, foreseen=reviewed.foreseen) != reviewed:
        raise PlanError(f"{path}: the file was altered: what it says is not the plan that its digest names. {_AGAIN}")


_AGAIN: Final = "Review it again: asyncstate plan --plan-out FILE"


def _refusal(differences: Differences, path: str) -> Iterator[str]:
    yield f"{path}: the tree no longer compiles to the plan that was reviewed, so nothing was done:"
    lines = [f"{'  ' * line.depth}{line.mark} {line.text}" for line in difference_lines(differences)]
    yield from lines[:_NAMED]
    if len(lines) > _NAMED:
        yield f"… and {len(lines) - _NAMED} more; see: asyncstate show diff {path}"
    yield _AGAIN


def unforeseen(reviewed: PlanRecord, report: RunReport) -> list[str]:
    """Return the states that changed something although the dry run foresaw no change."""
    if reviewed.foreseen is None:
        return []
    foreseen = set(reviewed.foreseen)
    return [tag for tag, row in report.rows.items() if row["changes"] and tag not in foreseen]
