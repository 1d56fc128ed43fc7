"""The apt module: version order, recorded output of the programs, waiting for locks, what it tells of packages."""

import contextlib
import subprocess

import pytest
from apt_root import AptRoot, needs_apt
from asyncstate.modules.aptpkg._versions import compare, newest_match
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def apt(tmp_path):
    return AptRoot(tmp_path)


VERSIONS = st.from_regex(r"(?:[0-2]:)?[0-9][0-9a-c.+~]{0,5}(?:-[0-9a-c.+~]{1,3})?", fullmatch=True)


@needs_apt
@hypothesis_settings(max_examples=40)
@given(VERSIONS, VERSIONS)
def test_versions_are_ordered_as_dpkg_orders_them(first, second):
    operator = {-1: "lt", 0: "eq", 1: "gt"}[compare(first, second)]
    assert subprocess.run(["dpkg", "--compare-versions", first, operator, second], check=False).returncode == 0


def test_the_newest_version_that_meets_conditions():
    assert newest_match(">=1.2,<2", ["2.0", "1.9", "1.3"]) == "1.9"
    assert newest_match("1.2*", ["1.3", "1.2-4"]) == "1.2-4"
    assert newest_match(">3", ["2.0"]) is None


@needs_apt
def test_what_is_known_of_a_package(apt):
    path = apt.package("sun", "1.0", Section="sky")
    apt.harness.call("pkg.refresh_db")
    apt.harness.call("pkg.install", "sun")
    assert apt.harness.call("pkg.owner", "/usr/share/sun/version") == "sun"
    assert apt.harness.call("pkg.owner", "/nowhere", "/etc/sun.conf") == {"/nowhere": "", "/etc/sun.conf": "sun"}
    assert "/etc/sun.conf" in apt.harness.call("pkg.file_list", "sun")["files"]
    facts = apt.harness.call("pkg.info_installed", "sun")["sun"]
    assert (facts["version"], facts["group"], facts["name"]) == ("1.0", "sky", "sun")
    with pytest.raises(CommandExecutionError, match="nosuch"):
        apt.harness.call("pkg.info_installed", "nosuch")
    assert apt.harness.call("pkg.show", "sun", filter="section") == {"sun": {"1.0": {"Section": "sky"}}}
    assert apt.harness.call("lowpkg.bin_pkg_info", str(path)) == {"name": "sun", "version": "1.0", "arch": "amd64"}
    with pytest.raises(CommandExecutionError, match="does not exist on minion"):
        apt.harness.call("lowpkg.bin_pkg_info", "/nowhere.deb")
    assert apt.harness.call("pkg.list_upgrades", refresh=False) == {}


@needs_apt
def test_a_package_selected_for_purging_is_taken_off_that_list(apt):
    apt.package("sun")
    apt.harness.call("pkg.refresh_db")
    apt.harness.call("pkg.install", "sun")
    apt.run_all(["dpkg", "--set-selections"], stdin="sun purge\n")
    apt.harness.context.clear()
    dry = apt.harness.state("pkg.installed", test=True, name="sun")
    assert dry["comment"] == (
        "The following packages would have their selection status changed from 'purge' to 'install': sun"
    )
    row = apt.harness.state("pkg.installed", name="sun")
    assert row["changes"] == {"purge_desired": {"sun": {"old": "1.0", "new": ""}}}
    assert apt.harness.state("pkg.installed", name="sun")["changes"] == {}


@needs_apt
@pytest.mark.parametrize(
    "arguments",
    [
        {"pkgs": ["sun"]},
        {"pkgs": ["sun:amd64"], "split_arch": False},
        {"pkgs": [{"sun": "1.0"}, "moon"], "normalize": False},
        {"pkgs": [{"moon": "1.0"}, "sun"], "reinstall": True},
        {"pkgs": [{"sun": ">0.5"}], "fromrepo": "stable", "skip_verify": True, "install_recommends": False},
        {"pkgs": ["sun"], "force_yes": True, "only_upgrade": True},
    ],
)
def test_a_refusal_simulates_the_commands_of_the_installation(apt, arguments):
    apt.package("sun")
    for version in ("1.0", "2.0"):
        apt.package("moon", version)
    apt.harness.call("pkg.refresh_db")
    apt.harness.call("pkg.install", "moon")
    apt.ran.clear()
    apt.harness.call("pkg.refusal", **arguments)
    simulated = [[word for word in each if word != "--just-print"] for each in apt.commands("install")]
    apt.ran.clear()
    with contextlib.suppress(CommandExecutionError):
        apt.harness.call("pkg.install", **arguments)
    assert simulated == apt.commands("install") != []
