"""The timezone state on both providers: files in a folder, and a timedatectl of our own."""

from __future__ import annotations

import os

import pytest
from asyncstate.modules import _init_system, _zoneinfo, timedatectl_timezone, zoneinfo_timezone
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError, InvocationError


@pytest.fixture
def etc(tmp_path, monkeypatch):
    """A machine in Berlin."""
    zones = tmp_path / "zoneinfo"
    for name in ("Europe/Berlin", "Asia/Tokyo"):
        (zones / name).parent.mkdir(parents=True, exist_ok=True)
        (zones / name).write_text(f"data of {name}\n")
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "localtime").symlink_to(zones / "Europe/Berlin")
    (folder / "timezone").write_text("Europe/Berlin\n")
    monkeypatch.setattr(_zoneinfo, "ZONES", str(zones))
    monkeypatch.setattr(_zoneinfo, "LOCALTIME", str(folder / "localtime"))
    monkeypatch.setattr(_zoneinfo, "NAME_FILE", str(folder / "timezone"))
    for name, path in (("_RCS", "rcS"), ("_ADJTIME", "adjtime"), ("_CLOCK_DEVICE", "rtc")):
        monkeypatch.setattr(zoneinfo_timezone, name, str(folder / path))
    return folder


@pytest.fixture
def plugins(tmp_path, etc):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "zoneinfo_timezone")
    harness.load("states", "timezone")
    return harness


class FakeTimedatectl:
    """systemd's time zone and the state of its clock."""

    def __init__(self, harness):
        self.zone, self.local, self.broken = "Europe/Berlin", "no", False
        harness.salt["cmd.run_all"] = self.run_all
        harness.salt["cmd.retcode"] = lambda command, **options: self.run_all(command, **options)["retcode"]

    def run_all(self, command, **_):
        if self.broken:
            return {"retcode": 1, "stdout": "", "stderr": "no bus"}
        match command[1:]:
            case ["set-timezone", zone]:
                self.zone = zone
            case ["set-local-rtc", value]:
                self.local = "yes" if value == "true" else "no"
        text = f"  Time zone: {self.zone} (CET, +0100)\n RTC in local TZ: {self.local}\n"
        return {"retcode": 0, "stdout": text, "stderr": ""}


@pytest.fixture
def systemd(plugins):
    fake = FakeTimedatectl(plugins)
    plugins.load("modules", "timedatectl_timezone")
    return fake


@pytest.fixture(params=["files", "systemd"])
def either(plugins, request):
    if request.param == "systemd":
        request.getfixturevalue("systemd")
    return plugins


def test_a_zone_is_foretold_set_and_not_set_again(either):
    dry, real, again = either.three_runs("timezone.system", name="Asia/Tokyo")
    assert (dry["result"], dry["comment"], dry["changes"]) == (None, "Timezone Asia/Tokyo needs to be set", {})
    assert (real["result"], real["comment"]) == (True, "Set timezone Asia/Tokyo")
    assert real["changes"] == {"timezone": "Asia/Tokyo"}
    assert (again["result"], again["changes"]) == (True, {})
    assert again["comment"] == "Timezone Asia/Tokyo already set, UTC already set to Asia/Tokyo"
    assert either.call("timezone.get_zone") == "Asia/Tokyo"


def test_without_utc_the_clock_is_not_looked_at(either):
    either.call("timezone.set_hwclock", "localtime")
    row = either.state("timezone.system", name="Europe/Berlin", utc=False)
    assert (row["comment"], row["changes"]) == ("Timezone Europe/Berlin already set", {})


def test_the_clock_is_set_to_utc(either):
    either.call("timezone.set_hwclock", "localtime")
    assert either.call("timezone.get_hwclock") == "localtime"
    dry, real, again = either.three_runs("timezone.system", name="Europe/Berlin")
    assert (dry["result"], dry["comment"]) == (None, "UTC needs to be set to True")
    assert (real["comment"], real["changes"]) == ("Set UTC to True", {"utc": True})
    assert again["changes"] == {}
    with pytest.raises(InvocationError, match="allowed"):
        either.call("timezone.set_hwclock", "sundial")


@pytest.mark.feature("F195")
def test_an_unknown_zone_fails_and_changes_nothing(either, etc):
    row = either.state("timezone.system", name="Moon/Base")
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"].startswith("Failed to set timezone: Zone does not exist: ")
    assert os.readlink(etc / "localtime").endswith("Berlin")


@pytest.mark.parametrize("name", ["../../etc/passwd", "Europe/../../x", "", "-h", "a b"])
def test_what_is_no_name_of_a_zone(either, name):
    row = either.state("timezone.system", name=name)
    assert row["result"] is False
    assert row["comment"].startswith(f"Unable to compare desired timezone '{name}' to system timezone: ")


def test_files(plugins, etc):
    plugins.state("timezone.system", name="Asia/Tokyo")
    assert os.readlink(etc / "localtime").endswith("Asia/Tokyo")
    assert (etc / "timezone").read_text() == "Asia/Tokyo\n"
    assert sorted(os.listdir(etc)) == ["localtime", "timezone"]


def test_without_a_name_the_files_are_compared(plugins, etc):
    (etc / "timezone").unlink()
    assert plugins.call("timezone.zone_compare", "Europe/Berlin") is True
    assert plugins.call("timezone.zone_compare", "Asia/Tokyo") is False
    row = plugins.state("timezone.system", name="Moon/Base")
    assert row["comment"].endswith('Can\'t find a local timezone "Moon/Base"')
    (etc / "localtime").unlink()
    row = plugins.state("timezone.system", name="Asia/Tokyo")
    assert (row["result"], "Failed to read" in row["comment"]) == (False, True)


def test_elsewhere_the_link_names_the_zone(plugins, etc):
    plugins.grains["os_family"] = "Arch"
    assert plugins.call("timezone.get_zone") == "Europe/Berlin"
    for target in ("/elsewhere", None):
        (etc / "localtime").unlink()
        if target:
            (etc / "localtime").symlink_to(target)
        with pytest.raises(CommandExecutionError):
            plugins.call("timezone.get_zone")


@pytest.mark.parametrize(
    ("files", "clock"),
    [
        ({}, None),
        ({"rtc": ""}, "UTC"),
        ({"rcS": "#UTC=no\nUTC=yes\n", "adjtime": "0\n0\nLOCAL\n"}, "UTC"),
        ({"rcS": "UTC=no\n"}, "localtime"),
        ({"adjtime": "0.0 0 0.0\n0\nUTC\n"}, "UTC"),
        ({"adjtime": "0.0 0 0.0\n0\nLOCAL\n"}, "localtime"),
    ],
)
def test_what_the_clock_shows(plugins, etc, files, clock):
    for name, text in files.items():
        (etc / name).write_text(text)
    assert plugins.call("timezone.get_hwclock") == clock
    plugins.call("timezone.set_hwclock", "localtime")
    assert plugins.call("timezone.get_hwclock") == "localtime"


def test_a_failure_half_way(plugins):
    plugins.salt["timezone.get_hwclock"] = lambda: "localtime"
    plugins.salt["timezone.set_hwclock"] = lambda clock: False
    row = plugins.state("timezone.system", name="Asia/Tokyo")
    assert (row["result"], row["changes"]) == (False, {"timezone": "Asia/Tokyo"})
    assert row["comment"] == "Set timezone Asia/Tokyo, Failed to set UTC to True"


def test_timedatectl_that_does_not_answer(plugins, systemd):
    systemd.broken = True
    with pytest.raises(CommandExecutionError, match="timedatectl failed: no bus"):
        plugins.call("timezone.get_zone")
    assert plugins.call("timezone.zone_compare", "Europe/Berlin") is True


def test_the_time_of_the_zone(plugins):
    assert plugins.call("timezone.get_offset") == "+0000"
    assert plugins.call("timezone.get_zonecode") in {"GMT", "UTC"}


@pytest.mark.parametrize("systemd_runs", [True, False])
def test_one_provider_loads(monkeypatch, tmp_path, systemd_runs):
    (tmp_path / "timedatectl").write_text("")
    (tmp_path / "timedatectl").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_init_system, "booted_with_systemd", lambda: systemd_runs)
    assert (timedatectl_timezone.__virtual__() is True) is systemd_runs
    assert (zoneinfo_timezone.__virtual__() is True) is not systemd_runs
