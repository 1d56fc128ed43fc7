"""A Salt in miniature, in an environment of its own: what a worker uses of Salt, and modules that a test writes."""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING

from asyncstate.extras.borrow.finding import WORKER, SaltPython

if TYPE_CHECKING:
    from pathlib import Path

_LOADER = """
import importlib.util, os, sys

class Loader:
    def __init__(self, kind, opts, pack):
        self.opts, self.pack, self.inject_globals = dict(opts), pack, {}
        self._dict, self.loaded_modules, self.loaded_files, self._missing = {}, set(), set(), {}
        self.file_mapping = {}
        option = {"modules": "module_dirs", "states": "states_dirs"}[kind]
        for folder in [*opts.get(option, []), os.path.join(os.path.dirname(os.path.dirname(__file__)), kind)]:
            for entry in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
                if entry.endswith(".py") and entry != "__init__.py":
                    self.file_mapping.setdefault(entry[:-3], os.path.join(folder, entry))
        self.kind = kind

    def _load_module(self, file):
        self.loaded_files.add(file)
        name = f"salt.loaded.{self.kind}.{file}"
        spec = importlib.util.spec_from_file_location(name, self.file_mapping[file])
        module = importlib.util.module_from_spec(spec)
        vars(module).update(self.pack, __opts__=self.opts, __grains__=self.opts["grains"], __pillar__=self.opts["pillar"])
        sys.modules[name] = module
        spec.loader.exec_module(module)
        accepted = module.__virtual__() if hasattr(module, "__virtual__") else True
        virtual = getattr(module, "__virtualname__", file)
        if accepted is False or isinstance(accepted, tuple):
            self._missing[virtual] = accepted[1] if accepted else None
            return False
        self.loaded_modules.add(virtual)
        for key, value in vars(module).items():
            if callable(value) and not key.startswith("_") and getattr(value, "__module__", name) == name:
                self._dict.setdefault(f"{virtual}.{getattr(module, '__func_alias__', {}).get(key, key)}", value)
        return True

    def missing_fun_string(self, name):
        module = name.partition(".")[0]
        if module in self._missing:
            return f"'{module}' __virtual__ returned False: {self._missing[module]}"
        return f"'{name}' is not available."

    def _find(self, name):
        for file in [*self.file_mapping]:
            if name not in self._dict and file not in self.loaded_files and file == name.partition(".")[0]:
                self._load_module(file)
        return self._dict[name]

    def __contains__(self, name):
        try:
            return bool(self._find(name))
        except KeyError:
            return False

    def __getitem__(self, name):
        func = self._find(name)
        def call(*args, **kwargs):
            vars(sys.modules[func.__module__]).update(self.inject_globals)
            return func(*args, **kwargs)
        return call

def utils(opts, context=None): return {}
def serializers(opts): return {}
def minion_mods(opts, context=None, utils=None):
    pack = {"__context__": context}
    pack["__salt__"] = loader = Loader("modules", opts, pack)
    loader.pack, loader.opts = pack, opts
    return loader
def states(opts, functions, utils, serializers, context=None):
    pack = {"__context__": context, "__salt__": functions}
    loader = Loader("states", opts, pack)
    pack["__states__"] = loader
    return loader
"""
_CONFIG = """
def apply_minion_config(overrides=None):
    return {"id": "default", "default_of_salt": 1, **(overrides or {})}
"""
_EXCEPTIONS = """
class SaltException(Exception): pass
class CommandExecutionError(SaltException): pass
class SaltInvocationError(SaltException, TypeError): pass
"""


class FakeSalt:
    """An environment whose interpreter has this Salt: ``fake.state("x", text)`` adds a state module."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "bin").mkdir(parents=True)
        self.python = root / "bin" / "python3"
        base = getattr(sys, "_base_executable", sys.executable)
        self.python.symlink_to(os.path.realpath(base))
        (root / "pyvenv.cfg").write_text(f"home = {os.path.dirname(os.path.realpath(base))}\n")
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        self.packages = root / "lib" / version / "site-packages"
        self.salt = self.packages / "salt"
        for name, text in {
            "__init__.py": "",
            "config.py": _CONFIG,
            "exceptions.py": _EXCEPTIONS,
            "version.py": "__version__ = '3008.fake'\n",
            "loader/__init__.py": _LOADER,
            "states/__init__.py": "",
            "modules/__init__.py": "",
        }.items():
            path = self.salt / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def state(self, name: str, text: str) -> None:
        """Add or replace a state module."""
        (self.salt / "states" / f"{name}.py").write_text(textwrap.dedent(text))

    def module(self, name: str, text: str) -> None:
        """Add or replace an execution module."""
        (self.salt / "modules" / f"{name}.py").write_text(textwrap.dedent(text))

    def found(self) -> SaltPython:
        """What `find_salt` returns for it."""
        folders = {kind: [str(self.salt / kind)] for kind in ("states", "modules")}
        return SaltPython((str(self.python), "-I", WORKER), "3008.fake", str(self.salt), folders)
