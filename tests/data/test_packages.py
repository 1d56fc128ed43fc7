"""What is listed of packages."""

import pytest

from asyncstate.data.packages import PackageLists, package_lists

TABLE = "# of a test\n/etc/a.conf\n/etc/a/\n/etc/x/\n/var/lib/a/\n\na 0 1 3\nb* 2\nc\n"


@pytest.fixture
def lists():
    return PackageLists(TABLE)


def test_a_package_is_listed_with_its_places_and_whether_it_makes_accounts(lists):
    assert lists.brings("a") == ({"/etc/a.conf", "/etc/a/", "/var/lib/a/"}, False)
    assert lists.brings("b:i386") == ({"/etc/x/"}, True)
    assert lists.brings("c") == (set(), False)
    assert lists.brings("d") is None
    assert lists.brings("*") is None


@pytest.mark.parametrize(
    ("path", "place"),
    {
        "/etc/a.conf": "/etc/a.conf",
        "/etc/a": "/etc/a/",
        "/etc/a/b/c": "/etc/a/",
        "/etc/ab/c": None,
        "/etc/b.conf": None,
        "/var/lib/a": "/var/lib/a/",
        "/var/lib/a/b": "/var/lib/a/",
        "/var/lib": None,
        "/": None,
        "": None,
    }.items(),
)
def test_a_path_belongs_to_the_place_of_packages_above_it(lists, path, place):
    assert lists.place(path) == place


def test_debian_is_listed_and_other_families_are_not():
    debian = package_lists("Debian")
    assert "/etc/fail2ban/" in debian.brings("fail2ban").places
    assert "/etc/nginx/" in debian.brings("nginx").places, "what it depends on brings it"
    assert "/etc/nginx/" not in debian.brings("redis-server").places
    assert debian.brings("redis-server").accounts
    assert debian.place("/etc/timezone") is None, "a script makes it"
    assert package_lists("RedHat") is None
