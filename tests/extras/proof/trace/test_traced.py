"""Whole runs under observation: races show in the report of a run of one state at a time."""

import asyncio
import os
import signal

import pytest
from traced_calls import strace_or_skip

from asyncstate import Settings, StateRuntime
from asyncstate.errors import ConfigError
from asyncstate.extras.proof.trace import store
from asyncstate.model.result import Contact
from asyncstate.redact import MASK


def applied(tmp_path, text, *, concurrency=1, implicit_order="footprint", **options):
    tree = tmp_path / "salt"
    tree.mkdir(exist_ok=True)
    (tree / "a.sls").write_text(text.replace("DIR", str(tmp_path)))
    settings = Settings(
        file_roots={"base": [str(tree)]},
        cachedir=str(tmp_path / "cache"),
        state_dir=str(tmp_path / "state"),
        implicit_order=implicit_order,
    )

    async def apply():
        async with StateRuntime(settings) as runtime:
            return await runtime.apply(["a"], concurrency=concurrency, trace_effects=True, **options)

    return asyncio.run(apply())


def known(tmp_path):
    return {record.id: record for record in store.load(str(tmp_path / "state")).records.values()}


def races(report):
    return [issue.message.split("\n")[0] for issue in report.warnings if issue.message.startswith("race")]


PAIR = """
make:
  cmd.run:
    - name: 'X=DIR; echo prog > $X/out'
    - parallel: True
install:
  cmd.run:
    - name: 'X=DIR; cp $X/out $X/inst'
"""


@pytest.fixture(scope="module", autouse=True)
def _strace():
    strace_or_skip()


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_pair_without_an_order_is_named(tmp_path, concurrency):
    (tmp_path / "out").write_text("old")
    report = applied(tmp_path, PAIR, concurrency=concurrency)
    assert report.ok
    assert races(report) == [f"race on {tmp_path}/out: no order between cmd.run make and cmd.run install"]
    (race,) = report.races
    sides = [(state.tag, state.function, state.file, state.line) for state in (race.earlier, race.later)]
    make, install = report.rows
    file = f"{tmp_path}/salt/a.sls"
    assert sides == [(make, "cmd.run", file, 3), (install, "cmd.run", file, 7)]
    assert race.contacts == (Contact(f"{tmp_path}/out", "writes", "reads", True, False),)
    assert race.require == {"cmd": "make"}


def test_the_paths_of_a_state_that_hides_itself_are_hidden(tmp_path):
    (race,) = applied(tmp_path, PAIR + "    - no_log: True\n").races
    assert [contact.path for contact in race.contacts] == [MASK]


def test_an_order_settles_it(tmp_path):
    report = applied(tmp_path, PAIR + "    - require: [{cmd: make}]\n")
    assert (races(report), report.races) == ([], ())


def test_two_that_make_a_folder_alike_do_not_race(tmp_path):
    text = """
one: {cmd.run: [{name: 'cd DIR; mkdir -p d/e; echo > d/e/1'}]}
two: {cmd.run: [{name: 'X=DIR; mkdir -p $X/d/e; echo > $X/d/e/2'}]}
"""
    assert races(applied(tmp_path, text, implicit_order="none")) == []
    found = races(applied(tmp_path, text.replace("-p d", "-pm 700 d").replace("d/e", "f/e"), implicit_order="none"))
    assert found == [f"race on {tmp_path}/f/e: no order between cmd.run one and cmd.run two"]


def test_states_and_commands_meet(tmp_path):
    text = """
conf:
  file.managed: [{name: DIR/sub/conf, contents: x, makedirs: True}]
other:
  file.managed: [{name: DIR/sub/other, contents: x, makedirs: True}]
reader:
  cmd.run:
    - name: 'X=DIR; cat $X/sub/conf'
"""
    found = races(applied(tmp_path, text, implicit_order="none"))
    assert found == [f"race on {tmp_path}/sub: no order between file.managed conf and cmd.run reader"]


def test_conditions_count(tmp_path):
    text = """
flag:
  file.managed: [{name: DIR/flag, contents: x}]
late:
  test.nop:
    - onlyif: 'X=DIR; [ -e $X/flag ]'
"""
    found = races(applied(tmp_path, text, implicit_order="none"))
    assert found == [f"race on {tmp_path}/flag: no order between file.managed flag and test.nop late"]


def test_a_program_that_stays_under_strace_is_a_warning(tmp_path):
    text = "one: {cmd.run: [{name: 'sleep 30 >/dev/null 2>&1 & echo $! > DIR/pid'}]}\n"
    report = applied(tmp_path, text)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    (warning,) = [issue.message for issue in report.warnings if "strace" in issue.message]
    assert warning.startswith("strace still follows ")
    assert warning.endswith(" in the background")


def test_without_strace_nothing_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="needs strace"):
        applied(tmp_path, "a: {file.managed: [{name: DIR/made}, {contents: x}]}\n")
    assert not (tmp_path / "made").exists()


def test_what_was_seen_is_kept_and_orders_the_next_run(tmp_path):
    text = """
one:
  cmd.run: [{name: 'X=a; cd DIR && echo > $X'}]
two:
  cmd.run: [{name: 'X=a; cd DIR && cat $X > b'}]
three:
  cmd.run: [{name: 'X=c; cd DIR && echo > $X'}]
idle:
  cmd.run: [{name: 'true', unless: 'true'}]
"""
    assert applied(tmp_path, text).ok
    records = known(tmp_path)
    assert {id_: record.whole for id_, record in records.items()} == {
        "one": True,
        "two": True,
        "three": True,
        "idle": False,
    }
    assert records["two"].effects.writes == (f"path:{tmp_path}/b",)
    assert f"path:{tmp_path}/a" in records["two"].effects.reads
    report = applied(tmp_path, text, concurrency=4, implicit_order="learned")
    assert report.ok
    assert races(report) == []
    assert known(tmp_path)["two"].runs == 2


def test_a_script_that_has_changed_is_not_known(tmp_path):
    script = tmp_path / "build"
    script.write_text("#!/bin/sh\necho > $OUT\n")
    script.chmod(0o755)
    text = "one: {cmd.run: [{name: 'OUT=DIR/x DIR/build'}]}\n"
    applied(tmp_path, text)
    assert set(known(tmp_path)["one"].inputs) == {str(script)}
    assert known(tmp_path)["one"].programs == (str(script),)
    script.write_text("#!/bin/sh\necho > $OUT.other\n")
    applied(tmp_path, text)
    assert known(tmp_path)["one"].runs == 1
    assert known(tmp_path)["one"].effects.writes == (f"path:{tmp_path}/x.other",)


def test_a_custom_state_is_known_by_its_module(tmp_path):
    modules = tmp_path / "salt" / "_states"
    modules.mkdir(parents=True)
    (modules / "own.py").write_text(
        "def put(name):\n"
        "    with open(name, 'w') as file:\n"
        "        file.write('x')\n"
        "    return {'name': name, 'result': True, 'changes': {'x': 1}, 'comment': ''}\n"
    )
    applied(tmp_path, "one: {own.put: [{name: DIR/x}]}\n")
    record = known(tmp_path)["one"]
    assert record.whole
    assert record.effects.writes == (f"path:{tmp_path}/x",)
    assert set(record.inputs) == {str(modules / "own.py")}


def test_what_cannot_be_kept_is_a_warning(tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "footprints.json").write_text("no JSON")
    report = applied(tmp_path, "one: {cmd.run: [{name: 'true'}]}\n")
    assert report.ok
    assert "could not be kept" in report.warnings[-1].message


def test_no_secret_is_kept(tmp_path):
    text = """
one:
  cmd.run:
    - name: 'curl -u me:hunter2 https://me:hunter2@127.0.0.1:1/ || echo > DIR/x'
    - no_log: True
"""
    applied(tmp_path, text)
    assert "hunter2" not in (tmp_path / "state" / "footprints.json").read_text()
