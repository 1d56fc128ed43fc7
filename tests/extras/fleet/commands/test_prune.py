"""`fleet prune` and `fleet revoke` free the bytes that they print, on a full server."""

import asyncio
import os
import re
from datetime import timedelta

import pytest
from fleet_server import FleetServer

from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.commands.prune import used
from asyncstate.extras.fleet.errors import BoardRefused
from asyncstate.extras.fleet.nats import stream
from asyncstate.extras.fleet.nats.access import STREAMS
from asyncstate.extras.fleet.protocol import RunRecord, encode

LARGE = 200_000


@pytest.fixture
def fleet(tmp_path):
    made = FleetServer(tmp_path)
    made.start(
        *("--max-size", "0.013", "--stream-size", "control=0.001", "--stream-size", "answers=0.001"),
        *("--stream-size", "archive=0.001"),
    )  # 10 MiB of data
    yield made
    made.stop()


async def fill(board, run, most=1000):
    """Report until the server takes no more; return how many reports it took."""
    for number in range(most):
        try:
            await board.publish(subjects.report("db1", run), os.urandom(LARGE), id=str(number))
        except BoardRefused as refused:
            words = str(refused)
            break
    else:
        return most
    assert "its stream is full (maximum bytes exceeded): `asyncstate fleet prune` makes room" in words
    return number


async def test_a_server_that_is_full_is_made_room_on(fleet, run_cli, caplog):
    def call(*words):
        creds = ("--creds", fleet.folder.within("operator.creds"), "--nats", fleet.url)
        return asyncio.to_thread(run_cli, "fleet", *words, *(creds if words[0] != "revoke" else ()))

    host = await fleet.enrol("db1")
    async with fleet.board() as operator, fleet.board(host) as board:
        await board.put(subjects.host("db1"), b"grains")
        for run, ended in (("old1", 1.0), ("new1", None)):
            await operator.put(subjects.run(run), encode(RunRecord(run=run, target="*", begun=1.0, ended=ended)))
        await fill(board, "old1", 10)
        assert await fill(board, "new1") > 20
        await stream.tidy(operator._connection, timedelta(days=7))
        assert "data (report, event) is nearly full of entries of the last 1:00:00, which stay" in caplog.text
        assert "were removed" not in caplog.text
        refused = await call("prune", "new1")
        assert (refused.returncode, "run new1 has not ended" in refused.stderr) == (1, True)
        done = await call("prune", "old")
        assert done.returncode == 0, done.stderr
        said = re.fullmatch(
            r"([\d.]+) MiB removed; the server has [\d.]+ MiB now: control [\d.]+ \w+ of 1.0 MiB, "
            r"answers [\d.]+ \w+ of 1.0 MiB, data [\d.]+ MiB of 10.2 MiB, archive 0 bytes of 1.0 MiB\n",
            done.stdout,
        )
        typo = await call("prune", "--host", "db2")
        assert (typo.returncode, "no host 'db2' has ever been there" in typo.stderr) == (1, True)
        freed = float(said[1])
        assert freed * (1 << 20) == pytest.approx(10 * LARGE, rel=0.1)
        assert await operator.get(subjects.run("old1")) is None
        assert await board.get(subjects.host("db1")) == b"grains"
        assert await fill(board, "new1-more", 3) == 3, "there is room"
        before = used(await operator.room())
        done = await asyncio.to_thread(run_cli, "fleet", "revoke", "db1", "--dir", fleet.folder.path)
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(
            r"db1: its credentials no longer work; \d\.\d MiB of it were removed from the server\n", done.stdout
        )
        assert used(await operator.room()) < before / 20
        done = await call("prune", "--older-than", "0")
        assert done.returncode == 0, done.stderr
        assert await operator.get(subjects.run("new1")) is None


async def test_a_stream_that_is_nearly_full_keeps_its_reports_for_a_shorter_time(fleet, monkeypatch):
    """Offers and plans stay: whoever takes part in a run may have to read them again."""
    host = await fleet.enrol("db1")
    async with fleet.board() as operator, fleet.board(host) as board:
        await operator.put(subjects.offer("db1", "r"), b"offer")
        await board.put(subjects.plan("db1", "r"), b"plan")
        await fill(board, "r")
        monkeypatch.setattr(stream, "_YOUNGEST", stream.timedelta(seconds=1))
        await asyncio.sleep(1.5)
        await stream.tidy(operator._connection, stream.timedelta(seconds=100))
        has, most = (await operator.room())["data"]
        assert has < 0.8 * most
        assert await board.get(subjects.offer("db1", "r")) == b"offer"
        assert await operator.get(subjects.plan("db1", "r")) == b"plan"


def test_what_is_to_be_removed_must_be_named(run_cli, tmp_path):
    said = run_cli("fleet", "prune", "--creds", tmp_path / "x", "--nats", "tls://127.0.0.1:1")
    assert said.returncode == 1
    assert "name what is to be removed" in said.stderr


async def test_the_size_and_the_time_of_what_is_kept_are_kept_settings(fleet):
    fleet.stop()
    fleet.start("--keep", "2")
    found = fleet.folder.operator()
    assert (found.largest, found.kept_days) == (int(0.013 * (1 << 30)), 2.0)
    async with fleet.board() as operator:
        assert 0 <= found.largest - sum(most for _, most in (await operator.room()).values()) < len(STREAMS)
