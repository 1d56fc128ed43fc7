from __future__ import annotations

import pytest
from asyncstate.modules import alternatives
from plugin_harness import PluginHarness

DISPLAY = "editor - auto mode\n/bin/ed - priority 100\n/usr/bin/vim.basic - priority 30\n"
QUERY = "Name: editor\nLink: /usr/bin/editor\nStatus: auto\n\nAlternative: /bin/ed\nLink: no\n"


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    links = tmp_path / "alternatives"
    links.mkdir()
    (links / "editor").symlink_to("/bin/ed")
    monkeypatch.setattr(alternatives, "_LINKS", str(links))
    harness = PluginHarness(tmp_path)
    harness.load("modules", "alternatives")

    def run_all(command, **_):
        if command[-1] != "editor":
            return {"retcode": 2, "stdout": "", "stderr": f"{command[0]}: error: no alternatives for {command[-1]}"}
        return {"retcode": 0, "stdout": DISPLAY if command[1] == "--display" else QUERY, "stderr": ""}

    harness.salt["cmd.run_all"] = run_all
    return harness


def test_the_link(plugins):
    assert plugins.call("alternatives.show_current", "editor") == "/bin/ed"
    assert plugins.call("alternatives.show_current", "none") is False
    assert plugins.call("alternatives.check_installed", "editor", "/bin/ed") is True
    assert plugins.call("alternatives.check_installed", "editor", "/bin/vi") is False


def test_what_the_program_says(plugins):
    assert plugins.call("alternatives.display", "editor") == DISPLAY
    assert plugins.call("alternatives.display", "none") == "update-alternatives: error: no alternatives for none"
    assert plugins.call("alternatives.check_exists", "editor", "/usr/bin/vim.basic") is True
    assert plugins.call("alternatives.check_exists", "editor", "/nope") is False
    assert plugins.call("alternatives.check_exists", "editor", "/usr/bin/vim") is False
    assert plugins.call("alternatives.show_link", "editor") == "/usr/bin/editor"
    assert plugins.call("alternatives.show_link", "none") is False


def test_the_program_of_red_hat(plugins):
    plugins.grains["os_family"] = "RedHat"
    assert plugins.call("alternatives.display", "none").startswith("alternatives: error")
    assert plugins.call("alternatives.show_link", "asyncstate-none") is False
