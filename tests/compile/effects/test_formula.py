"""What states of one formula wait for: packages, what stands between, daemons."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import FakeStates, edges, plan

from asyncstate.compile.effects.formula import FormulaRule, may_be_of_a_package


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
    }.items(),
)
def test_the_file_system_hierarchy_says_where_packages_have_files(where, expected):
    assert may_be_of_a_package(where) is expected


LISTED = {"a": ({"/etc/a/", "/etc/shared/"}, False), "b": ({"/etc/b/", "/etc/shared/", "/etc/b.conf"}, True)}
PLACES = ("/etc/a/", "/etc/b/", "/etc/shared/", "/etc/b.conf")


class Lists:
    """Lists of two packages: one has files in ``/etc/a``, the other in ``/etc/b``, and an account."""

    def brings(self, package):
        found = LISTED.get(package)
        return None if found is None else SimpleNamespace(places=found[0], accounts=found[1])

    def place(self, path):
        return next((place for place in PLACES if f"{path}/".startswith(place)), None)


def held(rule, state, fun, *, reads=(), writes=(), asks=False, sls="f"):
    chunk = SimpleNamespace(state=state, fun=fun, sls=sls)
    return rule.of(chunk, reads, writes, asks=asks, unknown=False)


def conflict(packages, path, *, reads=(), lists=True, accounts=()):
    """Whether a state with a file and one of packages wait for each other."""
    rule = FormulaRule(strict=False, lists=Lists() if lists else None, has_account=lambda name: name in accounts)
    brought = held(rule, "pkg", "installed", writes=["pkgdb", *(f"package:{name}" for name in packages)]).writes
    return not set(brought).isdisjoint(held(rule, "file", "managed", reads=reads, writes=[f"path:{path}"]).reads)


@pytest.mark.parametrize(
    ("packages", "path", "expected"),
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
        ("a", "/var/lib/nobody", True),
        ("a", "/home/u/x", False),
        ("c", "/etc/a/x", True),
        ("ac", "/etc/b/x", True),
        ("", "/etc/a/x", True),
    ],
)
def test_a_listed_package_concerns_the_places_it_is_listed_at_and_those_in_no_list(packages, path, expected):
    assert conflict(packages, path) is expected


def test_without_lists_every_package_concerns_every_place_of_packages():
    assert conflict("a", "/etc/b/x", lists=False)
    assert not conflict("a", "/srv/x", lists=False)


def test_an_owner_comes_from_packages_that_make_accounts_unless_it_is_there():
    owner = ["user:www"]
    assert conflict("b", "/srv/x", reads=owner)
    assert conflict("c", "/srv/x", reads=owner)
    assert not conflict("a", "/srv/x", reads=owner)
    assert not conflict("b", "/srv/x", reads=owner, accounts=owner)
    assert not conflict("b", "/srv/x", reads=["user:1000"])


def test_a_shell_that_every_system_has_needs_no_package():
    rule = FormulaRule(strict=False, lists=Lists())
    user = held(rule, "user", "present", reads=["path:/bin/bash"], writes=["user:u", "path:/home/u"])
    assert "formula:f/packages" not in user.reads
    other = held(rule, "user", "present", reads=["path:/bin/zsh"], writes=["user:v"])
    assert "formula:f/packages" in other.reads


def test_the_files_of_all_accounts_are_those_of_packages_that_make_accounts():
    files = [f"path:/etc/{name}" for name in ("passwd", "group", "shadow", "gshadow")]
    rule = FormulaRule(strict=False, lists=Lists())
    user = set(held(rule, "user", "present", writes=["user:u", *files]).reads)
    brought = [set(held(rule, "pkg", "installed", writes=[f"package:{name}"]).writes) for name in "abc"]
    assert [bool(user & each) for each in brought] == [False, True, True]


NAMES = st.sampled_from("abc")
PATHS = st.sampled_from(
    ["/etc/a/x", "/etc/b/x", "/etc/b.conf", "/etc/shared/y", "/etc/none/x", "/usr/bin/x", "/home/u"]
)


@given(st.lists(NAMES, max_size=3), PATHS)
def test_more_packages_never_free_a_file_and_lists_only_free_it(packages, path):
    if conflict(packages, path) and packages:
        assert conflict([*packages, "a"], path)
        assert conflict(packages, path, lists=False)


@given(st.lists(NAMES, max_size=3), st.booleans())
def test_services_and_commands_wait_for_every_package(packages, listed):
    rule = FormulaRule(strict=False, lists=Lists() if listed else None)
    brought = set(held(rule, "pkg", "installed", writes=["pkgdb", *(f"package:{name}" for name in packages)]).writes)
    assert brought & set(held(rule, "service", "running", writes=["service:s"]).reads)
    assert brought & set(held(rule, "cmd", "run").reads)
    assert brought & set(held(rule, "file", "managed", writes=["path:/home/x"], asks=True).reads)
