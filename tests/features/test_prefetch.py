"""A run fetches ahead what its later states use, with real servers: rows and files are those of a run without it."""

import asyncio
import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from web_server import web_server

from asyncstate import Settings, StateRuntime
from asyncstate.events import PrefetchEnded, PrefetchStarted

BODY = b"content " * 20_000


def archive():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        member = tarfile.TarInfo("app/main")
        member.size = 3
        tar.addfile(member, io.BytesIO(b"app"))
    return packed.getvalue()


ARCHIVE = archive()


def sha(data):
    return hashlib.sha256(data).hexdigest()


class Machine:
    """A root and a cache below a folder; a run sees the state ``x.until``, which ends when `go` is set."""

    def __init__(self, base):
        self.base = base
        self.events = []
        self.go = threading.Event()
        (base / "tree").mkdir(parents=True)
        (base / "root").mkdir()

    def path(self, name):
        return str(self.base / "root" / name)

    def until(self, name):
        return {"name": name, "result": self.go.wait(20), "changes": {}, "comment": "done"}

    def run(self, data, act=None, **options):
        async def main():
            roots = {"file_roots": {"base": [str(self.base / "tree")]}, "pillar_roots": {"base": []}}
            folders = {"cachedir": str(self.base / "cache"), "state_dir": str(self.base / "state")}
            async with StateRuntime(Settings(id="m", **roots, **folders), states={"x.until": self.until}) as runtime:
                plan = await runtime.compile_data(data)
                observers = [self.events.append, *([lambda event: act(event, run)] if act else [])]
                run = runtime.run(plan, **{"concurrency": 1, "events": False, "observers": observers, **options})
                async with run:
                    pass
                return run.report

        self.events.clear()
        return asyncio.run(main())

    def fetched(self):
        return [event.result for event in self.events if isinstance(event, PrefetchEnded)]

    def files(self):
        """All files below the root and in the cache, with their contents."""
        found = {}
        for top in ("root", "cache"):
            for path in sorted((self.base / top).rglob("*")):
                if path.is_file() and ".git/" not in str(path):
                    found[str(path.relative_to(self.base))] = path.read_bytes()
        return found


def plain(report, machine):
    """Rows without times and the names of the folder of the test."""
    rows = []
    for row in report.rows.values():
        kept = {key: value for key, value in row.items() if key not in {"start_time", "duration"}}
        rows.append(repr(kept).replace(str(machine.base), "BASE"))
    return rows


@pytest.fixture
def web():
    with web_server() as server:
        server.pages["/file"] = (200, {}, BODY)
        server.pages["/app.tgz"] = (200, {}, ARCHIVE)
        yield server


def tree(machine, web):
    return {
        "busy": {"x.until": []},
        "file": {"file.managed": [{"name": machine.path("f")}, {"source": f"{web}/file"}, {"source_hash": sha(BODY)}]},
        "kept": {"file.cached": [{"name": f"{web}/file"}, {"source_hash": sha(BODY)}]},
        "app": {
            "archive.extracted": [
                {"name": machine.path("srv")},
                {"source": f"{web}/app.tgz"},
                {"source_hash": sha(ARCHIVE)},
            ]
        },
        "gone": {"file.managed": [{"name": machine.path("g")}, {"source": f"{web}/gone"}, {"source_hash": sha(b"")}]},
        "wrong": {"file.managed": [{"name": machine.path("w")}, {"source": f"{web}/file"}, {"source_hash": sha(b"")}]},
    }


def test_downloads_run_beside_an_earlier_state_and_change_no_row(tmp_path, web):
    ahead, without = Machine(tmp_path / "one"), Machine(tmp_path / "two")

    def act(event, run):
        if len(ahead.fetched()) == 5:
            ahead.go.set()

    with_it = ahead.run(tree(ahead, web.url), act, prefetch=2)
    requests = len(web.requests)
    without.go.set()
    rows = plain(without.run(tree(without, web.url), prefetch=0), without)
    assert plain(with_it, ahead) == rows
    assert ahead.files() == without.files()
    assert sorted(ahead.fetched()) == ["failed", "failed", "fetched", "fetched", "nothing"]
    # Two came ahead, one of them for two states, and two failed; a state then asked by itself for what is not there.
    assert requests == 4 + 1
    assert not without.fetched()
    assert os.listdir(ahead.base / "cache") == os.listdir(without.base / "cache")


def test_a_second_run_fetches_nothing(tmp_path, web):
    machine = Machine(tmp_path)
    machine.go.set()
    data = {name: state for name, state in tree(machine, web.url).items() if name in {"busy", "file", "app"}}
    machine.run(data)
    web.requests.clear()
    machine.go.clear()

    def act(event, run):
        if len(machine.fetched()) == 2:
            machine.go.set()

    report = machine.run(data, act)
    assert report.ok
    assert machine.fetched() == ["nothing", "nothing"]
    assert not web.requests


@pytest.mark.parametrize("options", [{"test": True}, {"mock": True}, {"prefetch": 0}])
def test_runs_that_fetch_nothing_ahead(tmp_path, web, options):
    machine = Machine(tmp_path)
    machine.go.set()
    machine.run(tree(machine, web.url), **options)
    assert not any(isinstance(event, PrefetchStarted) for event in machine.events)


def test_a_state_waits_for_its_own_download(tmp_path):
    """The server answers once the state has begun: it takes what is on its way, and asks for nothing itself."""
    machine, begun = Machine(tmp_path), threading.Event()
    with web_server() as server:
        asked = threading.Event()

        class Pages(dict):
            def get(self, path, default=None):
                asked.set()
                begun.wait(20)
                return (200, {}, BODY)

        server.pages = Pages()
        data = {key: each for key, each in tree(machine, server.url).items() if key in {"busy", "file"}}

        def act(event, run):
            if type(event).__name__ == "PrefetchStarted":
                threading.Thread(target=lambda: (asked.wait(20), machine.go.set())).start()
            if type(event).__name__ == "ChunkStarted" and event.id == "file":
                begun.set()

        report = machine.run(data, act)
        assert report.ok, report.rows
        assert len(server.requests) == 1
    assert Path(machine.path("f")).read_bytes() == BODY


@pytest.mark.skipif(not shutil.which("git"), reason="there is no git here")
def test_a_repository_is_fetched_ahead(tmp_path):
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(tmp_path / "repo")], check=True)
    author = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    (tmp_path / "repo" / "f").write_text("text")
    for command in (["add", "f"], ["commit", "-qm", "first"]):
        subprocess.run(["git", "-C", str(tmp_path / "repo"), *author, *command], check=True)
    machines = [Machine(tmp_path / "one"), Machine(tmp_path / "two")]
    rows = []
    for machine, places in zip(machines, (2, 0), strict=True):

        def act(event, run, machine=machine, places=places):
            if not places or len(machine.fetched()) == 2:
                machine.go.set()

        target = {"target": machine.path("clone")}
        data = {
            "busy": {"x.until": []},
            "clone": {"git.latest": [{"name": f"file://{tmp_path}/repo"}, target, {"rev": "trunk"}]},
            "other": {"git.cloned": [{"name": f"file://{tmp_path}/repo"}, {"target": machine.path("other")}]},
        }
        rows.append(plain(machine.run(data, act, prefetch=places), machine))
    assert rows[0] == rows[1]
    assert sorted(machines[0].fetched()) == ["fetched", "nothing"]
    assert machines[0].files() == machines[1].files()
    assert Path(machines[0].path("clone/f")).read_text() == "text"


def command_lines():
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield path.read_text(errors="replace")


@pytest.mark.skipif(not shutil.which("git"), reason="there is no git here")
def test_a_cancelled_run_leaves_no_process_and_no_file(tmp_path):
    machine, here = Machine(tmp_path), os.getpid()
    with web_server() as server:
        release = threading.Event()

        class Pages(dict):
            def get(self, path, default=None):
                release.wait(20)
                return (404, {}, b"")

        server.pages = Pages()

        def act(event, run):
            if type(event).__name__ == "PrefetchStarted":
                threading.Thread(target=cancel, args=(run,)).start()

        def cancel(run):
            deadline = time.monotonic() + 20
            while not server.requests and not children() and time.monotonic() < deadline:
                time.sleep(0.01)
            machine.go.set()
            run.cancel("enough")

        def children():
            listed = Path(f"/proc/{here}/task/{here}/children").read_text().split()
            return [pid for pid in listed if "git" in Path(f"/proc/{pid}/cmdline").read_text()]

        data = {
            "busy": {"x.until": []},
            "clone": {"git.latest": [{"name": f"{server.url}/repo.git"}, {"target": machine.path("clone")}]},
        }
        report = machine.run(data, act)
        release.set()
    assert report.cancelled == "enough"
    assert machine.fetched() == ["cancelled"]
    assert not any(f"{server.url}/repo.git" in command for command in command_lines())
    assert not list((tmp_path / "cache").glob("prefetch*"))
