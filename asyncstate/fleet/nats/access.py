"""Who may do what on the server, as its own configuration: one account for each host, which holds nothing.

The stream is in an account without users (`BOARD`). The account of a host sees a few services of it and nothing else:

    put.KEY             write the key
    get.KEY             its last value
    watch.NAME.PATTERN  a reader of all keys that fit
    next.NAME           the next entries for that reader
    live.PATTERN        what is written from now on, as it is written: no reader on the server is needed for it

Each is imported only for the keys that the host may read or write. Users of one account, kept apart by permissions for
subjects, would not do: NATS answers a request to whatever subject the client names for the answer, and checks no
permission there. A host could have the server answer *to the key of another host*, and the stream would keep that.
Between accounts, an answer returns into the account that asked. For the same reason there is one stream only: a reader
can be told to deliver to any subject of the account but one of its own stream.

Names of readers are random, so that nobody can ask for the entries of another's.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from asyncstate.fleet import subjects

BUCKET: Final = "asyncstate"
STREAM: Final = f"KV_{BUCKET}"
ROOT: Final = f"$KV.{BUCKET}."
"""What the subjects of the stream begin with: it can be read as a bucket of NATS's key-value store."""

LIVE: Final = "live."
"""What the subjects begin with under which the server says again what the stream has taken."""

BOARD_ACCOUNT: Final = "BOARD"
CONTROL_ACCOUNT: Final = "CONTROL"
OPERATOR_ACCOUNT: Final = "OPERATOR"

_CREATE: Final = f"$JS.API.CONSUMER.CREATE.{STREAM}."
_NEXT: Final = f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}."
_GET: Final = f"$JS.API.DIRECT.GET.{STREAM}."
_STREAM_CALLS: Final = ("CREATE", "UPDATE", "INFO", "PURGE")


class _Party(NamedTuple):
    """What a party may do: services, as it sees them and as the board has them, and the patterns that it follows."""

    services: dict[str, str]
    followed: tuple[str, ...]


def accounts(operator: str, control: str, hosts: dict[str, str]) -> dict[str, Any]:
    """Return the server's accounts, by name. The arguments are public keys; ``hosts`` has them by the host's name."""
    return {
        CONTROL_ACCOUNT: {"users": [{"nkey": control}]},
        BOARD_ACCOUNT: {"jetstream": "enabled", "exports": _exports()},
        OPERATOR_ACCOUNT: _account(operator, _of_operator()),
        **{f"HOST-{subjects.token(name)}": _account(key, _of_host(name)) for name, key in sorted(hosts.items())},
    }


def stored(pattern: str) -> str:
    """Return the pattern of a party's keys as the stream has it: each message of a stream is a key of its own."""
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
    """Return what a host wrote itself: it may read that, too."""
    return [pattern for pattern in subjects.written_by(name) if pattern.partition(".")[0] not in subjects.STREAMS]


def _of_operator() -> _Party:
    calls = {f"stream.{call.lower()}": f"$JS.API.STREAM.{call}.{STREAM}" for call in _STREAM_CALLS}
    read = (*subjects.READ_BY_OPERATOR, "pulse.*")
    return _Party({**_keys(subjects.WRITTEN_BY_OPERATOR, read), **calls}, read)


def _keys(written: tuple[str, ...], read: tuple[str, ...]) -> dict[str, str]:
    """Return services as the party sees them, and as the board has them."""
    seen = {f"put.{stored(each)}": f"{ROOT}{stored(each)}" for each in written}
    for each in read:
        seen[f"get.{stored(each)}"] = f"{_GET}{ROOT}{stored(each)}"
        seen[f"watch.*.{stored(each)}"] = f"{_CREATE}*.{ROOT}{stored(each)}"
    return {**seen, "next.*": f"{_NEXT}*"}


def _account(key: str, party: _Party) -> dict[str, Any]:
    live = [f"{LIVE}{stored(each)}" for each in party.followed]
    permissions = {"publish": {"allow": list(party.services)}, "subscribe": {"allow": ["_INBOX.>", *live]}}
    services = [
        {"service": {"account": BOARD_ACCOUNT, "subject": its}, "to": seen} for seen, its in party.services.items()
    ]
    streams = [{"stream": {"account": BOARD_ACCOUNT, "subject": each}} for each in live]
    return {"users": [{"nkey": key, "permissions": permissions}], "imports": [*services, *streams]}
