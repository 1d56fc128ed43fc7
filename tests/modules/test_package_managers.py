"""The providers of ``pkg`` for dnf, zypper and pacman, from what the real programs answered; and orders of versions."""

import contextlib
from itertools import combinations

import pytest
from asyncstate.modules import _alpm_versions, _package_transactions, _rpm_database, _rpm_versions, pacmanpkg, zypperpkg
from plugin_harness import PluginHarness
from provider_scenarios import SCENARIOS, Player, play

from asyncstate.errors import CommandExecutionError

GRAINS = {
    "yumpkg": {"os_family": "RedHat"},
    "zypperpkg": {"os_family": "Suse"},
    "pacmanpkg": {"os_family": "Arch"},
    "apkpkg": {"os_family": "Alpine"},
    "aptpkg": {"os_family": "Debian"},
}


def harness_of(name, tmp_path, run_all):
    made = PluginHarness(tmp_path)
    made.grains.update(GRAINS[name], osarch="x86_64")
    made.salt["cmd.run_all"] = run_all
    lowpkg = ["rpm_lowpkg"] if name in {"yumpkg", "zypperpkg"} else []
    for module in (name, *lowpkg, "pkg_resource", "config"):
        made.load("modules", module)
    made.load("states", "pkg")
    return made


@pytest.mark.feature("F176")
@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_a_provider_does_what_it_did_with_the_real_program(name, tmp_path, monkeypatch):
    """What is installed depends on the commands alone, and the locks of zypper are not this machine's."""
    for listing in (_rpm_database.LISTING, pacmanpkg._LISTING):
        monkeypatch.setattr(listing, "_watched", ())
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}" if name == "dnf" else None)
    monkeypatch.setattr(zypperpkg._locks, "_FILE", str(tmp_path / "locks"))
    player = Player.of(name)

    def run_all(command, **options):
        action = {"addlock", "removelock"} & set(command)
        if action:  # zypper keeps its locks in a file, which the provider reads
            lock = f"type: package\nsolvable_name: {command[-1]}\n" if "addlock" in action else ""
            (tmp_path / "locks").write_text(lock)
        return player(command, **options)

    play(SCENARIOS[name], harness_of(name, tmp_path, run_all))
    assert player.left == []


RPM, ALPM = _rpm_versions.compare, _alpm_versions.compare


@pytest.mark.parametrize(
    ("compare", "rising"),
    [
        (RPM, "1.0~rc1 1.0~rc2 1.0 1.0^git1 1.0a 1.0.1 1.1"), (RPM, "a 1"), (RPM, "1.9 1.10"), (RPM, "1.0-1 1.0-2 1:0.1-1"),
        (RPM, "1.0 1:1.0"), (ALPM, "1.0a 1.0rc1 1.0 1.0.a 1.0.1 1.9 1.10"), (ALPM, "1.0-1 1.0-2"), (ALPM, "9 1:1"),
        (ALPM, "1.a 1.1"), (ALPM, "1..0 1...0"),
    ],
)  # fmt: skip
def test_the_order_of_versions(compare, rising):
    for older, newer in combinations(rising.split(), 2):
        assert (compare(older, newer), compare(newer, older), compare(older, older)) == (-1, 1, 0), (older, newer)


@pytest.mark.parametrize(
    ("compare", "first", "second", "options"),
    [
        (RPM, "1.0", "1.0-3", {}), (RPM, "1.0", "0:1.0-3", {}), (RPM, "1.0", "1:1.0", {"ignore_epoch": True}),
        (RPM, "1.0", "1_0", {}), (ALPM, "1.0", "1.0-1", {}), (ALPM, "2:1.0", "1.0", {"ignore_epoch": True}),
    ],
)  # fmt: skip
def test_what_versions_leave_out_does_not_count(compare, first, second, options):
    assert compare(first, second, **options) == 0


@pytest.mark.parametrize("name", ["-y", "--setopt=pluginpath=/tmp/x", "a\nb"])
def test_no_option_is_taken_for_a_package_by_what_does_not_install(tmp_path, name):
    """Options of dnf name folders of plugins, those of rpm programs to run."""
    for function in (_package_transactions.checked_name, lambda each: _package_transactions.named(each, None)):
        with pytest.raises(CommandExecutionError, match="cannot be the name of a package"):
            function(name)
    ran = []
    run_all = lambda command, **_: ran.append(command) or {"retcode": 0, "stdout": "", "stderr": ""}  # noqa: E731
    for provider in ("yumpkg", "aptpkg", "apkpkg"):
        harness = harness_of(provider, tmp_path, run_all)
        for function in ("latest", "held"):
            with contextlib.suppress(CommandExecutionError):
                assert harness.state(f"pkg.{function}", name=name)["result"] is False
        with pytest.raises(CommandExecutionError):
            harness.call("pkg.upgrade", pkgs=[name])
    assert not any(name in word for command in ran for word in command)
