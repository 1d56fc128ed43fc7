"""Packages, really installed and removed by apt from a repository the test makes."""

import pytest


@pytest.fixture
def shop(repository):
    return repository.add("tea", "1.0", files={"/usr/share/tea": "green"}).add("cup", "1.0", depends="tea")


def test_installed_with_what_it_depends_on(prove, shop):
    rows = prove("cup: pkg.installed")
    assert rows["cup"]["changes"] == {"cup": {"new": "1.0", "old": ""}, "tea": {"new": "1.0", "old": ""}}
    assert (shop.version_of("cup"), shop.version_of("tea")) == ("1.0", "1.0")


def test_several_in_one_call(debian, prove, shop):
    shop.add("pot", "2.1")
    rows = prove("kitchen: {pkg.installed: [{pkgs: [tea, {pot: '>=2'}]}, {refresh: true}]}")
    assert set(rows["kitchen"]["changes"]) == {"tea", "pot"}
    calls = debian.read("/var/log/apt/history.log").count("Commandline: ")
    assert calls == 1


def test_states_of_their_own_become_one_call(debian, prove, shop):
    shop.add("pot", "2.1")
    rows = prove("".join(f"{name}: {{pkg.installed: [{{aggregate: true}}]}}\n" for name in ("tea", "cup", "pot")))
    assert debian.read("/var/log/apt/history.log").count("Commandline: ") == 1
    assert rows["pot"]["changes"] == {"pot": {"new": "2.1", "old": ""}}


def test_a_version_latest_and_uptodate(debian, prove, shop):
    prove("tea: {pkg.installed: [{version: '1.0'}]}")
    shop.add("tea", "1.5", files={"/usr/share/tea": "black"})
    rows = prove("tea: {pkg.latest: [{refresh: true}]}")
    assert rows["tea"]["changes"] == {"tea": {"new": "1.5", "old": "1.0"}}
    shop.add("tea", "1.6")
    prove("all: {pkg.uptodate: [{refresh: true}]}", unforetold=frozenset({"all"}))
    assert shop.version_of("tea") == "1.6"


def test_removed_and_purged(debian, prove, repository):
    repository.add("conf", files={"/etc/conf.ini": "x=1"}, conffiles=["/etc/conf.ini"])
    prove("conf: pkg.installed")
    prove("conf: pkg.removed")
    assert debian.read("/etc/conf.ini") == "x=1"
    prove("conf: pkg.purged")
    assert not debian.succeeds("test", "-e", "/etc/conf.ini")


def test_held_and_unheld(debian, prove, shop):
    prove("tea: {pkg.installed: [{hold: true}]}")
    assert debian.run("apt-mark", "showhold").split() == ["tea"]
    shop.add("tea", "2.0")
    debian.run("apt-get", "update")
    debian.run("apt-get", "upgrade", "-y")
    assert shop.version_of("tea") == "1.0"
    prove("tea: pkg.latest")
    assert (shop.version_of("tea"), debian.run("apt-mark", "showhold").split()) == ("2.0", ["tea"])
    prove("tea: pkg.unheld")
    assert debian.run("apt-mark", "showhold") == ""


def test_from_a_file_of_the_tree(debian, prove, shop):
    debian.run("mkdir", "-p", "/srv/salt/files")
    debian.run("mv", "/srv/apt/tea_1.0_all.deb", "/srv/salt/files/tea.deb")
    rows = prove("drinks: {pkg.installed: [{sources: [{tea: 'salt://files/tea.deb'}]}]}")
    assert rows["drinks"]["changes"]["tea"]["new"] == "1.0"


def test_one_that_fails_half_way_is_mended_by_the_next_run(debian, repository):
    repository.add("moody", scripts={"postinst": "#!/bin/sh\ntest -e /etc/calm\n"}).add("tea")
    sls = "tea: pkg.installed\nmoody: pkg.installed\nafter: {test.nop: [{require: [{pkg: moody}]}]}"
    first = debian.apply(sls)
    assert {tag.split("_|-")[1] for tag in first.failed} == {"moody", "after"}
    assert repository.version_of("tea") == "1.0"
    debian.write("/etc/calm", "")
    mended = debian.apply(sls)
    assert not mended.failed, mended.failed
    assert repository.version_of("moody") == "1.0"
    assert not debian.apply(sls).changed


def test_what_is_not_there_is_one_failed_row(debian, shop):
    rows = debian.apply("nothing-of-the-kind: pkg.installed\ntea: pkg.installed")
    assert list(rows.failed) == ["pkg_|-nothing-of-the-kind_|-nothing-of-the-kind_|-installed"]
    assert shop.version_of("tea") == "1.0"


def test_a_repository_and_the_package_in_it(debian, prove, repository):
    debian.run("mkdir", "-p", "/srv/second")
    repository.add("tea").machine.run("mv", "/srv/apt/tea_1.0_all.deb", "/srv/second/")
    debian.run("sh", "-c", "cd /srv/apt && apt-ftparchive packages . > Packages && apt-ftparchive release . > Release")
    debian.run(
        "sh", "-c", "cd /srv/second && apt-ftparchive packages . > Packages && apt-ftparchive release . > Release"
    )
    sls = """
    second:
      pkgrepo.managed:
        - name: deb [trusted=yes] file:/srv/second ./
        - file: /etc/apt/sources.list.d/second.list
    tea: {pkg.installed: [{require: [{pkgrepo: second}]}]}
    """
    prove(sls, unforetold=frozenset({"tea"}))
    assert repository.version_of("tea") == "1.0"
    prove("second: {pkgrepo.absent: [{name: 'deb [trusted=yes] file:/srv/second ./'}]}")
    assert "second" not in debian.run("sh", "-c", "cat /etc/apt/sources.list.d/* 2>/dev/null || true")
