"""The alternatives states on the real execution module, with a small update-alternatives of our own."""

from __future__ import annotations

import pytest
from asyncstate.modules import alternatives as module
from fake_alternatives import FakeAlternatives
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


@pytest.fixture
def links(tmp_path, monkeypatch):
    links = tmp_path / "alternatives"
    links.mkdir()
    monkeypatch.setattr(module, "_LINKS", str(links))
    (links / "editor").symlink_to("/bin/ed")
    return links


@pytest.fixture
def plugins(tmp_path, links):
    harness = PluginHarness(tmp_path)
    harness.system = FakeAlternatives(harness)
    harness.load("modules", "alternatives")
    harness.load("states", "alternatives")
    return harness


INSTALL = {"name": "editor", "link": "/usr/bin/editor", "path": "/bin/new"}


def test_the_last_one_removed(plugins):
    plugins.system.names["editor"] = {"/bin/ed": 1}
    row = plugins.state("alternatives.remove", name="editor", path="/bin/ed")
    assert (row["result"], row["comment"], row["changes"]) == (True, "Alternative for editor removed", {})


@pytest.mark.parametrize("name", ["", "-x", "x y", "../x", "/tmp/x", "a\nb", "a\0b"])
def test_a_name_is_neither_a_path_nor_an_option(tmp_path, name):
    ran = []
    made = PluginHarness(tmp_path)
    made.salt["cmd.run_all"] = lambda command, **_: ran.append(command) or {"retcode": 0, "stdout": "", "stderr": ""}
    calls = [(module.show_current,), (module.show_link,), (module.display,), (module.auto,)]
    calls += [(module.check_exists, "/x"), (module.remove, "/x"), (module.set_, "/x"), (module.install, "/x", "/y", 1)]
    for function, *more in calls:
        with pytest.raises(CommandExecutionError, match="is not a name of alternatives"):
            made.call(function, name, *more)
    assert ran == []
