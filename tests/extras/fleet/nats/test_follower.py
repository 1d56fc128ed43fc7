"""A follower detects by itself entries that it did not receive."""

import asyncio

import pytest
from nats.aio.msg import Msg

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.nats import follower
from asyncstate.extras.fleet.nats.connection import Connection

_UNHEARD = b"unheard"


class _Hasty(Connection):
    """A connection on which the first reader is told that there is nothing more, before what there is."""

    told = 0

    async def listen(self, subject=""):
        inbox = await super().listen(subject)
        if not subject and not self.told:
            self.told += 1
            inbox.put(Msg(_client=None, subject=inbox.subject, headers={"Status": "404"}))
        return inbox


async def test_an_end_that_overtakes_what_was_counted_is_not_believed(fleet, hosts):
    name, run = hosts[0].name, "overtaken"
    async with fleet.board() as operator, _Hasty(fleet.url, hosts[0]) as connection:
        for key in (subjects.stop(name, run), subjects.go(name, run)):
            await operator.put(key, b"x")
        found = await follower.present(connection, subjects.mail(name, run))
    assert ([entry.key for entry in found], connection.told) == ([subjects.stop(name, run), subjects.go(name, run)], 1)


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


async def test_what_is_no_republished_message_is_not_heard(fleet, hosts):
    """Another host's reader can deliver to the same subject: its messages have a reply, or no number."""
    name, run = hosts[0].name, "delivered"
    async with fleet.board() as operator, Connection(fleet.url, hosts[0]) as connection:
        entries = follower.follow(connection, subjects.mail(name, run))
        first = asyncio.ensure_future(anext(entries))
        await asyncio.sleep(0)
        await operator.put(subjects.stop(name, run), b"first")
        assert (await first).value == b"first"
        (inbox,) = [each for each in connection._inboxes if each.subject.startswith("live.")]
        subject = f"live.{subjects.go(name, run)}"
        for more in ({"reply": "$JS.ACK.x", "headers": {"Nats-Sequence": "99999"}}, {"headers": {"Status": "100"}}, {}):
            inbox.put(Msg(_client=None, subject=subject, data=b"forged", **more))
        await operator.put(subjects.go(name, run), b"go")
        assert (await asyncio.wait_for(anext(entries), 60)).value == b"go"
        await entries.aclose()
