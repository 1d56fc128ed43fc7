"""Access rights on the server, as its own configuration: one account for each host, which holds no data.

The server has four streams (`STREAMS`), each with a separate limit: data in one take no room of another. Each is in a
separate account without users. The account of a host imports a few of their services and nothing else:

    put.KEY             write the key
    get.KEY             its last value
    watch.NAME.PATTERN  a reader of all matching keys
    next.NAME           the next entries for that reader; next.STREAM.NAME in other streams than `CONTROL`
    live.PATTERN        new entries, republished as they are stored: no reader on the server is needed for them

Each is imported only for the keys that the host may read or write. Users of one account with permissions for
subjects would be unsafe: NATS answers a request to any subject that the client names for the answer, and checks no
permission there. A host could have the server answer *to the key of another host*, and the stream would keep that.
Between accounts, an answer returns into the account that asked. For the same reason an account has one stream only: a
reader can be told to deliver to any subject of the account but one of its own stream.

Names of readers are random, so that no host can ask for the entries of another host's reader.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from asyncstate.errors import FleetError
from asyncstate.extras.fleet import subjects

BUCKET: Final = "asyncstate"
STREAM: Final = f"KV_{BUCKET}"
ROOT: Final = f"$KV.{BUCKET}."
"""The prefix of a stream's subjects, so that it can be read as a bucket of NATS's key-value store."""

LIVE: Final = "live."
"""The prefix of the subjects under which the server republishes the entries of a stream."""


class Stream(NamedTuple):
    """A stream, called `STREAM` in its ``account``.

    It has the keys that fit ``patterns``, `CONTROL` all others. ``share`` is its share of the bytes without a separate
    limit. When it is nearly full, an operator's program removes the oldest keys of ``patterns``; from `CONTROL`, the
    remains of the runs that ended first. A stream that ``rolls`` drops its oldest entries by itself, and takes every
    new one.
    """

    name: str
    account: str
    share: int
    patterns: tuple[str, ...] = ()
    rolls: bool = False


CONTROL: Final = Stream("control", "BOARD", 1)
"""The messages of operators. Hosts have two keys each in it, their lease and their grains, so none can fill it."""
ANSWERS: Final = Stream("answers", "BOARD-ANSWERS", 1, ("plan.>", "row.>", "reached.>", "end.>"), rolls=True)
"""The answers of hosts that a run waits for. Hosts choose the keys, so their number has no limit."""
DATA: Final = Stream("data", "BOARD-DATA", 5, ("report.>", "event.>"))
"""Reports of hosts to operators. Without room for them, a run goes on and reports the number of lost events."""
ARCHIVE: Final = Stream("archive", "BOARD-ARCHIVE", 1, ("log.>",))
"""The logs of agents, which no run reads or waits for."""
STREAMS: Final = (CONTROL, ANSWERS, DATA, ARCHIVE)

_LEAST: Final = 1 << 20
"""The smallest limit of a stream, in bytes."""

CONTROL_ACCOUNT: Final = "CONTROL"
OPERATOR_ACCOUNT: Final = "OPERATOR"

_CREATE: Final = f"$JS.API.CONSUMER.CREATE.{STREAM}."
_NEXT: Final = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}."
_GET: Final = f"$JS.API.DIRECT.GET.{STREAM}."
_STREAM_CALLS: Final = ("CREATE", "UPDATE", "INFO", "PURGE")


class _Party(NamedTuple):
    """The rights of a party: services by their local name, with account and name there; patterns that it follows."""

    services: dict[str, tuple[str, str]]
    followed: tuple[str, ...]


def accounts(operator: str, control: str, hosts: dict[str, str]) -> dict[str, Any]:
    """Return the server's accounts, by name. The arguments are public keys; ``hosts`` has them by the host's name."""
    return {
        CONTROL_ACCOUNT: {"users": [{"nkey": control}]},
        **{stream.account: {"jetstream": "enabled", "exports": _exports()} for stream in STREAMS},
        OPERATOR_ACCOUNT: _account(operator, _of_operator()),
        **{f"HOST-{subjects.token(name)}": _account(key, _of_host(name)) for name, key in sorted(hosts.items())},
    }


def stream_of(pattern: str) -> Stream:
    """Return the stream with the keys of a pattern, which is for keys of one kind, or for one host."""
    kind = pattern.partition(".")[0]
    return next((each for each in STREAMS if f"{kind}.>" in each.patterns), CONTROL)


def limits_of(largest: int, own: dict[str, int]) -> dict[str, int]:
    """Return the limit of each stream in bytes, ``largest`` together: its ``own``, or a share of the rest.

    Raises FleetError if that leaves a stream without room.
    """
    shared = [stream for stream in STREAMS if stream.name not in own]
    left, shares = largest - sum(own.values()), sum(stream.share for stream in shared)
    found = {stream.name: own.get(stream.name) or left * stream.share // shares for stream in STREAMS}
    if left < 0 or min(found.values()) < _LEAST:
        said = ", ".join(f"{name}={size / (1 << 30):.3f}" for name, size in found.items())
        raise FleetError(
            f"--max-size is {largest / (1 << 30):.3f} GiB, with --stream-size {said}: each stream needs 0.001 GiB at "
            "least, and all of them together no more than --max-size"
        )
    return found


def next_for(stream: Stream, reader: str) -> str:
    """Return the service that has the next entries for a reader of a stream."""
    return f"next.{reader}" if stream is CONTROL else f"next.{stream.name}.{reader}"


def stored(pattern: str) -> str:
    """Return the pattern of a party's keys in the stream, where each message of a subject has a separate key."""
    kind, _, rest = pattern.partition(".")
    return pattern if kind not in subjects.STREAMS or rest.endswith(">") else f"{pattern}.*"


def _exports() -> list[dict[str, str]]:
    return [
        {"service": f"{ROOT}>"},
        {"service": f"{_CREATE}>"},
        {"service": f"{_NEXT}*", "response_type": "stream"},
        {"service": f"{_GET}>"},
        *({"service": f"$JS.API.STREAM.{call}.{STREAM}"} for call in _STREAM_CALLS),
        {"stream": f"{LIVE}>"},
    ]


def _of_host(name: str) -> _Party:
    return _Party(_keys(subjects.written_by(name), (*subjects.read_by(name), *_own_keys(name))), subjects.read_by(name))


def _own_keys(name: str) -> list[str]:
    """Return the keys that a host writes, which it may read, too."""
    return [pattern for pattern in subjects.written_by(name) if pattern.partition(".")[0] not in subjects.STREAMS]


def _of_operator() -> _Party:
    calls = {
        f"stream.{call.lower()}.{stream.name}": (stream.account, f"$JS.API.STREAM.{call}.{STREAM}")
        for stream in STREAMS
        for call in _STREAM_CALLS
    }
    read = (*subjects.READ_BY_OPERATOR, "pulse.*")
    return _Party({**_keys(subjects.WRITTEN_BY_OPERATOR, read), **calls}, read)


def _keys(written: tuple[str, ...], read: tuple[str, ...]) -> dict[str, tuple[str, str]]:
    """Return services by their local names, with their accounts and their names there."""
    seen = {f"put.{stored(each)}": (stream_of(each).account, f"{ROOT}{stored(each)}") for each in written}
    for each in read:
        stream = stream_of(each)
        seen[f"get.{stored(each)}"] = stream.account, f"{_GET}{ROOT}{stored(each)}"
        seen[f"watch.*.{stored(each)}"] = stream.account, f"{_CREATE}*.{ROOT}{stored(each)}"
        seen[next_for(stream, "*")] = stream.account, f"{_NEXT}*"
    return seen


def _account(key: str, party: _Party) -> dict[str, Any]:
    live = {f"{LIVE}{stored(each)}": stream_of(each).account for each in party.followed}
    permissions = {"publish": {"allow": list(party.services)}, "subscribe": {"allow": ["_INBOX.>", *live]}}
    services = [
        {"service": {"account": account, "subject": its}, "to": seen} for seen, (account, its) in party.services.items()
    ]
    streams = [{"stream": {"account": account, "subject": each}} for each, account in live.items()]
    return {"users": [{"nkey": key, "permissions": permissions}], "imports": [*services, *streams]}
