"""Waits of states of one formula for the packages of others."""

from functools import partial
from typing import NamedTuple

import formula_states
import pytest
from formula_states import of_table
from tables import beside

from asyncstate.data.packages import OF_MANY, PROGRAMS, UNITS, package_lists, unit_of
from asyncstate.effects.formula import FormulaRule

DEBIAN = package_lists("Debian")
EACH = sorted(DEBIAN._lines)


TABLES = beside(__file__)


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


state = partial(formula_states.state, sls="app", programs=())
a_file = partial(formula_states.a_file, sls="app", programs=())


def packages(*names, sls="base", **args):
    return formula_states.packages(names, sls=sls, programs=(), **args)


def between(*states, accounts=()):
    return formula_states.between(*states, known=Known(), accounts=accounts)


def service(name, **more):
    return state("service", "running", reads=(f"path:/etc/systemd/system/{name}.service",), **more)


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


@pytest.mark.parametrize(("package", "other"), TABLES["waits in any formula"])
def test_what_a_package_brings_is_behind_it_in_any_formula(package, other):
    (other,) = of_table([other], sls="app", programs=())
    assert between(packages(package), other)
    assert between(other, packages(package))


@pytest.mark.parametrize(("package", "other"), TABLES["waits in its formula only"])
def test_what_a_package_is_not_known_to_bring_waits_in_its_formula_only(package, other):
    (other,) = of_table([other], sls="app", programs=())
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


@pytest.mark.parametrize(("path", "unit"), TABLES["units"].items())
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
