"""Functions for templates, as the map of functions of a runtime has them."""

from __future__ import annotations

from types import SimpleNamespace


class Functions(dict):
    """Functions by ``module.function``; modules also as attributes."""

    def __getattr__(self, module):
        prefix = f"{module}."
        functions = {name[len(prefix) :]: function for name, function in self.items() if name.startswith(prefix)}
        if not functions:
            raise AttributeError(module)
        return SimpleNamespace(**functions)
