"""Answers of the server: a stored message, a status in its place, or JSON of JetStream, with or without an error."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from asyncstate.extras.fleet.errors import BoardError, BoardRefused

if TYPE_CHECKING:
    from nats.aio.msg import Msg

NOTHING: Final = "404"
NO_RESPONDER: Final = "503"
"""Statuses: no such message; no such service."""
SEQUENCE: Final = "Nats-Sequence"
"""The header with a stored message's sequence, added by the server."""
_STATUS: Final = "Status"

NO_STREAM: Final = 10059
NO_CONSUMER: Final = 10014
WRONG_LAST_SEQUENCE: Final = 10071
"""Codes of errors: no such stream; no such reader; the key has a value already, or not the expected one."""


_BUSY: Final = frozenset({429, 503})
"""The statuses of transient errors, except for some codes and texts."""
_PASS_TOO: Final = frozenset(
    {
        10005,  # no server of the cluster can take it now
        10007,  # the stream is not assigned to this server: the cluster has just chosen another
        10009,  # this server does not lead the stream
        10012,  # a reader could not be made
        10041,  # the servers of the cluster did not agree
        10048,  # the stream could not be assigned
        10104,  # a reader could not be stored
        10118,  # the servers of the stream are away
        10119,  # the servers of the reader are away
        10124,  # the stream is on its way to other servers
        10158,  # the same message is under way
        10202,  # a server joins or leaves the cluster
        10226,  # the stream is being changed
    }
)
"""Codes of transient errors with another status."""
_STAY: Final = frozenset(
    {
        10010,  # this is no cluster
        10035,  # there is no such account
        10036,  # a cluster does not do this
        10039,  # the account has no JetStream
        10063,  # another sequence was expected
        10076,  # the server has no JetStream
    }
)
"""Codes of permanent errors with a transient status: the server must be changed."""
_NO_SPACE: Final = 10047
_NOT_STORED: Final = 10077
_FULL: Final = "maximum bytes"
_LIMITS: Final = (_FULL, "maximum messages", "message too large")
"""The server's texts for a message beyond a limit of the stream, which is permanent."""


class Unavailable(BoardError):
    """JetStream cannot do it now: the servers have no majority, or one is busy. A retry may succeed."""


class Refused(BoardRefused):
    """JetStream refused something; ``code`` is its number of the error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"the server refuses: {text}")
        self.code = code


def status_of(message: Msg) -> str:
    """Return the status that the server sent in place of a message, "" for a message.

    A status among a stored message's headers is ignored: the writer chooses those.
    """
    headers = message.headers or {}
    return "" if SEQUENCE in headers else headers.get(_STATUS, "")


def answer_of(message: Msg) -> dict[str, Any]:
    """Return the answer. Raises Refused or Unavailable for an error, BoardError if it is no answer of JetStream."""
    try:
        answer = json.loads(message.data)
        error = answer.get("error")
        if error is None:
            return dict(answer)
        status, code = int(error.get("code", 0)), int(error.get("err_code", 0))
        text = str(error.get("description", "no reason given"))
    except (ValueError, TypeError, AttributeError) as wrong:
        raise BoardError("the server gives an answer that is not JetStream's") from wrong
    if code == _NOT_STORED and _FULL in text:
        text = f"its stream is full ({text}): `asyncstate fleet prune` makes room"
    if code == _NO_SPACE:
        text = f"its disk has no space for such streams ({text}): `asyncstate fleet up --max-size` makes them smaller"
    if passes(status, code, text):
        raise Unavailable(f"the server of the fleet cannot do it now: {text}")
    raise Refused(code, text)


def passes(status: int, code: int, text: str) -> bool:
    """Whether an error of JetStream is transient, so that a retry may succeed.

    ``status`` is its class, as in HTTP, and ``code`` its number. Unknown codes are judged by the status.
    """
    if code == _NOT_STORED and any(limit in text for limit in _LIMITS):
        return False
    return code in _PASS_TOO or (status in _BUSY and code not in _STAY)
