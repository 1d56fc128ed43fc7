"""Functions and arguments as the text of plugins has them, beside what a loaded plugin says."""

from __future__ import annotations

import inspect
import os

import asyncstate.states
import pytest

from asyncstate.cli.complete.plugins import Plugins
from asyncstate.config import Settings
from asyncstate.runtime import StateRuntime


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ASYNCSTATE_CACHEDIR", str(tmp_path / "cache"))


def test_bundled_states_have_the_functions_and_arguments_of_the_loader(tmp_path):
    with StateRuntime(Settings(file_roots={"base": [str(tmp_path)]}, salt_python="off")).open_sync() as runtime:
        loader = runtime.host.loaders["states"]
        loaded = {name: inspect.signature(loader.find(name).func).parameters for name in loader.names()}
    plugins = Plugins([*asyncstate.states.__path__])
    for name, parameters in loaded.items():
        module, _, function = name.partition(".")
        arguments = [argument.name for argument in plugins.functions(module)[function]]
        starred = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
        wanted = [key for key, found in parameters.items() if found.kind not in starred and not key.startswith("_")]
        assert sorted(arguments) == sorted(wanted), name


def test_what_is_known_of_bundled_plugins_serves_every_tree(tmp_path, monkeypatch):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"of_{name}.py").write_text("def f(): ...\n")
    first = Plugins([str(tmp_path / "first"), *asyncstate.states.__path__])
    names = first.modules()
    first.keep()
    read = []
    monkeypatch.setattr("asyncstate.cli.complete.plugins._names", lambda stem, path: read.append(path) or [stem])
    second = Plugins([str(tmp_path / "second"), *asyncstate.states.__path__])
    assert {*second.modules()} ^ {*names} == {"of_first", "of_second"}
    assert read == [str(tmp_path / "second" / "of_second.py")]


def test_a_plugin_of_the_tree_comes_before_a_bundled_one_and_is_read_anew(tmp_path):
    (tmp_path / "mine.py").write_text("__virtualname__ = 'test'\ndef own(name, flag=False, **kwargs): ...\n_x = 1\n")
    (tmp_path / "broken.py").write_text("def f(:\n")
    folders = [str(tmp_path), *asyncstate.states.__path__]
    plugins = Plugins(folders)
    assert {"own", "nop"} <= {*plugins.functions("test")}
    assert plugins.functions("broken") == {}
    assert plugins.functions("test")["own"] == [("name", []), ("flag", ["True", "False"])]
    plugins.keep()
    (tmp_path / "mine.py").write_text("__virtualname__ = 'test'\ndef other(name): ...\n")
    os.utime(tmp_path / "mine.py", ns=(1, 1))
    assert "own" not in Plugins(folders).functions("test")
