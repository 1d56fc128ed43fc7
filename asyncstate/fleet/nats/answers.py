"""What JetStream answers: JSON, with an error or without."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from asyncstate.errors import BoardError, BoardRefused

if TYPE_CHECKING:
    from nats.aio.msg import Msg

NO_STREAM: Final = 10059
NO_CONSUMER: Final = 10014
WRONG_LAST_SEQUENCE: Final = 10071
"""Codes of errors: there is no such stream; no such reader; the key has a value already, or another than expected."""


class Refused(BoardRefused):
    """JetStream refused something; ``code`` is its number of the error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"the server refuses: {text}")
        self.code = code


def answer_of(message: Msg) -> dict[str, Any]:
    """Return the answer. Raises Refused if it is an error, BoardError if it is no answer of JetStream."""
    try:
        answer = json.loads(message.data)
        error = answer.get("error")
        if error is None:
            return dict(answer)
        code, text = int(error.get("err_code", 0)), str(error.get("description", "no reason given"))
    except (ValueError, TypeError, AttributeError) as wrong:
        raise BoardError("the server gives an answer that is not JetStream's") from wrong
    raise Refused(code, text)
