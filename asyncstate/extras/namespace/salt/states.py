"""``salt.states``: the state modules that come with asyncstate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.extras.namespace.bundled import bundled_module

if TYPE_CHECKING:
    from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    if name.startswith("__"):
        raise AttributeError(name)
    return bundled_module("states", name)
