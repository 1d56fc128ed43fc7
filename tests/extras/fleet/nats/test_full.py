"""A host fills a stream on purpose: runs go on, and the losses of other hosts are reported."""

import asyncio
import json
import os
import random
import re
import shutil
import threading
from pathlib import Path

import pytest
from fleet_programs import FleetPrograms, until

from asyncstate.errors import FleetError
from asyncstate.extras.fleet import credentials, subjects
from asyncstate.extras.fleet.errors import BoardError, BoardRefused
from asyncstate.extras.fleet.nats import access, server, stream
from asyncstate.extras.fleet.nats.board import NatsBoard
from asyncstate.extras.fleet.protocol import RunRecord, encode

SIZE = 12 << 20
FILLED = {"data": "report.mallory.r{}.x", "archive": "log.mallory.{}"}


@pytest.fixture
def fleet(tmp_path):
    with FleetPrograms(tmp_path) as made:
        made.prepare("db1", "web1", "mallory")
        made.server.folder.prepare(None, (), None, largest=SIZE)
        made.server.start("--listen", "127.0.0.1:0")
        yield made


def mallory(fleet):
    return NatsBoard(fleet.server.url, credentials.read(str(fleet.home / "mallory" / "creds")), give_up=30)


async def fill(board, key, most=3000):
    """Write until not even a small value is taken any more."""
    numbers = iter(range(most))

    async def pour(size):
        for number in numbers:
            await board.put(key.format(number), os.urandom(size))

    for size in (100_000, 1000, 1):
        with pytest.raises(BoardRefused, match="its stream is full"):
            await pour(size)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILLED)
def test_a_run_comes_to_its_end_whatever_is_full(fleet, name):
    fleet.tree("db1", top="base:\n  '*': [app]\n", app=fleet.state("one"))
    fleet.tree("web1", top="base:\n  '*': [app]\n", app=fleet.state("two", "db1/one"))
    for host in ("db1", "web1"):
        fleet.start_agent(host)

    async def attack():
        async with mallory(fleet) as board, fleet.server.board() as operator:
            await fill(board, FILLED[name])
            return await operator.room()

    room = asyncio.run(attack())
    assert room[name][0] > 0.99 * room[name][1]
    assert room["control"][0] < 0.1 * room["control"][1]
    done = fleet.apply("--target", "L@db1,web1").end()
    assert done.code == 0, done.said
    assert fleet.ran() == ["one", "two"]
    lost = re.findall(r"^(\w+): [1-9] events of its report are lost", done.said, re.MULTILINE)
    assert sorted(lost) == (["db1", "web1"] if name == "data" else []), done.said
    shown = fleet.operator("show", fleet.run()).end()
    assert shown.code == 0, shown.said
    assert ("are lost" in shown.said) == (name == "data")

    said = fleet.command("revoke", "mallory", "--dir", fleet.server.folder.path).stdout
    assert float(said.partition("; ")[2].partition(" MiB")[0]) > 0.9 * room[name][1] / (1 << 20), said
    again = fleet.apply("--target", "L@db1,web1").end()
    assert (again.code, "are lost" in again.said) == (0, False)
    assert {host: len(rows) for host, rows in again.rows.items()} == {"db1": 1, "web1": 1}


class Flood:
    """A host that writes all that it may, under whatever names, for other hosts and real runs, too, until it is cut off.

    ``refused`` are the kinds that the server took no more of; ``error`` is the end of it.
    """

    def __init__(self, fleet):
        self._fleet = fleet
        self.refused = set()
        self.runs = []
        self.error = ""
        self.board = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._pour()))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self._thread.join(60)

    async def _pour(self):
        try:
            async with mallory(self._fleet) as self.board, asyncio.TaskGroup() as group:
                for pattern in subjects.written_by("mallory"):
                    for size in (200, 20_000):
                        group.create_task(self._write(access.stored(pattern), size))
        except* BoardError as errors:
            self.error = str(errors.exceptions[0])

    async def _write(self, pattern, size):
        while True:
            names = ["db1", "web1", "0", *self.runs[-1:], *(os.urandom(8).hex() for _ in range(4))]
            key = ".".join(random.choice(names) if word == "*" else word for word in pattern.split("."))
            try:
                await self.board.put(key, os.urandom(size))
            except BoardRefused:
                self.refused.add(subjects.kind(pattern))
                await asyncio.sleep(0.01)


@pytest.mark.slow
def test_a_host_that_writes_all_it_may_stops_nobody_and_can_be_stopped(fleet):
    fleet.server.stop()
    fleet.server.start("--max-size", "0.2", "--stream-size", "answers=0.12", "--stream-size", "control=0.02")
    for host, requires in {"db1": (), "web1": ("db1/db1",), "mallory": ()}.items():
        state = fleet.state(host, *requires, held=host == "mallory")
        fleet.tree(host, top="base:\n  '*': [app]\n", app=state)
        fleet.start_agent(host)

    async def room():
        async with fleet.server.board() as operator:
            return await operator.room()

    with Flood(fleet) as flood:
        until(lambda: {"report", "event"} <= flood.refused)
        until(lambda: (used := asyncio.run(room())["answers"])[0] > 0.95 * used[1])
        for _ in range(3):
            done = fleet.apply("--target", "L@db1,web1").end()
            assert done.code == 0, done.said
            flood.runs.append(fleet.run())
        assert fleet.ran() == 3 * ["db1", "web1"]
        assert asyncio.run(room())["control"][0] < 1 << 20

        held = fleet.apply("--target", "L@mallory")
        fleet.until_begun("mallory")
        cancelled = fleet.operator("cancel", fleet.run(), "--now").end()
        assert (cancelled.code, held.end().code) == (0, 2)
        assert "mallory" not in fleet.ran()

        fleet.kill_agent("mallory")
        fleet.command("revoke", "mallory", "--dir", fleet.server.folder.path)
    assert "does not know the key of mallory" in flood.error
    assert {name: used for name, (used, _) in asyncio.run(room()).items() if used > 1 << 20} == {}
    again = fleet.apply("--target", "L@db1,web1").end()
    assert (again.code, "are lost" in again.said) == (0, False)


@pytest.mark.slow
def test_a_run_that_fails_says_so_although_its_reports_are_refused(fleet):
    fleet.tree("db1", top="base:\n  '*': [app]\n", app="bad:\n  test.fail_without_changes: []\n")
    fleet.start_agent("db1")

    async def attack():
        async with mallory(fleet) as board:
            await fill(board, FILLED["data"])

    asyncio.run(attack())
    done = fleet.apply("--target", "L@db1").end()
    assert done.code == 2, done.said
    assert "are lost" in done.said


DEFAULTS = {"control": 1 << 29, "answers": 1 << 29, "data": 5 << 29, "archive": 1 << 29}


@pytest.mark.slow
async def test_the_limits_of_the_streams_are_settings_and_fit_together(own_fleet):
    async with own_fleet.board() as board:
        room = await board.room()
    assert {name: most for name, (_, most) in room.items()} == DEFAULTS
    own_fleet.stop()
    own_fleet.start("--max-size", "1", "--stream-size", "control=0.375", "--stream-size", "archive=0.125")
    own_fleet.stop()
    own_fleet.start()
    async with own_fleet.board() as board:
        room = await board.room()
    found = {name: most >> 20 for name, (_, most) in room.items()}
    assert found == {"control": 384, "answers": 85, "data": 426, "archive": 128}
    own_fleet.stop()
    own_fleet.start("--stream-size", "control=0", "--stream-size", "archive=0")
    async with own_fleet.board() as board:
        room = await board.room()
    assert {name: 4 * most for name, (_, most) in room.items()} == DEFAULTS


def test_limits_that_do_not_fit_together_are_refused(run_cli, tmp_path):
    up = ("fleet", "up", "--dir", tmp_path / "D", "--print-config")
    for words in (("--stream-size", "control=5"), ("--max-size", "1", "--stream-size", "data=1")):
        said = run_cli(*up, *words)
        assert (said.returncode, "each stream needs 0.001 GiB" in said.stderr) == (1, True), said.stderr
        assert not Path(tmp_path, "D", "operator.creds").exists()
    for word in ("control", "control=x", "control=nan", "control=inf", "control=-1", "all=1"):
        said = run_cli(*up, "--stream-size", word)
        assert (said.returncode, "is not NAME=GIB" in said.stderr) == (1, True), said.stderr


@pytest.mark.parametrize("own", [{}, {"data": 7 << 20}, {"control": 5 << 20, "data": 5 << 20}])
def test_the_limits_together_are_no_more_than_the_server_keeps(own):
    assert SIZE - 4 < sum(access.limits_of(SIZE, own).values()) <= SIZE
    with pytest.raises(FleetError, match="all of them together"):
        access.limits_of(sum(own.values()) + 1, own)


NEW = tuple(f".{each.name}" for each in access.STREAMS)


def of_before(text):
    """Return the accounts as they were when all was in one stream."""
    described = json.loads(text.partition("accounts: ")[2])
    for account in described.values():
        for each in account.get("imports", ()):
            for part in each.values():
                if isinstance(part, dict):
                    part["account"] = "BOARD"
        account["imports"] = [each for each in account.get("imports", ()) if not each.get("to", "").endswith(NEW)]
        for user in account.get("users", ()):
            allowed = user.get("permissions", {"publish": {"allow": []}})["publish"]["allow"]
            allowed[:] = [each for each in allowed if not each.endswith(NEW)]
    return f"{text.partition('accounts: ')[0]}accounts: {json.dumps(described)}\n"


@pytest.mark.slow
async def test_a_server_of_before_says_what_to_do_and_is_brought_up_to_date(own_fleet):
    folder = own_fleet.folder
    host = await own_fleet.enrol("db1")
    folder._write("accounts.conf", of_before(folder.accounts_text()).encode())
    await server.reload(folder)
    with pytest.raises(BoardError, match=r"those of an older asyncstate, end `asyncstate fleet up` there and"):
        async with own_fleet.board():
            pass
    async with own_fleet.board(host) as board:
        await board.put(subjects.host("db1"), b"grains")
        await board.publish(subjects.report("db1", "r"), b"report", id="1")
    own_fleet.stop()
    for account in {each.account for each in access.STREAMS} - {"BOARD"}:
        shutil.rmtree(folder.within(f"jetstream/jetstream/{account}"))
    own_fleet.start()
    async with own_fleet.board() as board:
        assert await board.get(subjects.host("db1")) == b"grains"
        found = await stream._call(board._connection, access.CONTROL, "info", {"subjects_filter": ">"})
        assert set(found["state"]["subjects"]) == {f"{access.ROOT}host.db1"}
    own_fleet.stop()
    words = "its plans, rows, reports, events and logs are removed, "
    assert own_fleet.complaints.count(words) == 1
    own_fleet.start()
    own_fleet.stop()
    assert words not in own_fleet.complaints


async def test_what_ended_runs_left_makes_room_for_others(own_fleet):
    own_fleet.stop()
    own_fleet.start("--max-size", "0.02")
    async with own_fleet.board() as operator:
        for run, ended in (("old", 1.0), ("new", 2.0), ("now", None)):
            await operator.put(subjects.run(run), encode(RunRecord(run=run, target="*", begun=1.0, ended=ended)))
            await operator.put(subjects.held(run, "db1"), os.urandom(800_000))
    async with own_fleet.board() as operator:
        left = {subjects.parts(entry.key)[1] for entry in await operator.entries("held.*.*")}
        assert left == {"new", "now"}
        assert await operator.get(subjects.run("old")) is not None
