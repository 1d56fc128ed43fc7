from __future__ import annotations

import copy
import traceback

import pytest
from plugin_trees import PluginTree

from asyncstate.errors import FunctionNotFound


@pytest.fixture
def tree(tmp_path):
    tree = PluginTree(tmp_path / "salt")
    tree.add("_modules/mod.py", "def plain(x=1):\n    'Say it.'\n    return x * 2\n")
    return tree


def test_missing_functions_are_key_errors_with_the_reason(tree):
    host = tree.host()
    with pytest.raises(KeyError) as caught:
        host.salt["mod.plian"]
    assert traceback.format_exception_only(caught.value) == [
        "KeyError: 'mod.plian'\n"
    ]  # the name alone, as rows show it
    assert isinstance(caught.value.__cause__, FunctionNotFound)
    assert str(caught.value.__cause__) == "'mod.plian' is not available. Did you mean 'mod.plain'?"
    assert host.salt.get("mod.nope") is None
    assert "mod.nope" not in host.salt
    assert 3 not in host.salt


def test_attributes(tree):
    salt = tree.host().salt
    assert salt.mod.plain(2) == 4
    assert salt.mod["plain"](2) == 4
    assert not hasattr(salt, "nomod")
    assert not hasattr(salt.mod, "nope")
    assert "mod" in repr(salt.mod)
    assert "__salt__" in repr(salt)
    with pytest.raises(AttributeError):
        salt.__wrapped__  # noqa: B018


def test_listing(tree):
    salt = tree.host().salt
    assert "mod.plain" in list(salt)
    assert len(salt) == len(list(salt.keys()))
    assert salt


def test_functions_keep_their_name_and_docs(tree):
    call = tree.host().salt["mod.plain"]
    assert call.__name__ == "plain"
    assert call.__doc__ == "Say it."
    assert call.__wrapped__ is tree.host().loaders["modules"].get("mod.plain").func


def test_one_wrapper_per_name_until_reload(tree):
    host = tree.host()
    before = host.salt["mod.plain"]
    assert host.salt["mod.plain"] is before
    host.reload()
    assert host.salt["mod.plain"] is not before


def test_copies_are_the_map_itself(tree):
    salt = tree.host().salt
    assert copy.deepcopy({"salt": salt})["salt"] is salt


def test_renderers_go_by_the_modules_name(tree):
    tree.add("_renderers/shout.py", "def render(data, saltenv='base', sls='', **kwargs): return data.upper()\n")
    renderers = tree.host().renderers
    assert renderers["shout"]("x") == "X"
    assert "shout" in renderers
    assert "nope" not in renderers
    assert list(renderers) == ["shout"]
    assert len(renderers) == 1
