"""Attacks on the server with a host's credentials and any NATS client. None succeeds.

The attacker has all rights of its host, speaks NATS's protocol without our code, and knows all names: of the stream, of
runs, of other hosts. Each test checks the stream itself for effects.
"""

import asyncio
import itertools
import json
import time
from contextlib import suppress

import pytest
from nats import errors as nats_errors

from asyncstate.extras.fleet import nkeys, subjects
from asyncstate.extras.fleet.errors import BoardError, MessageRefused
from asyncstate.extras.fleet.events import events_since
from asyncstate.extras.fleet.nats import stream
from asyncstate.extras.fleet.nats.access import LIVE, ROOT, STREAM, STREAMS
from asyncstate.extras.fleet.nats.connection import Connection
from asyncstate.extras.fleet.protocol import Call, HostEvent, Offer, encode
from asyncstate.extras.fleet.signing import OperatorVerifier

pytestmark = pytest.mark.slow

_runs = itertools.count()
PULL = json.dumps({"batch": 10, "no_wait": True}).encode()


class Attacker:
    """A bare connection with a host's key. ``complaints`` is what the server said to it."""

    def __init__(self, connection):
        self.client = connection._client
        self.complaints = []
        self._complained = asyncio.Condition()
        self.client._error_cb = self.complain

    async def complain(self, error):
        async with self._complained:
            self.complaints.append(str(error))
            self._complained.notify_all()

    async def _forbidden(self, subject):
        text = f'"{subject.lower()}"'
        async with self._complained:
            await self._complained.wait_for(lambda: any(text in each for each in self.complaints))

    async def ask(self, subject, payload=b"", **more):
        """Return the answer, or None if there is none."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        asked = asyncio.ensure_future(self.client.request(subject, data, timeout=20, **more))
        forbidden = asyncio.ensure_future(self._forbidden(subject))
        try:
            await asyncio.wait({asked, forbidden}, return_when=asyncio.FIRST_COMPLETED)
            return asked.result() if asked.done() and asked.exception() is None else None
        finally:
            for each in (asked, forbidden):
                each.cancel()
                with suppress(asyncio.CancelledError, nats_errors.Error):
                    await each

    async def say(self, subject, payload=b"", reply=""):
        await self.client.publish(subject, payload, reply=reply)
        await self.client.flush()


@pytest.fixture
def run():
    return f"attack{next(_runs)}"


@pytest.fixture
async def mallory(fleet, hosts):
    async with Connection(fleet.url, hosts[0], give_up=5) as connection:
        yield Attacker(connection)


@pytest.fixture
async def board(fleet, hosts, run):
    """The operator's board, on which the victim of the attacks has a part of a run."""
    victim = hosts[1].name
    async with fleet.board() as operator, fleet.board(hosts[1]) as other:
        await operator.put(subjects.offer(victim, run), b"offer")
        await operator.put(subjects.go(victim, run), b"go")
        await operator.put(subjects.run(run), b"record")
        await other.put(subjects.plan(victim, run), b"plan")
        await other.put(subjects.row(victim, victim, run, "1"), b"row")
        await other.put(subjects.lease(victim), b"lease")
        await other.publish(subjects.report(victim, run), b"report", id="1")
        await other.publish(subjects.event(victim), b"event", id="1")
        yield operator


async def content(board):
    """Return the keys that each stream has, with its name before them, and the configurations of the streams."""
    everything, keys, configurations = {"subjects_filter": f"{ROOT}>"}, set(), []
    for each in STREAMS:
        found = await stream._call(board._connection, each, "info", everything)
        keys |= {f"{each.name}:{key}" for key in found["state"].get("subjects", {})}
        configurations.append(found["config"])
    return keys, configurations


def stolen(victim, run):
    """Return keys that are the victim's or the operator's to write."""
    return [
        subjects.plan(victim, run),
        subjects.row(victim, victim, run, "1"),
        subjects.row("third", victim, run, "1"),
        f"{subjects.report(victim, run)}.x",
        f"{subjects.event(victim)}.x",
        subjects.end(victim, run),
        subjects.lease(victim),
        subjects.host(victim),
        subjects.log(victim, "0"),
        subjects.offer(victim, run),
        subjects.offer("third", "new"),
        subjects.go(victim, run),
        subjects.stop(victim, run),
        subjects.lost(victim, run, "third"),
        subjects.barrier(victim, run, 1),
        subjects.barrier("third", run, 1),
        subjects.reached(victim, run, 1),
        subjects.held(run, victim),
        subjects.pulse(run),
        subjects.run(run),
    ]


def unread(victim, run):
    """Return keys that the attacker must not read."""
    return [
        subjects.offer(victim, run),
        subjects.go(victim, run),
        subjects.plan(victim, run),
        subjects.row(victim, victim, run, "1"),
        f"{subjects.report(victim, run)}.*",
        f"{subjects.event(victim)}.*",
        subjects.end(victim, run),
        subjects.lease(victim),
        subjects.log(victim, "0"),
        subjects.barrier(victim, run, 1),
        subjects.reached(victim, run, 1),
        subjects.held(run, victim),
        subjects.held(run, "a.example.com"),
        subjects.run(run),
    ]


async def test_it_cannot_write_as_another_host_or_as_the_operator(mallory, board, hosts, run):
    before = await content(board)
    for key in stolen(hosts[1].name, run):
        for subject in (f"put.{key}", f"{ROOT}{key}"):
            assert await mallory.ask(subject, b"forged") is None
    assert await content(board) == before
    assert len(mallory.complaints) >= 2 * len(stolen("x", run))


async def test_it_cannot_read_what_is_for_another_host(mallory, board, hosts, run):
    for key in unread(hosts[1].name, run):
        assert await mallory.ask(f"get.{key}") is None
        assert await mallory.ask(f"$JS.API.DIRECT.GET.{STREAM}.{ROOT}{key}") is None
        request = {"stream_name": STREAM, "config": {"name": "m", "filter_subject": f"{ROOT}{key}"}}
        assert await mallory.ask(f"watch.m.{key}", request) is None


async def test_it_cannot_have_a_function_called(mallory, board, hosts, run):
    """Not on another host, and with the best forgery in its own name, not even on its own: the offer is not signed."""
    victim, own = hosts[1].name, hosts[0].name
    offer = encode(Offer(run="forged", host=victim, issued=time.time(), call=Call(function="cmd.run", arg=("id",))))
    for key in (subjects.offer(victim, "forged"), subjects.offer(own, "forged")):
        assert await mallory.ask(f"put.{key}", offer) is None
        assert await board.get(key) is None
    with pytest.raises(MessageRefused):
        OperatorVerifier(hosts[1].operators).open(offer, subjects.offer(victim, "forged"))


async def test_what_it_fires_counts_as_its_own(mallory, board, hosts):
    """The server says who fired, whatever the message says."""
    victim, own = hosts[1].name, hosts[0].name
    position = await board.position()
    forged = [
        HostEvent(host=victim, tag="app/ready"),
        HostEvent(host=own, tag=f"salt/minion/{victim}/start"),
        HostEvent(host=own, tag="app/ready", data={"id": victim}),
    ]
    for number, event in enumerate(forged):
        assert await mallory.ask(f"put.{subjects.event(victim)}.m{number}", encode(event)) is None
        assert await mallory.ask(f"put.{subjects.event(own)}.m{number}", encode(event)) is not None
    async with asyncio.timeout(60):
        async for event in events_since(board, position):
            assert event == forged[2]
            return


@pytest.mark.parametrize(
    "config",
    [
        {"filter_subject": f"{ROOT}>"},
        {"filter_subjects": [f"{ROOT}>"]},
        {"filter_subject": "", "filter_subjects": [f"{ROOT}to.*.*.offer", f"{ROOT}to.>"]},
        {},
    ],
)
async def test_it_cannot_ask_for_a_reader_of_more_than_its_subject_says(mallory, board, hosts, config):
    own = f"to.{subjects.token(hosts[0].name)}.*.go"
    request = {"stream_name": STREAM, "config": {"name": "m1", "ack_policy": "none", **config}}
    answer = json.loads((await mallory.ask(f"watch.m1.{own}", request)).data)
    assert "error" in answer, answer


async def test_it_cannot_listen_to_what_is_for_others(mallory, board, hosts, run):
    own, victim = (subjects.token(each.name) for each in hosts)
    heard = asyncio.Queue()

    async def note(message):
        heard.put_nowait(message.subject)

    forbidden = [f"{LIVE}>", f"{LIVE}to.{victim}.>", f"{LIVE}to.*.*.stop", f"{LIVE}plan.>", f"{ROOT}>", ">"]
    for subject in (f"{LIVE}to.{own}.>", *forbidden):
        await mallory.client.subscribe(subject, cb=note)
    await mallory.client.flush()
    await board.put(subjects.stop(hosts[1].name, run), b"stop")
    await board.put(subjects.stop(hosts[0].name, run), b"stop")
    async with asyncio.timeout(60):
        for subject in forbidden:
            await mallory._forbidden(subject)
        assert await heard.get() == f"{LIVE}{subjects.stop(hosts[0].name, run)}"
    assert heard.empty()


async def test_it_cannot_change_the_reader_of_another_host(mallory, board, hosts, run):
    """A name cannot be guessed; even with the name, a reader cannot be turned to other keys."""
    victim = subjects.token(hosts[1].name)
    async with asyncio.timeout(60):
        request = {"stream_name": STREAM, "config": {"name": "known", "filter_subject": f"{ROOT}to.{victim}.*.go"}}
        request["config"] |= {"ack_policy": "none", "inactive_threshold": 20_000_000_000}
        await board._connection.request(f"watch.known.to.{victim}.*.go", json.dumps(request).encode())
    own = f"to.{subjects.token(hosts[0].name)}.*.go"
    for subject in ("$JS.API.CONSUMER.DELETE", "$JS.API.CONSUMER.INFO", "$JS.API.CONSUMER.PAUSE"):
        answer = await mallory.ask(f"{subject}.{STREAM}.known", b"{}")
        assert answer is None
    assert own
    for subject in ("NAMES", "LIST"):
        assert await mallory.ask(f"$JS.API.CONSUMER.{subject}.{STREAM}") is None


async def test_it_cannot_have_the_server_answer_to_the_key_of_another(mallory, board, hosts, run):
    """The server checks no permission on the subject that is named for the answer."""
    own = hosts[0].name
    await mallory.ask(f"put.{subjects.row(own, own, run, '1')}", b"forged")
    before = await content(board)
    victim_values = {key: await board.get(key) for key in (subjects.plan(hosts[1].name, run), subjects.run(run))}
    for key in stolen(hosts[1].name, run):
        for target in (f"put.{key}", f"{ROOT}{key}", f"$JS.API.STREAM.PURGE.{STREAM}"):
            await mallory.say(f"get.{subjects.row(own, own, run, '1')}", reply=target)
            await mallory.say(f"put.{subjects.plan(own, run)}", b"x", reply=target)
            await mallory.say("next.nobody", PULL, reply=target)
            await mallory.say(f"watch.m2.go.{subjects.token(own)}.*", b"{}", reply=target)
    await asyncio.sleep(0.5)
    now = await content(board)
    assert {key for key in now[0] ^ before[0] if subjects.token(own) not in key} == set()
    assert now[1] == before[1]
    assert {key: await board.get(key) for key in victim_values} == victim_values
    assert await board.get(subjects.go(hosts[1].name, run)) == b"go"


async def test_it_cannot_have_its_reader_deliver_to_the_key_of_another(mallory, board, hosts, run):
    own = hosts[0].name
    pattern = f"row.{subjects.token(own)}.*.*.*"
    await mallory.ask(f"put.{subjects.row(own, own, run, '1')}", b"forged")
    before = await content(board)
    targets = [f"{ROOT}{key}" for key in stolen(hosts[1].name, run)]
    calls = [f"$JS.API.STREAM.{call}.{STREAM}" for call in ("PURGE", "DELETE", "INFO")]
    for number, target in enumerate([*targets, *calls, f"put.{subjects.run(run)}", "stream.purge.control"]):
        config = {"name": f"d{number}", "filter_subject": f"{ROOT}{pattern}", "ack_policy": "none"}
        request = {"stream_name": STREAM, "config": {**config, "deliver_subject": target}}
        answer = json.loads((await mallory.ask(f"watch.d{number}.{pattern}", request)).data)
        assert ("error" in answer) == target.startswith(ROOT), (target, answer)
    await asyncio.sleep(0.5)
    assert await content(board) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Nats-Rollup": "all"},
        {"Nats-Rollup": "sub"},
        {"KV-Operation": "PURGE", "Nats-Rollup": "all"},
        {"Nats-TTL": "1s"},
        {"Nats-Incr": "+1"},
        {"Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1", "Nats-Batch-Commit": "1"},
        {"Nats-Schedule": "@at 2020-01-01T00:00:00Z", "Nats-Schedule-Target": f"{ROOT}run.scheduled"},
    ],
)
async def test_no_header_removes_anything(mallory, board, hosts, run, headers):
    own = hosts[0].name
    before = await content(board)
    await mallory.ask(f"put.{subjects.plan(own, run)}", b"x", headers=headers)
    after = await content(board)
    assert before[0] <= after[0] <= before[0] | {f"answers:{ROOT}{subjects.plan(own, run)}"}


UNREADABLE = (
    {"Status": "404"},
    {"Status": "503", "Description": "x"},
    {"Nats-Sequence": "99999999", "Nats-Time-Stamp": "x"},
)


async def test_no_header_keeps_others_from_reading(mallory, board, hosts, run, fleet):
    """Neither what it wrote nor what came after: to the operator, and to a host for which it wrote a row."""
    own, victim = hosts[0].name, hosts[1].name
    plan = subjects.plan(own, run)
    async with fleet.board(hosts[1]) as other, asyncio.timeout(60):
        reads = [(other, subjects.rows(victim, run)), (board, subjects.plans(run))]
        live = [reader.watch(pattern) for reader, pattern in reads]
        for each in live:
            await anext(each)  # what the fixture wrote
        for number, headers in enumerate(UNREADABLE):
            for key in (subjects.row(victim, own, run, f"{number}"), plan):
                await mallory.ask(f"put.{key}", b"x", headers=headers)
            await other.put(subjects.row(victim, victim, run, "2"), b"later")
            await other.put(subjects.plan(victim, run), b"later")
            for (reader, pattern), each in zip(reads, live, strict=True):
                heard = [(await anext(each)).value for _ in range(2)]
                stored = [entry.value for entry in await reader.entries(pattern)]
                assert (heard, stored[-2:]) == ([b"x", b"later"], [b"x", b"later"])
            assert await board.get(plan) == b"x"
        for each in live:
            await each.aclose()


async def test_it_cannot_have_anything_delivered_to_those_who_listen(mallory, board, hosts, run, fleet):
    """A reader can be told to deliver to a subject on which the server republishes what was written."""
    own, victim = hosts[0].name, hosts[1].name
    plan = subjects.plan(own, run)
    await mallory.ask(f"put.{plan}", b"forged", headers={"Nats-Sequence": "99999999"})
    stops = subjects.lost(victim, run)
    async with fleet.board(hosts[1], give_up=10) as other:
        heard = other.watch(stops)
        first = asyncio.ensure_future(anext(heard))
        await board.put(subjects.lost(victim, run, "one"), b"one")
        assert (await asyncio.wait_for(first, 30)).value == b"one"
        for number, more in enumerate([{}, {"idle_heartbeat": 100_000_000, "flow_control": True}]):
            config = {"name": f"l{run}{number}", "filter_subject": f"{ROOT}{plan}", "ack_policy": "none"}
            config |= {"deliver_subject": f"{LIVE}{subjects.lost(victim, run, 'forged')}", **more}
            await mallory.ask(f"watch.{config['name']}.{plan}", {"stream_name": STREAM, "config": config})
        await asyncio.sleep(0.5)
        await board.put(subjects.lost(victim, run, "two"), b"two")
        assert (await asyncio.wait_for(anext(heard), 30)).value == b"two"
        await heard.aclose()


@pytest.mark.parametrize("more", [{"inactive_threshold": 3600_000_000_000}, {"durable_name": "m9"}])
async def test_it_cannot_make_readers_that_stay(mallory, board, hosts, more):
    """With them, a host could take all that a stream may have."""
    pattern = f"plan.{subjects.token(hosts[0].name)}.*"
    config = {"name": "m9", "filter_subject": f"{ROOT}{pattern}", "ack_policy": "none", **more}
    answer = json.loads((await mallory.ask(f"watch.m9.{pattern}", {"stream_name": STREAM, "config": config})).data)
    stays = answer.get("config", {}).get("inactive_threshold", 0)
    assert "error" in answer or 0 < stays <= 20_000_000_000, answer


async def test_it_cannot_have_the_message_of_another_taken_for_a_repetition(mallory, board, hosts, run, fleet):
    """Message IDs count for a whole stream: who uses the ID of another first has that one's message dropped."""
    own, victim = hosts[0].name, hosts[1].name
    for number in range(5):
        await mallory.ask(f"put.{subjects.plan(own, run)}", b"x", headers={"Nats-Msg-Id": f"{run}:{number}"})
    async with fleet.board(hosts[1]) as other:
        for number in range(5):
            await other.publish(subjects.report(victim, run), b"mine", id=f"{run}:{number}")
    keys = {key for key in (await content(board))[0] if f".{run}." in key and ".report." in key}
    assert len(keys) == 6  # one of the fixture


CALLS = {
    "STREAM": ("CREATE", "UPDATE", "DELETE", "PURGE", "INFO", "SNAPSHOT", "RESTORE", "MSG.GET", "MSG.DELETE"),
    "CONSUMER": ("NAMES", "LIST", "CREATE", "DURABLE.CREATE"),
}


async def test_it_cannot_manage_streams_or_readers(mallory, board):
    before = await content(board)
    for kind, calls in CALLS.items():
        for call in calls:
            for payload in (b"", {"name": STREAM, "subjects": [f"{ROOT}>"]}, {"seq": 1}):
                assert await mallory.ask(f"$JS.API.{kind}.{call}.{STREAM}", payload) is None
                for each in STREAMS:
                    assert await mallory.ask(f"{kind.lower()}.{call.lower()}.{each.name}", payload) is None
    for call in ("$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.LIST", "$JS.API.META.LEADER.STEPDOWN"):
        assert await mallory.ask(call) is None
    for call in ("VARZ", "CONNZ", "SUBSZ", "RELOAD", "KICK"):
        assert await mallory.ask(f"$SYS.REQ.SERVER.PING.{call}") is None
    assert await content(board) == before


async def test_it_hears_nothing_of_others(mallory, board, hosts, run, fleet):
    """Not even in its own account: each host has one of its own, so it cannot listen to answers to others either."""
    heard = []

    async def hear(message):
        heard.append(message.subject)

    for subject in (">", "*", "_INBOX.>", f"{ROOT}>", "$JS.>", "$SYS.>", "_R_.>", "put.>", "get.>", "next.*"):
        await mallory.client.subscribe(subject, cb=hear)
    await mallory.client.flush()
    victim = hosts[1].name
    async with fleet.board(hosts[1]) as other:
        watch = other.watch(f"to.{subjects.token(victim)}.*.go")
        assert (await anext(watch)).value == b"go"
        await other.put(subjects.lease(victim), b"again")
        await board.put(subjects.stop(victim, run), b"stop")
        await watch.aclose()
    await mallory.client.flush()
    assert heard == []


async def test_without_a_key_with_another_or_without_tls_nobody_gets_in(fleet, hosts):
    stranger = nkeys.KeyPair.new(nkeys.USER)
    for credentials in (
        type(hosts[0])(**{**{f: getattr(hosts[0], f) for f in hosts[0].__struct_fields__}, "seed": stranger.seed}),
        type(hosts[0])(
            **{**{f: getattr(hosts[0], f) for f in hosts[0].__struct_fields__}, "seed": fleet.folder.operator().signs}
        ),
    ):
        with pytest.raises(BoardError, match="does not know the key"):
            async with fleet.board(credentials):
                pass
    reader, writer = await asyncio.open_connection("127.0.0.1", int(fleet.url.rpartition(":")[2]))
    info = json.loads((await reader.readline()).removeprefix(b"INFO "))
    assert info["tls_required"]
    writer.write(b'CONNECT {"verbose":true}\r\nPUB put.run.x 1\r\nx\r\n')
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await asyncio.wait_for(reader.readexactly(1), 20)
    writer.close()


async def test_the_key_signs_nothing_for_a_server_without_tls(hosts):
    """Who stands in between could show the number of the real server, and connect there in the host's name."""
    received = []

    async def server(reader, writer):
        nonce = {"server_id": "x", "version": "2.10.0", "max_payload": 1000, "nonce": "abc", "auth_required": True}
        writer.write(b"INFO " + json.dumps(nonce).encode() + b"\r\n")
        await writer.drain()
        received.append(await reader.read())
        writer.close()

    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(BoardError, match="does not encrypt"):
            async with Connection(f"nats://127.0.0.1:{port}", hosts[0], give_up=1):
                pass
    async with asyncio.timeout(60):
        while not received:  # noqa: ASYNC110 - the server's task hears of the end in its own time
            await asyncio.sleep(0.01)
    assert received == [b""]


async def test_a_server_of_somebody_else_is_not_spoken_to(fleet, hosts, tmp_path):
    """Its certificate is of another authority."""
    from fleet_server import FleetServer

    other = FleetServer(tmp_path)
    await asyncio.to_thread(other.start)
    try:
        with pytest.raises(BoardError, match="is not the one of these credentials"):
            async with fleet.board(hosts[0], url=other.url):
                pass
    finally:
        await asyncio.to_thread(other.stop)
