"""What is asked of an extra that is not installed."""

from __future__ import annotations

import re

import pytest
from messages import said

from asyncstate import extend, salt_compat
from asyncstate.cli.overview import OWN


@pytest.fixture(autouse=True)
def no_extras(monkeypatch):
    monkeypatch.setattr(extend, "extras", lambda: iter(()))
    salt_compat._names.cache_clear()


def test_a_plugin_that_imports_salt_says_what_is_missing(tmp_path, run_here):
    (tmp_path / "_modules").mkdir()
    (tmp_path / "_modules" / "uses.py").write_text("import salt.utils.files\ndef f():\n    return 1\n")
    done = run_here("call", "uses.f", "--file-root", tmp_path)
    assert done.returncode == 1
    assert said("needs-extra", wanted="salt") in done.stderr


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--traces", "on"], "traces: on"),
        (["--trace-effects"], "--trace-effects (trace_effects=)"),
        (["--report", "/dev/null"], "--report"),
        (["--profile"], "--profile"),
        (["--explain"], "--explain"),
    ],
)
def test_an_option_says_what_is_missing(tmp_path, run_here, words, what):
    (tmp_path / "a.sls").write_text("a: test.nop\n")
    done = run_here("apply", "a", "--file-root", tmp_path, *words)
    assert done.returncode == 1
    assert said("needs-extra", wanted=what) in done.stdout + done.stderr


@pytest.mark.parametrize("tree", ["a: test.nope\n", "a:\n  cmd.run:\n    - name: ./unknown\n"])
def test_the_next_step_of_a_check_is_no_command_that_is_missing(tmp_path, run_here, tree):
    (tmp_path / "a.sls").write_text(tree)
    done = run_here("check", "a", "--file-root", tmp_path)
    said = done.stdout + done.stderr
    assert "unknown" in said or "test.nope" in said
    assert set(re.findall(r"asyncstate (explain|lint)", said)) == set()


def test_a_tree_is_compiled_for_this_machine_only(tmp_path, run_here):
    (tmp_path / "web1.yaml").write_text("id: web1\n")
    done = run_here("show", "top", "--file-root", tmp_path, "--for-machine", tmp_path / "web1.yaml")
    assert said("needs-extra", wanted="--for-machine (grains_alone)") in done.stderr


def test_a_command_of_an_extra_is_unknown(run_here):
    told = run_here("lint").stderr
    assert "no such command: lint" in told
    assert said("more-commands") in told
    assert "no such command: show impact" in run_here("show", "impact", "x").stderr
    assert "no such command: show graph" in run_here("show", "graph").stderr
    assert "no such command: runs diff. There are: list, prune, show" in run_here("runs", "diff").stderr


def test_help_and_its_examples_name_only_what_is_there(run_here):
    for page in ([], *([name] for name in OWN), ["show", "lowstate"]):
        told = run_here(*page, "--help-all").stdout
        examples = re.findall(r"^ +asyncstate ([a-z].*?)(?:  .*)?$", told, re.MULTILINE)
        assert {line.split()[0] for line in examples} <= {*OWN}
        if page in ([], ["help"]):
            assert "graph" not in told
            assert "--profile" not in told


def test_check_finds_what_does_not_compile(tmp_path, run_here):
    (tmp_path / "a.sls").write_text("a: file.manged\n")
    assert "E401" in run_here("check", "a", "--file-root", tmp_path).stdout
