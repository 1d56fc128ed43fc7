"""The lists of packages."""

import pytest
from tables import beside

from asyncstate.data.commands import effects_of
from asyncstate.data.packages import BASE, PROGRAMS, PackageLists, package_lists

TABLES = beside(__file__)

TABLE = "# of a test\n/etc/a.conf\n/etc/a\n/etc/x\n/var/lib/a\n\na 0 1 3 | 2\nb* 2 |\ncurl |\nlibtool-5 | 1\n"


@pytest.fixture
def lists():
    return PackageLists(TABLE)


def test_a_package_is_listed_with_its_places_and_what_it_comes_with(lists):
    def brought(package):
        listed = lists.brings(package)
        return listed.places, listed.accounts, listed.packages

    assert brought("a") == ({"/etc/a.conf", "/etc/a", "/var/lib/a"}, False, {"a", "curl"})
    assert brought("b:i386") == ({"/etc/x"}, True, {"b"})
    assert brought("curl") == (set(), False, {"curl"})
    assert lists.brings("d") is None
    assert lists.brings("*") is None
    assert lists.brings("") is None


@pytest.mark.parametrize(
    ("path", "place"),
    {
        "/etc/a.conf": "/etc/a.conf",
        "/etc/a": "/etc/a",
        "/etc/a/b/c": "/etc/a",
        "/etc/ab/c": "/etc/ab",
        "/etc/b.conf": None,
        "/etc/.java/x": None,
        "/etc/systemd/system/x.service": "/etc/systemd",
        "/usr/lib/systemd/system/x.service": "/etc/systemd",
        "/etc/init.d": "/etc/systemd",
        "/var/lib/a": "/var/lib/a",
        "/var/lib/a/b": "/var/lib/a",
        "/var/lib/bee": "/var/lib/bee",
        "/var/lib/systemd/b": None,
        "/var/lib": None,
        "/var/www/b": None,
        "/run/bee": "/run/bee",
        "/var/run/bee/c": "/run/bee",
        "/run/lock/b": None,
        "/opt/b": "/opt",
        "/usr/share/b": None,
        "/": None,
        "": None,
    }.items(),
)
def test_a_path_belongs_to_the_place_of_packages_above_it(lists, path, place):
    assert lists.place(path) == place


@pytest.mark.parametrize(
    ("package", "place", "expected"),
    TABLES["a place that is listed for no package counts by its name"],
)
def test_a_place_that_is_listed_for_no_package_counts_by_its_name(lists, package, place, expected):
    assert lists.brings(package).has(place) is expected


def test_a_package_brings_the_programs_of_those_it_comes_with(lists):
    assert lists.brings("curl").runs("curl")
    assert lists.brings("a").runs("curl")
    assert not lists.brings("b").runs("curl")


def test_debian_is_listed_and_other_families_are_not():
    debian = package_lists("Debian")
    assert debian.brings("fail2ban").has("/etc/fail2ban")
    assert debian.brings("nginx").has("/etc/nginx"), "what it depends on brings it"
    assert not debian.brings("redis-server").has("/etc/nginx")
    assert debian.brings("redis-server").accounts
    assert debian.brings("haproxy").has("/var/lib/haproxy"), "a script makes it"
    assert debian.brings("mariadb-server").has("/var/lib/mysql"), "a script makes it"
    assert debian.brings("redis-server").has("/etc/systemd")
    assert not debian.brings("unzip").has("/etc/systemd")
    assert debian.place("/etc/timezone") is None, "a script makes it"
    assert package_lists("RedHat") is None


def test_each_package_that_brings_a_known_program_is_listed():
    debian = package_lists("Debian")
    assert not [name for names in PROGRAMS.values() for name in names if debian.brings(name) is None]
    assert not BASE & PROGRAMS.keys()


@pytest.mark.parametrize("text", ["command -v x", "which x", "type x", "hash x", "whereis x", "systemctl status x"])
def test_programs_that_look_at_others_depend_on_what_is_installed(text):
    assert not BASE.issuperset(effects_of(text).programs)
