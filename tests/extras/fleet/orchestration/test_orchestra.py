"""Orchestrations of real hosts, on a board in this process."""

import asyncio
import json

import pytest
from memory_board import MemoryServer, Seal
from record_answers import recorded

from asyncstate import Settings, StateRuntime
from asyncstate.errors import CommandExecutionError
from asyncstate.extras.fleet import subjects
from asyncstate.extras.fleet.controller.records import run_records
from asyncstate.extras.fleet.events import HostEvents
from asyncstate.extras.fleet.host.agent import Agent
from asyncstate.extras.fleet.host.local_station import LocalStation, RunFiles
from asyncstate.extras.fleet.orchestration.orchestra import Limits, Orchestra
from asyncstate.extras.fleet.protocol import Report, decode
from asyncstate.redact import Secrets
from asyncstate.services import Embedding

APP = """
site:
  file.managed:
    - name: {out}/{host}
    - contents: {{{{ pillar.get('version', 'none') }}}}
"""
BAD = "bad:\n  test.fail_without_changes: []\n"
SLOW = "slow:\n  cmd.run:\n    - name: echo {host} begins >> {out}/log; sleep 0.3; echo {host} ends >> {out}/log\n"
FIRES = "fires:\n  event.send:\n    - name: app/ready/{host}\n    - data: {{port: 80, id: other}}\n"


class World:
    """Hosts with their agents, and the tree of an operator."""

    def __init__(self, folder, hosts=("db1", "web1", "web2")):
        self.folder = folder
        self.out = folder / "out"
        self.out.mkdir()
        self.server = MemoryServer()
        self.seal = Seal()
        self.tasks = {}
        for host in hosts:
            root = folder / host
            root.mkdir()
            for name, text in {"app": APP, "bad": BAD, "slow": SLOW, "fires": FIRES}.items():
                (root / f"{name}.sls").write_text(text.format(out=self.out, host=host))
            (root / "top.sls").write_text("base:\n  '*': [app]\n")
            (root / "other.sls").write_text("base:\n  '*': [bad]\n")
        (folder / "operator").mkdir()
        self.settings = Settings(
            id="operator",
            file_roots={"base": [str(folder / "operator")]},
            state_dir=str(folder / "operator-state"),
            cachedir=str(folder / "operator-cache"),
            implicit_order="file",
            nodegroups={"front": "web*", "secret": "I@role:web", "nested": "db1 or N@secret"},
        )
        self.hosts = hosts

    async def start(self):
        for host in self.hosts:
            root = self.folder / host
            settings = Settings(
                id=host,
                file_roots={"base": [str(root)]},
                state_dir=str(root / "state"),
                cachedir=str(root / "cache"),
                grains={"role": host.rstrip("0123456789")},
            )
            board = self.server.board(host)
            station = LocalStation(settings, Embedding(events=HostEvents(board, host)))
            agent = Agent(board, host, station, RunFiles(settings.state_dir, host), self.seal, lease=0.5)
            self.tasks[host] = asyncio.create_task(agent.serve())
        known = set()
        async with asyncio.timeout(60):
            async for entry in self.server.board().watch(subjects.lease()):
                known.add(entry.key)
                if len(known) == len(self.hosts):
                    return

    async def stop(self):
        for task in self.tasks.values():
            task.cancel()
        await asyncio.wait(self.tasks.values())

    def orchestra(self, **limits):
        return Orchestra(self.server.board(), self.seal, self.settings, Secrets(), limits=Limits(**limits))

    async def run(self, text, **options):
        """Run an orchestration; return its rows by ID."""
        (self.folder / "operator" / "orch.sls").write_text(text)
        async with StateRuntime(self.settings, embedding=Embedding(orchestra=self.orchestra())) as runtime:
            plan = await runtime.compile(["orch"])
            async with runtime.run(plan, lock=False, **options) as run:
                pass
        return {tag.split("_|-")[1]: row for tag, row in run.report.rows.items()}

    def log(self):
        return (self.out / "log").read_text().splitlines()


@pytest.fixture
async def world(tmp_path):
    made = World(tmp_path)
    await made.start()
    yield made
    await made.stop()


DEPLOY = """
database:
  salt.state:
    - tgt: role:db
    - tgt_type: grain
    - sls: app
    - pillar: {version: {{ 1 + 1 }} }

app:
  salt.state:
    - tgt: N@front
    - tgt_type: compound
    - highstate: True
    - require: [salt: database]

check:
  salt.function:
    - name: file.file_exists
    - tgt: 'web*'
    - arg: [OUT/web1]
    - require: [salt: app]

handler:
  salt.function:
    - name: test.ping
    - tgt: db1
    - onfail: [salt: app]
"""


async def test_the_example_of_the_documentation_runs(tmp_path, checkout):
    """Each host has a database, an application or a load balancer; those of a kind have their batches."""
    text = (checkout / "docs" / "extras" / "orchestration.md").read_text()
    example = text.split("```yaml\n")[1].split("```")[0]
    world = World(tmp_path, hosts=("db1", "web1", "lb1", "lb2"))
    for host in world.hosts:
        root = tmp_path / host
        (root / "postgresql.sls").write_text("db:\n  test.configurable_test_state: [{result: True}, {changes: True}]\n")
        (root / "app.sls").write_text("migrated:\n  event.send: [{name: app/migrated/1}]\n")
        (root / "_modules").mkdir()
        (root / "_modules" / "http.py").write_text("def query(url):\n    return {'status': 200, 'url': url}\n")
    await world.start()
    rows = await world.run(example)
    await world.stop()
    assert {id_: row["result"] for id_, row in rows.items()} == dict.fromkeys(rows, True)
    assert list(rows) == ["database", "migrated", "application", "answers", "load_balancer", "tell"]
    assert rows["load_balancer"]["comment"] == "States ran successfully. Updating lb1, lb2."
    assert rows["answers"]["changes"]["ret"]["web1"]["url"] == "http://localhost:8080/health"
    assert rows["tell"]["comment"] == "State was not run because onfail req did not change"


async def test_a_tree_of_steps(world):
    rows = await world.run(DEPLOY.replace("OUT", str(world.out)))
    assert {id_: row["result"] for id_, row in rows.items()} == {
        "database": True,
        "app": True,
        "check": True,
        "handler": True,
    }
    assert rows["database"]["comment"] == "States ran successfully. Updating db1."
    assert rows["app"]["comment"] == "States ran successfully. Updating web1, web2."
    [row] = rows["database"]["changes"]["ret"]["db1"].values()
    assert row["__run_num__"] == 0
    assert (world.out / "db1").read_text() == "2\n"
    assert rows["check"]["changes"] == {"ret": {"web1": True, "web2": True}}
    assert rows["handler"]["comment"] == "State was not run because onfail req did not change"
    records = {record.run for record in await run_records(world.server.board())}
    assert {rows[id_]["__jid__"] for id_ in ("database", "app", "check")} == records


async def test_a_dry_run_changes_nothing(world):
    rows = await world.run(DEPLOY.replace("OUT", str(world.out)), test=True)
    assert rows["app"]["result"] is None
    assert rows["app"]["changes"]["ret"]["web1"]
    assert rows["check"]["comment"] == "Function file.file_exists would be executed on target web*"
    assert list(world.out.iterdir()) == []


async def test_a_dry_run_shows_new_files_if_the_operator_asks(world):
    (world.folder / "db1" / "new.sls").write_text(f"{world.out}/new: {{file.managed: [{{contents: fresh}}]}}\n")
    step = "new: {salt.state: [{tgt: db1}, {sls: new}]}\n"
    for asked in (False, True):
        world.settings.new_file_diff = asked
        rows = await world.run(step, test=True)
        assert ("+fresh" in json.dumps(rows["new"]["changes"])) is asked


async def test_failures_of_hosts_fail_the_step(world):
    rows = await world.run(
        "bad:\n  salt.state: [{tgt: '*'}, {sls: bad}]\n"
        "next:\n  salt.state: [{tgt: '*'}, {sls: app}, {require: [{salt: bad}]}]\n"
        "may:\n  salt.state: [{tgt: 'web*'}, {sls: bad}, {fail_minions: 'web1, web2'}]\n"
        "top:\n  salt.state: [{tgt: web1}, {top: other.sls}]\n"
        "missing:\n  salt.state: [{tgt: web1}, {sls: nothere}]\n"
        "handled:\n  salt.function: [{name: test.ping}, {tgt: db1}, {onfail: [{salt: bad}]}]\n"
    )
    assert rows["bad"]["comment"] == "Run failed on minions: db1, web1, web2"
    assert rows["next"]["comment"] == "One or more requisite failed: orch.bad"
    assert rows["may"]["comment"] == "States ran successfully. Updating web1, web2."
    assert rows["top"]["comment"] == "Run failed on minions: web1"
    assert rows["missing"]["comment"].startswith("Run failed on minions: web1\nMinion web1 returned errors: ")
    assert "nothere" in rows["missing"]["comment"]
    assert rows["handled"]["changes"] == {"ret": {"db1": True}}


async def test_parallel_steps_on_the_same_host_take_turns_and_others_run_beside_each_other(world):
    step = "{id}:\n  salt.state: [{{tgt: '{tgt}'}}, {{sls: slow}}, {{parallel: true}}]\n"
    rows = await world.run("".join(step.format(id=f"s{n}", tgt=tgt) for n, tgt in enumerate(("web1", "web*", "db1"))))
    assert all(row["result"] for row in rows.values())
    log = world.log()
    assert log.count("web1 begins") == log.count("web1 ends") == 2
    web1 = [line for line in log if line.startswith("web1")]
    assert web1 == ["web1 begins", "web1 ends"] * 2
    assert log.index("db1 begins") < log.index("web1 ends")


async def test_steps_without_requisites_run_in_the_order_of_the_file(world):
    """Destroy is the slowest: whoever does not wait for it is there first."""
    log = world.out / "log"
    step = (
        "{id}:\n  salt.function: [{{name: cmd.run}}, {{tgt: {tgt}}}, {{arg: ['sleep {wait}; echo {id} >> {log}']}}]\n"
    )
    rows = await world.run(
        step.format(id="destroy", tgt="db1", wait=1, log=log)
        + step.format(id="wipe", tgt="web1", wait=0.3, log=log)
        + "deploy:\n  salt.state: [{tgt: web2}, {sls: slow}]\n"
        + step.format(id="configure", tgt="'*'", wait=0, log=log),
        concurrency=64,
    )
    assert all(row["result"] for row in rows.values())
    assert world.log() == ["destroy", "wipe", "web2 begins", "web2 ends", *["configure"] * 3]


async def test_hosts_of_a_step_in_batches(world):
    rows = await world.run(
        "slow:\n  salt.state: [{tgt: '*'}, {sls: slow}, {batch: 1}]\n"
        "half:\n  salt.function: [{name: test.ping}, {tgt: '*'}, {batch: '50%'}]\n"
        "wrong:\n  salt.function: [{name: test.ping}, {tgt: '*'}, {batch: many}]\n"
    )
    assert rows["slow"]["comment"] == "States ran successfully. Updating db1, web1, web2."
    log = world.log()
    assert [line.split()[0] for line in log[::2]] == [line.split()[0] for line in log[1::2]]
    assert rows["half"]["changes"]["ret"] == {"db1": True, "web1": True, "web2": True}
    assert "expected a number from 1 on or a percentage of hosts, 2 or 10%, got 'many'" in rows["wrong"]["comment"]


async def test_a_batch_that_fails_is_the_last_with_failhard(world):
    rows = await world.run("bad:\n  salt.state: [{tgt: '*'}, {sls: bad}, {batch: 1}, {failhard: True}]\n")
    assert rows["bad"]["comment"] == "Run failed on minions: db1"
    rows = await world.run("bad:\n  salt.state: [{tgt: '*'}, {sls: bad}, {batch: 1}]\n")
    assert rows["bad"]["comment"] == "Run failed on minions: db1, web1, web2"


async def test_a_step_waits_for_what_hosts_fire(world):
    rows = await world.run(
        "wait:\n  salt.wait_for_event:\n    - {name: app/ready/*}\n    - {id_list: [web2, web1]}\n    - {timeout: 30}\n"
        "    - {parallel: true}\n"
        "never:\n  salt.wait_for_event:\n    - {name: app/ready/*}\n    - {id_list: [other]}\n    - {timeout: 2}\n"
        "    - {parallel: true}\n"
        "port:\n  salt.wait_for_event:\n    - {name: app/ready/*}\n    - {id_list: [80]}\n    - {event_id: port}\n"
        "    - {timeout: 30}\n    - {parallel: true}\n"
        "fires:\n  salt.state: [{tgt: 'web*'}, {sls: fires}]\n"
    )
    assert rows["wait"]["result"] is True
    assert sorted(rows["wait"]["changes"]["minions_seen"]) == ["web1", "web2"]
    assert rows["port"]["result"] is True
    assert (rows["never"]["result"], rows["never"]["comment"]) == (False, "Timeout value reached.")


async def test_runners_and_nested_orchestrations(world):
    (world.folder / "operator" / "inner.sls").write_text(
        "inner:\n  salt.state: [{tgt: web1}, {sls: app}, {pillar: {version: {{ pillar['version'] }}}}]\n"
    )
    (world.folder / "operator" / "wrong.sls").write_text("wrong:\n  salt.state: [{tgt: web1}, {sls: bad}]\n")
    rows = await world.run(
        "nested:\n  salt.runner: [{name: state.orchestrate}, {mods: inner}, {pillar: {version: 7}}]\n"
        "failing:\n  salt.runner: [{name: state.orch}, {mods: wrong}]\n"
        "both:\n  salt.parallel_runners:\n    - runners:\n"
        "        up: [{name: manage.up}]\n"
        "        status: [{name: manage.status}]\n"
        "        some: [{name: manage.up}, {kwarg: {tgt: 'role:web', tgt_type: grain, timeout: 3}}]\n"
        "        gone: [{name: manage.down}, {kwarg: {tgt: 'db1,gone1', tgt_type: list}}]\n"
        "        execute: [{name: salt.execute}, {kwarg: {tgt: db1, fun: test.echo, arg: [hi]}}]\n"
        "typo:\n  salt.runner: [{name: manage.upp}]\n"
        "wrongly:\n  salt.runner: [{name: manage.up}, {a: 1}]\n"
        "placed:\n  salt.runner:\n    - name: salt.execute\n    - arg: ['db1,gone1', test.echo, [hi]]\n"
        "    - kwarg: {tgt_type: list, timeout: 1}\n"
    )
    assert rows["nested"]["result"] is True
    [inner] = rows["nested"]["changes"]["return"]["data"]["operator_master"].values()
    assert inner["comment"] == "States ran successfully. Updating web1."
    assert (world.out / "web1").read_text() == "7\n"
    assert (rows["failing"]["result"], rows["failing"]["comment"]) == (False, "Runner function 'state.orch' failed.")
    assert rows["both"]["changes"]["ret"] == {
        "up": ["db1", "web1", "web2"],
        "status": {"up": ["db1", "web1", "web2"], "down": []},
        "some": ["web1", "web2"],
        "gone": ["gone1"],
        "execute": {"db1": "hi"},
    }
    assert rows["typo"]["comment"] == "there is no runner 'manage.upp' in a fleet: did you mean 'manage.up'?"
    assert rows["wrongly"]["comment"].startswith("the runners of manage take no 'a': ")
    assert rows["placed"]["changes"] == {"return": {"db1": "hi"}}


TARGETS = {question: hosts for question, hosts in recorded("target").items() if "edge" not in question}


@pytest.mark.parametrize(("question", "hosts"), TARGETS.items())
async def test_targets_are_salts(world, question, hosts):
    kind, target = json.loads(question)
    answers = await world.orchestra().command(target, "test.ping", kind=kind)
    assert list(answers) == [host for host in hosts if host != "lb1"]
    assert all(answer["ret"] is True for answer in answers.values())


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"kind": "pillar", "target": "a:b"}, "asks for the pillar of hosts"),
        ({"kind": "compound", "target": "web* and I@a:b"}, "asks for the pillar of hosts"),
        ({"kind": "compound", "target": ["(", "J@a:b", ")"]}, "asks for the pillar of hosts"),
        ({"kind": "nodegroup", "target": "nested"}, "asks for the pillar of hosts"),
        ({"kind": "grian", "target": "a:b"}, "did you mean 'grain'?"),
        ({"function": "state.apply", "kwarg": {"pilar": {}}}, "did you mean 'pillar'?"),
    ],
)
async def test_what_cannot_be_asked_for_is_refused_in_words(world, asked, words):
    given = {"target": "*", "function": "test.ping", **asked}
    with pytest.raises(CommandExecutionError, match=words.replace("?", r"\?")):
        await world.orchestra().command(given.pop("target"), given.pop("function"), **given)


async def test_hosts_that_do_not_answer(world):
    """Who is silent is left out unless expected; who is named and unknown is always expected."""
    orchestra = world.orchestra()

    async def ping(target, **more):
        for deadline in (1.0, 30.0):  # until who is there has answered in time
            answers = await orchestra.command(target, "test.ping", deadline=deadline, **more)
            if "ret" in answers.get("web1", {}):
                break
        return answers

    world.tasks["web2"].cancel()
    await asyncio.wait([world.tasks["web2"]])
    assert list(await ping("web*")) == ["web1"]
    answers = await ping("web*", expect_minions=True)
    assert answers["web1"]["ret"] is True
    assert answers["web2"] == {"failed": True, "out": "highstate", "jid": answers["web1"]["jid"]}
    answers = await ping("web1,gone1,web2", kind="list")
    assert {host: answer.get("failed", False) for host, answer in answers.items()} == {"gone1": True, "web1": False}


async def test_a_subset_is_of_those_that_are_there(world):
    answers = await world.orchestra().command("*", "test.ping", subset=2)
    assert len(answers) == 2
    assert len(await world.orchestra().command("*", "test.ping", subset=9)) == 3


async def test_a_step_that_is_cancelled_ends_on_its_hosts(world):
    running = asyncio.create_task(world.orchestra().command("db1", "cmd.run", [f"touch {world.out}/begun; sleep 60"]))
    async with asyncio.timeout(60):
        while not (world.out / "begun").exists():  # noqa: ASYNC110 - a program makes it
            await asyncio.sleep(0.02)
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        [stop] = world.server.values("to.db1.*.stop")
        assert b"the orchestration was cancelled" in stop.value
        [record] = await run_records(world.server.board())
        assert (record.exit_code, record.ended is not None) == (125, True)
        async for message in world.server.board().messages("report.db1.*"):
            if decode(message.data, Report).ended:
                return
