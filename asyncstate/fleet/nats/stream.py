"""The one stream of the board: what the server keeps, and for how long."""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from asyncstate.fleet.nats.access import LIVE, ROOT, STREAM
from asyncstate.fleet.nats.answers import Refused
from asyncstate.fleet.nats.follower import reader_configuration
from asyncstate.fleet.subjects import ALL_ROWS, READ_BY_OPERATOR

if TYPE_CHECKING:
    from asyncstate.fleet.nats.connection import Connection

KEPT: Final = timedelta(days=7)
"""How long runs are kept on the server. What hosts say of themselves stays until they say something else."""
LARGEST: Final = 4 << 30
"""Bytes that the stream has at most. When it is full, writing fails with words; nothing is dropped unseen."""

MOST_READERS: Final = 1_000_000
"""Readers that the stream may have at once. Without a number of its own, a server from 2.15 on allows 1,000."""

_NOT_FOUND: Final = 10059
_OF_RUNS: Final = (ALL_ROWS, *(each for each in READ_BY_OPERATOR if each != "host.*"), "pulse.*")


def configuration(replicas: int) -> dict[str, Any]:
    """Return the stream as JetStream wants it described.

    ``allow_rollup_hdrs`` must stay off: with it, any message can ask the server to drop all others. ``deny_delete``
    keeps single messages from being taken out.
    """
    return {
        "name": STREAM,
        "subjects": [f"{ROOT}>"],
        "retention": "limits",
        "storage": "file",
        "num_replicas": replicas,
        "max_msgs_per_subject": 1,
        "max_bytes": LARGEST,
        "max_consumers": MOST_READERS,
        "discard": "new",
        "allow_direct": True,
        "republish": {"src": f"{ROOT}>", "dest": f"{LIVE}>"},
        "allow_rollup_hdrs": False,
        "deny_delete": True,
    }


async def ensure(connection: Connection, replicas: int) -> None:
    """Make the stream if there is none, and give it as many replicas as the operator wants. Raises BoardError."""
    wanted = configuration(replicas)
    try:
        found = await _call(connection, "info")
    except Refused as error:
        if error.code != _NOT_FOUND:
            raise
        await _call(connection, "create", wanted)
        return
    now = {name: found["config"].get(name, False) for name in wanted}
    wanted["max_consumers"] = now["max_consumers"]  # a server takes it at the beginning only
    if now != wanted:
        await _call(connection, "update", wanted)


async def last_sequence(connection: Connection) -> int:
    """Return the sequence of the last entry so far. Raises BoardError."""
    return int((await _call(connection, "info"))["state"]["last_seq"])


async def forget_before(connection: Connection, moment: datetime) -> None:
    """Remove everything of runs that was written before a moment, by the server's clock. Raises BoardError."""
    readable = [pattern for pattern in _OF_RUNS if pattern in READ_BY_OPERATOR]
    firsts = {pattern: await _first_after(connection, moment, pattern) for pattern in readable}
    for pattern in _OF_RUNS:
        first = firsts.get(pattern, min(firsts.values()))
        await _call(connection, "purge", {"filter": f"{ROOT}{pattern}", "seq": first})


async def forget_old(connection: Connection) -> None:
    """Remove what is older than `KEPT`. Raises BoardError."""
    await forget_before(connection, datetime.now(UTC) - KEPT)


async def forget(connection: Connection, *patterns: str) -> None:
    """Remove all keys that fit one of the patterns. Raises BoardError."""
    for pattern in patterns:
        await _call(connection, "purge", {"filter": f"{ROOT}{pattern}"})


async def _first_after(connection: Connection, moment: datetime, pattern: str) -> int:
    """Return the sequence of the first message that fits and is not older: what a reader from then on begins with."""
    reader = secrets.token_hex(16)
    start = {"deliver_policy": "by_start_time", "opt_start_time": moment.isoformat()}
    request = {"stream_name": STREAM, "config": reader_configuration(reader, pattern) | start}
    made = await connection.ask(f"watch.{reader}.{pattern}", json.dumps(request).encode())
    return int(made["delivered"]["stream_seq"]) + 1


async def _call(connection: Connection, name: str, request: dict[str, Any] | None = None) -> dict[str, Any]:
    """Ask the server something about the stream. Raises Refused, BoardError."""
    payload = b"" if request is None else json.dumps(request).encode()
    return await connection.ask(f"stream.{name}", payload)
