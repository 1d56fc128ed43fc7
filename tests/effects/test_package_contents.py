"""Waits of states of one formula for the packages of others."""

from types import SimpleNamespace
from typing import NamedTuple

import pytest

from asyncstate.data.packages import OF_MANY, PROGRAMS, UNITS, package_lists, unit_of
from asyncstate.effects.formula import FormulaRule, Touching

DEBIAN = package_lists("Debian")
EACH = sorted(DEBIAN._lines)


class Bringing(NamedTuple):
    """What an installed package brought."""

    places: frozenset = frozenset({"/var/lib/mine"})
    accounts: bool = True
    lasting: bool = False
    installed: bool = True
    packages: frozenset = frozenset()

    def has(self, place):
        return place in self.places

    def runs(self, program):
        return program == "mine"

    def named(self, name):
        return name == "mine"


class Known:
    """The list of Debian, and a package that is installed."""

    place = staticmethod(DEBIAN.place)

    def brings(self, package):
        return Bringing() if package == "mine" else DEBIAN.brings(package)

    def of_many(self, place):
        return place in OF_MANY and place != "/etc/sysctl.d"


def state(kind, fun, *, sls="app", reads=(), writes=(), programs=(), **args):
    return Touching(SimpleNamespace(state=kind, fun=fun, sls=sls, args=args), reads, writes, programs)


def packages(*names, fun="installed", sls="base", **args):
    return state("pkg", fun, sls=sls, writes=("pkgdb", *(f"package:{name}" for name in names)), **args)


def service(name, **more):
    return state("service", "running", reads=(f"path:/etc/systemd/system/{name}.service",), **more)


def a_file(path, **more):
    return state("file", "managed", writes=(f"path:{path}",), **more)


def between(*states, accounts=(), knowledge=None):
    """What the first and the last of some states conflict about, beside what they touch themselves."""
    rule = FormulaRule(strict=False, packages=knowledge or Known(), has_account=lambda name: name in accounts)
    held = rule.of_all(states)
    first, last = held[0], held[-1]
    return (set(first.writes) & {*last.reads, *last.writes}) | (set(first.reads) & set(last.writes))


@pytest.mark.no_cover
@pytest.mark.parametrize("start", range(8))
def test_each_place_program_unit_and_account_of_a_listed_package_waits_for_it_in_any_formula(start):
    for package in EACH[start::8]:
        waits_for(package)


def waits_for(package):
    brings = DEBIAN.brings(package)
    for place in brings.places - {UNITS}:
        assert DEBIAN.place(place) is None or between(packages(package), a_file(place)), place
        asked = DEBIAN.place(f"{place}/x") is not None and place not in OF_MANY
        assert not asked or between(packages(package), a_file(f"{place}/x")), place
    for program in (program for program in PROGRAMS if brings.runs(program)):
        assert between(packages(package), state("cmd", "run", programs=(program,))), program
    name = min(brings.packages, key=len)
    if brings.named(name):
        assert UNITS not in brings.places or between(packages(package), service(name))
        assert not brings.accounts or between(packages(package), a_file("/srv/x", reads=(f"user:{name}",)))
        assert not brings.accounts or between(packages(package), state("user", "present", writes=(f"user:{name}",)))


@pytest.mark.parametrize(
    ("package", "other"),
    [
        ("sudo", state("file", "directory", writes=("path:/etc/sudoers.d",))),
        ("sudo", state("file", "directory", writes=("path:/etc/sudoers.d", "path:/etc/sudoers.d/**"))),
        ("nginx", a_file("/etc/logrotate.d/nginx")),
        ("openssh-server", a_file("/etc/pam.d/sshd")),
        ("procps", a_file("/etc/sysctl.d/99-app.conf")),
        ("nginx", service("nginx")),
        ("openssh-server", service("ssh")),
        ("mariadb-server", service("mysql")),
        ("nginx", a_file("/etc/systemd/system/nginx.service.d/limits.conf")),
        ("postgresql", a_file("/srv/x", reads=("user:postgres",))),
        ("redis-server", state("user", "present", writes=("user:redis", "accounts"))),
        ("postgresql", state("user", "present", writes=("user:postgres", "accounts"))),
        ("git", state("cmd", "run", programs=("git",))),
        ("postgresql-client", state("cmd", "run", programs=("psql",))),
        ("own-agent", a_file("/etc/own-agent/x")),
        ("own-agent", a_file("/etc/cron.d/own-agent/**")),
        ("own-agent", service("own-agent")),
        ("own-agent", service("own-agent@one")),
        ("own-server", service("own")),
        ("own-agent", state("cmd", "run", programs=("own-agent",))),
    ],
)
def test_what_a_package_brings_is_behind_it_in_any_formula(package, other):
    assert between(packages(package), other)
    assert between(other, packages(package))


@pytest.mark.parametrize(
    ("package", "other"),
    [
        ("sudo", a_file("/etc/sudoers.d/app")),
        ("cron", a_file("/etc/cron.d/app")),
        ("nginx", a_file("/etc/pam.d/sshd")),
        ("nginx", state("file", "replace", reads=("path:/etc/pam.d",), writes=("path:/etc/pam.d/sshd",))),
        ("nginx", a_file("/etc/redis/redis.conf")),
        ("nginx", a_file("/etc/timezone")),
        ("nginx", a_file("/etc/systemd/system/app.service")),
        ("redis-server", state("user", "present", writes=("user:alice", "accounts"))),
        ("dbus", state("user", "present", writes=("user:buser", "accounts"))),
        ("nginx", state("cmd", "run", programs=("own-tool",))),
        ("unzip", state("cmd", "run", programs=("curl",))),
        ("own-agent", a_file("/etc/own/x")),
    ],
)
def test_what_a_package_is_not_known_to_bring_waits_in_its_formula_only(package, other):
    assert not between(packages(package), other)
    assert not between(other, packages(package))


def test_a_service_or_an_owner_that_no_name_tells_of_waits_for_all_that_may_bring_it():
    assert between(packages("samba"), service("nmbdaemon"))
    assert not between(packages("unzip"), service("nmbdaemon"))
    assert between(packages("redis-server"), a_file("/srv/x", reads=("user:www",)))
    assert not between(packages("redis-server"), a_file("/srv/x", reads=("user:www",)), accounts=("user:www",))
    assert not between(packages("redis-server"), packages("postgresql"), a_file("/srv/x", reads=("user:postgres",)))


def test_a_service_of_a_formula_with_packages_waits_for_others_of_its_name_only():
    own = packages("unzip", sls="app")
    assert not between(packages("samba"), own, service("nmbdaemon"))
    assert between(packages("nginx"), own, service("nginx"))


@pytest.mark.parametrize(
    ("fun", "args", "expected"),
    [
        ("installed", {}, False),
        ("installed", {"version": "2"}, True),
        ("latest", {}, True),
        ("removed", {}, True),
    ],
)
def test_a_package_that_is_there_brings_nothing_new(fun, args, expected):
    assert bool(between(packages("mine", fun=fun, **args), a_file("/var/lib/mine"))) is expected
    assert bool(between(packages("mine", fun=fun, **args), service("mine", sls="other"))) is False


def test_a_package_that_is_there_may_come_back_after_another_has_gone():
    assert between(packages("mine"), packages("nginx", fun="removed"), state("cmd", "run", programs=("mine",)))


@pytest.mark.parametrize(
    ("path", "unit"),
    {
        "/etc/systemd/system/a.service": "a.service",
        "/lib/systemd/system/a.socket": "a.service",
        "/etc/systemd/system/a.service.d/x.conf": "a.service",
        "/etc/systemd/system/a.service.d/**": "a.service",
        "/etc/init.d/a": "a.service",
        "/etc/init/a.conf": "a.service",
        "/etc/systemd/system/a@b.service": "a@b.service",
        "/etc/systemd/system": "",
        "/etc/systemd/system/**": "",
        "/etc/systemd/journald.conf": "",
        "/etc/init.d": "",
        "/etc/nginx": "",
    }.items(),
)
def test_a_unit_is_of_the_service_of_its_name(path, unit):
    assert unit_of(path) == unit


def test_the_folders_of_many_packages_are_places():
    assert {place for place in OF_MANY if DEBIAN.place(place) != place} == set()


def test_a_package_that_depends_on_an_earlier_one_brings_nothing_of_it():
    earlier, later = packages("nginx-common"), packages("nginx", sls="other")
    conf = a_file("/etc/nginx/x")
    for states in ((conf, earlier, later), (earlier, conf, later)):
        rule = FormulaRule(strict=False, packages=Known())
        held = dict(zip(map(id, states), rule.of_all(states), strict=True))
        assert "packages:/etc/nginx" in held[id(earlier)].writes
        assert "packages:/etc/nginx" not in held[id(later)].writes
    assert between(later, conf)
    assert between(conf, later)


@pytest.mark.parametrize("doubtful", [{"onlyif": "x"}, {"version": "1"}, {"onchanges": []}])
def test_a_package_that_may_not_come_does_not_free_later_ones(doubtful):
    conf, later = a_file("/etc/nginx/x"), packages("nginx", sls="other")
    assert between(conf, packages("nginx-common", **doubtful), later)
    assert between(conf, packages("nginx-common"), packages("nginx", sls="other", version="1"))
