"""Providers of ``service``: the interface that they keep, and what Salt's own rows and names that are none ask of them.

The rows of calls/*_service.yaml and calls/runit.yaml say what each does.
"""

import json
from contextlib import suppress

import pytest
from asyncstate.modules import debian_service, gentoo_service, runit, supervisord_service, systemd_service
from plugin_harness import PluginHarness
from record_services import RECORDED, cases
from tables import rows

from asyncstate.errors import CommandExecutionError
from asyncstate.interfaces import interface_of
from asyncstate.interfaces.conformance import Status, check_conformance


def harness_of(name, tmp_path, run_all):
    made = PluginHarness(tmp_path)
    made.salt["cmd.run_all"] = run_all
    made.load("modules", name)
    made.load("states", "service")
    return made


def test_the_interface_is_kept_by_both_providers():
    for provider in (debian_service, systemd_service):
        interface = interface_of(provider)
        aliases = provider.__func_alias__
        exports = {
            aliases.get(name, name): value
            for name, value in vars(provider).items()
            if callable(value) and not name.startswith("_") and getattr(value, "__module__", "") == provider.__name__
        }
        grains = {"os_family": "Debian", "init": "systemd" if provider is systemd_service else "sysvinit"}
        findings = check_conformance(interface, exports, grains)
        assert {(each.function, each.details) for each in findings if each.status is Status.INCOMPATIBLE} == set()
        assert {each.function for each in findings if each.status in {Status.MISSING, Status.DEPRECATED}} == set()


OFFLINE = json.loads((RECORDED / "offline.json").read_text())
NOTHING_TO_DO = [
    (title, name)
    for title, tree in cases().items()
    if title.startswith(("running", "dead")) and "changed" not in tree
    for name in tree
]


@pytest.mark.parametrize(("title", "name"), NOTHING_TO_DO)
def test_the_rows_that_salt_gives_in_an_image(tmp_path, monkeypatch, title, name):
    monkeypatch.setattr("asyncstate.modules._init_system._RUNNING_SYSTEMD", str(tmp_path / "none"))
    monkeypatch.setattr("shutil.which", lambda _program: "/bin/systemctl")
    ran = []
    offline = harness_of("systemd_service", tmp_path, lambda command, **_: ran.append(command))
    [(function, arguments)] = cases()[title][name].items()
    keywords = {key: value for each in arguments for key, value in each.items()}
    found = [offline.state(function, test=test, name=name, **keywords) for test in (True, False, False)]
    assert [[row["result"], row["changes"], row["comment"]] for row in found] == [
        each[name] for each in OFFLINE[title]["answers"]
    ]
    assert ran == []


SAID = {"pid": 1, "retcode": 0, "stderr": ""}


@rows("name", ["-x", "--root=/x", "-Hevil", "../x", "/tmp/x", "a\nb", "a\0b", ""])
@rows(
    "module",
    [systemd_service, debian_service, gentoo_service, runit, supervisord_service],
)
def test_a_service_is_named_by_neither_a_path_nor_an_option(tmp_path, monkeypatch, module, name):
    """A path leads to a script or unit of somebody else's, which root would run; -H makes systemctl call another host."""
    ran = []
    monkeypatch.setattr(runit, "_running_folder", lambda: str(tmp_path))
    made = harness_of(
        module.__name__.rpartition(".")[2],
        tmp_path,
        lambda command, **_: ran.append(command) or {**SAID, "stdout": f"{name} RUNNING" if name else ""},
    )
    for function in ("start", "stop", "restart", "reload_", "status", "enable", "disable"):
        with suppress(CommandExecutionError):
            made.call(getattr(module, function), name)
    assert not [command for command in ran if name in command[1:] or f"{name}.service" in command]
