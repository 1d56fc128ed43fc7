"""A follower finds out by itself what the server said and nobody heard."""

import asyncio

import pytest

from asyncstate.fleet import subjects
from asyncstate.fleet.nats import follower
from asyncstate.fleet.nats.connection import Connection

_UNHEARD = b"unheard"


class _HardOfHearing(Connection):
    """A connection on which what the server says again is lost, if it is `_UNHEARD`."""

    async def listen(self, subject=""):
        inbox = await super().listen(subject)
        put = inbox.put
        if subject:
            inbox.put = lambda message: None if message is not None and message.data == _UNHEARD else put(message)
        return inbox


@pytest.mark.parametrize(
    ("first", "lost"),
    [
        pytest.param("stop", "stop", id="the last value of a key"),
        pytest.param("stop", "go", id="another key"),
    ],
)
async def test_what_was_said_and_not_heard_is_found(fleet, hosts, monkeypatch, first, lost):
    monkeypatch.setattr(follower, "_FIRST_COMPARED", 2.0)
    name, run = hosts[0].name, f"unheard-{lost}"
    keys = {"stop": subjects.stop(name, run), "go": subjects.go(name, run)}
    async with fleet.board() as operator, _HardOfHearing(fleet.url, hosts[0]) as connection:
        entries = follower.follow(connection, subjects.mail(name, run))
        heard = asyncio.ensure_future(anext(entries))
        await asyncio.sleep(0)
        await operator.put(keys[first], b"heard")
        assert (await heard).value == b"heard"
        await operator.put(keys[lost], _UNHEARD)
        found = await asyncio.wait_for(anext(entries), 60)
        assert (found.key, found.value) == (keys[lost], _UNHEARD)
        await entries.aclose()
