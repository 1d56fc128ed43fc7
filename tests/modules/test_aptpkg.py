"""The apt module: version order, recorded output of the programs, waiting for locks, what it tells of packages."""

import contextlib
import subprocess

import pytest
from apt_root import AptRoot, needs_apt
from asyncstate.modules.aptpkg import _installed, _programs
from asyncstate.modules.aptpkg._versions import compare, newest_match
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError, InvocationError


@pytest.fixture
def apt(tmp_path):
    return AptRoot(tmp_path)


class Transcript:
    """Answers commands with recorded output; ``ran`` lists them without apt-get's options."""

    def __init__(self):
        self.answers = {}
        self.ran = []

    def __call__(self, command, **_):
        words = [word for word in command if "::" not in word and word not in {"-o", "-q", "-y"}]
        self.ran.append(" ".join(words))
        for start, answer in self.answers.items():
            if self.ran[-1].startswith(start):
                answer = answer.pop(0) if isinstance(answer, list) else answer
                return {"pid": 1, "retcode": 0, "stdout": "", "stderr": "", **answer}
        return {"pid": 1, "retcode": 0, "stdout": "", "stderr": ""}


@pytest.fixture
def harness(tmp_path):
    made = PluginHarness(tmp_path)
    made.grains.update(osarch="amd64", cpuarch="x86_64")
    made.salt["cmd.run_all"] = Transcript()
    made.salt["cmd.which"] = lambda name: f"/usr/bin/{name}"
    for name in ("aptpkg", "dpkg_lowpkg", "pkg_resource"):
        made.load("modules", name)
    return made


VERSIONS = st.from_regex(r"(?:[0-2]:)?[0-9][0-9a-c.+~]{0,5}(?:-[0-9a-c.+~]{1,3})?", fullmatch=True)


@needs_apt
@hypothesis_settings(max_examples=40)
@given(VERSIONS, VERSIONS)
def test_versions_are_ordered_as_dpkg_orders_them(first, second):
    operator = {-1: "lt", 0: "eq", 1: "gt"}[compare(first, second)]
    assert subprocess.run(["dpkg", "--compare-versions", first, operator, second], check=False).returncode == 0


@pytest.mark.parametrize(
    ("first", "second", "order"),
    [
        ("1.0~rc1", "1.0", -1),
        ("1.10", "1.9", 1),
        ("1:1.0", "2.0", 1),
        ("1.0-0", "1.0", 0),
        ("1.0a", "1.0+", -1),
        ("5.2.15-2+b8", "5.2.15-2+b13", -1),
        ("", "", 0),
    ],
)
def test_version_cmp(harness, first, second, order):
    assert harness.call("pkg.version_cmp", first, second) == order
    assert harness.call("pkg.version_cmp", second, first) == -order


def test_version_cmp_without_the_epoch(harness):
    assert harness.call("pkg.version_cmp", "1:1.0", "1.0", ignore_epoch=True) == 0


def test_the_newest_version_that_meets_conditions():
    assert newest_match(">=1.2,<2", ["2.0", "1.9", "1.3"]) == "1.9"
    assert newest_match("1.2*", ["1.3", "1.2-4"]) == "1.2-4"
    assert newest_match(">3", ["2.0"]) is None


DPKG = """\
install ok installed bash 5.2-1 amd64
hold ok installed sun 1:2.0-3 amd64
install ok installed libc6 2.36 i386
install ok installed docs 1 all
deinstall ok config-files gone 1.1 amd64
purge ok installed leaving 3 amd64
install ok half-configured broken 1 amd64
"""


def test_list_pkgs_reads_dpkg(harness):
    harness.salt["cmd.run_all"].answers["dpkg-query"] = {"stdout": DPKG}
    assert harness.call("pkg.list_pkgs") == {
        "bash": "5.2-1", "docs": "1", "leaving": "3", "libc6:i386": "2.36", "sun": "1:2.0-3",
    }  # fmt: skip
    assert harness.call("pkg.list_pkgs", removed=True, versions_as_list=True) == {"gone": ["1.1"]}
    assert harness.call("pkg.list_pkgs", purge_desired=True) == {"leaving": "3"}
    assert harness.call("pkg.version", "bash") == "5.2-1"
    assert harness.call("pkg.version", "bash", "nosuch") == {"bash": "5.2-1", "nosuch": ""}
    assert harness.call("pkg.version", "b*") == {"bash": "5.2-1"}
    assert len(harness.salt["cmd.run_all"].ran) == 1


def test_dpkg_is_asked_again_when_its_database_changed(harness, tmp_path, monkeypatch):
    status = tmp_path / "dpkg" / "status"
    (tmp_path / "dpkg" / "updates").mkdir(parents=True)
    status.write_text("a")
    monkeypatch.setattr(_installed, "_STATUS", str(status))
    harness.call("pkg.list_pkgs")
    harness.call("pkg.list_pkgs")
    assert len(harness.salt["cmd.run_all"].ran) == 1
    status.write_text("ab")
    harness.call("pkg.list_pkgs")
    harness.call("pkg.list_pkgs", use_context=False)
    assert len(harness.salt["cmd.run_all"].ran) == 3


POLICY = """\
bash:
  Installed: 5.2-1
  Candidate: 5.3-1
  Version table:
 *** 5.2-1 100
virtual:
  Installed: (none)
  Candidate: (none)
  Version table:
"""


def test_latest_version_reads_policy(harness):
    transcript = harness.salt["cmd.run_all"]
    transcript.answers = {"dpkg-query": {"stdout": DPKG}, "apt-cache": {"stdout": POLICY}}
    assert harness.call("pkg.latest_version", "bash", refresh=False) == "5.3-1"
    assert harness.call("pkg.latest_version", "bash", "virtual", "nosuch", refresh=False) == {
        "bash": "5.3-1", "virtual": "", "nosuch": "",
    }  # fmt: skip
    transcript.answers["apt-cache"] = {"stdout": POLICY.replace("5.3-1", "5.2-1")}
    assert harness.call("pkg.latest_version", "bash", refresh=False) == ""
    assert harness.call("pkg.available_version", "bash", refresh=False, show_installed=True) == "5.2-1"
    assert harness.call("pkg.upgrade_available", "bash", refresh=False) is False
    with pytest.raises(InvocationError, match="use 'fromrepo' instead"):
        harness.call("pkg.latest_version", "bash", repo="x")


UPDATE = """\
Hit:1 http://deb.example.org/debian bookworm InRelease
Get:2 http://deb.example.org/debian bookworm-updates InRelease [55.4 kB]
Ign:3 http://other.example.org x InRelease
Err:4 http://broken.example.org y Release
Reading package lists...
"""


def test_refresh_db_tells_what_became_of_each_source(harness):
    harness.salt["cmd.run_all"].answers["apt-get update"] = {"stdout": UPDATE}
    assert harness.call("pkg.refresh_db") == {
        "http://deb.example.org/debian bookworm InRelease": None,
        "http://deb.example.org/debian bookworm-updates InRelease": True,
        "http://other.example.org x InRelease": False,
        "http://broken.example.org y Release": False,
    }
    with pytest.raises(CommandExecutionError, match=r"Error getting repos: http://broken\.example\.org y Release"):
        harness.call("pkg.refresh_db", failhard=True)
    harness.salt["cmd.run_all"].answers["apt-get update"] = {"retcode": 100, "stderr": "E: no way"}
    with pytest.raises(CommandExecutionError, match="E: no way"):
        harness.call("pkg.refresh_db")


def test_apt_waits_for_those_that_hold_its_locks(harness, monkeypatch):
    monkeypatch.setattr(_programs, "_LOCK_PAUSE", 0.01)
    locked = {"retcode": 100, "stderr": "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7"}
    harness.salt["cmd.run_all"].answers["apt-get update"] = [locked, locked, {"stdout": UPDATE}]
    assert len(harness.call("pkg.refresh_db")) == 4
    assert harness.salt["cmd.run_all"].ran == ["apt-get update"] * 3


def test_apt_does_not_wait_for_ever(harness):
    harness.opts["apt_lock_timeout"] = 0
    locked = {"retcode": 100, "stderr": "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7"}
    harness.salt["cmd.run_all"].answers["apt-get update"] = locked
    with pytest.raises(CommandExecutionError, match="held by process 7"):
        harness.call("pkg.refresh_db")
    assert harness.salt["cmd.run_all"].ran == ["apt-get update"]


def test_apt_never_asks(harness):
    seen = {}
    harness.salt["cmd.run_all"] = lambda command, env=None, **_: (
        seen.update({command[0]: (command, env)}) or {"pid": 1, "retcode": 0, "stdout": "", "stderr": ""}
    )
    harness.call("pkg.upgrade", refresh=False, env=[{"EXTRA": "1"}])
    command, env = seen["apt-get"]
    assert env["EXTRA"] == "1"
    assert "DPkg::Lock::Timeout=600" in command
    assert "DPkg::Options::=--force-confold" in command


def test_autoremove_lists_what_would_go(harness):
    harness.salt["cmd.run_all"].answers["apt-get --assume-no"] = {
        "retcode": 1,
        "stdout": "Reading...\nThe following packages will be REMOVED:\n  beta alpha\n  gamma\n0 upgraded",
    }
    assert harness.call("pkg.autoremove", list_only=True) == ["alpha", "beta", "gamma"]


def test_holding_needs_to_know_what(harness):
    with pytest.raises(InvocationError, match="One of name, pkgs, or sources"):
        harness.call("pkg.hold")
    with pytest.raises(InvocationError, match="Only one of pkgs or sources"):
        harness.call("pkg.unhold", pkgs=["a"], sources=[{"b": "/b.deb"}])


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
