"""Execution functions for templates under a restraint, which replaces some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from asyncstate.load.host import FunctionMap, ModuleView


class RestrainedFunctions(Mapping[str, Callable[..., Any]]):
    """The functions of a `FunctionMap`, some of them replaced by a restraint; modules also as attributes."""

    def __init__(self, functions: FunctionMap) -> None:
        self._functions = functions

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._functions[name]

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, module: str) -> ModuleView:
        getattr(self._functions, module)
        return ModuleView(self, module)

    def __missing_reason__(self, name: str) -> str:
        return self._functions.__missing_reason__(name)
