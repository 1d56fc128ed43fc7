from __future__ import annotations

import pytest
from asyncstate.modules import _service_queries, debian_service, systemd_service

from tests.plugin_harness import PluginHarness


@pytest.fixture
def sysv(tmp_path, monkeypatch):
    for name in ("rc2.d/S01cron", "rcS.d/S01hostname", "rc2.d/K01apache2", "rc0.d/K01cron", "rc2.d/README"):
        path = tmp_path / "etc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    script = tmp_path / "etc" / "init.d" / "extra"
    script.parent.mkdir()
    script.touch(mode=0o755)
    (script.parent / "README").touch(mode=0o644)
    real = debian_service.glob.glob
    monkeypatch.setattr(debian_service.glob, "glob", lambda pattern: real(f"{tmp_path}{pattern}"))
    harness = PluginHarness(tmp_path)
    harness.load("modules", "debian_service")
    harness.salt["cmd.run_stdout"] = lambda *_, **__: "unknown"
    harness.salt["cmd.retcode"] = lambda command, **_: 0 if command[1] == "cron" else 3
    return harness


def test_init_scripts(sysv):
    assert sysv.call("service.get_all") == ["apache2", "cron", "extra", "hostname"]
    assert sysv.call("service.get_enabled") == ["cron", "hostname"]
    assert sysv.call("service.get_disabled") == ["apache2", "extra"]


def test_init_script_questions(sysv):
    assert sysv.call("service.available", "cron") is True
    assert sysv.call("service.missing", "cron") is False
    assert sysv.call("service.available", "none") is False
    assert sysv.call("service.enabled", "cron") is True
    assert sysv.call("service.disabled", "apache2") is True
    assert sysv.call("service.disabled", "none") is False
    assert sysv.call("service.status", "cron") is True
    assert sysv.call("service.status", "none") is False
    assert sysv.call("service.status", "c*") == {"cron": True}


def test_status_by_signature(sysv):
    sysv.salt["cmd.retcode"] = lambda command, **_: 0 if command == ["pgrep", "-f", "--", "some daemon"] else 1
    assert sysv.call("service.status", "x", "some daemon") is True


UNITS = """\
cron.service enabled enabled
getty@.service enabled enabled
ssh.service disabled enabled
"""


@pytest.fixture
def systemd(tmp_path):
    answers = {
        ("list-unit-files", "--type=service", "--no-legend", "--no-pager"): (0, UNITS),
        ("status", "cron.service"): (0, ""),
        ("status", "stopped.service"): (3, ""),
        ("is-enabled", "cron.service"): (0, "enabled"),
        ("is-enabled", "alias.service"): (0, "alias"),
        ("show", "alias.service", "-P", "Id"): (0, "ssh.service"),
        ("is-enabled", "ssh.service"): (1, "disabled"),
        ("is-active", "cron.service"): (0, "active"),
        ("status", "my.timer"): (0, ""),
    }

    def run_all(command, **_):
        code, stdout = answers.get(tuple(command[1:]), (4, ""))
        return {"retcode": code, "stdout": stdout, "stderr": ""}

    harness = PluginHarness(tmp_path)
    harness.load("modules", "systemd_service")
    harness.salt["cmd.run_all"] = run_all
    return harness


def test_units(systemd):
    assert systemd.call("service.get_all") == ["cron", "getty@", "ssh"]
    assert systemd.call("service.available", "cron") is True
    assert systemd.call("service.available", "stopped") is True
    assert systemd.call("service.available", "my.timer") is True
    assert systemd.call("service.available", "none") is False
    assert systemd.call("service.missing", "none") is True
    assert systemd.call("service.enabled", "cron") is True
    assert systemd.call("service.enabled", "alias") is False
    assert systemd.call("service.disabled", "ssh") is True
    assert systemd.call("service.status", "cron") is True
    assert systemd.call("service.status", "[cs]*") == {"cron": True, "ssh": False}


@pytest.mark.parametrize(
    ("family", "systemd_runs", "chosen"),
    [("Debian", False, "debian"), ("Debian", True, "systemd"), ("RedHat", True, "systemd"), ("RedHat", False, "")],
)
def test_who_provides_the_service_module(tmp_path, monkeypatch, family, systemd_runs, chosen):
    monkeypatch.setattr(_service_queries, "systemd_runs", lambda: systemd_runs)
    harness = PluginHarness(tmp_path)
    harness.grains["os_family"] = family
    with harness.calling():
        verdicts = {"debian": debian_service.__virtual__(), "systemd": systemd_service.__virtual__()}
    assert [name for name, verdict in verdicts.items() if verdict == "service"] == ([chosen] if chosen else [])
