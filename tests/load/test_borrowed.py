"""What the loader asks of a lender of Salt's modules, and what holds where no extra lends any."""

from __future__ import annotations

import pytest
from messages import match
from plugin_trees import PluginTree

from asyncstate import extend
from asyncstate.errors import ConfigError, RaisedElsewhere


class Lent:
    """A lender with one module of states, ``theirs``."""

    def __init__(self, folder):
        self.folder = folder
        self.called, self.closed = [], False
        (folder / "theirs.py").write_text("")
        (folder / "broken.py").write_text("")

    def folders(self, kind):
        return [str(self.folder)] if kind == "states" else []

    def describe(self, kind, module, files):
        if module == "broken":
            error = RaisedElsewhere()
            error.shown = "it does not load"
            raise error
        assert (kind, files) == ("states", ["theirs"])
        return {"file": "theirs.py", "functions": {"present": {"parameters": [("name", 1, False, None)], "doc": "It."}}}

    def call(self, kind, name, files, args, kwargs):
        self.called.append((kind, name, files, args, kwargs))
        return "lent"

    def close(self):
        self.closed = True


@pytest.fixture
def tree(tmp_path):
    return PluginTree(tmp_path / "salt")


def test_a_module_is_borrowed_of_the_lender_that_an_extra_offers(tree, tmp_path, monkeypatch):
    lent = Lent(tmp_path)
    monkeypatch.setattr(extend, "offered", lambda part: {"lender": lambda *_args, **_options: lent}[part])
    host = tree.host()
    function = host.loaders["states"].get("theirs.present")
    assert (function.module.borrowed, function.doc, function.signature.required) == (True, "It.", ("name",))
    assert host.states["theirs.present"]("x") == "lent"
    assert lent.called == [("states", "theirs.present", ["theirs"], ["x"], {})]
    assert host.loaders["states"].borrowed.refusal("broken") == "it does not load"
    assert not host.loaders["modules"].has("theirs.present")
    host.detach()
    assert lent.closed


def test_without_an_extra_nothing_is_borrowed_and_a_named_interpreter_is_a_mistake(tree, monkeypatch):
    monkeypatch.setattr(extend, "extras", lambda: iter(()))
    assert not tree.host().loaders["states"].has("theirs.present")
    with pytest.raises(ConfigError, match=match("needs-extra", wanted="salt_python")):
        tree.host({"salt_python": "/opt/python3"})
