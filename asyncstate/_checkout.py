"""In a source checkout, gives the top-level plugin trees the names they have when installed."""

from __future__ import annotations

import os
import sys
from _frozen_importlib import ModuleSpec, module_from_spec  # `importlib.util` takes a fifth of the time of --version
from _frozen_importlib_external import spec_from_file_location


def mount(package: str) -> None:
    """Make ``asyncstate.states`` and ``asyncstate.modules`` importable from beside ``package``, if they are there."""
    # every start of the program runs this: pathlib would take half the time of --version
    for tree in ("states", "modules"):
        name = f"asyncstate.{tree}"
        folder = os.path.join(os.path.dirname(package), tree)
        init = os.path.join(folder, "__init__.py")
        if name in sys.modules or os.path.isdir(os.path.join(package, tree)) or not os.path.isfile(init):
            continue
        spec = spec_from_file_location(name, init, submodule_search_locations=[folder])
        if isinstance(spec, ModuleSpec) and spec.loader is not None:
            module = module_from_spec(spec)
            sys.modules[name] = module
            setattr(sys.modules["asyncstate"], tree, module)
            spec.loader.exec_module(module)
            setattr(sys.modules["asyncstate"], tree, module)
