"""Waits within a formula: packages, the states between, daemons."""

import json
from functools import partial
from typing import NamedTuple

import pytest
from formula_states import a_file, of_table, packages, state
from formula_states import between as between_known
from formula_states import held_by as held_by_known
from hypothesis import given
from hypothesis import strategies as st
from tables import beside, rows
from trees import FakeStates, edges, plan

from asyncstate.data.packages import place_of
from asyncstate.effects.formula import FormulaRule, Held, may_be_of_a_package

TABLES = beside(__file__)


def path(low):
    owner = [f"user:{low['user']}"] if "user" in low else []
    return {"reads": [*owner], "writes": [f"path:{low['name']}"]}


DECLARED = {
    "pkg": lambda low: {"writes": ["pkgdb", f"package:{low['name']}"]},
    "service": lambda low: {"writes": [f"service:{low['name']}"]},
    "file": path,
    "host": path,
    "user": lambda low: {"writes": [f"user:{low['name']}"]},
    "cmd": lambda low: {"writes": [f"out:{low['name']}"]},
    "sysctl": lambda low: {"writes": [f"sysctl:{low['name']}"]},
    "pkgrepo": lambda low: {"writes": [f"source:{low['name']}"]},
}


def waits(*states):
    """Whether the last of two or more states of one formula, in serial order, waits for the first."""
    tree = json.dumps({f"s{number}": state for number, state in enumerate(states)})
    compiled = plan(tree, states=FakeStates(footprints=DECLARED), implicit_order="footprint")
    behind, reached = [f"s{len(states) - 1}"], set()
    while behind:
        last = behind.pop()
        found = {before for before, after in edges(compiled) if after == last} - reached
        reached |= found
        behind += found
    return "s0" in reached


@pytest.mark.parametrize("states", TABLES["ordered"].values(), ids=TABLES["ordered"])
def test_what_may_have_to_do_with_another_keeps_its_place(states):
    assert waits(*states)


@pytest.mark.parametrize("states", TABLES["free"].values(), ids=TABLES["free"])
def test_what_has_nothing_to_do_with_another_does_not_wait(states):
    assert not waits(*states)


def test_an_account_that_the_tree_makes_needs_no_package():
    tree = """
u: {user.present: [{name: www}]}
p: {pkg.installed: [{name: p}]}
f: {file.managed: [{name: /home/u/x}, {user: www}]}
"""
    compiled = plan(tree, states=FakeStates(footprints=DECLARED), implicit_order="footprint")
    assert ("p", "f") not in edges(compiled)
    assert ("u", "f") in edges(compiled)


@pytest.mark.parametrize("first", ["pkg.installed", "service.running"])
def test_modules_that_do_not_say_what_they_bring_or_run_may_do_both(first):
    known = FakeStates(footprints={"pkg": lambda low: {}, "service": lambda low: {}, "file": path})
    compiled = plan(
        f"a: {first}\nf: {{file.managed: [{{name: /etc/d.conf}}]}}\nb: service.running\n",
        states=known,
        implicit_order="footprint",
    )
    assert {("a", "f"), ("f", "b")} <= edges(compiled)


@pytest.mark.parametrize(("where", "expected"), TABLES["where packages have files"].items())
def test_the_file_system_hierarchy_says_where_packages_have_files(where, expected):
    assert may_be_of_a_package(where) is expected


PLACES = {
    "a": {"/etc/a", "/etc/shared", "/etc/default/a"},
    "b": {"/etc/b", "/etc/shared", "/etc/b.conf", "/etc/default/b"},
    "of units": {"/etc/systemd"},
    "on a": {"/etc/a"},
}
PROGRAMS = {"a": {"curl"}}


class Brings(NamedTuple):
    """What a package brings."""

    places: set[str]
    programs: set[str]
    accounts: bool

    lasting: bool = True

    packages: frozenset[str] = frozenset()

    installed = False

    def named(self, name):
        return any(place.endswith(f"/{name}") for place in self.places)

    def has(self, place):
        return place in self.places

    def runs(self, program):
        return program in self.programs


class Installed(Brings):
    """What a package has brought that is installed."""

    installed = True


class Known:
    """Knows a few packages: ``a`` has files in ``/etc/a`` and curl, ``b`` has files in ``/etc/b``, and an account."""

    def brings(self, package):
        if package == "there":
            return Installed({"/etc/a"}, set(), accounts=False)
        if package == "here":
            return Brings({"/etc/a"}, set(), accounts=False, lasting=False)
        if package not in PLACES:
            return None
        packages = frozenset({package, "a"} if package == "on a" else {package})
        return Brings(PLACES[package], PROGRAMS.get(package, set()), package == "b", packages=packages)

    def place(self, path):
        place = place_of(path)
        return place if place in set().union(*PLACES.values()) else None

    def of_many(self, place):
        return place == "/etc/shared"


between, held_by = (partial(each, known=Known()) for each in (between_known, held_by_known))


@pytest.mark.parametrize(("names", "path", "expected"), TABLES["packages and a path"])
def test_a_known_package_concerns_the_places_it_has_and_those_that_nobody_knows(names, path, expected):
    assert bool(between(packages(names), a_file(path))) is expected
    assert bool(between(a_file(path), packages(names))) is expected


def test_a_package_that_is_removed_takes_those_with_it_that_depend_on_it():
    assert between(packages("a", "removed"), a_file("/etc/b/x"))
    assert between(packages("a", "purged"), a_file("/etc/b/x"))


@pytest.mark.parametrize(
    ("fun", "args", "expected"),
    [
        ("installed", {}, False),
        ("installed", {"pkgs": ["here"]}, False),
        ("installed", {"version": "2"}, True),
        ("installed", {"pkgs": [{"here": "2"}]}, True),
        ("latest", {}, True),
    ],
)
def test_an_installed_package_may_bring_more_with_another_version(fun, args, expected):
    assert bool(between(packages(["here"], fun, **args), a_file("/etc/b/x"))) is expected
    assert between(packages(["here"], fun, **args), a_file("/etc/a/x"))


def test_without_knowledge_every_package_concerns_every_place_of_packages():
    assert between(packages("a"), a_file("/etc/b/x"), known=None)
    assert not between(packages("a"), a_file("/srv/x"), known=None)


def test_what_a_formula_has_not_is_not_waited_for():
    alone = FormulaRule(strict=False, packages=Known()).of_all([a_file("/etc/a/x"), state("cmd", "run")])
    assert alone == [Held(), Held()]


def test_the_reason_names_the_place():
    assert between(packages("a"), a_file("/etc/a/x")) == {"formula:f/packages:/etc/a", "packages:/etc/a"}


def test_an_owner_comes_from_packages_that_make_accounts_unless_it_is_there():
    owner = ("user:www",)
    assert between(packages("b"), a_file("/srv/x", reads=owner))
    assert between(packages("c"), a_file("/srv/x", reads=owner))
    assert not between(packages("a"), a_file("/srv/x", reads=owner))
    assert not between(packages("b"), a_file("/srv/x", reads=owner), accounts=owner)
    assert not between(packages("b"), a_file("/srv/x", reads=("user:1000",)))


def test_a_shell_that_every_system_has_needs_no_package():
    user = ("user:u", "path:/home/u")
    for shell, needs in (("/bin/bash", False), ("/bin/bash/**", False), ("/bin/zsh", True)):
        made = state("user", "present", reads=(f"path:{shell}",), writes=user)
        assert bool(between(packages("c"), made)) is needs


def test_the_files_of_all_accounts_are_those_of_packages_that_make_accounts():
    files = tuple(f"path:/etc/{name}" for name in ("passwd", "group", "shadow", "gshadow"))
    user = state("user", "present", writes=("user:u", "accounts", *files))
    assert [bool(between(packages(name), user)) for name in "abc"] == [False, True, True]


@pytest.mark.parametrize(("names", "programs", "expected"), TABLES["packages and programs"])
def test_a_command_waits_for_packages_that_bring_its_programs(names, programs, expected):
    assert bool(between(packages(names), state("cmd", "run", programs=programs))) is expected
    assert bool(between(packages(names), a_file("/home/x", tested=programs))) is expected


def test_the_file_of_a_program_is_asked_for_by_its_name():
    def running(program, **more):
        return state("cmd", "run", programs=(program,), **more)

    assert not between(packages("b"), running("curl", reads=("path:/usr/bin/curl", "path:/usr/bin/curl/**")))
    assert between(packages("b"), running("test", reads=("path:/usr/bin/curl/**",)))
    assert between(packages("b"), running("curl", writes=("path:/usr/bin/curl",)))


def test_a_command_with_unknown_effects_may_need_any_package():
    assert between(packages("a"), state("cmd", "run", programs=("echo",), unknown=True))


def test_a_command_sees_devices_and_modules_that_any_package_may_add():
    for path in ("/dev/kvm", "/proc/modules", "/sys/module/x"):
        assert between(packages("b"), a_file("/home/x", reads=(f"path:{path}/**",), tested=("test",)))
        assert not between(packages("b"), a_file(path))


def test_a_command_waits_for_packages_that_have_something_where_it_writes():
    command = state("cmd", "run", writes=("path:/etc/a/x",), programs=("cp",))
    assert between(packages("a"), command)
    assert not between(packages("b"), command)


def test_a_service_that_starts_at_boot_waits_for_packages_that_bring_units():
    units = ("path:/etc/systemd/system/d.service",)
    assert not between(packages("a"), state("service", "enabled", reads=units))
    assert between(packages("c"), state("service", "masked", reads=units))
    assert between(packages("a"), state("service", "running", reads=units))


def test_a_state_whose_effects_are_unknown_keeps_its_place_in_strict_order():
    for other in (packages("a"), a_file("/home/x"), state("service", "running"), state("cmd", "run")):
        assert between(state("cmd", "run", unknown=True), other, strict=True)
        assert between(other, state("cmd", "run", unknown=True), strict=True)


NAMES = st.lists(st.sampled_from("abc"), max_size=3)
PATHS = st.sampled_from(
    ["/etc/a/x", "/etc/b/x", "/etc/b.conf", "/etc/shared/y", "/etc/none/x", "/usr/bin/x", "/home/u"]
)
RUN = st.sampled_from([None, (), ("curl",), ("echo",), ("own-tool",), ("echo", "curl")])
MORE = st.builds(lambda path, programs: state("cmd", "run", writes=(f"path:{path}",), programs=programs), PATHS, RUN)
FILES = st.builds(lambda path, tested: a_file(path, tested=tested), PATHS, RUN)
STATES = st.one_of(MORE, FILES, NAMES.map(packages), st.just(state("service", "running")))


@given(st.lists(STATES, min_size=2, max_size=5))
def test_knowledge_only_frees_states_and_never_those_that_packages_concern(states):
    with_it, without = between(*states), between(*states, known=None)
    assert without or not with_it
    if without and not with_it:
        assert {states[0].chunk.state, states[-1].chunk.state} & {"pkg"}
        brought, other = (states[0], states[-1]) if states[0].chunk.state == "pkg" else (states[-1], states[0])
        names = [name.removeprefix("package:") for name in brought.writes if name.startswith("package:")]
        places = set().union(*(PLACES.get(name, ()) for name in names))
        paths = [name.removeprefix("path:") for name in other.writes]
        assert not any(path.startswith(place) for path in paths for place in places)


@given(NAMES, PATHS)
def test_more_packages_never_free_a_file(names, path):
    if names and between(packages(names), a_file(path)):
        assert between(packages([*names, "a"]), a_file(path))


@given(NAMES, st.booleans())
def test_services_and_commands_that_nobody_knows_wait_for_every_package(names, known):
    for other in (state("service", "running"), state("cmd", "run"), a_file("/home/x", tested=None)):
        assert between(packages(names), other, known=Known() if known else None)


@pytest.mark.parametrize(
    ("more", "args", "waits"),
    [
        ((), {}, False),
        ((), {"version": "2"}, True),
        ((packages("a", "removed", sls="g"),), {}, True),
        ((state("cmd", "run", writes=("pkgdb",), sls="g"),), {}, True),
        ((a_file("/etc/a/y", sls="g"),), {}, False),
    ],
)
def test_a_package_that_is_there_and_only_wanted_there_keeps_nothing_waiting(more, args, waits):
    wanted = packages(["there"], **args)
    assert bool(between(wanted, *more, a_file("/etc/a/x"))) is waits
    assert bool(between(packages(["there", "a"], **args), a_file("/etc/a/x")))


@pytest.mark.parametrize(("names", "kind", "args", "waits"), TABLES["accounts of the system"])
def test_who_gets_the_next_number_of_the_system_keeps_its_place_among_packages_with_accounts(names, kind, args, waits):
    account = state(kind, "present", writes=("accounts", f"{kind}:www"), sls="g", **args)
    known = ("user:www", "group:www")
    assert bool(between(packages(names), account, accounts=known)) is waits
    assert bool(between(account, packages(names), accounts=known)) is waits


@rows("case", TABLES["what states hold"].values())
def test_what_states_hold_of_their_formulas(case):
    expected = [Held(*(tuple(each.get(how, ())) for how in ("reads", "writes"))) for each in case["hold"]]
    assert held_by(*of_table(case["states"])) == expected


@rows(
    ("states", "holds"),
    [
        ([state("own", "do", unknown=True)], True),
        ([state("cmd", "run")], True),
        ([state("module", "run")], True),
        ([state("own", "do")], False),
    ],
)
def test_in_strict_order_commands_and_unknown_effects_keep_their_place(states, holds):
    [held] = held_by(*states, strict=True)
    assert held == (
        Held(writes=(*(f"formula:f/{name}" for name in ("packages", "unknown-packages", "accounts", "daemons")),))
        if holds
        else Held()
    )
    assert held_by(*states) == [Held()]


def test_what_keeps_its_place_stands_for_packages_and_daemons():
    _, file = held_by(state("own", "do", unknown=True), a_file("/etc/a/x"), strict=True)
    assert file == Held(("formula:f/daemons", "formula:f/unknown-packages", "formula:f/packages:/etc/a"))


def test_a_package_state_that_brings_nothing_reads_nothing():
    *_, held = held_by(packages("a"), state("service", "running"), packages("a", "held"))
    assert held == Held()


@rows(
    ("account", "needs"),
    [(f"{kind}:{name}", name[0] == "w") for kind in ("user", "group") for name in ("root", "0", "1000", "www", "w:1")],
)
def test_accounts_of_root_and_numbers_need_no_package(account, needs):
    assert bool(between(packages("c"), a_file("/srv/x", reads=(account,)))) is needs


@rows(
    ("pkgs", "may"), [("here", True), (["here"], False), (("here",), False), (["x", {"here": "2"}], True), ([], False)]
)
def test_pkgs_with_a_version_or_without_a_list_may_bring_other_versions(pkgs, may):
    assert bool(between(packages(["here"], pkgs=pkgs), a_file("/etc/b/x"))) is may


@rows(
    ("package", "sls", "of_one"),
    [
        ("f", "f.config", True),
        ("f.a.b", "f.c.d", True),
        ("f/a", "f.b", True),
        ("f", "f2", False),
        ("a.f", "b.f", False),
    ],
)
def test_a_formula_is_the_first_part_of_a_name(package, sls, of_one):
    assert bool(between(packages("a", sls=package), state("cmd", "run", programs=None, sls=sls))) is of_one


@rows(
    ("first", "second", "waits"),
    [
        ({}, {}, False),
        ({"unless": "test"}, {}, True),
        ({"version": "2"}, {}, True),
        ({}, {"onlyif": "test"}, True),
        ({}, {"version": "2"}, True),
    ],
)
def test_a_package_adds_nothing_to_one_that_it_depends_on_unless_either_may_be_left_out(first, second, waits):
    _, more, _ = held_by(packages("a", **first), packages(["on a"], **second), a_file("/etc/a/x", sls="g"))
    assert ("packages:/etc/a" in more.writes) is waits


@rows(
    ("path", "written", "waits"),
    [
        ("/etc/shared", False, False),
        ("/etc/shared/a", False, True),
        ("/etc/shared/a", True, True),
        ("/etc/shared/b", True, False),
        ("/etc/shared", True, True),
    ],
)
def test_a_folder_of_many_packages_is_there_before_each_of_them(path, written, waits):
    touched = {"writes" if written else "reads": (f"path:{path}",)}
    assert bool(between(packages("a"), state("file", "managed", sls="g", **touched))) is waits


@rows(
    ("package", "kind", "sls", "waits"),
    [
        ("of units", "service", "g", True),
        ("b", "service", "g", False),
        ("of units", "file", "g", False),
        ("of units", "service", "h", False),
    ],
)
def test_a_service_without_packages_waits_for_all_that_bring_units_if_none_has_its_name(package, kind, sls, waits):
    unit = ("path:/etc/systemd/system/d.service",)
    more = packages("a", sls="h")
    assert bool(between(packages([package]), more, state(kind, "enabled", reads=unit, sls=sls))) is waits


@rows(("states", "accounts", "waits"), TABLES["who makes an account"])
def test_who_makes_an_account_that_is_not_there_waits_for_packages_that_may_make_it(states, accounts, waits):
    assert bool(between(packages("b", sls="g"), *of_table(states), accounts=accounts)) is waits
