"""The command line, the bundled states, and how long things take."""

import asyncio
import json
import subprocess
import sys
import textwrap

import pytest
from messages import said
from reached import reach

from asyncstate.cli import main
from asyncstate.dunders import hide
from asyncstate.redact import MASK


@pytest.fixture
def cli(tree, monkeypatch, capfd):
    """Run a command on the tree in this process; return exit code, standard output and standard error."""
    for name in ("HOME", "XDG_CONFIG_HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR"):
        monkeypatch.setenv(name, str(tree.base))

    def call(*words):
        code = main([*map(str, words), "--file-root", str(tree.base / "salt")])
        out, errors = capfd.readouterr()
        return code, out, errors

    return call


def results(output):
    return {row["name"]: row["result"] for row in json.loads(output).values()}


@pytest.mark.feature("F159")
def test_one_id_another_top_and_a_single_file(tree, cli):
    tree.write(
        {
            "a.sls": "a: {test.nop: [{require: [b]}]}\nb: test.nop\nc: test.nop\n",
            "other.sls": "base: {'*': [d]}\n",
            "d.sls": "{{ sls }}: test.nop\n",
        }
    )
    assert results(cli("apply", "a", "--id", "a", "--out", "json")[1]) == {"b": True, "a": True}
    assert cli("apply", "a", "--id", "gone")[0] == 1
    assert results(cli("apply", "--top", "other.sls", "--out", "json")[1]) == {"d": True}
    lone = tree.base / "lone.sls"
    lone.write_text("{{ sls }}: test.nop\n")
    assert results(cli("apply", "--file", lone, "--out", "json")[1]) == {"lone": True}
    assert cli("apply", "a", "--file", lone)[0] == 1


@pytest.mark.feature("F159", "F048")
@pytest.mark.parametrize("word", ["include: [a]", "exclude: [a]", "extend: {a: {test: [{v: 1}]}}"])
def test_a_single_file_declares_states_and_nothing_else(tree, cli, word):
    tree.write({"a.sls": "a: test.nop\n"})
    lone = tree.base / "lone.sls"
    lone.write_text(f"{word}\nb: test.nop\n")
    code, out, _ = cli("apply", "--file", lone, "--out", "json")
    assert code == 1
    name = word.partition(":")[0]
    assert said("lone-file", word=name, path=lone) in json.loads(out)


@pytest.mark.feature("F163", "F056")
@pytest.mark.parametrize("words", [["--mock"], ["mock=True"]])
def test_mock(tree, cli, words):
    target = tree.base / "made"
    tree.write(
        {
            "a.sls": f"touch {target}: cmd.run\nw: {{test.nop: [{{watch: [cmd: 'touch {target}']}}]}}\nn: {{test.nop: [{{unless: 'true'}}]}}\n"
        }
    )
    code, out, _ = cli("apply", "a", *words, "--out", "json")
    rows = list(json.loads(out).values())
    assert code == 0
    assert [row["comment"] for row in rows] == ["Not called, mocked", "Not called, mocked", "unless condition is true"]
    assert {row["result"] for row in rows} == {True}
    assert not target.exists()


@pytest.mark.feature("F021")
def test_secrets_of_a_run_are_not_shown(tree):
    tree.states["x.tell"] = lambda name, text: {
        "name": name,
        "result": True,
        "changes": {"diff": f"+{text}\n", "short": "pw", "deep": [{"k": text}]},
        "comment": f"set to {text}",
    }
    tree.write({"a.sls": "a: {x.tell: [{text: hunter2}]}\n"})

    async def apply():
        events = []
        async with tree.runtime() as runtime:
            runtime.secrets |= {"hunter2", "pw", ""}
            async with runtime.run(await runtime.compile(["a"]), observers=[events.append], events=False) as run:
                pass
        return run.report, events

    report, events = asyncio.run(apply())
    (row,) = report.rows.values()
    assert row["comment"] == "set to **********"
    assert row["changes"] == {"diff": "+**********\n", "short": "**********", "deep": [{"k": "**********"}]}
    assert not any("hunter2" in repr(event) for event in events)


@pytest.mark.feature("F021")
def test_secrets_that_threads_find_while_it_runs(tree, width):
    def find(name):
        for number in range(5):
            hide(f"secret {name} {number}")
        return {"name": name, "result": True, "changes": {"found": f"secret {name} 4"}, "comment": f"secret {name} 0"}

    tree.states["x.find"] = find
    tree.write({"a.sls": "".join(f"a{number}: x.find\n" for number in range(60))})
    events = []

    async def apply():
        async with tree.runtime() as runtime:
            plan = await runtime.compile(["a"])
            async with runtime.run(plan, observers=[events.append], events=False, concurrency=width) as run:
                pass
            assert len(runtime.secrets) == 300
        return run.report

    rows = asyncio.run(apply()).rows
    assert len(rows) == 60
    assert {row["comment"] for row in rows.values()} == {row["changes"]["found"] for row in rows.values()} == {MASK}
    assert not any("secret" in repr(event) for event in events)


# --- bundled states


NEEDED = set("file cmd pkg service user group cron git archive module test grains".split())


@pytest.mark.feature("F190")
def test_the_modules_formulas_need_are_bundled(tree):
    with tree.runtime().open_sync() as runtime:
        bundled = {name.partition(".")[0] for name in runtime.host.loaders["states"].names()}
    assert NEEDED - bundled == set()


@pytest.mark.feature("F190")
def test_files_and_commands_of_a_formula(sls, tmp_path, width):
    tree = sls(
        f"{tmp_path}/d: file.directory\n{tmp_path}/d/f: {{file.managed: [{{contents: one}}]}}\n"
        f"more: {{file.append: [{{name: {tmp_path}/d/g}}, {{text: two}}]}}\nlink: {{file.symlink: [{{name: {tmp_path}/l}}, {{target: {tmp_path}/d/f}}]}}\n"
        f"run: {{cmd.run: [{{name: 'cat {tmp_path}/l > {tmp_path}/copy'}}, {{creates: {tmp_path}/copy}}]}}\n"
        "call: {module.run: [{test.echo: [hi]}]}\n"
    )
    plan = tree.plan(implicit_order="footprint")
    written, read = (
        next(chunk.index for chunk in plan.chunks if chunk.id == id_) for id_ in (f"{tmp_path}/d/f", "run")
    )
    assert read in reach(plan.dag, [written]), "what is read through a link is there"
    assert tree.report(concurrency=width, implicit_order="footprint").ok
    assert (tmp_path / "copy").read_text() == "one\n"
    second = tree.report(concurrency=width, implicit_order="footprint")
    assert [row["__id__"] for row in second.rows.values() if row["changes"]] == ["call"]


# --- speed


def measured(program):
    """Run a program in a process of its own; return the numbers it prints."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


COMPILE = """
    import tempfile, time
    from pathlib import Path
    from asyncstate import Settings, StateRuntime
    with tempfile.TemporaryDirectory() as folder:
        lines = [f"s{n}: {{test.nop: [{{require: [{{test: s{n - 7}}}]}}]}}" if n > 9 else f"s{n}: test.nop" for n in range(10000)]
        Path(folder, "a.sls").write_text("\\n".join(lines))
        with StateRuntime(Settings(file_roots={"base": [folder]}, cachedir=folder)).open_sync() as runtime:
            began = time.process_time()
            plan = runtime.compile_sync(["a"])
            # Not ru_maxrss: a process that is forked off a large one begins with the other's.
            kilobytes = Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]
            print(time.process_time() - began, int(kilobytes) / 1024)
    assert len(plan.chunks) == 10000
"""


@pytest.mark.feature("F192")
def test_ten_thousand_states_compile_in_two_seconds():
    seconds, megabytes = measured(COMPILE)
    assert seconds < 2
    assert megabytes < 250


RUN = """
    import asyncio, tempfile, time
    from pathlib import Path
    from asyncstate import Settings, StateRuntime
    async def main(folder):
        async with StateRuntime(Settings(file_roots={"base": [folder]}, cachedir=folder)) as runtime:
            plan = await runtime.compile(["a"])
            began = time.process_time()
            async with runtime.run(plan, concurrency=1, events=False) as run:
                pass
            print((time.process_time() - began) / 2000 * 1000)
            assert len(run.report.rows) == 2000
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.sls").write_text("\\n".join(f"s{n}: test.nop" for n in range(2000)))
        asyncio.run(main(folder))
"""


@pytest.mark.feature("F193")
def test_a_state_costs_little():
    (milliseconds,) = measured(RUN)
    assert milliseconds < 0.65


@pytest.mark.feature("F190")
def test_what_is_touched_through_a_link_that_is_there_keeps_its_order(sls, tmp_path, width):
    (tmp_path / "real").mkdir()
    (tmp_path / "folder").symlink_to("real")
    (tmp_path / "file").symlink_to("real/a")
    (tmp_path / "real/a").write_text("zero\n")
    tree = sls(
        f"one: {{file.append: [{{name: {tmp_path}/file}}, {{text: one}}]}}\n"
        f"two: {{file.append: [{{name: {tmp_path}/real/a}}, {{text: two}}]}}\n"
        f"three: {{file.append: [{{name: {tmp_path}/folder/a}}, {{text: three}}]}}\n"
        f"other: {{file.managed: [{{name: {tmp_path}/folder/b}}, {{contents: b}}]}}\n"
    )
    plan = tree.plan(implicit_order="footprint")
    one, two, three, other = range(4)
    assert {two, three} <= set(reach(plan.dag, [one]))
    assert three in reach(plan.dag, [two])
    assert other not in reach(plan.dag, [one])
    assert tree.report(concurrency=width, implicit_order="footprint").ok
    assert (tmp_path / "real/a").read_text() == "zero\none\ntwo\nthree\n"
