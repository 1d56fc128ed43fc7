"""Races as text."""

import pytest
from reached import node_of_check
from trees import FakeStates, plan

from asyncstate.extras.proof.trace.report import find_races, race_issues
from asyncstate.extras.proof.trace.touched import ENSURED, LOOKED, MADE, NAMED, WRITTEN

TREE = """
make:
  cmd.run:
    - name: make
install:
  cmd.run:
    - name: make install
"""


def issues(tree, touched):
    compiled = plan(tree)
    return race_issues(find_races(compiled, touched))


def test_a_race_has_both_states_the_path_and_what_settles_it():
    (issue,) = issues(TREE, {0: {"/w/out": WRITTEN | NAMED}, 1: {"/w/out": LOOKED}})
    assert issue.message == (
        "race on /w/out: no order between cmd.run make and cmd.run install\n/w/out: make writes it, install reads it"
    )
    assert (issue.file, issue.line) == ("/memory/base/s.sls", 6)
    assert issue.hint == (
        "make is at /memory/base/s.sls:3\n"
        "settle it with a requisite\n"
        "  in install  require: [{cmd: make}]\n"
        "or with footprints, where the modules do not declare them\n"
        "  in make  footprint: {writes: ['path:/w/out']}\n"
        "  in install  footprint: {reads: ['path:/w/out']}"
    )


def test_the_requisite_it_names_settles_it():
    tree = TREE + "    - require: [{cmd: make}]\n"
    assert issues(tree, {0: {"/w/out": WRITTEN}, 1: {"/w/out": LOOKED}}) == []


def test_many_paths_of_two_states_are_one_race():
    paths = {f"/w/{number}": WRITTEN for number in range(9)}
    (issue,) = issues(TREE, {0: paths, 1: paths})
    assert issue.message.splitlines()[1:] == [
        "/w/0: make writes it, install writes it",
        "/w/1: make writes it, install writes it",
        "/w/2: make writes it, install writes it",
        "and 6 more paths",
    ]


def test_folders_that_both_would_make_are_no_race():
    tree = """
a: {file.managed: [{name: /d/s/a}, {makedirs: true}]}
b: {file.managed: [{name: /d/s/b}, {makedirs: true}]}
c: {file.managed: [{name: /d/s/c}]}
"""
    touched = {
        0: {"/d/s": MADE | ENSURED, "/d/s/a": WRITTEN},
        1: {"/d/s": LOOKED, "/d/s/b": WRITTEN},
        2: {"/d/s": LOOKED, "/d/s/c": WRITTEN},
    }
    found = issues(tree, touched)
    assert [issue.message.split("\n")[0] for issue in found] == [
        "race on /d/s: no order between file.managed a and file.managed c"
    ]


def test_a_listener_races_with_nothing():
    tree = TREE + "    - listen: [{cmd: make}]\n"
    compiled = plan(tree)
    listener = len(compiled.nodes) - 1
    assert find_races(compiled, {0: {"/w": WRITTEN}, listener: {"/w": WRITTEN}}) == []


def test_a_check_for_a_prereq_is_its_state():
    tree = TREE + "    - prereq: [{cmd: make}]\n"
    compiled = plan(tree)
    check = node_of_check(compiled, next(c.index for c in compiled.chunks if c.id == "make"))
    make = next(c.index for c in compiled.chunks if c.id == "make")
    assert find_races(compiled, {make: {"/w": WRITTEN}, check: {"/w": LOOKED}}) == []


PACKAGES = "a: pkg.installed\nb: pkg.installed\nc: pkg.installed\n"


def transaction():
    states = FakeStates(
        footprints={"pkg": lambda low: {"writes": ["pkgdb"]}}, hooks={"pkg.mod_transaction": lambda low, first: ""}
    )
    return plan(PACKAGES, states=states, implicit_order="footprint")


def test_members_of_a_transaction_run_one_after_the_other():
    touched = {member: {"/srv/cache": WRITTEN} for member in range(3)}
    assert transaction().turns == ((0, 1, 2),)
    assert find_races(transaction(), touched) == []


ENTRIES = {
    "ini": lambda low: {"writes": [f"path:{low['name']}#{low['key']}"]},
    "file": lambda low: {"writes": [f"path:{low['name']}"]},
}


@pytest.mark.parametrize(
    ("second", "races"),
    [
        ("ini.set: [{name: /w/x.ini}, {key: b}]", 0),
        ("ini.set: [{name: /w/x.ini}, {key: b}, {footprint: {writes: ['path:/w/other']}}]", 1),
        ("ini.set: [{name: /w/x.ini}, {key: b}, {parallel: true}]", 1),
        ("cmd.run: [{name: edit}]", 1),
    ],
)
def test_states_with_entries_of_their_own_in_one_file_do_not_race(second, races):
    tree = f"a: {{ini.set: [{{name: /w/x.ini}}, {{key: a}}]}}\nb: {{{second}}}\n"
    compiled = plan(tree, states=FakeStates(footprints=ENTRIES), implicit_order="footprint")
    assert len(find_races(compiled, {0: {"/w/x.ini": WRITTEN | LOOKED}, 1: {"/w/x.ini": WRITTEN | LOOKED}})) == races
    assert len(find_races(compiled, {0: {"/w/y": WRITTEN}, 1: {"/w/y": WRITTEN}})) == 1


FOLDERS = {
    "file": lambda low: {
        "writes": [f"path:{low['name']}"],
        "makes": [f"path:{low['name'].rpartition('/')[0]}"] if low.get("makedirs") else [],
        "leaves": [f"path:{low['name'].rpartition('/')[0]}"],
    }
}


@pytest.mark.parametrize("maker", [0, 1])
def test_who_needs_a_folder_that_an_earlier_state_leaves_does_not_race_with_other_makers(maker):
    tree = """
a: {file.managed: [{name: /d/s/a}, {makedirs: true}]}
b: {file.managed: [{name: /d/s/b}, {makedirs: true}]}
c: {file.managed: [{name: /d/s/c}]}
"""
    compiled = plan(tree, states=FakeStates(footprints=FOLDERS), implicit_order="footprint")
    assert {edge.after for edge in compiled.contingent} == {2}
    touched = {number: {"/d/s": ENSURED | LOOKED, f"/d/s/{name}": WRITTEN} for number, name in enumerate("ab")}
    touched[maker]["/d/s"] = MADE | ENSURED
    assert find_races(compiled, {**touched, 2: {"/d/s": LOOKED, "/d/s/c": WRITTEN | NAMED}}) == []
    written = {0: {}, 1: {"/d/s": WRITTEN}, 2: {"/d/s": LOOKED}}
    assert ("b", "c") in {(race.earlier.id, race.later.id) for race in find_races(compiled, written)}


@pytest.mark.parametrize(
    ("by_package", "path", "races"),
    [(LOOKED, "/etc/passwd", 0), (WRITTEN, "/etc/passwd", 1), (LOOKED, "/etc/nginx", 1)],
)
def test_a_package_that_looks_up_accounts_does_not_race_with_who_makes_others(by_package, path, races):
    package, user = "{pkg.installed: []}", "{user.present: []}"
    for first, second in ((package, user), (user, package)):
        compiled = plan(f"a: {first}\nb: {second}\n")
        deeds = (by_package, WRITTEN | LOOKED) if first == package else (WRITTEN | LOOKED, by_package)
        assert len(find_races(compiled, {number: {path: what} for number, what in enumerate(deeds)})) == races


@pytest.mark.parametrize(
    ("command", "races"),
    [("visudo -cf /etc/sudoers.d/a", 0), ("./configure", 1)],
    ids=["known", "unknown"],
)
def test_a_command_of_known_effects_that_looks_up_accounts_races_with_no_maker(command, races):
    known = {"cmd": lambda low: {"unknown": "a script"} if low["name"].startswith(".") else {}}
    compiled = plan(
        f"a: {{cmd.run: [{{name: {command}}}]}}\nb: user.present\n",
        states=FakeStates(footprints={**known, "user": lambda _: {"writes": ["user:b"]}}),
        implicit_order="footprint",
    )
    assert len(find_races(compiled, {0: {"/etc/passwd": LOOKED}, 1: {"/etc/passwd": WRITTEN | LOOKED}})) == races
