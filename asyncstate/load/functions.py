"""``__salt__``, ``__states__``, ``__utils__`` and the ``salt`` of templates: mappings of functions by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from asyncstate.errors import FunctionNotFound
from asyncstate.load.bridge import Bridge, wrap

if TYPE_CHECKING:
    from asyncstate.load.loader import LazyLoader


class FunctionMap(Mapping[str, Callable[..., Any]]):
    """Functions by ``module.function``; modules also as attributes (``salt.cmd.run``).

    A lookup imports only the plugins it needs. Iteration and ``len`` load every plugin.
    """

    def __init__(self, loader: LazyLoader, bridge: Bridge, *, label: str = "__salt__") -> None:
        self._loader = loader
        self._bridge = bridge
        self._label = label
        self._calls: dict[str, Callable[..., Any]] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        calls = self._calls
        call = calls.get(name)
        if call is None:
            try:
                function = self._loader.get(name)
            except FunctionNotFound as missing:
                raise KeyError(name) from missing
            call = calls[name] = wrap(function.func, self._bridge, f"{self._label}[{name!r}]")
        return call

    def __contains__(self, name: object) -> bool:
        return self._loader.has(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._loader.names())

    def __len__(self) -> int:
        return len(self._loader.names())

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> ModuleView:
        if name.startswith("__") or self._loader.module(name) is None:
            raise AttributeError(name)
        return ModuleView(self, name)

    def is_bundled(self, name: str) -> bool:
        """Return whether the function is bundled, not of the tree, a package or Salt. Raises FunctionNotFound."""
        return self._loader.get(name).module.bundled

    def is_of_tree(self, name: str) -> bool:
        """Return whether the function exists and comes from the tree, a folder of plugins or a package."""
        if not self._loader.has(name):
            return False
        module = self._loader.get(name).module
        return not module.bundled and not module.borrowed

    def __missing_reason__(self, name: str) -> str:
        """Return why there is no such function or module, for the error of a template that uses the name."""
        try:
            self._loader.get(name)
        except FunctionNotFound as missing:
            hint = f"; did you mean {missing.suggestion!r}?" if missing.suggestion else ""
            return f"{self._label.strip('_')} has no {name!r}: {missing.reason.rstrip('.')}{hint}"
        return ""

    def __deepcopy__(self, memo: dict[int, Any]) -> FunctionMap:
        return self

    def __repr__(self) -> str:
        return f"<functions of {self._label}>"

    def reset(self) -> None:
        """Forget the wrapped functions, after the loader was reset."""
        self._calls = {}


class ExplainedFunctions(Protocol):
    """Functions by ``module.function``, with the reason why one is missing."""

    def __getitem__(self, name: str, /) -> Callable[..., Any]: ...

    def __missing_reason__(self, name: str, /) -> str: ...


class ModuleView:
    """One module of a function map, for attribute access."""

    __slots__ = ("_functions", "_module")

    def __init__(self, functions: ExplainedFunctions, module: str) -> None:
        self._functions = functions
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., Any]:
        try:
            return self._functions[f"{self._module}.{name}"]
        except KeyError:
            raise AttributeError(f"{self._module} has no function {name!r}") from None

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._functions[f"{self._module}.{name}"]

    def __missing_reason__(self, name: str) -> str:
        """Return why there is no such function."""
        return self._functions.__missing_reason__(f"{self._module}.{name}")

    def __repr__(self) -> str:
        return f"<module {self._module}>"


class SuffixMap(Mapping[str, Callable[..., Any]]):
    """One function of each module, under the module's name: ``renderers["py"]`` is ``py.render``."""

    def __init__(self, functions: FunctionMap, suffix: str) -> None:
        self._functions = functions
        self._suffix = f".{suffix}"

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._functions[name + self._suffix]

    def __contains__(self, name: object) -> bool:
        return f"{name}{self._suffix}" in self._functions

    def __iter__(self) -> Iterator[str]:
        return (name.removesuffix(self._suffix) for name in self._functions if name.endswith(self._suffix))

    def __len__(self) -> int:
        return sum(1 for _ in self)
