"""The ini states on the real execution module, held against the rows and files of Salt."""

from __future__ import annotations

import errno
import os

import pytest
from asyncstate.modules import _ini_document as document
from hypothesis import given
from hypothesis import strategies as st
from plugin_harness import PluginHarness
from plugin_trees import PluginTree
from recorded_states import expected, recorded, replay
from tables import beside

from asyncstate.dunders.context import Additions
from asyncstate.errors import CommandExecutionError
from asyncstate.filesystem import replacement

TABLES = beside(__file__)

# Where Salt's dry run foretells something else than happens, or Salt fails with an exception of Python.
OTHERWISE = (
    "options absent, a text",
    "options absent, a mapping",
    "options absent, null for a section",
    "a text in place of a section",
)
CASES = recorded("ini", but=("empty section name", "options absent without a section", "sections present", *OTHERWISE))


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "ini")
    harness.load("states", "ini_manage")
    return harness


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.ini"
    path.write_text("top = 1\n\n[main]\na = 1\nb = 2\n")
    return path


@pytest.mark.feature("F195")
@pytest.mark.parametrize("case", CASES)
def test_the_rows_of_salt(plugins, case):
    assert replay(plugins, CASES[case]) == expected(CASES[case])


@pytest.mark.parametrize("case", OTHERWISE)
def test_the_real_rows_of_salt_without_their_comments(plugins, case):
    salt = recorded("ini")[case]
    (dry, *rows), after = replay(plugins, salt)
    assert ([row[:2] for row in rows], after) == ([row[:2] for row in salt["rows"][1:]], salt["after"])
    assert dry[0] is (None if rows[0][0] else False)


@pytest.mark.feature("F195")
def test_sections_are_made(plugins, file):
    dry, real, again = plugins.three_runs("ini.sections_present", name=str(file), sections=["main", "two"])
    assert dry["comment"] == "Section unchanged main.\nCreated new section two.\n"
    assert (real["changes"], real["comment"]) == ({"two": {"before": None, "after": {}}}, "Changes take effect")
    assert (again["changes"], again["comment"]) == ({}, "No anomaly detected")
    assert file.read_text().endswith("b = 2\n\n[two]\n")
    dry, real, _ = plugins.three_runs("ini.sections_absent", name=str(file), sections=["two"])
    assert (dry["result"], real["changes"]) == (None, {"two": {}})


@pytest.mark.parametrize(("function", "sections", "change"), TABLES["a name that yaml reads as a number is text"])
def test_a_name_that_yaml_reads_as_a_number_is_text(plugins, file, function, sections, change):
    file.write_text("[1]\n2 = 3\n")
    dry, real, again = plugins.three_runs(f"ini.{function}", name=str(file), sections=sections)
    assert (dry["result"], real["changes"], again["changes"]) == (None, change, {})
    strict = {"name": str(file), "strict": True, "sections": {1: {2: 3}}}
    plugins.state("ini.options_present", **strict)
    assert plugins.state("ini.options_present", **strict)["changes"] == {}
    assert file.read_text() == "[1]\n2 = 3\n"


def test_mode_encoding_and_link(plugins, file, tmp_path):
    file.write_bytes("[main]\na = ä\n".encode("latin-1"))
    file.chmod(0o640)
    (tmp_path / "link").symlink_to(file)
    row = plugins.state(
        "ini.options_present", name=str(tmp_path / "link"), sections={"main": {"b": "ö"}}, encoding="latin-1"
    )
    assert row["changes"] == {"main": {"b": {"before": None, "after": "ö"}}}
    assert file.read_bytes() == "[main]\na = ä\nb = ö\n".encode("latin-1")
    assert file.stat().st_mode & 0o777 == 0o640
    for encoding in ("nothing", "ascii"):
        with pytest.raises(CommandExecutionError, match="Unable to open"):
            plugins.call("ini.get_ini", str(file), encoding=encoding)
    with pytest.raises(CommandExecutionError, match="Unable to write"):
        plugins.call("ini.set_option", str(tmp_path / "new"), {"a": "ä"}, encoding="ascii")


def test_execution_functions(plugins, file):
    assert plugins.call("ini.get_section", str(file), "main") == {"a": "1", "b": "2"}
    assert plugins.call("ini.get_section", str(file), "top") == {}
    assert plugins.call("ini.get_option", str(file), "main", "a") == "1"
    assert plugins.call("ini.get_option", str(file), "", "top") == "1"
    assert plugins.call("ini.get_option", str(file), "none", "top") is None
    assert plugins.call("ini.remove_section", str(file), "top") is None


words = st.text("abcxyz", min_size=1, max_size=4)


@given(st.dictionaries(words, st.dictionaries(words, st.text("ab 1", max_size=5).map(str.strip), max_size=3)))
def test_what_is_written_is_read_again(sections):
    whole = document.parse("", "=")
    whole.merge(sections)
    assert document.parse(document.text_of(whole), "=").plain() == sections
    assert document.parse(document.text_of(whole), "=").merge(sections) == {}


def test_the_loader_finds_it_by_its_name(tmp_path):
    assert "ini.set_option" in PluginTree(tmp_path).host().salt


@pytest.mark.timeout(20)
@pytest.mark.parametrize("content", ["a=1" + "\n" * 300_000, "[a]\n" + " " * 300_000 + "x\n", "a" + " " * 300_000])
def test_white_space_takes_no_hours(plugins, tmp_path, content):
    path = tmp_path / "app.ini"
    path.write_text(content)
    row = plugins.state("ini.options_present", name=str(path), sections={"a": {"b": "1"}})
    assert row["result"] is True
    assert "b = 1" in path.read_text()


@pytest.mark.parametrize("function", ["options_present", "sections_absent"])
def test_a_file_with_several_names_keeps_them(plugins, tmp_path, function):
    path = tmp_path / "app.ini"
    path.write_text("[a]\nx = 1\n\n[b]\n")
    os.link(path, tmp_path / "other")
    number = path.stat().st_ino
    sections = {"a": {"x": "2"}} if function == "options_present" else ["a"]
    assert plugins.state(f"ini.{function}", name=str(path), sections=sections)["changes"]
    assert (path.stat().st_ino, path.stat().st_nlink) == (number, 2)
    assert (tmp_path / "other").read_text() == ("[a]\nx = 2\n\n[b]\n" if function == "options_present" else "[b]\n")


def test_after_a_failed_write_a_file_with_several_names_has_its_old_content(plugins, tmp_path, monkeypatch):
    path = tmp_path / "app.ini"
    path.write_text("[a]\nx = 1\n")
    os.link(path, tmp_path / "other")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(replacement.os, "pwrite", full)
    with pytest.raises(CommandExecutionError, match="No space left"):
        plugins.state("ini.options_present", name=str(path), sections={"a": {"x": "2"}})
    assert path.read_text() == (tmp_path / "other").read_text() == "[a]\nx = 1\n"


@given(
    text=st.lists(st.sampled_from(["", "  ", "[a]", "[b]", "x=1", "# c", "#x = 3", "  more", "z"]), max_size=7),
    names=st.permutations(["a", "b", "n", "o"]),
    other=st.permutations(range(4)),
)
def test_sections_become_the_same_in_any_order(text, names, other):
    def after(order):
        additions, now = Additions(), "\n".join(text)
        for rank in order:
            whole = document.parse(now, "=")
            wanted = {names[rank]: "1" if names[rank] == "o" else {"x": "5"} if rank % 2 else {}}
            whole.merge(wanted, lambda known, name, rank=rank: additions.place(known, name, rank))
            now = document.text_of(whole)
        return now

    assert after(other) == after(range(4))


def test_a_section_is_no_option_of_a_missing_one(plugins, tmp_path):
    path = tmp_path / "a.ini"
    path.write_text("[sec]\na = 1\n")
    dry, done, _ = plugins.three_runs("ini.options_absent", name=str(path), sections={"missing": ["sec"]})
    assert (dry["result"], done["result"], done["changes"]) == (True, True, {})
    assert path.read_text() == "[sec]\na = 1\n"
