"""Transient errors of JetStream, for every error that the server has."""

import json
from types import SimpleNamespace

import pytest

from asyncstate.extras.fleet.errors import BoardError
from asyncstate.extras.fleet.nats.answers import Refused, Unavailable, answer_of

FIRST, LAST = 10002, 10227
STATUS = {
    404: {10014, 10037, 10059, 10068},
    409: {10158},
    412: {10180, 10185},
    429: {10167, 10210, 10211},
    500: {
        *(10006, 10007, 10009, 10012, 10028, 10029, 10041, 10042, 10045, *range(10047, 10054), 10057, 10062, 10064),
        *(10066, 10067, 10069, 10072, 10074, 10096, 10104, 10110, 10111, 10117, 10118, 10119, 10194, 10195),
    },
    503: {10004, 10008, 10010, 10023, 10035, 10036, 10039, 10063, 10075, 10076, 10077, 10163},
}  # fmt: skip
"""The status of each code; of all others it is 400."""

PASS = {
    "the servers have no majority, or no leader yet": {10004, 10005, 10007, 10008, 10009, 10041, 10048, 10118, 10119},
    "a server has too much to do, or no room now": {10023, 10077, 10163, 10167, 10210, 10211},
    "a reader could not be made": {10012, 10104},
    "something is under way": {10075, 10124, 10158, 10202, 10226},
}
"""The codes of errors that pass, and why. All others are refusals."""


def answered(status, code, text="words"):
    data = json.dumps({"error": {"code": status, "err_code": code, "description": text}}).encode()
    return answer_of(SimpleNamespace(data=data))


@pytest.mark.parametrize("code", range(FIRST, LAST + 1))
def test_each_error_of_the_server_passes_or_is_a_refusal(code):
    status = next((status for status, codes in STATUS.items() if code in codes), 400)
    kind = Unavailable if any(code in codes for codes in PASS.values()) else Refused
    with pytest.raises(kind, match="words"):
        answered(status, code)


@pytest.mark.parametrize(
    "text", ["maximum bytes exceeded", "maximum messages exceeded", "maximum messages per subject exceeded", "message too large"]
)  # fmt: skip
def test_what_a_limit_of_the_stream_keeps_out_is_refused(text):
    """The server has one code for that and for a store that is closed because it stops."""
    with pytest.raises(Refused, match=text):
        answered(503, 10077, text)
    with pytest.raises(Unavailable):
        answered(503, 10077, "store is closed")


@pytest.mark.parametrize(("status", "kind"), [(503, Unavailable), (429, Unavailable), (500, Refused), (400, Refused)])
def test_an_error_of_a_later_server_is_judged_by_its_status(status, kind):
    with pytest.raises(kind):
        answered(status, LAST + 100)


@pytest.mark.parametrize("data", [b"no JSON", b"[]", b'{"error": 1}', b'{"error": {"code": "x"}}'])
def test_what_is_no_answer_of_jetstream_is_no_refusal(data):
    with pytest.raises(BoardError, match="not JetStream's"):
        answer_of(SimpleNamespace(data=data))
