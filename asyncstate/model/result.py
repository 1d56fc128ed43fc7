"""Rows and reports: what a run leaves behind."""

from __future__ import annotations

import signal
from typing import Any

import msgspec

from asyncstate.errors import Issue

Row = dict[str, Any]
"""A state's return in Salt's shape: ``name result changes comment __id__ __sls__ __run_num__ start_time duration`` and
whatever more the state function added. Every row of a report has all nine."""

REQUIRED_KEYS = ("name", "changes", "result", "comment")


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """The part of a row that requisites look at."""

    result: bool | None
    changed: bool
    ran: bool = True
    skip_req: bool = False

    @classmethod
    def of(cls, row: Row) -> Outcome:
        """Reduce a row to what other chunks may depend on."""
        return cls(
            result=row["result"],
            changed=bool(row["changes"]),
            ran=bool(row.get("__state_ran__", True)),
            skip_req=bool(row.get("skip_req")),
        )


class RunReport(msgspec.Struct, frozen=True):
    """The end of a run: every row by state tag, in ``__run_num__`` order.

    ``not_started`` lists the tags that failhard or a cancellation left out. ``handled`` lists the failures that an
    ``onfail_stop: false`` handler made good. ``warnings`` come from the plan, and name what held up the event loop;
    ``notices`` come from the run. ``wall_ms`` is the time of the run, ``busy_ms`` the sum of all durations.
    """

    rows: dict[str, Row]
    not_started: tuple[str, ...] = ()
    handled: tuple[str, ...] = ()
    warnings: tuple[Issue, ...] = ()
    notices: tuple[str, ...] = ()
    test: bool = False
    concurrency: int = 1
    shuffle: int | None = None
    digest: str = ""
    run_id: str = ""
    wall_ms: float = 0.0
    busy_ms: float = 0.0
    cancelled: str = ""

    @property
    def failed(self) -> list[str]:
        """Tags whose result is False and that no handler made good."""
        return [tag for tag, row in self.rows.items() if row["result"] is False and tag not in self.handled]

    @property
    def ok(self) -> bool:
        """Whether nothing failed and nothing was cut short."""
        return not self.failed and not self.cancelled

    @property
    def exit_code(self) -> int:
        """0 all right, 2 a state failed, 128 + number ended by a signal, 124 out of time, 125 else cancelled."""
        if self.cancelled in signal.Signals.__members__:
            return 128 + signal.Signals[self.cancelled]
        if self.cancelled:
            return 124 if self.cancelled.startswith(_OUT_OF_TIME) else 125
        return 2 if self.failed else 0


GAVE_UP = "the program that ran it gave up"
"""The reason of a cancellation because the task of a run was cancelled, or its block left by an exception."""
_OUT_OF_TIME = "out of time after "


def out_of_time(seconds: float) -> str:
    """Return the reason of a cancellation because a run took longer than it was given."""
    return f"{_OUT_OF_TIME}{seconds:g} seconds"
