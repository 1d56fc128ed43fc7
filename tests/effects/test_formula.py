"""Waits within a formula: packages, the states between, daemons."""

from types import SimpleNamespace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows
from trees import FakeStates, edges, plan

from asyncstate.data.packages import place_of
from asyncstate.effects.formula import FormulaRule, Held, Touching, may_be_of_a_package


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


def waits(*states, mode="footprint", bundled=True):
    """Whether the last of two or more states of one formula, in serial order, waits for the first."""
    tree = "".join(f"s{number}: {{{state}}}\n" for number, state in enumerate(states))
    known = FakeStates(footprints=DECLARED, bundled=bundled)
    compiled = plan(tree, states=known, implicit_order=mode)
    behind, reached = [f"s{len(states) - 1}"], set()
    while behind:
        last = behind.pop()
        found = {before for before, after in edges(compiled) if after == last} - reached
        reached |= found
        behind += found
    return "s0" in reached


PACKAGE, DAEMON = "pkg.installed: [{name: p}]", "service.running: [{name: d}]"
STOPPED, AT_BOOT = "service.dead: [{name: e}]", "service.enabled: [{name: e}]"
IN_ETC, IN_HOME, IN_VAR = (f"file.managed: [{{name: {name}}}]" for name in ("/etc/d.conf", "/home/u/x", "/var/lib/d/x"))
OWNED = "file.managed: [{name: /home/u/x}, {user: www}]"
COMMAND, SETTING = "cmd.run: [{name: d-ctl}]", "sysctl.present: [{name: vm.x}]"

ORDERED = {
    "a package brings what a file is in": (PACKAGE, IN_ETC),
    "a package finds the file of an administrator": (IN_ETC, PACKAGE),
    "a package brings a daemon": (PACKAGE, DAEMON),
    "a package brings what is switched on": (PACKAGE, AT_BOOT),
    "a package brings a program": (PACKAGE, COMMAND),
    "a package brings what sets a setting": (PACKAGE, SETTING),
    "a package brings an account": (PACKAGE, OWNED),
    "a daemon reads its file": (IN_ETC, DAEMON),
    "any daemon of the formula may read it": (IN_ETC, DAEMON, "service.running: [{name: last}]"),
    "a daemon reads what it serves": (IN_HOME, DAEMON),
    "a daemon finds the settings": (SETTING, DAEMON),
    "a daemon answers a command": (DAEMON, COMMAND),
    "a daemon makes its files": (DAEMON, IN_VAR),
    "a daemon writes its file when it stops": (STOPPED, IN_ETC),
    "a daemon does not start with what comes later": (DAEMON, IN_ETC),
    "a daemon does not start with later settings": (DAEMON, SETTING),
    "daemons start one after the other": (DAEMON, STOPPED),
    "a package comes after a daemon was stopped": (STOPPED, PACKAGE),
    "a condition asks a program": (PACKAGE, "file.managed: [{name: /home/u/x}, {onlyif: p}]"),
    "a condition asks a daemon": (DAEMON, "file.managed: [{name: /etc/x}, {onlyif: d-ctl}]"),
}
FREE = {
    "no package has files of users": (PACKAGE, IN_HOME),
    "no package has files of users, whichever comes first": (IN_HOME, PACKAGE),
    "root was there before": (PACKAGE, "file.managed: [{name: /srv/x}, {user: root}]"),
    "what starts at boot reads nothing now": (IN_ETC, AT_BOOT),
    "what starts at boot stops nothing": (AT_BOOT, DAEMON),
    "packages that are held bring nothing": ("pkg.held: [{name: p}]", IN_ETC),
    "a source of packages asks no daemon": (DAEMON, "pkgrepo.managed: [{name: r}]"),
}


@pytest.mark.parametrize("what", ORDERED)
def test_what_may_have_to_do_with_another_keeps_its_place(what):
    first, *_, last = ORDERED[what]
    assert waits(*ORDERED[what]), (first, last)


@pytest.mark.parametrize("what", FREE)
def test_what_has_nothing_to_do_with_another_does_not_wait(what):
    assert not waits(*FREE[what])


def test_an_account_that_the_tree_makes_needs_no_package():
    user = "user.present: [{name: www}]"
    compiled = plan(
        f"u: {{{user}}}\np: {{{PACKAGE}}}\nf: {{{OWNED}}}\n",
        states=FakeStates(footprints=DECLARED),
        implicit_order="footprint",
    )
    assert ("p", "f") not in edges(compiled)
    assert ("u", "f") in edges(compiled)


@pytest.mark.parametrize("first", ["pkg.installed", "service.running"])
def test_modules_that_do_not_say_what_they_bring_or_run_may_do_both(first):
    known = FakeStates(footprints={"pkg": lambda low: {}, "service": lambda low: {}, "file": path})
    compiled = plan(f"a: {first}\nf: {{{IN_ETC}}}\nb: service.running\n", states=known, implicit_order="footprint")
    assert {("a", "f"), ("f", "b")} <= edges(compiled)


@pytest.mark.parametrize(
    ("where", "expected"),
    {
        "/etc/x": True,
        "/usr/share/x": True,
        "/usr": True,
        "/": True,
        "/**": True,
        "/opt/vendor/x": True,
        "/srv/ftp": True,
        "/usr/local/bin": False,
        "/usr/local/**": False,
        "/etcetera/x": False,
        "/srv/www": False,
        "/home": False,
        "/var/tmp/x": False,
        "/data/x": False,
        "relative": False,
        "/srv/ftpX": False,
    }.items(),
)
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


def state(kind, fun, *, reads=(), writes=(), programs=None, tested=(), unknown=False, sls="f", **args):
    return Touching(SimpleNamespace(state=kind, fun=fun, sls=sls, args=args), reads, writes, programs, tested, unknown)


def packages(names, fun="installed", **args):
    return state("pkg", fun, **args, writes=("pkgdb", *(f"package:{name}" for name in names)))


def held_by(*states, known=True, accounts=(), strict=False):
    """What states hold of their formulas."""
    rule = FormulaRule(strict=strict, packages=Known() if known else None, has_account=lambda name: name in accounts)
    return rule.of_all(states)


def between(*states, known=True, accounts=(), strict=False):
    """What the first and the last of some states conflict about in their formulas."""
    held = held_by(*states, known=known, accounts=accounts, strict=strict)
    first, last = held[0], held[-1]
    return (set(first.writes) & {*last.reads, *last.writes}) | (set(first.reads) & set(last.writes))


def a_file(path, **more):
    return state("file", "managed", writes=(f"path:{path}",), **more)


@pytest.mark.parametrize(
    ("names", "path", "expected"),
    [
        ("a", "/etc/a/x.conf", True),
        ("a", "/etc/a", True),
        ("a", "/etc/a/**", True),
        ("a", "/etc/a/x.ini#section", True),
        ("a", "/etc/b/x.conf", False),
        ("a", "/etc/b.conf", False),
        ("b", "/etc/b.conf", True),
        ("ab", "/etc/b.conf", True),
        ("a", "/etc/shared/x", True),
        ("a", "/etc/**", True),
        ("a", "/etc/nobody/x", True),
        ("a", "/usr/share/x", True),
        ("a", "/usr/bin/x", True),
        ("a", "/var/lib/nobody", True),
        ("a", "/etc/default/a", True),
        ("a", "/etc/default/b", False),
        ("a", "/**", True),
        ("a", "/home/u/x", False),
        ("c", "/etc/hosts", False),
        ("c", "/etc/a/x", True),
        ("ac", "/etc/b/x", True),
        ("", "/etc/a/x", True),
    ],
)
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
    assert between(packages("a"), a_file("/etc/b/x"), known=False)
    assert not between(packages("a"), a_file("/srv/x"), known=False)


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


@pytest.mark.parametrize(
    ("names", "programs", "expected"),
    [
        ("a", ("echo", "test"), False),
        ("a", ("curl",), True),
        ("b", ("curl",), False),
        ("c", ("curl",), True),
        ("c", ("echo",), False),
        ("a", ("echo", "own-tool"), True),
        ("a", None, True),
        ("a", (), False),
    ],
)
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
    with_it, without = between(*states), between(*states, known=False)
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
        assert between(packages(names), other, known=known)


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


@pytest.mark.parametrize(
    ("names", "kind", "args", "waits"),
    [
        ("b", "group", {"system": True}, True),
        ("c", "group", {"system": True}, True),
        ("a", "group", {"system": True}, False),
        ("b", "group", {"system": True, "gid": 120}, False),
        ("b", "group", {}, False),
        ("b", "user", {"system": True, "gid": 120}, True),
        ("b", "user", {"system": True, "uid": 120}, False),
    ],
)
def test_who_gets_the_next_number_of_the_system_keeps_its_place_among_packages_with_accounts(names, kind, args, waits):
    account = state(kind, "present", writes=("accounts", f"{kind}:www"), sls="g", **args)
    known = ("user:www", "group:www")
    assert bool(between(packages(names), account, accounts=known)) is waits
    assert bool(between(account, packages(names), accounts=known)) is waits


UNKNOWN = ("formula:f/packages", "formula:f/unknown-packages", "formula:f/accounts")
OF_G = tuple(name.replace(":f/", ":g/") for name in UNKNOWN)
ACCOUNT = state("user", "present", writes=("user:www",), system=True)
STARTED = state("service", "running", reads=("user:www",))


@rows(
    ("states", "expected"),
    {
        "a state reads one resource for each question, and its packages write those that they answer": (
            [
                packages("ab"),
                state(
                    "cmd",
                    "run",
                    programs=("curl", "jq"),
                    reads=("user:www", "path:/etc/a/x", "path:/etc/b"),
                    writes=("path:/etc/b/y",),
                ),
            ],
            [
                Held(
                    writes=(
                        "formula:f/packages",
                        "formula:f/accounts",
                        "formula:f/packages:/etc/a",
                        "formula:f/packages:/etc/b",
                        "formula:f/packages:curl",
                        "packages:curl",
                        "packages:/etc/a",
                        "packages:/etc/b",
                    )
                ),
                Held(
                    (
                        "formula:f/unknown-packages",
                        "formula:f/packages:curl",
                        "formula:f/packages:jq",
                        "formula:f/accounts",
                        "formula:f/packages:/etc/a",
                        "formula:f/packages:/etc/b",
                        "packages:curl",
                        "packages:jq",
                        "packages:user:www",
                        "packages:/etc/a",
                        "packages:/etc/b",
                        "packages:/etc/b",
                    )
                ),
            ],
        ),
        "a package with unknown contents answers all of its formula": (
            [packages("c"), state("cmd", "run", programs=("curl",))],
            [Held(writes=UNKNOWN), Held(("formula:f/unknown-packages", "formula:f/packages:curl", "packages:curl"))],
        ),
        "packages of other formulas answer what is certain": (
            [
                packages("ab", sls="g"),
                state(
                    "cmd",
                    "run",
                    programs=("curl",),
                    reads=("user:www", "path:/etc/a", "path:/etc/shared/x"),
                    writes=("path:/etc/b",),
                ),
            ],
            [
                Held(writes=(*OF_G, "packages:curl", "packages:user:www", "packages:/etc/a", "packages:/etc/b")),
                Held(
                    (
                        "packages:curl",
                        "packages:user:www",
                        "packages:/etc/a",
                        "packages:/etc/shared/x",
                        "packages:/etc/b",
                    )
                ),
            ],
        ),
        "a daemon needs an account of any formula": (
            [packages("ab", sls="g"), STARTED],
            [Held(writes=(*OF_G, "packages:user:www")), Held(("packages:user:www",), ("formula:f/daemons",))],
        ),
        "an account that is made asks whether a package makes it, and gets the next number": (
            [packages("ab", sls="g"), ACCOUNT],
            [Held(writes=(*OF_G, "packages:next-number")), Held(("packages:user:www", "packages:next-number"))],
        ),
        "a command that installs packages may bring anything": (
            [state("cmd", "run", writes=("packages",)), a_file("/etc/a/x"), state("service", "running")],
            [
                Held(("formula:f/daemons", "formula:f/packages"), UNKNOWN),
                Held(("formula:f/daemons", "formula:f/unknown-packages", "formula:f/packages:/etc/a")),
                Held(("formula:f/packages",), ("formula:f/daemons",)),
            ],
        ),
        "a file where no package has files asks nothing": (
            [packages("a"), a_file("/home/x")],
            [Held(writes=UNKNOWN), Held()],
        ),
        "a formula without packages and daemons holds nothing": (
            [state("own", "do", unknown=True), a_file("/home/x")],
            [Held(), Held()],
        ),
    }.values(),
)
def test_what_states_hold_of_their_formulas(states, expected):
    assert held_by(*states) == expected


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
    assert held == (Held(writes=(*UNKNOWN, "formula:f/daemons")) if holds else Held())
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


@rows(
    ("states", "accounts", "waits"),
    [
        ([state("user", "present", writes=("user:b",))], (), True),
        ([state("user", "present", writes=("user:b",))], ("user:b",), False),
        ([state("user", "present", writes=("user:b",)), a_file("/srv/x", reads=("user:b",))], (), False),
        ([a_file("/srv/x", reads=("user:b",))], (), True),
    ],
)
def test_who_makes_an_account_that_is_not_there_waits_for_packages_that_may_make_it(states, accounts, waits):
    assert bool(between(packages("b", sls="g"), *states, accounts=accounts)) is waits
