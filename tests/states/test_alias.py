"""The alias states on the real execution module, held against the rows and files of Salt."""

from __future__ import annotations

import errno
import os

import pytest
from plugin_harness import PluginHarness
from recorded_states import expected, recorded, replay

from asyncstate.errors import AsyncStateError, CommandExecutionError, InvocationError
from asyncstate.filesystem import change

CASES = recorded("alias")


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    harness = PluginHarness(tmp_path, **{"aliases.file": str(tmp_path / "aliases")})
    harness.salt["config.option"] = lambda key: harness.opts.get(key, "")
    harness.load("modules", "aliases")
    harness.load("states", "alias")
    return harness


@pytest.mark.feature("F195")
@pytest.mark.parametrize("case", CASES)
def test_the_rows_of_salt(plugins, case):
    assert replay(plugins, CASES[case]) == expected(CASES[case])


def test_newaliases_runs_after_a_change_only(plugins, tmp_path):
    program = tmp_path / "newaliases"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    calls = []
    plugins.salt["cmd.run"] = lambda command, **_: calls.append(command)
    for _ in range(2):
        plugins.state("alias.present", name="root", target="admin")
    assert calls == [["newaliases"]]


def test_mode_and_link_of_the_file_are_kept(plugins, tmp_path):
    (tmp_path / "real").write_text("a: b\n")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "aliases").symlink_to("real")
    plugins.call("aliases.set_target", "c", "d")
    assert (tmp_path / "aliases").is_symlink()
    assert (tmp_path / "real").read_text() == "a: b\nc: d\n"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["aliases", "file_roots", "real"]


def test_a_line_that_continues_another_is_kept(plugins, tmp_path):
    (tmp_path / "aliases").write_text("all: one,\n  two: x\n")
    plugins.call("aliases.set_target", "web", "root")
    assert (tmp_path / "aliases").read_text() == "all: one,\n  two: x\nweb: root\n"


@pytest.mark.parametrize(("alias", "target"), [("", "x"), ("x", ""), ("a\nb", "x"), ("a", "b\nroot: evil")])
def test_bad_arguments(plugins, alias, target):
    with pytest.raises(InvocationError):
        plugins.call("aliases.set_target", alias, target)


def test_a_file_that_cannot_be_read(plugins, tmp_path):
    (tmp_path / "aliases").mkdir()
    with pytest.raises(CommandExecutionError, match="Cannot read"):
        plugins.call("aliases.list_aliases")


def test_a_failure_of_the_execution_module(plugins):
    plugins.call("aliases.set_target", "root", "x")
    plugins.salt["aliases.set_target"] = plugins.salt["aliases.rm_alias"] = lambda *_: False
    row = plugins.state("alias.present", name="root", target="y")
    assert (row["result"], row["comment"]) == (False, "Failed to set alias root -> y")
    row = plugins.state("alias.absent", name="root")
    assert (row["result"], row["comment"]) == (False, "Failed to remove alias root")


TEXTS = [
    "a:b",
    "a#b",
    "#a",
    " a",
    "a ",
    "a b",
    '"a b"',
    "a\tb",
    "a\u00a0b",
    "a\x0cb",
    ":",
    "ä",
    "a\udcffb",
    "a, b",
    "|/bin/x #y",
    "\t",
    "\n",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize(
    "arguments", [lambda text: {"name": text, "target": "t"}, lambda text: {"name": "n", "target": text}]
)
def test_what_a_line_cannot_say_is_refused_and_the_rest_is_said_once(plugins, tmp_path, arguments, text):
    (tmp_path / "aliases").write_text("a: b\n")
    dry, real, again = plugins.three_runs("alias.present", **arguments(text), errors=(AsyncStateError,))
    assert dry["result"] is (None if real["changes"] else real["result"]), (dry, real)
    assert (again["result"], again["changes"]) == (real["result"], {})
    if real["result"] is False:
        assert (tmp_path / "aliases").read_text() == "a: b\n"


def test_a_file_that_cannot_be_written_is_foretold(plugins, monkeypatch):
    plugins.opts["foresight"] = True
    assert plugins.state("alias.present", name="root", target="a@b")["result"] is True
    monkeypatch.setattr(change, "refusal", lambda _entry: errno.EROFS)
    for function, arguments, result in (
        ("present", {"name": "root", "target": "a@b"}, True),
        ("present", {"name": "root", "target": "c@d"}, False),
        ("absent", {"name": "root"}, False),
        ("absent", {"name": "other"}, True),
    ):
        row = plugins.state(f"alias.{function}", test=True, **arguments)
        assert row["result"] is result
        assert row["comment"].startswith("Cannot write ") == (not result)
