"""All events of a run, as frozen types: the items of ``async for event in run`` and the lines of ``--out jsonl``.

``Event`` is the base of all; `AnyEvent` is their union, for a ``match`` that a type checker can hold to be complete.
"""

from __future__ import annotations

from asyncstate.model.event import (
    AnyEvent,
    ChunkFinished,
    ChunkOutput,
    ChunkReady,
    ChunkRetried,
    ChunkStarted,
    Event,
    PrefetchEnded,
    PrefetchStarted,
    RunFinished,
    RunStarted,
    StateEvent,
    decode_event,
    encode_event,
)

__all__ = [
    "AnyEvent",
    "ChunkFinished",
    "ChunkOutput",
    "ChunkReady",
    "ChunkRetried",
    "ChunkStarted",
    "Event",
    "PrefetchEnded",
    "PrefetchStarted",
    "RunFinished",
    "RunStarted",
    "StateEvent",
    "decode_event",
    "encode_event",
]
