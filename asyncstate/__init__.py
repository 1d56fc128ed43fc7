"""asyncstate: compile and run Salt-style state trees concurrently, with the rows of a serial run.

The public names, which docs/api.md lists, are imported on first use, so that ``import asyncstate`` and the command
line's ``--help`` stay quick. In a source checkout the plugin trees get the names that they have when installed.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import ModuleSpec, module_from_spec  # `importlib.util` takes a fifth of the time of --version
from _frozen_importlib_external import spec_from_file_location

from asyncstate._version import __version__

TYPE_CHECKING = False  # `typing` takes longer to import than all that --version needs
if TYPE_CHECKING:
    from typing import Any

    from asyncstate.config import Settings, load_settings
    from asyncstate.errors import AsyncStateError, CompileError, ConfigError, EventLoopError, Issue, LockHeld
    from asyncstate.model.chunk import LowChunk
    from asyncstate.model.plan import Plan
    from asyncstate.model.result import Row, RunReport
    from asyncstate.run.handle import Run
    from asyncstate.run.keywords import RunKeywords
    from asyncstate.runtime import StateRuntime

__all__ = [
    "AsyncStateError",
    "CompileError",
    "ConfigError",
    "EventLoopError",
    "Issue",
    "LockHeld",
    "LowChunk",
    "Plan",
    "Row",
    "Run",
    "RunKeywords",
    "RunReport",
    "Settings",
    "StateRuntime",
    "__version__",
    "load_settings",
]

_HOMES = {
    "asyncstate.config": ("Settings", "load_settings"),
    "asyncstate.errors": ("AsyncStateError", "CompileError", "ConfigError", "EventLoopError", "Issue", "LockHeld"),
    "asyncstate.model.chunk": ("LowChunk",),
    "asyncstate.model.plan": ("Plan",),
    "asyncstate.model.result": ("Row", "RunReport"),
    "asyncstate.run.handle": ("Run",),
    "asyncstate.run.keywords": ("RunKeywords",),
    "asyncstate.runtime": ("StateRuntime",),
}


def _mount(package: str) -> None:
    """Make ``asyncstate.states`` and ``asyncstate.modules`` importable from beside ``package``, if they are there."""
    # every start of the program runs this: pathlib would take half the time of --version
    for tree in ("states", "modules"):
        name = f"{__name__}.{tree}"
        folder = os.path.join(os.path.dirname(package), tree)
        init = os.path.join(folder, "__init__.py")
        if name in sys.modules or os.path.isdir(os.path.join(package, tree)) or not os.path.isfile(init):
            continue
        spec = spec_from_file_location(name, init, submodule_search_locations=[folder])
        if isinstance(spec, ModuleSpec) and spec.loader is not None:
            module = module_from_spec(spec)
            sys.modules[name] = globals()[tree] = module
            spec.loader.exec_module(module)


_mount(__path__[0])


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    from importlib import import_module  # noqa: PLC0415 - as above

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
