"""The streams of the board: their contents, sizes and ages on the server."""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.errors import BoardError, BoardRefused, MessageRefused
from asyncstate.extras.fleet.nats.access import CONTROL, LIVE, ROOT, STREAM, STREAMS, limits_of, stream_of
from asyncstate.extras.fleet.nats.answers import NO_STREAM, Refused
from asyncstate.extras.fleet.nats.connection import NoAnswer
from asyncstate.extras.fleet.nats.follower import IDLE, present, reader_configuration
from asyncstate.extras.fleet.protocol import RunRecord, decode
from asyncstate.extras.fleet.subjects import READ_BY_OPERATOR, ROW
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    import logging

    from asyncstate.extras.fleet.credentials import Credentials
    from asyncstate.extras.fleet.nats.access import Stream
    from asyncstate.extras.fleet.nats.connection import Connection

log: logging.Logger = get_logger(__name__)

_NEARLY_FULL: Final = 0.8
"""The share of its limit from which a stream counts as nearly full."""
_YOUNGEST: Final = timedelta(hours=1)
"""The time for which reports, events and logs are kept at least."""

MOST_READERS: Final = 1_000_000
"""The readers that a stream may have at once. Without this setting, a server from 2.15 on allows 1,000."""

_MOVED: Final = (f"to.*.*.{ROW}.>",)
"""The keys that an older asyncstate used for rows."""
_OF_RUNS: Final = (f"{ROW}.>", *(each for each in READ_BY_OPERATOR if each != "host.*"), "pulse.*")


def configuration(replicas: int, largest: int, *, rolls: bool = False) -> dict[str, Any]:
    """Return JetStream's configuration of a stream, with at most ``largest`` bytes.

    A full stream refuses writes with an error and drops nothing by itself, or ``rolls``: drops its oldest entries.

    ``allow_rollup_hdrs`` must stay off: with it, any message can ask the server to drop all others. ``deny_delete``
    keeps single messages from being taken out. ``consumer_limits`` (NATS 2.10) prevents lasting readers: a
    stream may have `MOST_READERS`.
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
        "consumer_limits": {"inactive_threshold": IDLE},
        "discard": "old" if rolls else "new",
        "allow_direct": True,
        "republish": {"src": f"{ROOT}>", "dest": f"{LIVE}>"},
        "allow_rollup_hdrs": False,
        "deny_delete": True,
    }


async def ensure(connection: Connection, operator: Credentials) -> None:
    """Make missing streams, and set the operator's limits and replicas on all.

    Entries that an older asyncstate kept in `CONTROL`, and that belong to another stream now, are removed with a
    warning. Raises BoardError.
    """
    limits = limits_of(operator.largest, operator.limits)
    try:
        found = {stream: await _configuration_of(connection, stream) for stream in STREAMS}
    except Refused:
        raise
    except (BoardRefused, NoAnswer) as error:
        raise BoardError(
            f"{error}. If its accounts are those of an older asyncstate, end `asyncstate fleet up` there and start it "
            "again; bring the servers of a cluster what `fleet up --print-config` prints, and let them read it twice"
        ) from error
    if found[CONTROL] and not all(found.values()):
        before, _ = await _room(connection, CONTROL)
        for pattern in (*_MOVED, *(pattern for stream in STREAMS for pattern in stream.patterns)):
            await _call(connection, CONTROL, "purge", {"filter": f"{ROOT}{pattern}"})
        after, _ = await _room(connection, CONTROL)
        if after < before:
            log.warning(
                "This server was set up by an older asyncstate: its plans, rows, reports, events and logs are removed, "
                "%d bytes; the journals of the hosts have what ran",
                before - after,
            )
    for stream in sorted(STREAMS, key=lambda each: limits[each.name] - found[each].get("max_bytes", 0)):
        wanted = configuration(operator.replicas, limits[stream.name], rolls=stream.rolls)  # shrinking first
        if not found[stream]:
            await _call(connection, stream, "create", wanted)
            continue
        now = {name: found[stream].get(name, False) for name in wanted}
        wanted["max_consumers"] = now["max_consumers"]  # a server accepts it at creation only
        if now != wanted:
            await _call(connection, stream, "update", wanted)


async def _configuration_of(connection: Connection, stream: Stream) -> dict[str, Any]:
    """Return the configuration of a stream, an empty one if there is no such stream."""
    try:
        return dict((await _call(connection, stream, "info"))["config"])
    except Refused as error:
        if error.code != NO_STREAM:
            raise
        return {}


async def last_sequence(connection: Connection, stream: Stream) -> int:
    """Return the sequence of the last entry of a stream so far. Raises BoardError."""
    return int((await _call(connection, stream, "info"))["state"]["last_seq"])


async def room(connection: Connection) -> dict[str, tuple[int, int]]:
    """Return the bytes in use by each stream, and its limit. Raises BoardError."""
    return {stream.name: await _room(connection, stream) for stream in STREAMS}


async def _room(connection: Connection, stream: Stream) -> tuple[int, int]:
    found = await _call(connection, stream, "info")
    return int(found["state"]["bytes"]), int(found["config"]["max_bytes"])


async def forget_before(connection: Connection, moment: datetime, patterns: tuple[str, ...] = _OF_RUNS) -> None:
    """Remove keys of runs written before a moment, by the server's clock. Raises BoardError."""
    for stream in STREAMS:
        own = [pattern for pattern in patterns if stream_of(pattern) is stream]
        firsts = {each: await _first_after(connection, moment, each) for each in own if each in READ_BY_OPERATOR}
        for pattern in own:
            first = firsts.get(pattern, min(firsts.values()))
            await _call(connection, stream, "purge", {"filter": f"{ROOT}{pattern}", "seq": first})


async def tidy(connection: Connection, kept: timedelta) -> None:
    """Remove runs older than ``kept``; from a nearly full stream, the oldest removable entries.

    Raises BoardError.
    """
    now = datetime.now(UTC)
    await forget_before(connection, now - kept)
    for stream in STREAMS:
        age, (used, _) = kept, await _room(connection, stream)
        while stream.patterns and not stream.rolls and age > _YOUNGEST and await _is_nearly_full(connection, stream):
            age = max(age / 2, _YOUNGEST)
            await forget_before(connection, now - age, stream.patterns)
        if age < kept:
            kinds = ", ".join(subjects.kind(pattern) for pattern in stream.patterns)
            if (await _room(connection, stream))[0] < used:
                log.warning(
                    "Entries older than %s were removed from %s (%s): it was nearly full", age, stream.name, kinds
                )
            else:
                words = (
                    "%s (%s) is nearly full of entries of the last %s, which stay: `asyncstate fleet prune` makes room"
                )
                log.warning(words, stream.name, kinds, age)
    await _forget_ended(connection)


async def _forget_ended(connection: Connection) -> None:
    """While `CONTROL` is nearly full, remove all entries of ended runs but their records."""
    if not await _is_nearly_full(connection, CONTROL):
        return
    ended: list[tuple[float, str]] = []
    for entry in await present(connection, subjects.run()):
        with suppress(MessageRefused):  # reported where the record is read
            record = decode(entry.value, RunRecord)
            if record.ended is not None:
                ended.append((record.ended, record.run))
    for _, run in sorted(ended):
        left = [each for each in subjects.of_run(run) if stream_of(each) is CONTROL and each != subjects.run(run)]
        await forget(connection, *left)
        if not await _is_nearly_full(connection, CONTROL):
            return
    log.warning("There is little room left for runs on the server: `asyncstate fleet up --stream-size` gives more")


async def _is_nearly_full(connection: Connection, stream: Stream) -> bool:
    used, most = await _room(connection, stream)
    return used >= _NEARLY_FULL * most


async def forget(connection: Connection, *patterns: str) -> None:
    """Remove all keys that match one of the patterns. Raises BoardError."""
    for pattern in patterns:
        await _call(connection, stream_of(pattern), "purge", {"filter": f"{ROOT}{pattern}"})


async def _first_after(connection: Connection, moment: datetime, pattern: str) -> int:
    """Return the sequence of the first matching message at or after a moment."""
    reader = secrets.token_hex(16)
    start = {"deliver_policy": "by_start_time", "opt_start_time": moment.isoformat()}
    request = {"stream_name": STREAM, "config": reader_configuration(reader, pattern) | start}
    made = await connection.ask(f"watch.{reader}.{pattern}", json.dumps(request).encode())
    return int(made["delivered"]["stream_seq"]) + 1


async def _call(
    connection: Connection, stream: Stream, name: str, request: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Send the server a request about a stream. Raises Refused, BoardError."""
    payload = b"" if request is None else json.dumps(request).encode()
    return await connection.ask(f"stream.{name}.{stream.name}", payload)
