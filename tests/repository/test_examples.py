"""The examples are run as a reader would: the quick start twice, the web service over a socket."""

import asyncio
import grp
import importlib.util
import json
import os
import pwd
import shutil
import subprocess
import sys
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from asyncstate import Settings, StateRuntime
from asyncstate.guard.lock import RunLock
from asyncstate.model.event import ChunkFinished, RunFinished, RunStarted, decode_event


@pytest.fixture
def quickstart(checkout, run_here, tmp_path):
    """``quickstart(*options)`` applies the tree below tmp_path/site and returns the rows."""
    tree = checkout / "examples" / "quickstart"
    site = tmp_path / "site"
    site.mkdir()

    def apply(*options, pillar=()):
        command = ["apply", "--file-root", tree / "states", "--pillar-root", tree / "pillar", "--out", "json"]
        pillar = json.dumps({"root": str(site), **dict(pillar)})
        done = run_here(*command, "--pillar", pillar, *options)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    apply.site = site
    return apply


def rows_of_salt(checkout, run, site):
    """What Salt 3008.3 returned for the same tree; the folder and its owner are filled in."""
    owner = f"{pwd.getpwuid(os.geteuid()).pw_name}:{grp.getgrgid(os.getegid()).gr_name}"
    recorded = json.loads((checkout / "tests" / "recorded" / "quickstart_rows_of_salt_3008.json").read_text())[run]
    return json.loads(json.dumps(recorded).replace("{root}", str(site)).replace("{owner}", owner))


def comparable(rows):
    result = []
    for tag, row in sorted(rows.items(), key=lambda item: item[1]["__run_num__"]):
        changes = row["changes"] | ({"pid": 0} if "pid" in row["changes"] else {})
        row = {"tag": tag, "name": row["name"], "sls": row["__sls__"], "result": row["result"]} | {
            "comment": row["comment"], "changes": changes
        }  # fmt: skip
        result.append(row)
    return result


@pytest.mark.parametrize("concurrency", [1, 16])
def test_the_quickstart_gives_the_rows_of_salt_and_the_second_run_no_changes(quickstart, checkout, concurrency):
    first = quickstart("-j", concurrency)
    assert comparable(first) == rows_of_salt(checkout, "first", quickstart.site)
    second = quickstart("-j", concurrency)
    assert comparable(second) == rows_of_salt(checkout, "second", quickstart.site)
    assert not any(row["changes"] for row in second.values())


def test_the_quickstart_pulls_its_trigger_when_the_configuration_changes(quickstart):
    quickstart()
    trigger = quickstart.site / "var" / "run" / "guestbook.reload"
    os.utime(trigger, (0, 0))
    rows = quickstart(pillar={"webapp": {"workers": 8}})
    changed = {row["__id__"] for row in rows.values() if row["changes"]}
    assert changed == {"webapp-config", "webapp-reload"}
    assert trigger.stat().st_mtime > 0
    assert "workers = 8" in (quickstart.site / "etc" / "guestbook.ini").read_text()
    assert (quickstart.site / "etc" / "secrets" / "session.key").stat().st_mode & 0o777 == 0o600


def test_a_dry_run_of_the_quickstart_writes_nothing(quickstart):
    rows = quickstart("--test")
    assert list(quickstart.site.iterdir()) == []
    assert {row["result"] for row in rows.values()} <= {None, True}
    assert rows["file_|-webapp-config_|-" + str(quickstart.site / "etc/guestbook.ini") + "_|-managed"]["result"] is None


@pytest.fixture
def service_module(checkout):
    spec = importlib.util.spec_from_file_location("example_webservice", checkout / "examples" / "webservice" / "app.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@asynccontextmanager
async def serving(app):
    """Serve an application on a port of the loopback interface; gives a client of it."""
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        async with aiohttp.ClientSession(f"http://127.0.0.1:{runner.addresses[0][1]}") as client:
            yield client
    finally:
        await runner.cleanup()


@pytest.fixture
async def service(service_module):
    async with serving(service_module.build()) as client:
        yield client


def order(folder, **more):
    return {"sls": ["site"], "pillar": {"site": {"root": str(folder), "pages": ["home", "about"]}}, **more}


async def events_of(response):
    assert response.status == 200, await response.text()
    assert response.content_type == "application/x-ndjson"
    return [decode_event(line) async for line in response.content]


async def test_the_service_streams_the_events_of_a_run(service, tmp_path):
    target = tmp_path / "www"
    async with service.post("/apply", json=order(target)) as response:
        events = await events_of(response)
    assert isinstance(events[0], RunStarted)
    assert events[0].chunks == 4
    assert [event.seq for event in events] == list(range(len(events)))
    rows = {event.row["__id__"]: event.row for event in events if isinstance(event, ChunkFinished)}
    assert rows.keys() == {"site-folder", "page-home", "page-about", "site-index"}
    assert isinstance(events[-1], RunFinished)
    assert (events[-1].exit_code, events[-1].changed) == (0, 4)
    assert (target / "index.txt").read_text() == "about.html\nhome.html\n"
    assert "<h1>home</h1>" in (target / "home.html").read_text()


async def test_nothing_blocks_the_loop_while_the_tree_is_compiled_and_run(checkout, loop_guard, tmp_path):
    settings = Settings(
        file_roots={"base": [str(checkout / "examples" / "webservice" / "states")]},
        pillar=order(tmp_path / "www")["pillar"],
        cachedir=str(tmp_path / "cache"),
    )
    async with StateRuntime(settings) as runtime:
        with loop_guard():
            plan = await runtime.compile(["site"])
            async with runtime.run(plan, concurrency=16) as run:
                finished = [event async for event in run if isinstance(event, ChunkFinished)]
    assert len(finished) == 4
    assert run.report.ok


async def test_the_events_arrive_while_the_run_goes_on(service_module, tmp_path):
    states = tmp_path / "states"
    states.mkdir()
    gate = tmp_path / "gate"
    (states / "slow.sls").write_text(
        "first:\n  test.nop: []\n"
        f"second:\n  cmd.run:\n    - name: 'while [ ! -e {gate} ]; do sleep 0.02; done'\n    - require:\n      - test: first\n"
    )
    async with (
        serving(service_module.build(states)) as client,
        client.post("/apply", json={"sls": ["slow"]}) as response,
    ):
        async for line in response.content:
            event = decode_event(line)
            if isinstance(event, ChunkFinished) and event.row["__id__"] == "first":
                gate.touch()
    assert isinstance(event, RunFinished)
    assert event.exit_code == 0


async def test_a_dry_run_changes_nothing_and_says_so(service, tmp_path):
    target = tmp_path / "www"
    async with service.post("/apply", json=order(target, test=True)) as response:
        events = await events_of(response)
    assert events[0].test is True
    assert not target.exists()


async def test_the_same_as_server_sent_events(service, tmp_path):
    headers = {"Accept": "text/event-stream"}
    async with service.post("/apply", json=order(tmp_path / "www"), headers=headers) as response:
        assert response.content_type == "text/event-stream"
        blocks = (await response.read()).decode().strip().split("\n\n")
    assert all(block.startswith("data: ") for block in blocks)
    assert json.loads(blocks[-1].removeprefix("data: "))["event"] == "run_finished"


async def test_while_another_program_holds_the_lock_the_answer_names_it(service, tmp_path):
    with RunLock(Settings().cachedir):
        async with asyncio.timeout(20), service.post("/apply", json=order(tmp_path / "www")) as response:
            assert response.status == 409
            assert str(os.getpid()) in (await response.json())["issues"][0]["message"]
    assert not (tmp_path / "www").exists()


async def test_two_clients_at_once_each_get_their_own_run(service, tmp_path):
    async def ask(name):
        async with service.post("/apply", json=order(tmp_path / name)) as response:
            return await events_of(response)

    one, two = await asyncio.gather(ask("one"), ask("two"))
    assert one[0].run_id != two[0].run_id
    assert {event.run_id for event in one} == {one[0].run_id}
    assert (tmp_path / "one" / "home.html").exists()
    assert (tmp_path / "two" / "home.html").exists()


async def test_a_plan_runs_nothing(service, tmp_path):
    async with service.post("/plan", json=order(tmp_path / "www")) as response:
        answer = await response.json()
    assert [state["tag"].split("_|-")[1] for state in answer["states"]] == [
        "site-folder", "page-home", "page-about", "site-index",
    ]  # fmt: skip
    assert not (tmp_path / "www").exists()


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"{", 400, "no JSON"),
        (b'["site"]', 400, "object"),
        (b'{"sls": "site"}', 400, "list"),
        (b'{"sls": ["nowhere"]}', 422, "nowhere"),
        (b'{"sls": ["site"]}', 422, "site"),
        (b'{"sls": ["site"], "pillar": 5}', 422, "pillar"),
    ],
)
async def test_a_mistake_is_an_ordinary_answer(service, body, status, words):
    async with service.post("/apply", data=body) as response:
        assert response.status == status
        issues = (await response.json())["issues"]
    assert issues
    assert words in " ".join(issue["message"] for issue in issues)


@pytest.fixture(scope="session")
def installed_package(pytestconfig, tmp_path_factory):
    """examples/plugin-package, built and installed into a folder of its own; returns that folder."""
    folder = tmp_path_factory.mktemp("installed")
    source = shutil.copytree(pytestconfig.rootpath / "examples/plugin-package", folder / "source")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", folder / "site"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, source], check=True, capture_output=True)
    return folder


def with_package(folder):
    return {**os.environ, "PYTHONPATH": str(folder / "site")}


def test_the_package_of_states_keeps_the_contract(installed_package):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=installed_package / "source", env=with_package(installed_package), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed" in done.stdout


def test_the_package_of_states_in_a_tree(installed_package, tmp_path):
    places = {name: tmp_path / name for name in ("one", "two")}
    (tmp_path / "a.sls").write_text(
        f"one: {{greeting.present: [{{name: {places['one']}}}, {{text: hi}}]}}\n"
        f"two: {{greeting.present: [{{name: {places['two']}}}, {{text: ho}}]}}\n"
        f"seen: {{test.nop: [{{onchanges: [{{greeting: two}}]}}]}}\n"
        f"heard: {{greeting.heard: [{{name: {places['one']}}}, {{require: [{{greeting: one}}]}}]}}\n"
    )
    config = tmp_path / "minion"
    config.write_text(f"state_aggregate: true\nstate_dir: {tmp_path}/state\ncachedir: {tmp_path}/cache\n")
    done = subprocess.run(
        [sys.executable, "-m", "asyncstate", "apply", "a", "--file-root", tmp_path, "--config", config, "--out", "json"],
        env=with_package(installed_package), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["__id__"]: row for row in json.loads(done.stdout).values()}
    assert [rows[name]["changes"] for name in places] == [
        {str(places["one"]): {"old": None, "new": "hi"}}, {str(places["two"]): {"old": None, "new": "ho"}},
    ]  # fmt: skip
    assert rows["seen"]["comment"] == "Success!"
    assert rows["heard"]["comment"] == "It is: hi"


def test_the_package_of_states_is_documented_by_the_command(installed_package):
    done = subprocess.run(
        [sys.executable, "-m", "asyncstate", "doc", "greeting.present"],
        env=with_package(installed_package), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "The greeting is in the file." in done.stdout, done.stdout + done.stderr
