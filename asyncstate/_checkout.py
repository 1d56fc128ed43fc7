"""In a source checkout, gives the top-level plugin trees the names they have when installed."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def mount(package: Path) -> None:
    """Make ``asyncstate.states`` and ``asyncstate.modules`` importable from beside ``package``, if they are there."""
    for tree in ("states", "modules"):
        name = f"asyncstate.{tree}"
        folder = package.parent / tree
        init = folder / "__init__.py"
        if name in sys.modules or (package / tree).is_dir() or not init.is_file():
            continue
        spec = importlib.util.spec_from_file_location(name, init, submodule_search_locations=[str(folder)])
        if isinstance(spec, ModuleSpec) and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
