"""The loader's results: a loaded plugin, one function of it, and the parameters of that."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from asyncstate.interfaces.base import is_hidden_stub
from asyncstate.load.annotations import Expected

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


class Signature:
    """The parameters of a function, by the way they are passed.

    ``required`` are the parameters without default that are passed by position, ``keywords`` all those passed by
    keyword, ``required_keywords`` the keyword-only ones without default. ``positional_defaults`` are positional-only
    parameters with their defaults. ``expected`` are the annotated types, by parameter, where they are more than
    documentation. ``scalars`` are the types whose values then need no check; ``name`` has none, as it is checked
    elsewhere.
    """

    __slots__ = (
        "expected",
        "has_kwargs",
        "has_varargs",
        "keywords",
        "positional_defaults",
        "required",
        "required_keywords",
        "scalars",
    )

    def __init__(
        self,
        required: tuple[str, ...] = (),
        keywords: frozenset[str] = frozenset(),
        required_keywords: tuple[str, ...] = (),
        positional_defaults: tuple[tuple[str, Any], ...] = (),
        *,
        has_varargs: bool = False,
        has_kwargs: bool = False,
        expected: dict[str, Expected] | None = None,
    ) -> None:
        self.required: tuple[str, ...] = required
        self.keywords: frozenset[str] = keywords
        self.required_keywords: tuple[str, ...] = required_keywords
        self.positional_defaults: tuple[tuple[str, Any], ...] = positional_defaults
        self.has_varargs: bool = has_varargs
        self.has_kwargs: bool = has_kwargs
        self.expected: dict[str, Expected] = expected or {}
        self.scalars: dict[str, frozenset[type]] = {
            name: each.scalars() for name, each in self.expected.items() if name != "name"
        }

    @classmethod
    def of(cls, func: Callable[..., Any], *, typed: bool = False) -> Signature:
        """Summarise ``func``; for a decorated function, the original one. ``typed``: its annotations are binding.

        A callable without a signature (some built-ins) counts as ``(*args, **kwargs)``.
        """
        try:
            parameters = inspect.signature(inspect.unwrap(func)).parameters.values()
        except (TypeError, ValueError):
            return cls(has_varargs=True, has_kwargs=True)
        kinds = {parameter.kind for parameter in parameters}
        by_keyword = [p for p in parameters if p.kind is p.KEYWORD_ONLY or (_named(p) and p.default is not p.empty)]
        return cls(
            required=tuple(p.name for p in parameters if _positional(p) and p.default is p.empty),
            keywords=frozenset(p.name for p in by_keyword),
            required_keywords=tuple(p.name for p in by_keyword if p.default is p.empty),
            positional_defaults=tuple(
                (p.name, p.default) for p in parameters if p.kind is p.POSITIONAL_ONLY and p.default is not p.empty
            ),
            has_varargs=inspect.Parameter.VAR_POSITIONAL in kinds,
            has_kwargs=inspect.Parameter.VAR_KEYWORD in kinds,
            expected={p.name: each for p in parameters if typed and (each := Expected.of(p.annotation)) is not None},
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Every parameter that can be given by name in an SLS."""
        return (*self.required, *(name for name, _ in self.positional_defaults), *sorted(self.keywords))

    def accepts(self, name: str) -> bool:
        """Return whether the function has a parameter with that name (``**kwargs`` does not count)."""
        return name in self.keywords or name in self.names


def _named(parameter: inspect.Parameter) -> bool:
    return parameter.kind is parameter.POSITIONAL_OR_KEYWORD


def _positional(parameter: inspect.Parameter) -> bool:
    return parameter.kind in {parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY}


class LoadedModule:
    """One plugin under one of its names, as a runtime sees it.

    ``adapted``: it was adapted to an interface and has all its functions. ``borrowed``: it is Salt's, and a worker
    process runs it.
    """

    __slots__ = ("adapted", "borrowed", "bundled", "file", "functions", "name", "namespace")

    def __init__(
        self,
        name: str,
        file: str,
        namespace: ModuleType | None,
        *,
        bundled: bool = False,
        adapted: bool = False,
        borrowed: bool = False,
    ) -> None:
        self.name: str = name
        self.file: str = file
        self.namespace: ModuleType | None = namespace
        self.bundled: bool = bundled
        self.adapted: bool = adapted
        self.borrowed: bool = borrowed
        self.functions: dict[str, LoadedFunction] = {}

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return a module-level name of the plugin, such as ``__exclusive__``."""
        return getattr(self.namespace, name, default)

    def __repr__(self) -> str:
        return f"<plugin {self.name} from {self.file}>"


class LoadedFunction:
    """A plugin function under its full name, with what the runtime must know to call it.

    ``hidden`` functions (interface stubs) can be called, but ``in`` tests and listings leave them out.
    """

    __slots__ = ("_signature", "func", "hidden", "is_async", "module", "name")

    def __init__(self, name: str, func: Callable[..., Any], module: LoadedModule) -> None:
        self.name: str = name
        self.func: Callable[..., Any] = func
        self.module: LoadedModule = module
        self.is_async: bool = is_async(func)
        self.hidden: bool = is_hidden_stub(func)
        self._signature: Signature | None = None

    @property
    def signature(self) -> Signature:
        """The parameters, summarised once. Annotations bind only in bundled functions."""
        if self._signature is None:
            self._signature = Signature.of(self.func, typed=self.module.bundled)
        return self._signature

    @property
    def doc(self) -> str:
        """The docstring, without its indentation."""
        return inspect.getdoc(self.func) or ""

    def __repr__(self) -> str:
        return f"<{'async ' if self.is_async else ''}function {self.name} from {self.module.file}>"


def is_async(func: Callable[..., Any]) -> bool:
    """Return whether a call of ``func`` returns a coroutine; sees through decorators, partials and callable objects."""
    while isinstance(func, functools.partial):
        func = func.func
    func = inspect.unwrap(func)
    if inspect.iscoroutinefunction(func):
        return True
    if inspect.isfunction(func) or inspect.ismethod(func) or inspect.isclass(func):
        return False
    return inspect.iscoroutinefunction(type(func).__call__)
