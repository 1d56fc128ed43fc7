"""Package states folded into one call, and their changes told apart again."""

import json

import asyncstate.states.pkg as states
import pytest
from plugin_harness import PluginHarness


@pytest.fixture
def harness(tmp_path):
    made = PluginHarness(tmp_path)
    made.load("modules", "pkg_resource")
    return made


def low(name, fun="installed", **arguments):
    return {"state": "pkg", "fun": fun, "name": name, "__id__": name, **arguments}


def tag(name, fun="installed"):
    return f"pkg_|-{name}_|-{name}_|-{fun}"


def fold(harness, *chunks, running=()):
    first = chunks[0]
    first["__agg__"] = True
    with harness.calling():
        return states.mod_aggregate(first, list(chunks), {key: {} for key in running})


@pytest.mark.feature("F107", "F104")
def test_names_and_lists_are_folded_into_the_first(harness):
    chunks = [low("a"), low("b", version="1.0"), low("list", pkgs=["c", {"d": ">=2"}, "a"])]
    folded = fold(harness, *chunks)
    assert folded["pkgs"] == ["a", {"b": "1.0"}, "c", {"d": ">=2"}]
    assert [chunk.get("__agg__") for chunk in chunks] == [True, True, True]


@pytest.mark.parametrize(
    "other",
    [
        low("b", fun="removed"),
        low("b", fromrepo="backports"),
        low("b", hold=True),
        low("b", install_recommends=False),
        low("b", sources=[{"b": "/b.deb"}]),
        low("b", pkgs=[{"a": "2.0"}, "b"]),
        low("b", pkgs="no list"),
        low("b", pkgs=["b", "b"]),
        {**low("b"), "state": "pip"},
    ],
)
def test_what_does_not_fit_is_left_alone(harness, other):
    other = dict(other)
    folded = fold(harness, low("a", version="1.0"), other)
    assert "pkgs" not in folded
    assert folded["version"] == "1.0"
    assert "__agg__" not in other


def test_what_has_run_already_is_left_alone(harness):
    chunks = [low("a"), low("b"), low("c")]
    assert fold(harness, *chunks, running=[tag("b")])["pkgs"] == ["a", "c"]
    assert "__agg__" not in chunks[1]


def test_a_first_state_that_holds_takes_nobody_in(harness):
    assert "pkgs" not in fold(harness, low("a", hold=True), low("b"))


@pytest.mark.feature("F107")
def test_files_are_folded_with_files(harness):
    folded = fold(harness, low("x", sources=[{"a": "/a.deb"}]), low("y", sources=[{"b": "/b.deb"}]), low("c"))
    assert folded["sources"] == [{"a": "/a.deb"}, {"b": "/b.deb"}]


def test_a_wish_to_refresh_is_kept(harness):
    assert fold(harness, low("a"), low("b", refresh=True))["refresh"] is True


def split(harness, folded, chunks, changes):
    with harness.calling():
        return states.mod_aggregate_split(folded, list(chunks), {"result": True, "changes": changes})


def test_each_state_gets_what_it_named_and_the_first_the_rest(harness):
    chunks = [low("a"), low("b"), low("list", pkgs=["a", "c"])]
    folded = fold(harness, *chunks)
    change = {"old": "", "new": "1"}
    shares = split(harness, folded, chunks, dict.fromkeys(["a", "b", "c", "dependency"], change))
    assert shares == {
        tag("a"): {"a": change, "dependency": change},
        tag("b"): {"b": change},
        tag("list"): {"c": change},
    }


def test_a_state_whose_package_was_there_has_no_changes(harness):
    chunks = [low("a"), low("b")]
    folded = fold(harness, *chunks)
    assert split(harness, folded, chunks, {"a": {"old": "", "new": "1"}})[tag("b")] == {}


def test_the_two_kinds_of_changes_of_a_purge_are_both_told_apart(harness):
    chunks = [low("a", fun="purged"), low("b", fun="purged"), low("c*", fun="purged")]
    folded = fold(harness, *chunks)
    gone = {"old": "1", "new": ""}
    shares = split(
        harness, folded, chunks, {"installed": {"a": gone, "c1": gone, "c2": gone}, "removed": {"a": gone, "b": gone}}
    )
    assert shares == {
        tag("a", "purged"): {"installed": {"a": gone}, "removed": {"a": gone}},
        tag("b", "purged"): {"removed": {"b": gone}},
        tag("c*", "purged"): {"installed": {"c1": gone, "c2": gone}},
    }


def test_the_shares_add_up(harness):
    chunks = [low("a"), low("b"), low("c", pkgs=["d", "e"])]
    folded = fold(harness, *chunks)
    changes = {name: {"old": "", "new": name} for name in "abdefg"}
    shares = split(harness, folded, chunks, changes)
    assert {key: value for share in shares.values() for key, value in share.items()} == changes
    assert sum(map(len, shares.values())) == len(changes)


FAKE = """
def __virtual__():
    return "pkg"

def _path():
    return __opts__["cachedir"] + "/installed"

def list_pkgs(versions_as_list=False, purge_desired=False, **kwargs):
    try:
        names = open(_path()).read().split()
    except FileNotFoundError:
        names = []
    return {} if purge_desired else {name: ["1"] if versions_as_list else "1" for name in names}

def install(name=None, pkgs=None, **kwargs):
    names = [next(iter(each)) for each in pkgs]
    with open(_path(), "a") as file:
        file.write(" ".join(names) + "\\n")
    return {name: {"old": "", "new": "1"} for name in names}
"""

TREE = """
a:
  pkg.installed:
    - aggregate: True
b:
  pkg.installed: []
of-a:
  test.nop:
    - onchanges: [{pkg: a}]
of-b:
  test.nop:
    - onchanges: [{pkg: b}]
"""


@pytest.mark.feature("F107", "F106")
def test_a_run_installs_once_and_every_watcher_sees_its_own_changes(run_here, tmp_path):
    (tmp_path / "_modules").mkdir()
    (tmp_path / "_modules" / "fakepkg.py").write_text(FAKE)
    (tmp_path / "tree.sls").write_text(TREE)
    (tmp_path / "cache").mkdir()
    seen = []
    for _ in range(2):
        done = run_here("apply", "tree", "--file-root", tmp_path, "--out", "json")
        assert done.returncode == 0, done.stdout + done.stderr
        rows = json.loads(done.stdout)
        seen.append({row["__id__"]: (bool(row["changes"]), row.get("comment")) for row in rows.values()})
    assert (tmp_path / "cache" / "installed").read_text() == "a b\n"
    assert [seen[0][name][0] for name in ("a", "b")] == [True, True]
    assert seen[0]["of-b"][1] == seen[0]["of-a"][1] == "Success!"
    assert [seen[1][name][0] for name in ("a", "b")] == [False, False]
    assert seen[1]["of-b"][1] != "Success!"
