"""The one family of events: progress, JSON lines, journal, replay and reports all carry these."""

from __future__ import annotations

from typing import Any

import msgspec

from asyncstate.model.encode import json_bytes


class Event(msgspec.Struct, frozen=True, tag_field="event", kw_only=True):
    """What every event has: the run, its place in the run, and seconds since the run began."""

    run_id: str
    seq: int
    time: float
    v: int = 1


class RunStarted(Event, frozen=True, tag="run_started", kw_only=True):
    """First event of a run. ``wall`` is the time of day, seconds since the epoch."""

    wall: float
    digest: str
    chunks: int
    concurrency: int
    test: bool
    shuffle: int | None = None
    warnings: tuple[str, ...] = ()


class ChunkReady(Event, frozen=True, tag="chunk_ready", kw_only=True):
    """Everything the chunk waits for is done; ``after`` is the tag of the last of it ("" if it waited for nothing).

    ``because`` says why the chunk waited for that: kinds of requisites, ``stage``, ``footprint``, ``group``. ``check``
    marks the test-mode call for a prereq.
    """

    tag: str
    after: str = ""
    because: tuple[str, ...] = ()
    check: bool = False


class ChunkStarted(Event, frozen=True, tag="chunk_started", kw_only=True):
    """The chunk begins. ``check`` marks the test-mode call for a prereq."""

    tag: str
    function: str
    id: str
    name: str
    sls: str
    check: bool = False


class ChunkRetried(Event, frozen=True, tag="chunk_retried", kw_only=True):
    """An attempt did not give the result asked for; the next begins ``interval`` seconds later."""

    tag: str
    attempt: int
    result: bool | None
    comment: str
    interval: float


class ChunkOutput(Event, frozen=True, tag="chunk_output", kw_only=True):
    """Something worth saying while a chunk runs: a warning, or that it has been running for ``seconds``."""

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


class StateEvent(Event, frozen=True, tag="state_event", kw_only=True):
    """What ``fire_event`` asks for: ``name`` is Salt's event tag, ``row`` the state's row."""

    name: str
    row: dict[str, Any]


class RunFinished(Event, frozen=True, tag="run_finished", kw_only=True):
    """Last event of a run. ``warnings`` are those of the run itself; those of the plan came first."""

    exit_code: int
    succeeded: int
    changed: int
    failed: int
    not_started: tuple[str, ...] = ()
    cancelled: str = ""
    warnings: tuple[str, ...] = ()


AnyEvent = (
    RunStarted | ChunkReady | ChunkStarted | ChunkRetried | ChunkOutput | ChunkFinished | StateEvent | RunFinished
)
"""The tagged union: ``msgspec.json.decode(line, type=AnyEvent)`` reads a line of ``--out jsonl`` back."""


def encode_event(event: Event) -> bytes:
    """One line of JSON, without the newline. Values JSON has no word for become strings."""
    return json_bytes(event, indent=0)


def decode_event(line: bytes | str) -> AnyEvent:
    """Read back what `encode_event` wrote. Raises msgspec.ValidationError for anything else."""
    event: AnyEvent = msgspec.json.decode(line, type=AnyEvent)
    return event
