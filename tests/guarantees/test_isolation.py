"""Two runtimes in one process and one loop see nothing of each other, and no run touches the process it is in."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from asyncstate import Settings, StateRuntime
from asyncstate.model.event import ChunkStarted

LONGEST = 40

STATE = """
import meeting_of_this_test as meeting

def _seen(name):
    __context__["last"] = name
    __context__.setdefault("names", []).append(name)
    __opts__["scratch"] = __opts__["id"]
    return {
        "test": __opts__["test"],
        "id": __opts__["id"],
        "pillar": __pillar__["who"],
        "grain": __grains__["who"],
        "module": __salt__["mine.who"](),
        "utils": __utils__["shared.who"](),
        "state": __states__["mine.where"](),
        "low": __low__["name"],
    }

def where():
    return "WHERE"

def plain(name):
    before = _seen(name)
    meeting.plain()
    after = _seen(name)
    return {"name": name, "result": before == after, "changes": before, "comment": ""}

async def later(name):
    before = {"test": __opts__["test"], "id": __opts__["id"], "pillar": __pillar__["who"], "grain": __grains__["who"],
              "module": await __salt__["mine.who"](), "utils": await __utils__["shared.who"](),
              "state": "WHERE", "low": __low__["name"]}
    await meeting.later()
    after = {**before, "test": __opts__["test"], "pillar": __pillar__["who"], "low": __low__["name"]}
    return {"name": name, "result": before == after, "changes": before, "comment": ""}

def context(name):
    return {"name": name, "result": True, "changes": {"names": sorted(__context__["names"])}, "comment": ""}
"""


@pytest.fixture
def meeting(monkeypatch):
    """Where the states of both runs come together, so that each is in the middle of the other."""
    module = ModuleType("meeting_of_this_test")
    threads = threading.Barrier(4)
    module.plain = lambda: threads.wait(LONGEST)
    barrier = asyncio.Barrier(4)

    async def later():
        async with asyncio.timeout(LONGEST):
            await barrier.wait()

    module.later = later
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def host(folder, who, **settings):
    """Settings of a host of its own, whose plugins have the names of the other's."""
    root = folder / who
    files = {
        "salt/web.sls": (
            "{% for n in 'ab' %}\np_{{ n }}_{{ pillar.who }}: mine.plain\nl_{{ n }}_{{ grains.who }}: mine.later\n{% endfor %}\n"
            "context: {mine.context: [{require: [p_a_{{ opts.id }}, p_b_{{ opts.id }}]}]}\n"
        ),
        "salt/_states/mine.py": STATE.replace("WHERE", f"{who}'s states"),
        "salt/_modules/mine.py": f"def who(): return {who!r} + __opts__['id']\n",
        "salt/_utils/shared.py": f"def who(): return {who!r} + __opts__['id']\n",
        "salt/_grains/own.py": f"def own(): return {{'who': {who!r}}}\n",
        "pillar/top.sls": "base: {'*': [p]}\n",
        "pillar/p.sls": f"who: {who}\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Settings(
        id=who,
        file_roots={"base": [str(root / "salt")]},
        pillar_roots={"base": [str(root / "pillar")]},
        cachedir=str(root / "cache"),
        **settings,
    )


@pytest.mark.feature("F132", "F140")
async def test_two_runtimes_in_one_loop_see_nothing_of_each_other(tmp_path, meeting):
    settings = {"one": host(tmp_path, "one", test=True), "two": host(tmp_path, "two")}
    async with StateRuntime(settings["one"]) as one, StateRuntime(settings["two"]) as two:
        reports = await asyncio.gather(one.apply(["web"], concurrency=8), two.apply(["web"], concurrency=8))
        for who, runtime, report in zip(settings, (one, two), reports, strict=True):
            rows = {row["__id__"]: row for row in report.rows.values()}
            assert [row["comment"] for row in rows.values() if row["result"] is not True] == []
            for id_ in (f"{kind}_{n}_{who}" for kind in "pl" for n in "ab"):
                assert rows[id_]["changes"] == {
                    "test": who == "one",
                    "id": who,
                    "pillar": who,
                    "grain": who,
                    "module": who + who,
                    "utils": who + who,
                    "state": f"{who}'s states",
                    "low": id_,
                }
            twice = [f"p_a_{who}", f"p_a_{who}", f"p_b_{who}", f"p_b_{who}"]
            assert rows["context"]["changes"]["names"] == twice
            assert runtime.host.opts["test"] is False or who == "one"
            assert runtime.host.grains["who"] == who


@pytest.mark.feature("F132", "F110")
async def test_two_runs_of_one_runtime_have_each_their_own_test_mode(tmp_path, meeting):
    async with StateRuntime(host(tmp_path, "one")) as runtime:
        plan = await runtime.compile(["web"])
        async with runtime.run(plan, test=True, concurrency=8) as dry, runtime.run(plan, concurrency=8) as real:
            pass
    for run, test in ((dry, True), (real, False)):
        modes = {row["changes"]["test"] for row in run.report.rows.values() if "test" in row["changes"]}
        assert modes == {test}


@pytest.mark.feature("F132")
def test_two_runtimes_in_two_loops_of_two_threads(tmp_path, meeting):
    reports = {}

    def work(who, **settings):
        async def main():
            async with StateRuntime(host(tmp_path, who, **settings)) as runtime:
                plan = await runtime.compile(["web"], ids=[f"p_a_{who}", f"p_b_{who}"])
                async with runtime.run(plan, concurrency=8) as run:
                    pass
                return run.report

        reports[who] = asyncio.run(main())

    threads = [
        threading.Thread(target=work, args=("one",), kwargs={"test": True}),
        threading.Thread(target=work, args=("two",)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST)
    for who, report in reports.items():
        assert report.ok
        assert {row["changes"]["pillar"] for row in report.rows.values()} == {who}
        assert {row["changes"]["test"] for row in report.rows.values()} == {who == "one"}
    assert set(reports) == {"one", "two"}


# --- the process


def process():
    """What a plugin must leave alone, read without touching it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return {
        "cwd": os.getcwd(),
        "umask": re.search(r"^Umask:\t(\d+)", status, re.MULTILINE)[1],
        "environ": dict(os.environ),
        "path": list(sys.path),
    }


WAIT = "touch {0}/ready-{1}; while [ ! -e {0}/go ]; do sleep 0.01; done"
TOUCHING = {
    "cwd": "c: {{cmd.run: [{{name: '{wait}'}}, {{cwd: {base}/work}}]}}\n",
    "environ": "e: {{environ.setenv: [{{name: OF_THIS_TEST}}, {{value: x}}, {{update_minion: true}}]}}\n"
    "c: {{cmd.run: [{{name: '{wait}'}}, {{env: [{{OF_THIS_TEST: y}}]}}, {{require: [e]}}]}}\n",
    "umask": "c: {{cmd.run: [{{name: '{wait}'}}, {{umask: '077'}}]}}\n",
    "umask of python": "c: {{slow.make: [{{name: {base}/made}}, {{umask: '077'}}]}}\n",
    "files": "f: {{file.managed: [{{name: {base}/a/f}}, {{contents: x}}, {{makedirs: true}}, {{mode: '0640'}},"
    " {{check_cmd: cat}}]}}\n"
    "d: {{file.directory: [{{name: {base}/a/d}}, {{mode: '0700'}}, {{makedirs: true}}]}}\n"
    "c: {{cmd.run: [{{name: '{wait}'}}, {{onlyif: [{{fun: test.true}}]}}, {{unless: 'cd / && false'}}, {{require: [f, d]}}]}}\n",
    "a function": "c: {{cmd.script: [{{source: 'salt://s.sh'}}, {{cwd: {base}/work}}, {{template: jinja}}]}}\n",
}
SLOW = """
import os, time

def make(name):
    open(name, "w").close()
    base = os.path.dirname(name)
    open(base + "/ready-c", "w").close()
    while not os.path.exists(base + "/go"):
        time.sleep(0.01)
    return {"name": name, "result": True, "changes": {}, "comment": ""}
"""


@pytest.mark.feature("F087", "F132", "F190")
@pytest.mark.parametrize("what", TOUCHING)
async def test_a_run_leaves_its_process_alone_also_while_it_runs(tmp_path, what):
    wait = WAIT.format(tmp_path, "c")
    (tmp_path / "work").mkdir()
    (tmp_path / "_states").mkdir()
    (tmp_path / "_states" / "slow.py").write_text(SLOW)
    (tmp_path / "s.sh").write_text(f"#!/bin/sh\n{wait}\n")
    (tmp_path / "a.sls").write_text(TOUCHING[what].format(base=tmp_path, wait=wait))
    settings = Settings(file_roots={"base": [str(tmp_path)]}, cachedir=str(tmp_path / "cache"))
    before = process()
    async with StateRuntime(settings) as runtime:
        async with runtime.run(await runtime.compile(["a"]), concurrency=4) as run:
            async with asyncio.timeout(LONGEST):
                async for event in run:
                    if isinstance(event, ChunkStarted) and event.id == "c":
                        break
                while not (tmp_path / "ready-c").exists() and run.running:  # noqa: ASYNC110
                    await asyncio.sleep(0.005)
            during = process()
            (tmp_path / "go").touch()
        assert run.report.ok, [row["comment"] for row in run.report.rows.values()]
    assert during == before
    assert process() == before
    if what == "umask of python":
        assert (tmp_path / "made").stat().st_mode & 0o777 == 0o600


FORBIDDEN = {
    *("chdir", "fchdir", "chroot", "umask", "putenv", "unsetenv", "setuid", "setgid", "seteuid", "setegid", "nice"),
    *("setlocale", "setdefaulttimeout", "setrecursionlimit", "setswitchinterval", "tzset"),
}
CHANGES_ENVIRON = {"update", "pop", "popitem", "setdefault", "clear", "__setitem__"}
ALLOWED = {
    ("umask.py", "umask"),  # of a thread that has its own
    *(("container.py", name) for name in ("chdir", "umask")),  # of a process that was forked to become another program
    ("interrupts.py", "signal"),  # of the command line, which is the process
    ("last_report.py", "signal"),  # of a process of its own
    ("readiness.py", "environ.pop"),  # of the same: what it starts does not speak for it to systemd
    *(("loader.py", name) for name in ("signal", "umask")),  # of the program on a host reached over ssh
    *(("worker.py", name) for name in ("chdir", "umask")),  # of Salt's process, which makes one call at a time
}


CONCERNED = re.compile("|".join([*FORBIDDEN, "signal", "environ"]))
"""What the text of each such call has."""


def calls_that_change_the_process(text):
    """Yield what would change the process: calls by name, signal handlers, writes to os.environ."""
    for node in ast.walk(ast.parse(text)) if CONCERNED.search(text) else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            if name in FORBIDDEN or (name == "signal" and ast.unparse(node.func.value) == "signal"):
                yield name
            elif name in CHANGES_ENVIRON and ast.unparse(node.func.value) == "os.environ":
                yield f"environ.{name}"
        targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else []
        for target in targets:
            if isinstance(target, ast.Subscript) and ast.unparse(target.value) == "os.environ":
                yield "environ[]"


@pytest.mark.feature("F132")
def test_no_plugin_and_nothing_that_calls_them_changes_the_process(checkout):
    found = set()
    for folder in ("states", "modules", "asyncstate"):
        for path in (checkout / folder).rglob("*.py"):
            found |= {(path.name, name) for name in calls_that_change_the_process(path.read_text(encoding="utf-8"))}
    assert found - ALLOWED == set()


@pytest.mark.parametrize(
    "text",
    ["os.chdir('/')", "os.umask(0)", "os.environ['A'] = 'b'", "del os.environ['A']", "os.environ.update(A='b')",
     "signal.signal(signal.SIGTERM, f)", "socket.setdefaulttimeout(3)"],
)  # fmt: skip
def test_what_changes_the_process_is_found(text):
    assert list(calls_that_change_the_process(text))
