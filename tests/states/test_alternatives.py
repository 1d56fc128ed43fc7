"""The alternatives states on the real execution module, with a small update-alternatives of our own."""

from __future__ import annotations

import pytest
from asyncstate.modules import alternatives as module
from asyncstate.states import alternatives
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError


class FakeAlternatives:
    """Names with their paths and priorities; the links are real, in a folder."""

    def __init__(self, links):
        self.links = links
        self.names = {"editor": {"/bin/ed": 100, "/bin/vi": 30}}
        self.manual = set()
        self.broken = False
        self._link("editor", "/bin/ed")

    def _link(self, name, path):
        (self.links / name).unlink(missing_ok=True)
        if path:
            (self.links / name).symlink_to(path)

    def _best(self, name):
        paths = self.names.get(name, {})
        return max(paths, key=paths.get) if paths else None

    def run_all(self, command, **_):
        action, *rest = command[1:]
        return getattr(self, action.strip("-"))(*rest)

    def display(self, name):
        if not self.names.get(name):
            return answer(2, f"update-alternatives: error: no alternatives for {name}")
        mode = "manual" if name in self.manual else "auto"
        lines = [f"{name} - {mode} mode", *(f"{path} - priority {n}" for path, n in self.names[name].items())]
        return answer(0, "\n".join(lines))

    def install(self, link, name, path, priority):
        if path == "/gone":
            return answer(2, f"update-alternatives: error: alternative path {path} doesn't exist")
        self.names.setdefault(name, {})[path] = int(priority)
        return self.auto(name) if name not in self.manual else answer(0, "")

    def remove(self, name, path):
        del self.names[name][path]
        return self.auto(name)

    def auto(self, name):
        self.manual.discard(name)
        self._link(name, self._best(name))
        return answer(0, f"update-alternatives: using {self._best(name)}")

    def set(self, name, path):
        if not self.broken:
            self.manual.add(name)
            self._link(name, path)
        return answer(0, "")


def answer(retcode, text):
    return {"retcode": retcode, "stdout": "" if retcode else text, "stderr": text if retcode else ""}


@pytest.fixture
def system(tmp_path, monkeypatch):
    links = tmp_path / "alternatives"
    links.mkdir()
    monkeypatch.setattr(module, "_LINKS", str(links))
    return FakeAlternatives(links)


@pytest.fixture
def plugins(tmp_path, system):
    harness = PluginHarness(tmp_path)
    harness.salt["cmd.run_all"] = system.run_all
    harness.load("modules", "alternatives")
    harness.load("states", "alternatives")
    return harness


INSTALL = {"name": "editor", "link": "/usr/bin/editor", "path": "/bin/new"}
CHANGES = {"name": "editor", "link": "/usr/bin/editor", "path": "/bin/new"}


@pytest.mark.feature("F195")
@pytest.mark.parametrize(
    "case",
    [
        ("install", {**INSTALL, "priority": 200}, "Alternative will be set for editor to /bin/new with priority 200",
         "Alternative for editor set to path /bin/new with priority 200", {**CHANGES, "priority": 200},
         "Alternative /bin/new for editor is already registered"),
        ("install", {**INSTALL, "priority": 1}, "Alternative will be set for editor to /bin/new with priority 1",
         "Alternative /bin/new for editor registered with priority 1 and not set to default",
         {**CHANGES, "priority": 1}, "Alternative /bin/new for editor is already registered"),
        ("remove", {"name": "editor", "path": "/bin/ed"}, "Alternative for editor will be removed",
         "Alternative for editor removed. Falling back to path /bin/vi", {"path": "/bin/vi"},
         "Alternative for editor is set to it's default path /bin/vi"),
        ("set", {"name": "editor", "path": "/bin/vi"}, "Alternative for editor will be set to path /bin/vi",
         "Alternative for editor set to path /bin/vi", {"path": "/bin/vi"},
         "Alternative for editor already set to /bin/vi"),
    ],
)  # fmt: skip
def test_three_runs(plugins, case):
    fun, arguments, foretold, said, changes, later = case
    dry, real, again = plugins.three_runs(f"alternatives.{fun}", **arguments)
    assert (dry["result"], dry["comment"], dry["changes"]) == (None, foretold, {})
    assert (real["result"], real["comment"], real["changes"]) == (True, said, changes)
    assert (again["result"], again["comment"], again["changes"]) == (True, later, {})
    assert {key: real[key] for key in arguments} == arguments


def test_auto(plugins, system):
    assert plugins.state("alternatives.auto", name="editor")["comment"] == "editor already in auto mode"
    system.set("editor", "/bin/vi")
    dry, real, again = plugins.three_runs("alternatives.auto", name="editor")
    assert (dry["result"], dry["comment"]) == (None, "editor will be put in auto mode")
    assert real["changes"] == {"result": "update-alternatives: using /bin/ed"}
    assert again["changes"] == {}
    plugins.opts["foresight"] = True
    for row in plugins.three_runs("alternatives.auto", name="none"):
        assert (row["result"], row["changes"]) == (False, {})
        assert row["comment"] == "update-alternatives: error: no alternatives for none"


@pytest.mark.parametrize(
    ("fun", "arguments", "comment"),
    [
        ("install", {**INSTALL, "path": "/gone", "priority": 1},
         "Alternative for editor not installed: update-alternatives: error: alternative path /gone doesn't exist"),
        ("remove", {"name": "pager", "path": "/bin/more"}, "Alternative for pager doesn't exist"),
        ("set", {"name": "editor", "path": "/gone"}, "Alternative /gone for editor doesn't exist"),
    ],
)  # fmt: skip
def test_failures(plugins, fun, arguments, comment):
    row = plugins.state(f"alternatives.{fun}", **arguments)
    assert (row["result"], row["comment"], row["changes"]) == (False, comment, {})


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"link": "bin/editor"}, "alternative link is not absolute as it should be: bin/editor"),
        ({"path": "bin/sh"}, "alternative path is not absolute as it should be: bin/sh"),
        ({"path": "/gone"}, "/gone does not exist"),
    ],
)
def test_a_dry_run_foretells_what_the_program_refuses(plugins, wrong, problem):
    arguments = {**INSTALL, "path": "/bin/sh", "priority": 1, **wrong}
    assert plugins.state("alternatives.install", **arguments, test=True)["result"] is None
    plugins.opts["foresight"] = True
    row = plugins.state("alternatives.install", **arguments, test=True)
    assert (row["result"], row["comment"]) == (False, f"Alternative for editor not installed: {problem}")


def test_the_last_one_removed(plugins, system):
    system.names["editor"] = {"/bin/ed": 1}
    row = plugins.state("alternatives.remove", name="editor", path="/bin/ed")
    assert (row["result"], row["comment"], row["changes"]) == (True, "Alternative for editor removed", {})


def test_set_without_effect(plugins, system):
    system.broken = True
    row = plugins.state("alternatives.set", name="editor", path="/bin/vi")
    assert (row["comment"], row["changes"]) == ("Alternative for editor not updated", {})


def test_footprint():
    chosen = "/etc/alternatives/editor"
    assert alternatives.mod_footprint({**INSTALL, "priority": 1}) == {
        "reads": ["path:/bin/new"],
        "writes": ["alternatives:editor", f"path:{chosen}", "path:/usr/bin/editor"],
        "links": {chosen: "/bin/new", "/usr/bin/editor": chosen},
        "programs": ["update-alternatives"],
    }
    set_to_new = alternatives.mod_footprint({"fun": "set", "name": "editor", "path": "/bin/new"})
    assert set_to_new["links"] == {chosen: "/bin/new"}
    assert "links" not in alternatives.mod_footprint({"fun": "remove", "name": "editor", "path": "/bin/old"})
    assert alternatives.mod_footprint({"name": "editor"}) == {
        "reads": [],
        "writes": ["alternatives:editor", f"path:{chosen}"],
        "programs": ["update-alternatives"],
    }


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
