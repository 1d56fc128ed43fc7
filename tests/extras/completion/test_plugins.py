"""Functions and arguments as the text of plugins has them, beside what a loaded plugin says."""

from __future__ import annotations

import inspect
from functools import cache

import asyncstate.states

from asyncstate.config import Settings
from asyncstate.extras.completion.plugins import Plugins
from asyncstate.runtime import StateRuntime


def test_bundled_states_have_the_functions_and_arguments_of_the_loader(tmp_path):
    with StateRuntime(Settings(file_roots={"base": [str(tmp_path)]}, salt_python="off")).open_sync() as runtime:
        loader = runtime.host.loaders["states"]
        loaded = {name: inspect.signature(loader.find(name).func).parameters for name in loader.names()}
    functions = cache(Plugins([*asyncstate.states.__path__]).functions)
    for name, parameters in loaded.items():
        module, _, function = name.partition(".")
        arguments = [argument.name for argument in functions(module)[function]]
        starred = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
        wanted = [key for key, found in parameters.items() if found.kind not in starred and not key.startswith("_")]
        assert sorted(arguments) == sorted(wanted), name


def test_a_plugin_of_the_tree_comes_before_a_bundled_one_and_is_read_anew(tmp_path):
    (tmp_path / "mine.py").write_text("__virtualname__ = 'test'\ndef own(name, flag=False, **kwargs): ...\n_x = 1\n")
    (tmp_path / "broken.py").write_text("def f(:\n")
    folders = [str(tmp_path), *asyncstate.states.__path__]
    plugins = Plugins(folders)
    assert {"own", "nop"} <= {*plugins.functions("test")}
    assert plugins.functions("broken") == {}
    assert plugins.functions("test")["own"] == [("name", []), ("flag", ["True", "False"])]
    (tmp_path / "mine.py").write_text("__virtualname__ = 'test'\ndef other(name): ...\n")
    assert "own" not in Plugins(folders).functions("test")
