"""Rows and reports: the results of a run, and of one among many hosts."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from functools import lru_cache
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from asyncstate.dunders import NOT_TOLD
from asyncstate.errors import Issue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from asyncstate.model.chunk import LowChunk

Row = dict[str, Any]
"""A state's return in Salt's shape: ``name result changes comment __id__ __sls__ __run_num__ start_time duration``, and
any keys that the state function added. Every row of a report has all nine."""

STATE_RAN: Final = "__state_ran__"
"""Key of a row, False if the state function was not called: a requisite or a condition was not met."""

RUN_NUM: Final = "__run_num__"
"""Key of a row: its place in the serial order, from 0."""

REQUIRED_KEYS = ("name", "changes", "result", "comment")

_TYPES: Final = (
    ("result", (bool, NoneType), "true, false or null"),
    ("changes", (dict,), "an object"),
    ("start_time", (str,), "a text"),
    ("duration", (int, float), "a number"),
    ("warnings", (list,), "a list"),
)


def wrong_in_row(row: Row) -> str:
    """Return what is wrong with a row that was read, "" if nothing is: reports rely on these keys and their types."""
    missing = next((key for key in REQUIRED_KEYS if key not in row), "")
    if missing:
        return f"it has no `{missing}`"
    odd = ((key, expected) for key, types, expected in _TYPES if key in row and not isinstance(row[key], types))
    return next((f"its `{key}` is not {expected}" for key, expected in odd), "")


def in_template(file: str, line: int) -> str:
    """Return the warning of a row whose state failed because this line of a template does not render."""
    return f"the error is in the template {file}, line {line}"


def template_place(row: Row) -> tuple[str, int] | None:
    """Return the file and the line in a warning of `in_template`, None if the row has none."""
    pattern = r"the error is in the template (.+), line (\d+)"
    found = (re.fullmatch(pattern, str(warning), re.DOTALL) for warning in row.get("warnings") or ())
    return next(((each[1], int(each[2])) for each in found if each), None)


def changes_something(row: Row, *, test: bool) -> bool:
    """Whether a state changed something; in a dry run (``test``) whether it would, as far as that can be told."""
    return row["result"] is None and not row.get(NOT_TOLD) if test else bool(row["changes"])


def seconds_of(row: Row) -> float:
    """Return the duration of a state in seconds, 0 if it is not known."""
    duration = row.get("duration")
    return duration / 1000 if isinstance(duration, (int, float)) else 0.0


def was_held_back(row: Row) -> bool:
    """Whether a failed requisite kept a state from running."""
    return row["result"] is False and not row.get(STATE_RAN, True)


_PROCESS = "pid"
_TIMED = frozenset({"start_time", "duration"})


def repeatable(changes: Any) -> Any:
    """Return the changes of a row without process IDs and the like, which differ in every run."""
    if isinstance(changes, dict) and isinstance(changes.get(_PROCESS), int):
        return {key: value for key, value in changes.items() if key != _PROCESS}
    return changes


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """The part of a row that decides requisites.

    ``unforeseen`` marks a failure of another host's state that its prereq check did not foresee.
    """

    result: bool | None
    changed: bool
    ran: bool = True
    skip_req: bool = False
    unforeseen: bool = False

    @classmethod
    def of(cls, row: Row) -> Outcome:
        """Return the outcome of a row. Equal outcomes share one object: a run keeps one for each node."""
        return _shared(row["result"], bool(row["changes"]), bool(row.get(STATE_RAN, True)), bool(row.get("skip_req")))

    @staticmethod
    def joint_row(chunk: LowChunk, by_host: Sequence[tuple[str, Outcome]], comment: str) -> Row:
        """Return the row of a state of other hosts: ``changes`` names the hosts on which it changed something."""
        results = {each.result for _, each in by_host}
        return {
            "name": chunk.name,
            "result": next((each for each in (False, None) if each in results), True),
            "changes": {host: "changed" for host, each in by_host if each.changed},
            "comment": comment,
            "__id__": chunk.id,
            "__sls__": chunk.sls,
            STATE_RAN: any(each.ran for _, each in by_host),
        }


_shared = lru_cache(maxsize=64, typed=True)(Outcome)


NO_STATES_TAG = "no_|-states_|-states_|-None"
"""The tag of Salt's row for a highstate without states."""


class RacingState(msgspec.Struct, frozen=True):
    """One of two states: its tag, ID and state function, and where it is declared."""

    tag: str
    id: str
    function: str
    file: str = ""
    line: int = 0


class Contact(msgspec.Struct, frozen=True):
    """A path that both touched: how each touched it, in a word or two, and whether that changed it."""

    path: str
    earlier: str
    later: str
    earlier_writes: bool
    later_writes: bool


class Race(msgspec.Struct, frozen=True):
    """Two states, the ``earlier`` one first in the serial order, and all paths that both touched.

    ``require`` is the requisite of the later one that would settle it, such as ``{"cmd": "build"}``.
    """

    earlier: RacingState
    later: RacingState
    contacts: tuple[Contact, ...]
    require: dict[str, str]

    @classmethod
    def between(cls, earlier: LowChunk, later: LowChunk, contacts: Iterable[tuple[str, str, str, bool, bool]]) -> Race:
        """Return the race of two states, with the fields of each `Contact`."""
        one, other = (
            RacingState(chunk.tag, chunk.id, chunk.function, chunk.file, chunk.line) for chunk in (earlier, later)
        )
        return cls(one, other, tuple(Contact(*each) for each in contacts), {earlier.state: earlier.id})


class RunReport(msgspec.Struct, frozen=True):
    """The result of a run: every row by state tag, in ``__run_num__`` order.

    ``not_started`` are the tags of the states that failhard or a cancellation kept from starting. ``handled`` are the
    failures that an ``onfail_stop: false`` handler made good. ``warnings`` come from the plan, or name a plugin that
    blocked the event loop; ``notices`` come from the run. ``races`` are those that a traced run showed, which are
    among the warnings, too. ``wall_ms`` is the duration of the run, ``busy_ms`` the sum
    of the durations of its states.
    """

    rows: dict[str, Row]
    not_started: tuple[str, ...] = ()
    handled: tuple[str, ...] = ()
    warnings: tuple[Issue, ...] = ()
    notices: tuple[str, ...] = ()
    races: tuple[Race, ...] = ()
    test: bool = False
    concurrency: int = 1
    shuffle: int | None = None
    digest: str = ""
    run_id: str = ""
    wall_ms: float = 0.0
    busy_ms: float = 0.0
    cancelled: str = ""

    @property
    def repeatable_rows(self) -> dict[str, Row]:
        """The rows without the times and process numbers, which differ in every run."""
        return {
            tag: {
                key: repeatable(value) if key == "changes" else value for key, value in row.items() if key not in _TIMED
            }
            for tag, row in self.rows.items()
        }

    @property
    def failed(self) -> list[str]:
        """The tags of the states that failed, without those that a handler made good."""
        return [tag for tag, row in self.rows.items() if row["result"] is False and tag not in self.handled]

    @property
    def changed(self) -> int:
        """The number of states that changed something; in a dry run, that would."""
        return sum(changes_something(row, test=self.test) for row in self.rows.values())

    @property
    def ok(self) -> bool:
        """Whether no state failed and the run was not cancelled."""
        return not self.failed and not self.cancelled

    @property
    def exit_code(self) -> int:
        """0: success; 2: a state failed or never ends; 70: a bug; 124: time-out; 125: cancelled; 128 + n: signal n."""
        if self.cancelled in signal.Signals.__members__:
            return 128 + signal.Signals[self.cancelled]
        if self.cancelled == NEVER_ENDED:
            return 2
        if self.cancelled in (STALLED, INTERNAL_ERROR, OUT_OF_MEMORY):
            return 70
        if self.cancelled:
            return 124 if self.cancelled.startswith(_OUT_OF_TIME) else 125
        return 2 if self.failed else 0


GAVE_UP = "the program that ran it gave up"
"""The reason in a report whose task was cancelled, or whose block an exception left."""
STALLED = "the scheduler stalled"
"""The reason in a report whose run a bug ended: nothing ran, and something was left that could not start."""
INTERNAL_ERROR = "internal error"
"""The reason in a report whose run any other bug ended."""
NEVER_ENDED = "a state does not end, and cannot be stopped"
"""The reason in a report when only calls beyond their time limit, and nodes that wait for them, were left."""
OUT_OF_MEMORY = "memory ran out"
"""The reason in a report when the scheduler had no memory left. A state without memory fails by itself."""
_OUT_OF_TIME = "out of time after "


def out_of_time(seconds: float) -> str:
    """Return the reason in the report of a run that exceeded its time limit."""
    return f"{_OUT_OF_TIME}{seconds:g} seconds"


class HostResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run on a host. ``host`` is "" if the run concerned this machine alone.

    ``places`` are file and line of states, by tag; ``held`` are the reasons why states were held back, by tag
    (`asyncstate.report.blockers`). ``problem`` is a failure outside the report: the host did not answer, or was lost.
    """

    report: RunReport
    places: Mapping[str, tuple[str, int]] = {}
    held: Mapping[str, str] = {}
    host: str = ""
    problem: str = ""

    def place(self, tag: str) -> tuple[str, int]:
        """Return file and line of a state, "" and 0 if they are not known."""
        return self.places.get(tag, ("", 0))

    @property
    def ok(self) -> bool:
        """Whether the run succeeded on this host."""
        return self.report.ok and not self.problem

    @property
    def has_no_states(self) -> bool:
        """Whether the top file assigned nothing: its only row says so."""
        return NO_STATES_TAG in self.report.rows

    @property
    def uneventful(self) -> bool:
        """Whether nothing changed (in a dry run: would change) and nothing failed, handled failures included."""
        rows = self.report.rows.values()
        return self.ok and not self.report.changed and all(row["result"] is not False for row in rows)
