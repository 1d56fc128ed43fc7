"""Whole runs under observation: races show in the report of a run of one state at a time."""

import asyncio

import pytest
from traced_calls import strace_or_skip

from asyncstate import Settings, StateRuntime
from asyncstate.errors import ConfigError


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


def test_an_order_settles_it(tmp_path):
    assert races(applied(tmp_path, PAIR + "    - require: [{cmd: make}]\n")) == []


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


def test_without_strace_nothing_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="needs strace"):
        applied(tmp_path, "a: {file.managed: [{name: DIR/made}, {contents: x}]}\n")
    assert not (tmp_path / "made").exists()
