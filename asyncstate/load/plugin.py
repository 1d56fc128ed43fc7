"""The loader's results: a loaded plugin, a function of it, the parameters of that, and the types that they demand.

Messages about types do not show values: any of them may be a password.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from asyncstate.interfaces import is_hidden_stub
from asyncstate.model.chunk import MOD_AGGREGATE, MOD_WATCH, SLOT
from asyncstate.value import Value

if TYPE_CHECKING:
    from types import ModuleType

_KINDS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "str": ("a text", (str,)),
    "bool": ("true or false", (bool,)),
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "None": ("nothing", (type(None),)),
    "Callable": ("a Python function", (Callable,)),
    **dict.fromkeys(("list", "List", "Sequence", "Iterable", "tuple"), ("a list", (list, tuple))),
    **dict.fromkeys(("dict", "Dict", "Mapping", "MutableMapping"), ("a mapping", (dict,))),
}
_NAMES = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number with a point",
    list: "a list",
    dict: "a mapping",
}


def _is_slot(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(SLOT)


class Expected(Value):
    """An annotation, read from its text: the alternative types, each with the type of its members."""

    alternatives: dict[str, Any]

    @classmethod
    def of(cls, annotation: Any) -> Expected | None:
        """Read an annotation; None if it allows anything, or if only a type checker understands it."""
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        try:
            return cls._read(ast.parse(text, mode="eval").body)
        except SyntaxError:
            return None

    @classmethod
    def _read(cls, node: ast.expr) -> Expected | None:
        if isinstance(node, ast.BinOp):
            left, right = cls._read(node.left), cls._read(node.right)
            return None if left is None or right is None else cls({**left.alternatives, **right.alternatives})
        members = None
        if isinstance(node, ast.Subscript):
            inside = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            last = [each for each in inside if not isinstance(each, ast.Constant)]  # of ``tuple[str, ...]`` the str
            members, node = cls._read(last[-1]) if last else None, node.value
        name = ast.unparse(node)
        return cls({name: members}) if name in _KINDS else None

    def fits(self, value: Any) -> bool:
        """Return whether a value, including its members, is one of the alternatives."""
        for name, members in self.alternatives.items():
            if isinstance(value, _KINDS[name][1]) and not (isinstance(value, bool) and name in {"int", "float"}):
                inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
                if members is None or all(map(members.fits, inner)):
                    return True
        return False

    def scalars(self) -> frozenset[type]:
        """Return the types without members, whose values fit without a check."""
        kinds = (kind for name in self.alternatives for kind in _KINDS[name][1])
        return frozenset(kinds) & {str, bool, int, float, type(None)}

    def taken(self, value: Any) -> Any:
        """Return a value as the function accepts it, in lists too; unchanged if no conversion makes it fit.

        Where only texts fit, a number or True becomes its text; where only numbers fit, digits become their number, and
        2.0 becomes 2. Where a list fits, but no mapping, a mapping becomes the list of its keys.
        """
        if value is False or self.fits(value):
            return value
        if isinstance(value, dict) and dict not in self.shapes() and list in self.shapes():
            return self.taken(list(value))
        other = value
        if isinstance(value, float) and value.is_integer() and self.fits(int(value)):
            return int(value)
        if isinstance(value, (int, float)):
            other = str(value)
        elif isinstance(value, str):
            from asyncstate.data.text import to_num  # noqa: PLC0415 - few values are odd

            other = to_num(value)
        for members in filter(None, self.alternatives.values()):
            if isinstance(value, (list, tuple)):
                other = [members.taken(each) for each in value]
            elif isinstance(value, dict):
                other = {key: members.taken(each) for key, each in value.items()}
        return other if self.fits(other) else value

    def works(self, value: Any) -> bool:
        """Return whether the shape of a value, and of its members, suits the function.

        Empty values do, and slots, which may return anything; a mapping may be used as a list of its keys.
        """
        if not value or _is_slot(value):
            return True
        shape = dict if isinstance(value, dict) else list if isinstance(value, (list, tuple)) else object
        shapes = self.shapes()
        if shape is object or shape not in shapes:
            return shape in shapes or (shape is dict and list in shapes)
        inside = [each for name, each in self.alternatives.items() if _KINDS[name][1][0] is shape]
        inner = value.values() if shape is dict else value
        return any(members is None or all(map(members.works, inner)) for members in inside)

    def calculates_with(self, value: Any) -> bool:
        """Return whether a text, or a fraction instead of a whole number, is given where only a number fits."""
        if isinstance(value, float):
            return not self.fits(value) and "int" in self.alternatives
        return isinstance(value, str) and not _is_slot(value) and self.alternatives.keys() <= {"int", "float", "None"}

    def is_none(self, value: Any) -> bool:
        """Return whether a value counts as absent: it is empty, and the function accepts neither it nor a bool."""
        if value or "bool" in self.alternatives or self.fits(value):
            return False
        return not isinstance(value, (int, float)) or self.alternatives.keys().isdisjoint(("int", "float"))

    def shapes(self) -> frozenset[type]:
        """Return the containers that a value may be, ``dict`` and ``list``; ``object`` means all other types."""
        kinds = {kind for name in self.alternatives for kind in _KINDS[name][1]} - {type(None), tuple}
        return frozenset(kind if kind in {dict, list} else object for kind in kinds)

    def __str__(self) -> str:
        words = []
        for name, members in self.alternatives.items():
            if name != "None":
                plain = members is not None and list(members.alternatives) == ["str"]
                words.append(f"{_KINDS[name][0]}{' of texts' if plain else ''}")
        return " or ".join(dict.fromkeys(words)) or "left out"


def described(value: Any) -> str:
    """Return the type of a value as text, with that of its first member that is no text; containers count first."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    odd = [each for each in inner if not isinstance(each, str)]
    odd.sort(key=lambda each: not isinstance(each, (list, dict)))
    return f"{_named(value)} with {_named(odd[0])} in it" if odd else _named(value)


def _named(value: Any) -> str:
    return _NAMES.get(type(value), "nothing" if value is None else f"a {type(value).__name__}")


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
        by_keyword = [p for p in parameters if p.kind is p.KEYWORD_ONLY or (_is_named(p) and p.default is not p.empty)]
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


def _is_named(parameter: inspect.Parameter) -> bool:
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
