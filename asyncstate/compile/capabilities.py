"""Optional capabilities of the state modules on this machine, looked up once per compilation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from asyncstate.model.chunk import MOD_AGGREGATE, MOD_WATCH

if TYPE_CHECKING:
    from asyncstate.load.plugin import LoadedFunction, LoadedModule


class StateIndex(Protocol):
    """Finds state modules and their functions: the loader."""

    def has(self, name: str, /) -> bool:
        """Whether there is a function ``module.function``."""

    def find(self, name: str, /) -> LoadedFunction | None:
        """Return the function ``module.function``, or None if there is none."""

    def module(self, name: str, /) -> object | None:
        """Return the module of that name, or None if there is none."""

    def refused(self, module_name: str, /) -> LoadedModule | None:
        """Return the plugin of that name that does not load here at present; None if there is none."""

    def reason(self, name: str, /) -> str:
        """Return, in Salt's words, why there is no ``module.function``."""


class Capabilities:
    """The optional functions that state modules have. Each module is asked once."""

    def __init__(self, states: StateIndex) -> None:
        self._states = states
        self._known: dict[tuple[str, str], bool] = {}

    def has(self, module: str, function: str) -> bool:
        """Return whether a module has an optional function."""
        key = (module, function)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._states.has(f"{module}.{function}")
        return known

    def can_watch(self, module: str) -> bool:
        """Return whether a module has ``mod_watch``, now or once the tree has installed what it lacks."""
        if self.has(module, MOD_WATCH):
            return True
        later = self._states.refused(module)
        return later is not None and MOD_WATCH in later.functions

    def why_not_aggregated(self, module: str) -> str | None:
        """Return why a module can never be aggregated, or None. A module that refuses only this machine is accepted."""
        if self.has(module, MOD_AGGREGATE):
            return None
        if self._states.module(module) is not None:
            return f"that module has no {MOD_AGGREGATE}"
        refused = "__virtual__" in self._states.reason(f"{module}.{MOD_AGGREGATE}")
        return None if refused else "there is no such state module"
