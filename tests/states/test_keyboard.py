"""The keyboard states: Debian's file, and programs of our own."""

from __future__ import annotations

import pytest
from asyncstate.modules import keyboard as module
from plugin_harness import PluginHarness
from tables import beside

from asyncstate.errors import CommandExecutionError, InvocationError

TABLES = beside(__file__)


class FakePrograms:
    """localectl and setxkbmap, which know a layout each."""

    def __init__(self, harness):
        self.layouts = {"localectl": "us", "setxkbmap": "us"}
        self.broken = False
        harness.salt["cmd.run_all"] = self.run_all
        harness.salt["cmd.run_stdout"] = self.run_stdout

    def run_all(self, command, **_):
        if not self.broken:
            self.layouts[command[0]] = command[-1]
        return {"retcode": int(self.broken), "stdout": "", "stderr": "no display" if self.broken else ""}

    def run_stdout(self, command, **_):
        layout = self.layouts[command[0]]
        shown = {
            "localectl": f"   System Locale: LANG=C\n       VC Keymap: {layout}\n",
            "setxkbmap": f"layout:     {layout}",
        }
        return shown[command[0]]


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_FILE", str(tmp_path / "keyboard"))
    monkeypatch.setattr(module, "_has_localectl", lambda: False)
    return tmp_path / "keyboard"


@pytest.fixture
def plugins(tmp_path, file):
    harness = PluginHarness(tmp_path)
    harness.programs = FakePrograms(harness)
    harness.load("modules", "keyboard")
    harness.load("states", "keyboard")
    return harness


@pytest.mark.feature("F195")
@pytest.mark.parametrize("case", TABLES["three runs"])
def test_three_runs(plugins, monkeypatch, case):
    fun, systemd, foretold, said, later = case
    monkeypatch.setattr(module, "_has_localectl", lambda: systemd)
    dry, real, again = plugins.three_runs(f"keyboard.{fun}", name="de")
    assert (dry["result"], dry["comment"], dry["changes"]) == (None, foretold, {})
    assert (real["result"], real["comment"], real["changes"]) == (True, said, {"layout": "de"})
    assert (again["result"], again["comment"], again["changes"]) == (True, later, {})


def test_other_settings_stay_in_the_file(plugins, file):
    file.write_text('XKBMODEL="pc105"\nXKBLAYOUT="us"\nXKBVARIANT=""\n')
    plugins.state("keyboard.system", name="fr")
    assert file.read_text() == 'XKBMODEL="pc105"\nXKBLAYOUT="fr"\nXKBVARIANT=""\n'


def test_failures(plugins, file):
    plugins.programs.broken = True
    with pytest.raises(CommandExecutionError, match="setxkbmap failed: no display"):
        plugins.state("keyboard.xorg", name="de")
    for layout in ("", "-x", "a b"):
        with pytest.raises(InvocationError, match="not the name of a keyboard layout"):
            plugins.call("keyboard.set_sys", layout)
    plugins.salt["keyboard.set_sys"] = lambda name: ""
    row = plugins.state("keyboard.system", name="de")
    assert (row["result"], row["comment"]) == (False, "Failed to set system keyboard layout")
    file.mkdir()
    with pytest.raises(CommandExecutionError, match="Cannot read"):
        plugins.call("keyboard.get_sys")


def test_where_it_loads(plugins):
    with plugins.calling():
        assert module.__virtual__() is True
        plugins.grains["os_family"] = "RedHat"
        assert module.__virtual__()[0] is False


@pytest.mark.parametrize("name", ["", "a b", "-x", "us\n"])
@pytest.mark.parametrize("state", ["keyboard.system", "keyboard.xorg"])
def test_a_dry_run_names_what_is_no_layout(plugins, state, name):
    plugins.opts["foresight"] = True
    for row in plugins.three_runs(state, name=name):
        assert (row["result"], row["changes"]) == (False, {})
        assert "is not the name of a keyboard layout" in row["comment"]
