"""The providers of ``pkg`` on top of rpm, with the real dnf and zypper in a scratch root."""

import os
import shutil
import subprocess

import pytest
from asyncstate.modules import _rpm_database, _rpm_versions
from provider_scenarios import SCENARIOS, play
from rpm_root import RpmRoot

from asyncstate.errors import CommandExecutionError

BUILDING = ("rpmbuild", "rpm", "createrepo_c")

pytestmark = [
    pytest.mark.platform,
    pytest.mark.skipif(os.geteuid() != 0, reason="packages are installed into a root of their own by root alone"),
]


@pytest.fixture(params=["yumpkg", "zypperpkg"])
def rpm(request, tmp_path, monkeypatch):
    """A scratch root of each package manager. The set-up of this session installs the programs: none may be missing."""
    missing = [
        name for name in (*BUILDING, "dnf" if request.param == "yumpkg" else "zypper") if shutil.which(name) is None
    ]
    assert not missing, f".ci/platform-tools installs {', '.join(missing)}"
    made = RpmRoot(tmp_path, request.param)
    made.kind = request.param
    watched = [f"{made.root}/root/.rpmdb/{name}" for name in ("rpmdb.sqlite", "rpmdb.sqlite-wal")]  # Debian's place
    monkeypatch.setattr(_rpm_database.LISTING, "_watched", watched)
    monkeypatch.setattr("asyncstate.modules.zypperpkg._locks._FILE", str(made.root / "etc/zypp/locks"))
    return made


def test_what_the_transcript_of_the_default_suite_was_recorded_from(rpm):
    play(SCENARIOS[rpm.kind], rpm.harness, rpm.package)


def test_versions_are_chosen_by_condition_and_glob(rpm):
    for version in ("1.0", "1.5", "2.0"):
        rpm.package("sun", version)
    rpm.harness.call("pkg.refresh_db")
    state = rpm.harness.state
    assert state("pkg.installed", name="sun", version=">=1.0,<2")["changes"]["sun"]["new"] == "1.5-1"
    assert state("pkg.installed", name="sun", version=">=1.0,<2")["changes"] == {}
    assert state("pkg.installed", name="sun", version="1.0*")["changes"]["sun"]["new"] == "1.0-1"
    with pytest.raises(CommandExecutionError) as caught:
        rpm.harness.call("pkg.install", pkgs=[{"sun": ">3"}])
    assert "(available: 2.0-1, 1.5-1, 1.0-1)" in caught.value.info["errors"][0]


def test_an_epoch_counts(rpm):
    rpm.base()
    rpm.package("sun", "1.0", epoch="2")
    rpm.harness.call("pkg.refresh_db")
    assert rpm.harness.call("pkg.install", "sun") == {"sun": {"old": "", "new": "2:1.0-1"}}
    assert rpm.harness.state("pkg.installed", name="sun", version="2:1.0")["changes"] == {}
    assert rpm.harness.state("pkg.installed", name="sun", version="1.0")["changes"] == {}
    assert rpm.harness.call("pkg.remove", pkgs=[{"sun": "2:1.0-1"}]) == {"sun": {"old": "2:1.0-1", "new": ""}}


def test_several_packages_and_what_cannot_be_had(rpm):
    rpm.package("sun")
    rpm.package("moon", Requires="sun")
    rpm.harness.call("pkg.refresh_db")
    row = rpm.harness.state("pkg.installed", name="both", pkgs=["moon", "sun"])
    assert sorted(row["changes"]) == ["moon", "sun"]
    assert len(rpm.commands("install")) == 1
    row = rpm.harness.state("pkg.installed", name="nosuch")
    assert row["result"] is False
    assert row["changes"] == {}
    assert "nosuch" in row["comment"]
    row = rpm.harness.state("pkg.removed", name="sun")
    assert row["changes"] == {name: {"old": "1.0-1", "new": ""} for name in ("moon", "sun")}


def test_files_of_packages(rpm):
    path = rpm.package("sun")
    row = rpm.harness.state("pkg.installed", name="sun", sources=[{"sun": str(path)}], skip_verify=True)
    assert row["changes"] == {"sun": {"old": "", "new": "1.0-1"}}, row
    assert rpm.harness.call("lowpkg.bin_pkg_info", str(path)) == {"name": "sun", "version": "1.0-1", "arch": "noarch"}
    with pytest.raises(CommandExecutionError, match="does not exist on minion"):
        rpm.harness.call("lowpkg.bin_pkg_info", "/nowhere.rpm")
    broken = rpm.folder / "broken.rpm"
    broken.write_text("no package")
    with pytest.raises(CommandExecutionError, match="Unable to get info for"):
        rpm.harness.call("lowpkg.bin_pkg_info", str(broken))


def test_what_is_known_of_a_package(rpm):
    rpm.package("sun")
    call = rpm.harness.call
    call("pkg.refresh_db")
    call("pkg.install", "sun")
    assert call("pkg.owner", "/usr/share/sun/version") == "sun"
    assert call("pkg.owner", "/nowhere", "/etc/sun.conf") == {"/nowhere": "", "/etc/sun.conf": "sun"}
    assert "/etc/sun.conf" in call("pkg.file_list", "sun")["files"]
    assert list(call("pkg.file_dict", "sun", "nosuch")["packages"]) == ["sun"]
    facts = call("pkg.info_installed", "sun")["sun"]
    assert (facts["version"], facts["release"], facts["license"], facts["description"]) == (
        "1.0", "1", "MIT", "sun for tests",
    )  # fmt: skip
    assert call("lowpkg.modified", "sun") == {"sun": []}
    (rpm.root / "etc/sun.conf").write_text("mine\n")
    assert call("lowpkg.modified", "sun") == {"sun": ["/etc/sun.conf"]}
    assert call("pkg.version", "sun", "moon") == {"sun": "1.0-1", "moon": ""}
    assert call("pkg.list_pkgs", versions_as_list=True) == {"sun": ["1.0-1"]}
    assert call("pkg.list_pkgs", removed=True) == {}


def test_a_package_that_is_kept(rpm):
    rpm.package("sun", "1.0")
    call, state = rpm.harness.call, rpm.harness.state
    call("pkg.refresh_db")
    call("pkg.install", "sun")
    dry = state("pkg.held", test=True, name="sun")
    assert dry["result"] is None
    row = state("pkg.held", name="sun")
    assert row["comment"] == "Package sun is now being held", row
    assert state("pkg.held", name="sun")["changes"] == {}
    assert call("pkg.list_holds", full=False) == ["sun"]
    assert call("pkg.hold", "sun")["sun"]["comment"] == "Package sun is already set to be held."
    rpm.package("sun", "2.0")
    call("pkg.refresh_db")
    assert call("pkg.upgrade", refresh=False) == {}
    row = state("pkg.unheld", name="sun")
    assert row["comment"] == "Package sun is no longer held.", row
    assert state("pkg.unheld", name="sun")["changes"] == {}
    assert call("pkg.upgrade", refresh=False) == {"sun": {"old": "1.0-1", "new": "2.0-1"}}


def test_dependencies_that_nobody_needs_any_more(rpm):
    rpm.package("sun")
    rpm.package("moon", Requires="sun")
    call = rpm.harness.call
    call("pkg.refresh_db")
    rpm.package("sky")
    call("pkg.refresh_db")
    call("pkg.install", pkgs=["moon", "sky"])
    assert call("pkg.autoremove", list_only=True) == []
    rpm.run_all(["rpm", "-e", "--nodeps", "moon"])
    assert call("pkg.list_pkgs") == {"sky": "1.0-1", "sun": "1.0-1"}
    assert call("pkg.autoremove", list_only=True) == ["sun"]
    assert call("pkg.autoremove") == {"sun": {"old": "1.0-1", "new": ""}}


def test_what_a_failing_script_leaves_is_told(rpm):
    rpm.package("sun")
    rpm.package("moon", Requires="sun", scripts="%pre -p <lua>\nerror('no moon tonight')\n")
    rpm.harness.call("pkg.refresh_db")
    row = rpm.harness.state("pkg.installed", name="moon")
    assert row["result"] is False
    assert row["changes"] == {"sun": {"old": "", "new": "1.0-1"}}


def test_packages_are_downloaded_only(rpm):
    rpm.base()
    rpm.package("sun")
    call, state = rpm.harness.call, rpm.harness.state
    real = rpm.harness.salt["pkg.list_downloaded"]
    rpm.harness.salt["pkg.list_downloaded"] = lambda **_: real(root=str(rpm.root))
    call("pkg.refresh_db")
    assert state("pkg.downloaded", test=True, name="sun")["result"] is None
    row = state("pkg.downloaded", name="sun")
    if rpm.kind == "yumpkg":  # dnf leaves packages of a local repository where they are
        assert row["comment"] == "The following packages failed to download: sun"
    else:
        assert (row["result"], row["comment"]) == (True, "Packages downloaded: sun"), row
        assert row["changes"]["sun"]["old"] == ""
        assert list(row["changes"]["sun"]["new"]) == ["1.0-1"]
        assert state("pkg.downloaded", name="sun")["changes"] == {}
    assert rpm.installed() == {"sky": "1.0-1"}


def test_everything_is_up_to_date(rpm):
    rpm.base()
    rpm.package("sky", "2.0")
    call, state = rpm.harness.call, rpm.harness.state
    call("pkg.refresh_db")
    assert state("pkg.uptodate", test=True, name="all", refresh=False)["result"] is None
    row = state("pkg.uptodate", name="all", refresh=False)
    assert (row["result"], row["changes"]) == (True, {"sky": {"old": "1.0-1", "new": "2.0-1"}}), row
    assert state("pkg.uptodate", name="all", refresh=False)["changes"] == {}


def test_reinstalling_counts_as_a_change(rpm):
    rpm.package("sun")
    rpm.harness.call("pkg.refresh_db")
    rpm.harness.call("pkg.install", "sun")
    (rpm.root / "usr/share/sun/version").unlink()
    assert rpm.harness.call("pkg.install", "sun", reinstall=True) == {"sun": {"old": "1.0-1", "new": "1.0-1"}}
    assert (rpm.root / "usr/share/sun/version").exists()


def test_versions_are_ordered_as_rpm_orders_them(rpm):
    versions = (
        "1 1.0 1.0.0 1.0a 1.0.a 1.a 1.0~rc1 1.0~rc2 1.0^git1 1.0^ 1.0~ 1.05 1.5 1.10 10 1a1 1a2 a b 1..0 1_0 01".split()
    )
    pairs = [(one, other) for one in versions for other in versions]
    script = "".join(f"print(rpm.vercmp('{one}', '{other}') .. ' ')" for one, other in pairs)
    done = subprocess.run(["rpm", "--eval", f"%{{lua:{script}}}"], check=True, capture_output=True, text=True)
    expected = [int(word) for word in done.stdout.split()]
    assert [_rpm_versions.compare_part(one, other) for one, other in pairs] == expected


def test_a_package_is_installed_and_kept_by_one_state(rpm):
    rpm.base()
    rpm.package("sun", "1.0")
    call, state = rpm.harness.call, rpm.harness.state
    call("pkg.refresh_db")
    row = state("pkg.installed", name="sun", hold=True, refresh=False)
    assert row["result"] is True, row
    assert call("pkg.list_holds", full=False) == ["sun"]
    again = state("pkg.installed", name="sun", hold=True, refresh=False)
    assert (again["result"], again["changes"]) == (True, {}), again
    rpm.package("sun", "2.0")
    call("pkg.refresh_db")
    row = state("pkg.installed", name="sun", version="2.0", update_holds=True, refresh=False)
    assert (row["result"], rpm.installed()["sun"]) == (True, "2.0-1"), row
