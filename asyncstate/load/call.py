"""From low data to a call: the keys of a state declaration that a function receives, and how they are passed.

The rules are the same as in Salt's ``format_call``: parameters without a default are passed by position, the others by
keyword if they were given, ``**kwargs`` receives the rest. A key that the runtime consumes reaches a function only
through a parameter of that name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.errors import ArgumentError
from asyncstate.load.plugin import described
from asyncstate.model.chunk import AGGREGATED, REQUISITE_LOWS
from asyncstate.model.encode import plain
from asyncstate.model.requisite import INTERNAL_KEYWORDS
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from asyncstate.load.plugin import LoadedFunction, Signature

OPTIONAL_KEYWORDS = frozenset({"aggregate", "provider", "timeout", "sfun", AGGREGATED, REQUISITE_LOWS})
"""Runtime keywords that Salt passes to ``**kwargs``, and that make it fail without ``**kwargs``; here such a function
does not receive them."""


class MissingParameters(ArgumentError):
    """The low data lacks required parameters: ``missing``, in the order of the signature."""

    def __init__(self, function: str, missing: Sequence[str]) -> None:
        super().__init__("\n".join(f"Missing parameter {name} for state {function}" for name in missing))
        self.missing: tuple[str, ...] = tuple(missing)
        self.hint = ""


class UnknownKeywords(ArgumentError):
    """The function has no parameter for some keys: ``unknown``. ``hint`` names the nearest parameters, if any."""

    def __init__(self, function: str, unknown: Sequence[str], known: Sequence[str]) -> None:
        names = [f"'{name}'" for name in unknown]
        if len(names) == 1:
            text = f"{names[0]} is an invalid keyword argument for '{function}'"
        else:
            text = f"{', '.join(names[:-1])} and {names[-1]} are invalid keyword arguments for '{function}'"
        super().__init__(text)
        self.unknown: tuple[str, ...] = tuple(unknown)
        self.hint: str = _nearest(unknown, known)


_NONE = object()


class MisshapenArguments(ArgumentError):
    """A value has a type that a bundled function does not accept, such as a list in place of a text."""

    hint = ""


class UnnamedArguments(ArgumentError):
    """Some keys of a declaration cannot be names of arguments, for they are not strings: ``unnamed``."""

    def __init__(self, function: str, unnamed: Sequence[Any]) -> None:
        shown = ", ".join(f"{type(key).__name__} {str(plain(key))[:100]!r}" for key in unnamed)
        super().__init__(f"The name of an argument of {function} must be a string, not {shown}")
        self.unnamed: tuple[Any, ...] = tuple(unnamed)
        self.hint = ""


def bind(
    function: LoadedFunction, low: Mapping[str, Any], *, lenient: bool = False
) -> tuple[list[Any], dict[str, Any]]:
    """Pick the arguments of one call of ``function`` from ``low``; ``lenient`` leaves out keys it has no parameter for.

    Raises MissingParameters or UnknownKeywords with Salt's messages, UnnamedArguments or MisshapenArguments (all
    ArgumentError). ``low`` belongs to the function: values are passed on unchanged, but where a bundled function
    accepts only texts, a number becomes its text. Refusing a shape before the call leaves nothing half done.
    """
    signature = function.signature
    required = signature.required
    try:
        args = [low[name] for name in required]
    except KeyError:
        raise MissingParameters(function.name, _missing(signature, low)) from None
    by_keyword = signature.keywords
    has_kwargs = signature.has_kwargs
    kwargs: dict[str, Any] = {}
    rest: list[str] = []
    unnamed: list[Any] = []
    scalars = signature.scalars
    odd: list[str] = []
    for key, value in low.items():
        if key in scalars and type(value) not in scalars[key]:
            odd.append(key)
        if key in by_keyword:
            kwargs[key] = value
        elif key in required or key in INTERNAL_KEYWORDS:
            continue
        elif not isinstance(key, str):
            unnamed.append(key)
        elif has_kwargs:
            kwargs[key] = value
        else:
            rest.append(key)
    if unnamed:
        raise UnnamedArguments(function.name, unnamed)
    if signature.required_keywords or signature.positional_defaults:
        _bind_unusual(function, low, args, kwargs, rest)
    if rest and not lenient:
        unknown = [key for key in rest if key not in OPTIONAL_KEYWORDS]
        if unknown:
            raise UnknownKeywords(function.name, unknown, signature.names)
    for name in odd:
        if name in required:
            args[required.index(name)] = _taken(function, name, low[name])
        elif name in kwargs and (value := _taken(function, name, kwargs.pop(name))) is not _NONE:
            kwargs[name] = value
    return args, kwargs


def _taken(function: LoadedFunction, name: str, value: Any) -> Any:
    """Return the value of one argument as the function accepts it, _NONE if it counts as absent."""
    expected = function.signature.expected[name]
    optional = name in function.signature.keywords
    if value or not (optional and isinstance(value, (int, float))):  # in Salt, 0 for an optional text is none
        value = expected.taken(value)
    if optional and expected.is_none(value):
        return _NONE
    if expected.is_none(value) or expected.calculates_with(value) or not expected.works(value):
        raise MisshapenArguments(f"'{name}' of '{function.name}' must be {expected}, not {described(value)}")
    return value


def _bind_unusual(
    function: LoadedFunction, low: Mapping[str, Any], args: list[Any], kwargs: dict[str, Any], rest: list[str]
) -> None:
    """Bind the parameter kinds that Salt does not know: keyword-only without default, positional-only with one."""
    signature = function.signature
    missing = _missing(signature, low)
    if missing:
        raise MissingParameters(function.name, missing)
    for name, default in signature.positional_defaults:
        args.append(low.get(name, default))
        kwargs.pop(name, None)
        if name in rest:
            rest.remove(name)


def _missing(signature: Signature, low: Mapping[str, Any]) -> list[str]:
    return [name for name in (*signature.required, *signature.required_keywords) if name not in low]


def _nearest(unknown: Sequence[str], known: Sequence[str]) -> str:
    hints = []
    for name in unknown:
        close = nearest(str(name), known)
        if close:
            hints.append(f"did you mean {close!r} for {name!r}?" if len(unknown) > 1 else f"did you mean {close!r}?")
    return " ".join(hints)
