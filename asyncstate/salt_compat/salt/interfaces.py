"""``from salt.interfaces import Interface`` and ``from salt.interfaces.pkg_module import PkgInterface``: ours."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from asyncstate.salt_compat.namespace import absent

_HOME = "asyncstate.interfaces"


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    home = importlib.import_module(_HOME)
    if hasattr(home, name):
        return getattr(home, name)
    for module in (name, name.removesuffix("_module")):
        if importlib.util.find_spec(f"{_HOME}.{module}") is not None:
            return importlib.import_module(f"{_HOME}.{module}")
    raise AttributeError(absent(f"salt.interfaces.{name}"))
