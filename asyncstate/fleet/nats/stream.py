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
from asyncstate.logs.loggers import get_logger

if TYPE_CHECKING:
    import logging

    from asyncstate.fleet.credentials import Credentials
    from asyncstate.fleet.nats.connection import Connection

log: logging.Logger = get_logger(__name__)

_NEARLY_FULL: Final = 0.8
"""The share of its bytes from which on the stream has too little room for what hosts and operators agree on."""
_YOUNGEST: Final = timedelta(hours=1)
"""How long reports, events and logs are kept at least."""
_ARCHIVE: Final = ("report.>", "event.>", "log.>")
"""The patterns of what is only looked at later."""

MOST_READERS: Final = 1_000_000
"""Readers that the stream may have at once. Without a number of its own, a server from 2.15 on allows 1,000."""

_NOT_FOUND: Final = 10059
_OF_RUNS: Final = (ALL_ROWS, *(each for each in READ_BY_OPERATOR if each != "host.*"), "pulse.*")


def configuration(replicas: int, largest: int) -> dict[str, Any]:
    """Return the stream as JetStream wants it described, with at most ``largest`` bytes.

    When it is full, writing fails with words; nothing is dropped unseen.

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
        "max_bytes": largest,
        "max_consumers": MOST_READERS,
        "discard": "new",
        "allow_direct": True,
        "republish": {"src": f"{ROOT}>", "dest": f"{LIVE}>"},
        "allow_rollup_hdrs": False,
        "deny_delete": True,
    }


async def ensure(connection: Connection, operator: Credentials) -> None:
    """Make the stream if there is none, and give it the size and the replicas that the operator wants.

    Raises BoardError.
    """
    wanted = configuration(operator.replicas, operator.largest)
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


async def room(connection: Connection) -> tuple[int, int]:
    """Return how many bytes the stream has, and how many it may have. Raises BoardError."""
    found = await _call(connection, "info")
    return int(found["state"]["bytes"]), int(found["config"]["max_bytes"])


async def forget_before(connection: Connection, moment: datetime, patterns: tuple[str, ...] = _OF_RUNS) -> None:
    """Remove what was written before a moment, by the server's clock: everything of runs. Raises BoardError."""
    readable = [pattern for pattern in patterns if pattern in READ_BY_OPERATOR]
    firsts = {pattern: await _first_after(connection, moment, pattern) for pattern in readable}
    for pattern in patterns:
        first = firsts.get(pattern, min(firsts.values()))
        await _call(connection, "purge", {"filter": f"{ROOT}{pattern}", "seq": first})


async def tidy(connection: Connection, kept: timedelta) -> None:
    """Remove runs that are older than ``kept``; if the stream is nearly full, the oldest reports, events and logs, too.

    So what hosts and operators agree on has room, as long as no host fills the stream on purpose. Raises BoardError.
    """
    now, age = datetime.now(UTC), kept
    await forget_before(connection, now - kept)
    while age > _YOUNGEST and await _is_nearly_full(connection):
        age = max(age / 2, _YOUNGEST)
        await forget_before(connection, now - age, _ARCHIVE)
    if age < kept:
        log.warning("Reports, events and logs older than %s were removed: the server was nearly full", age)


async def _is_nearly_full(connection: Connection) -> bool:
    used, most = await room(connection)
    return used >= _NEARLY_FULL * most


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
