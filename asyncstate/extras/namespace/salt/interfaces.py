"""``from salt.interfaces import Interface`` and ``from salt.interfaces.pkg_module import PkgInterface``: ours."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from asyncstate import interfaces
from asyncstate.extras.namespace.names import absent


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if hasattr(interfaces, name):
        return getattr(interfaces, name)
    for module in (name, name.removesuffix("_module")):
        if importlib.util.find_spec(f"{interfaces.__name__}.{module}") is not None:
            return importlib.import_module(f"{interfaces.__name__}.{module}")
    raise AttributeError(absent(f"salt.interfaces.{name}"))
