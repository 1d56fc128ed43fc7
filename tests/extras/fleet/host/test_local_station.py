"""Agents of real hosts on a board in this process: real trees, journals and locks, in folders of their own."""

import asyncio
import time

import pytest
from memory_board import MemoryServer, Seal

from asyncstate import Settings
from asyncstate.errors import FleetError
from asyncstate.extras.fleet.controller.controller import Controller, Request
from asyncstate.extras.fleet.controller.event_stream import Observer
from asyncstate.extras.fleet.errors import MessageRefused
from asyncstate.extras.fleet.host import replay
from asyncstate.extras.fleet.host.agent import Agent
from asyncstate.extras.fleet.host.local_station import Gate, LocalPart, LocalStation, RunFiles
from asyncstate.extras.fleet.host.partition import host_plan
from asyncstate.extras.fleet.host.station import Kept
from asyncstate.extras.fleet.policy import Policy
from asyncstate.extras.fleet.protocol import Offer, Options
from asyncstate.guard.lock import RunLock
from asyncstate.journal.entry import UNDER_WAY, RunEntry
from asyncstate.journal.store import Journal
from asyncstate.report.recorded import RecordedReport
from asyncstate.resume.earlier_runs import PastRun
from asyncstate.runtime import StateRuntime

DB = """
database:
  file.managed:
    - name: {out}/db
    - contents: secret {{{{ pillar['password'] }}}}
"""
WEB = """
site:
  file.managed:
    - name: {out}/site
    - contents: up
    - require:
      - {{host: 'G@role:db', file: database}}
    - watch_in:
      - {{host: lb1, cmd: reload}}
"""
LB = """
reload:
  cmd.wait:
    - name: cp {out}/site {out}/lb
"""


class Gathered(Observer):
    def __init__(self):
        self.reports = {}

    def begun(self, host, attempt):
        self.reports[host] = RecordedReport()

    def event(self, host, event):
        self.reports[host].on_event(event)

    def row(self, host):
        [row] = self.reports[host].report().rows.values()
        return row


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.fixture
def settings_of(tmp_path, out):
    def make(host, text, **more):
        root = tmp_path / host
        root.mkdir()
        (root / "app.sls").write_text(text.format(out=out))
        own = {
            "id": host,
            "file_roots": {"base": [str(root)]},
            "state_dir": str(root / "state"),
            "cachedir": str(root / "cache"),
        }
        return Settings(**own, grains={"role": host.rstrip("0123456789")}, **more)

    return make


@pytest.fixture
def settings(settings_of):
    return {
        "db1": settings_of("db1", DB, pillar={"password": "kept-here"}),
        "web1": settings_of("web1", WEB),
        "lb1": settings_of("lb1", LB),
    }


class World:
    def __init__(self, settings):
        self.settings = settings
        self.server = MemoryServer()
        self.seal = Seal()
        self.gathered = Gathered()
        self.tasks = {}

    def start(self, *hosts, **more):
        for host in hosts or self.settings:
            files = RunFiles(self.settings[host].state_dir, host)
            agent = Agent(self.server.board(host), host, LocalStation(self.settings[host]), files, self.seal, **more)
            self.tasks[host] = asyncio.create_task(agent.serve())

    async def drive(self, run="r1", **options):
        async with asyncio.timeout(100):
            known = set()
            async for entry in self.server.board().watch("host.*"):
                known.add(entry.key)
                if len(known) == len(self.settings):
                    break
            request = Request(target="*", sls=("app",), options=Options(**options))
            return await Controller(self.server.board(), self.seal, run, request, self.gathered).drive()

    async def stop(self, *hosts):
        for host in hosts or self.settings:
            self.tasks[host].cancel()
            await asyncio.wait([self.tasks[host]])


async def test_three_hosts_run_as_one(settings, out):
    world = World(settings)
    world.start()
    end = await world.drive()
    await world.stop()
    assert end.issues == ()
    assert {host: each.why for host, each in end.hosts.items()} == dict.fromkeys(["db1", "lb1", "web1"], "")
    assert end.exit_code == 0
    assert (out / "lb").read_text() == "up\n"
    assert world.gathered.row("lb1")["changes"]["retcode"] == 0
    on_board = b"".join(entry.value for entry in world.server.values(">"))
    assert b"kept-here" not in on_board


async def test_nothing_of_a_run_is_kept_once_it_has_ended_but_that_it_ended(settings):
    world = World(settings)
    world.start()
    await world.drive(pillar={"token": "of-the-operator"})
    await world.stop()
    for host, own in settings.items():
        [kept] = (await RunFiles(own.state_dir, host).load()).values()
        assert (kept.offer.run, kept.ended, kept.go, kept.offer.options) == ("r1", "finished", b"", Options())


@pytest.mark.parametrize(("exclude", "left"), [("id:one", ["two"]), ("sls:app", []), ("one", ["one", "two"])])
async def test_what_a_run_excludes_is_an_sls_or_an_id(settings_of, exclude, left):
    station = LocalStation(settings_of("db1", "one: test.nop\ntwo: test.nop\n"))
    async with station.prepare(Offer(run="r", sls=("app",), options=Options(exclude=(exclude,)))) as part:
        assert [chunk.id for chunk in part.plan.chunks] == left
        sent = host_plan(part.plan, part.shown, run="r", host="db1", nonce="n", unfit=part.unfit)
        assert sent.unfit == (("one",) if exclude == "one" else ())


@pytest.mark.parametrize("diff", [False, True])
async def test_a_dry_run_changes_nothing_and_shows_new_files_if_asked(settings, out, diff):
    world = World(settings)
    world.start()
    end = await world.drive(test=True, new_file_diff=diff)
    await world.stop()
    assert end.exit_code == 0
    assert world.gathered.row("web1")["result"] is None
    assert ("+up" in world.gathered.row("web1")["changes"].get("diff", "")) is diff
    assert list(out.iterdir()) == []


async def test_an_agent_that_was_cut_off_goes_on_from_its_journal(settings, settings_of, out):
    settings["db1"] = settings_of(
        "db2",
        "first:\n  cmd.run:\n    - name: echo x >> {out}/first\n"
        "database:\n  file.managed:\n    - name: {out}/db\n    - contents: x\n    - require: [{{cmd: slow}}]\n"
        "slow:\n  cmd.run:\n    - name: test -e {out}/second || {{ touch {out}/second; sleep 60; }}\n    - require: [{{cmd: first}}]\n",
    )
    settings["db2"] = settings.pop("db1")
    world = World(settings)
    world.start()
    running = asyncio.create_task(world.drive())
    async with asyncio.timeout(100):
        while not (out / "second").exists():  # noqa: ASYNC110 - a program makes it
            await asyncio.sleep(0.05)
    await world.stop("db2")
    world.start("db2")
    end = await running
    await world.stop()
    assert {host: each.why for host, each in end.hosts.items()} == dict.fromkeys(["db2", "lb1", "web1"], "")
    assert end.exit_code == 0
    assert (out / "first").read_text() == "x\n"
    rows = world.gathered.reports["db2"].report().rows
    assert len(rows) == 3
    journal = Journal.open(settings["db2"].state_dir)
    assert [bool(entry.resumes) for entry in journal.runs()] == [True, False]


async def test_a_tree_that_does_not_compile_is_told_with_its_place(settings, settings_of):
    settings = {"bad1": settings_of("bad1", "a:\n  test.nopp: []\n"), "lb1": settings["lb1"]}
    world = World(settings)
    world.start()
    end = await world.drive()
    await world.stop()
    assert "app.sls" in end.hosts["bad1"].why or end.hosts["bad1"].exit_code == 2
    assert end.hosts["lb1"].exit_code == 0


async def test_runs_are_kept_in_private_files(tmp_path):
    files = RunFiles(str(tmp_path / "state"), "web1.example.com")
    assert await files.load() == {}
    kept = Kept(offer=Offer(run="../r1", host="web1.example.com"), nonce="n", go=b"\x00\xff")
    await files.save(kept)
    assert await RunFiles(str(tmp_path / "state"), "web1.example.com").load() == {"../r1": kept}
    [path] = tmp_path.rglob("*.run")
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_bytes(b"{")
    assert await files.load() == {}


async def test_old_runs_are_forgotten(tmp_path, monkeypatch):
    monkeypatch.setattr("asyncstate.extras.fleet.host.local_station._MOST_KEPT", 2)
    files = RunFiles(str(tmp_path), "a")
    for number in range(5):
        await files.save(
            Kept(offer=Offer(run=f"r{number}", host="a", issued=number), ended="finished" if number else "")
        )
    assert sorted(path.name for path in (tmp_path / "fleet" / "a").glob("*.run")) == ["r0.run", "r3.run", "r4.run"]
    assert sorted(await files.load()) == ["r0", "r3", "r4"]


async def test_a_folder_that_cannot_be_written_to_is_an_error_with_its_name(tmp_path):
    (tmp_path / "fleet").write_text("")
    with pytest.raises(FleetError, match="fleet/a"):
        await RunFiles(str(tmp_path), "a").save(Kept(offer=Offer(run="r", host="a")))


def test_an_offer_is_taken_once_even_by_an_agent_that_was_started_again(tmp_path):
    now = time.time()

    def gate():
        return Gate(RunFiles(str(tmp_path), "a"), Policy(deny_test_false=True), enrolled=now - 10, wall=lambda: now)

    offer = Offer(run="r", host="a", issued=now)
    assert "dry runs only" in gate().accept(offer)
    with pytest.raises(MessageRefused, match="taken before"):
        gate().accept(offer)
    with pytest.raises(MessageRefused, match="may be a repetition"):
        gate().accept(Offer(run="s", host="a", issued=now - 11))
    (tmp_path / "fleet" / "a" / "taken").write_text("[")
    with pytest.raises(FleetError, match="damaged"):
        gate()
    assert replay.Taken().runs == {}


def test_two_agents_do_not_serve_one_host(tmp_path):
    files = RunFiles(str(tmp_path), "a")
    with files.held(), pytest.raises(FleetError, match="another agent serves this host already"), files.held():
        pass
    with files.held():
        pass


async def test_a_run_that_is_under_way_does_not_begin_anew(settings):
    class UnderWay(StateRuntime):
        def past_run(self, key, value):
            return PastRun(None, RunEntry(id="j1", begun=0.0, ending=UNDER_WAY))

    async with UnderWay(settings["db1"]) as runtime:
        plan = await runtime.compile(["app"], remote=True)
        part = LocalPart(runtime, Offer(run="r", host="db1"), plan)
        with pytest.raises(FleetError, match=r"j1 .* still under way"):
            await part.start(None, None, lambda _: None, again=True)


async def test_a_part_that_waits_for_another_run_on_its_host_ends_when_it_is_stopped(settings, out, caplog):
    caplog.set_level("INFO", "asyncstate.guard.lock")
    own = settings["db1"]
    world = World({"db1": own})
    async with RunLock(own.cachedir):
        world.start()
        await anext(world.server.board().watch("host.*"))
        request = Request(target="*", sls=("app",))
        controller = Controller(world.server.board(), world.seal, "r1", request, world.gathered)
        driving = asyncio.create_task(controller.drive())
        async with asyncio.timeout(60):
            while "Waiting for another run on this host" not in caplog.text:  # noqa: ASYNC110 - a log
                await asyncio.sleep(0.01)
            controller.cancel("SIGINT")
            end = await driving
    await world.stop()
    assert (end.exit_code, end.hosts["db1"].why) == (130, "SIGINT")
    assert list(out.iterdir()) == []


async def test_a_stricter_policy_holds_for_a_run_that_was_taken_before(tmp_path, settings):
    strict = Policy(deny_test_false=True, allow_sls=("web",))
    gate = Gate(RunFiles(str(tmp_path), "a"), strict, enrolled=0.0, wall=time.time)
    async with StateRuntime(settings["db1"]) as runtime:
        plan = await runtime.compile(["app"], remote=True)
    refused = gate.allow(Offer(run="r", host="a", sls=("app",)), plan)
    assert len(refused) == len(set(refused)) == 2
    assert "dry runs only" in refused[0]
    assert "does not allow the SLS app" in refused[1]
