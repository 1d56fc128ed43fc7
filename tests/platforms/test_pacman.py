"""The provider of ``pkg`` for Arch Linux, with the real pacman in a scratch root."""

import os
import shutil
import subprocess

import pytest
from asyncstate.modules import _alpm_versions, pacmanpkg
from pacman_root import PacmanRoot
from provider_scenarios import SCENARIOS, play

from asyncstate.errors import CommandExecutionError

pytestmark = [
    pytest.mark.platform,
    pytest.mark.skipif(os.geteuid() != 0, reason="packages are installed into a root of their own by root alone"),
]


@pytest.fixture
def pacman(tmp_path, monkeypatch):
    missing = [name for name in ("pacman", "repo-add", "vercmp", "bsdtar") if shutil.which(name) is None]
    assert not missing, f".ci/platform-tools installs {', '.join(missing)}"
    made = PacmanRoot(tmp_path)
    monkeypatch.setattr(pacmanpkg._LISTING, "_watched", [str(made.root / "var/lib/pacman/local")])
    return made


def test_what_the_transcript_of_the_default_suite_was_recorded_from(pacman):
    play(SCENARIOS["pacmanpkg"], pacman.harness, pacman.package)


def test_versions(pacman):
    pacman.package("sun", "1:1.5-2")
    pacman.harness.call("pkg.refresh_db")
    state = pacman.harness.state
    for wanted in ("1:1.5-2", "1:1.5", ">=1:1.0,<1:2", "1:1.*"):
        row = state("pkg.installed", name="sun", version=wanted)
        assert row["changes"] == {"sun": {"old": "", "new": "1:1.5-2"}}, row
        assert state("pkg.installed", name="sun", version=wanted)["changes"] == {}, wanted
        pacman.harness.call("pkg.remove", "sun")
    with pytest.raises(CommandExecutionError) as caught:
        pacman.harness.call("pkg.install", pkgs=[{"sun": ">2:0"}])
    assert caught.value.info["errors"] == ["No version matching '>2:0' found for package 'sun' (available: 1:1.5-2)"]
    row = state("pkg.installed", name="sun", version="9")
    assert (row["result"], row["changes"]) == (False, {})


def test_several_packages_dependencies_and_files(pacman):
    pacman.package("sun")
    path = pacman.package("moon", depend="sun")
    call, state = pacman.harness.call, pacman.harness.state
    call("pkg.refresh_db")
    row = state("pkg.installed", name="both", pkgs=["moon", "sun"])
    assert sorted(row["changes"]) == ["moon", "sun"]
    assert len(pacman.commands("-S")) == 1
    assert call("pkg.owner", f"{pacman.root}/usr/share/sun/version") == "sun"
    assert call("pkg.owner", "/nowhere", "/neither") == {"/nowhere": "", "/neither": ""}
    assert [each for each in call("pkg.file_list", "sun")["files"] if each.endswith("version")] == [
        f"{pacman.root}/usr/share/sun/version"
    ]
    assert call("pkg.info_installed", "sun")["sun"]["version"] == "1.0-1"
    row = state("pkg.removed", name="sun")
    assert (row["result"], row["changes"]) == (False, {})
    assert "could not satisfy dependencies" in row["comment"]
    row = state("pkg.purged", name="sun")
    assert sorted(row["changes"]) in (["moon", "sun"], ["installed", "removed"]), row
    row = state("pkg.installed", name="moon", sources=[{"moon": str(path)}])
    assert row["result"] is True, row
    assert call("pkg.remove", "moon") == {"moon": {"old": "1.0-1", "new": ""}}
    assert call("pkg.autoremove", list_only=True) == ["sun"]
    assert call("pkg.autoremove") == {"sun": {"old": "1.0-1", "new": ""}}
    assert pacman.installed() == {}


def test_what_cannot_be_had_and_what_pacman_cannot_do(pacman):
    pacman.package("sun")
    pacman.harness.call("pkg.refresh_db")
    row = pacman.harness.state("pkg.installed", name="nosuch")
    assert (row["result"], row["changes"]) == (False, {})
    assert "target not found: nosuch" in row["comment"]
    row = pacman.harness.state("pkg.held", name="sun")
    assert row["comment"].startswith("No any function to get the list of held packages available.")
    assert pacman.harness.call("pkg.install", "sun") == {"sun": {"old": "", "new": "1.0-1"}}
    assert pacman.harness.call("pkg.install", "sun", reinstall=True) == {"sun": {"old": "1.0-1", "new": "1.0-1"}}
    assert pacman.harness.call("pkg.upgrade") == {}


def test_packages_are_downloaded_and_brought_up_to_date(pacman):
    pacman.package("sun")
    call, state = pacman.harness.call, pacman.harness.state
    real = pacman.harness.salt["pkg.list_downloaded"]
    pacman.harness.salt["pkg.list_downloaded"] = lambda **_: real(root=str(pacman.root))
    call("pkg.refresh_db")
    row = state("pkg.downloaded", name="sun")
    assert row["result"] is True, row
    assert list(row["changes"]["sun"]["new"]) == ["1.0-1"]
    assert state("pkg.downloaded", name="sun")["changes"] == {}
    assert pacman.installed() == {}
    call("pkg.install", "sun")
    pacman.package("sun", "2.0-1")
    row = state("pkg.uptodate", name="all", refresh=True)
    assert (row["result"], row["changes"]) == (True, {"sun": {"old": "1.0-1", "new": "2.0-1"}}), row
    assert state("pkg.uptodate", name="all", refresh=True)["changes"] == {}


def test_another_process_that_holds_the_lock_is_waited_for_only_so_long(pacman):
    pacman.package("sun")
    pacman.harness.call("pkg.refresh_db")
    (pacman.root / "var/lib/pacman/db.lck").touch()
    pacman.harness.opts["pacman_lock_timeout"] = 0
    row = pacman.harness.state("pkg.installed", name="sun")
    assert row["result"] is False
    assert "unable to lock database" in row["comment"]


def test_versions_are_ordered_as_pacman_orders_them(pacman):
    words = (
        "1 1.0 1.0.0 1.0a 1.0.a 1.a 1.0rc1 1.0.rc1 1.05 1.5 1.10 10 1a1 1..0 1_0 01 1.0-1 1.0-2 1:0.1 1:1.0-1 "
        "1.0-1.1 1.0+git 1.0+ a b 2.0alpha 2.0.1"
    )
    pairs = [(one, other) for one in words.split() for other in words.split()]
    answers = [subprocess.run(["vercmp", *pair], check=True, capture_output=True, text=True).stdout for pair in pairs]
    wrong = [
        (*pair, int(answer))
        for pair, answer in zip(pairs, answers, strict=True)
        if _alpm_versions.compare(*pair) != int(answer)
    ]
    assert wrong == []
