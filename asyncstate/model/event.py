"""The events of a run: progress, JSON lines and reports are all made from them."""

from __future__ import annotations

from typing import Any

import msgspec

from asyncstate.model.encode import json_bytes
from asyncstate.model.result import Race

RENDER = "render"
"""`Phase.what` of a rendering."""


class Phase(msgspec.Struct, frozen=True):
    """One piece of work. ``what`` is grains, pillar, compile or render; ``name`` is the SLS that was rendered, else "".

    ``wall`` is its start in seconds since the epoch, ``seconds`` its duration. Renderings are part of the pillar or
    compilation that precedes them in the list.
    """

    what: str
    name: str
    wall: float
    seconds: float


Call = tuple[str, bool]
"""A call of a state: its tag, and whether it is the test-mode call for a prereq."""


class Event(msgspec.Struct, frozen=True, tag_field="event", kw_only=True):
    """The fields of every event: the ID of the run, the event's number in it, and seconds since the run began."""

    run_id: str
    seq: int
    time: float
    v: int = 1

    @property
    def begins(self) -> Call | None:
        """The call that begins with this event; None if none does."""
        return None

    @property
    def ends(self) -> tuple[Call, dict[str, Any]] | None:
        """The call that ends with this event, and its row; None if none does."""
        return None

    @property
    def end_of_run(self) -> int | None:
        """The exit code of the run that ends with this event; None if it goes on."""
        return None


class RunStarted(Event, frozen=True, tag="run_started", kw_only=True):
    """The first event of a run. ``wall`` is the time of day in seconds since the epoch.

    ``phases`` are the times of making the plan, before the run.
    """

    wall: float
    digest: str
    chunks: int
    concurrency: int
    test: bool
    shuffle: int | None = None
    warnings: tuple[str, ...] = ()
    phases: tuple[Phase, ...] = ()


class ChunkReady(Event, frozen=True, tag="chunk_ready", kw_only=True):
    """All that the chunk waits for has ended. ``after`` is the tag of the last of these, "" if there was none.

    ``because`` gives the reasons of that wait: kinds of requisites, ``stage``, ``footprint``, ``group``. ``resources``
    are the names of the resources that both touch, for a footprint. ``check`` marks the test-mode call for a prereq.
    """

    tag: str
    after: str = ""
    because: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    check: bool = False


class ChunkStarted(Event, frozen=True, tag="chunk_started", kw_only=True):
    """The chunk starts. ``check`` marks the test-mode call for a prereq."""

    tag: str
    function: str
    id: str
    name: str
    sls: str
    check: bool = False

    @property
    def begins(self) -> Call:
        """The call."""
        return self.tag, self.check


class ChunkRetried(Event, frozen=True, tag="chunk_retried", kw_only=True):
    """An attempt did not give the result that ``retry`` demands. The next one starts ``interval`` seconds later."""

    tag: str
    attempt: int
    result: bool | None
    comment: str
    interval: float


class ChunkOutput(Event, frozen=True, tag="chunk_output", kw_only=True):
    """A message about a running chunk: a warning, or that it has been running for ``seconds``."""

    tag: str
    text: str
    seconds: float = 0.0


class ChunkFinished(Event, frozen=True, tag="chunk_finished", kw_only=True):
    """The chunk ended with this row (without ``__run_num__``, which follows the serial order and comes at the end).

    ``why`` is the verdict of its requisites: met, change, fail, onchanges, onfail, pre, skip_req, skip_watch, listen.
    ``sub_rows`` are the rows of its sub-states by tag.
    """

    tag: str
    row: dict[str, Any]
    why: str
    check: bool = False
    sub_rows: dict[str, dict[str, Any]] = {}

    @property
    def ends(self) -> tuple[Call, dict[str, Any]]:
        """The call, and its row."""
        return (self.tag, self.check), self.row


class PrefetchStarted(Event, frozen=True, tag="prefetch_started", kw_only=True):
    """A prefetch for a chunk starts. ``what`` describes it: a URL, packages."""

    tag: str
    what: str


class PrefetchEnded(Event, frozen=True, tag="prefetch_ended", kw_only=True):
    """A prefetch ended. ``result``: fetched, nothing (there was nothing to fetch), later, failed, cancelled.

    ``text`` is the reason of a failure, or the event after which a ``later`` one starts again. The state does not fail
    because of it: it fetches by itself.
    """

    tag: str
    what: str
    result: str
    text: str = ""


class StateEvent(Event, frozen=True, tag="state_event", kw_only=True):
    """The event that a state's ``fire_event`` requests: ``name`` is Salt's event tag, ``row`` the state's row."""

    name: str
    row: dict[str, Any]


class RunFinished(Event, frozen=True, tag="run_finished", kw_only=True):
    """The last event of a run. ``warnings`` are the run's; `RunStarted` has the plan's.

    ``failed`` counts all states that did not succeed, as Salt does; ``held_back`` counts those among them that a failed
    requisite kept from running. ``changed`` are states that succeeded; in a dry run, those that would change something.
    ``foretold`` counts the forecasts of a dry run: ``to change``, ``triggered``, ``cannot be told``.

    ``races`` were found by a traced run. The rest completes the rows of `ChunkFinished` to a report, which can so be
    made from events alone: ``wall_ms``, the ``handled`` failures, ``rows`` that belong to no state that ended, and in
    ``order`` the place of each row of the report among the rows sent: first of `ChunkFinished`, each followed by its
    sub-states, then ``rows``. ``order`` is empty if the report has them in the order sent.
    """

    exit_code: int
    succeeded: int
    changed: int
    failed: int
    held_back: int = 0
    not_started: tuple[str, ...] = ()
    cancelled: str = ""
    warnings: tuple[str, ...] = ()
    races: tuple[Race, ...] = ()
    wall_ms: float = 0.0
    handled: tuple[str, ...] = ()
    rows: dict[str, dict[str, Any]] = {}
    order: tuple[int, ...] = ()
    foretold: dict[str, int] = {}

    @property
    def end_of_run(self) -> int:
        """The exit code."""
        return self.exit_code


AnyEvent = (
    RunStarted
    | ChunkReady
    | ChunkStarted
    | ChunkRetried
    | ChunkOutput
    | ChunkFinished
    | PrefetchStarted
    | PrefetchEnded
    | StateEvent
    | RunFinished
)
"""The tagged union: ``msgspec.json.decode(line, type=AnyEvent)`` reads a line of ``--out jsonl`` back."""


def encode_event(event: Event) -> bytes:
    """Return the event as one line of JSON, without the newline. Values that JSON cannot express become strings."""
    return json_bytes(event, indent=0)


def decode_event(line: bytes | str) -> AnyEvent:
    """Return the event that `encode_event` wrote. Raises msgspec.ValidationError for anything else."""
    event: AnyEvent = msgspec.json.decode(line, type=AnyEvent)
    return event
