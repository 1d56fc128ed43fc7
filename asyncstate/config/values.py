"""Values of options and of the library's arguments: their types, their sources, and messages about mistakes.

The roots of a tree are an option with a form of its own: folders by environment.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from inspect import iscoroutinefunction
from sys import float_info
from types import FunctionType, NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin

import msgspec

from asyncstate.data.limits import CONTAINERS, TooMuch, check_written
from asyncstate.errors import ArgumentError, ConfigError
from asyncstate.logs import get_logger
from asyncstate.nearest import nearest
from asyncstate.pattern import lazy_pattern

log: Final = get_logger(__name__)

Roots = dict[str, list[str]]
ROOT_OPTIONS = ("file_roots", "pillar_roots")
DEFAULT_ROOTS = {"file_roots": "/srv/salt", "pillar_roots": "/srv/pillar"}

_YAML_WORDS = {"array": "a list", "object": "a mapping", "str": "text", "int": "a whole number", "float": "a number"}
_YAML_WORDS |= {"bool": "true or false", "null": "nothing"}

_Checked = TypeVar("_Checked", bound=Callable[..., Any])
_PLAIN: Final = (str, bytes, bytearray, int, float, list, tuple, dict, NoneType)
_ANNOTATED: Final[Mapping[str, Any]] = {
    "Any": object,
    "None": NoneType,
    "bool": bool,
    "int": int,
    "float": (int, float),
    "str": str,
    "Path": os.PathLike,
    "Callable": Callable,
    "Sequence": Collection,
    "Iterable": Iterable,
    "Mapping": Mapping,
}
_ALTERNATIVE: Final = lazy_pattern(r"(\w+)(?:\[((?:[^][]|\[[^]]*])*)])?")


def checked(called: _Checked) -> _Checked:
    """Let a function, or the public methods of a class, raise ArgumentError for values that no annotation allows."""
    if isinstance(called, type):
        for name, method in list(vars(called).items()):
            if isinstance(method, FunctionType) and (name == "__init__" or not name.startswith("_")):
                setattr(called, name, checked(method))
            elif isinstance(method, staticmethod) and not name.startswith("_"):
                setattr(called, name, staticmethod(checked(method.__func__)))
        return called
    names = called.__code__.co_varnames[: called.__code__.co_argcount]
    annotations = called.__annotations__

    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            if name in annotations and not _is_annotated(value, annotations[name]):
                call = called.__qualname__.removesuffix(".__init__")
                raise ArgumentError(f"{call}: {name!r} must be {annotations[name]}, not {_type_of(value)}")

    @wraps(called)
    def call(*args: Any, **kwargs: Any) -> Any:
        check(args, kwargs)
        return called(*args, **kwargs)

    @wraps(called)
    async def call_async(*args: Any, **kwargs: Any) -> Any:
        check(args, kwargs)
        return await called(*args, **kwargs)

    return call_async if iscoroutinefunction(called) else call  # type: ignore[return-value]


def _is_annotated(value: Any, annotation: str) -> bool:
    """Return whether the text of an annotation allows a value. An unknown class allows no plain data."""
    for name, inside in _ALTERNATIVE.findall(annotation):
        kind = _ANNOTATED.get(name)
        if kind is None:
            if name in {kind.__name__ for kind in type(value).__mro__} or not isinstance(
                value, (*_PLAIN, msgspec.Struct)
            ):
                return True
        elif isinstance(value, kind) and not _is_taken_for(value, name):
            members = value.values() if name == "Mapping" else value if isinstance(value, Collection) else ()
            inner = inside.partition(", ")[2] if name == "Mapping" else inside
            if not inside or name == "Callable" or all(_is_annotated(member, inner) for member in members):
                return True
    return False


def _is_taken_for(value: Any, name: str) -> bool:
    """Return whether Python treats a value as another type: a bool as a number, a text as its letters."""
    if name in {"int", "float"}:
        return isinstance(value, bool) or (
            name == "float" and abs(value) > float_info.max and not isinstance(value, float)
        )
    return isinstance(value, {"Sequence": (str, bytes, Mapping), "Iterable": (str, bytes)}.get(name, ()))


def _type_of(value: Any) -> str:
    members = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    inside = ", ".join(sorted({type(member).__name__ for member in members}))
    return f"{type(value).__name__} of {inside}" if inside else type(value).__name__


def convert(option: str, value: Any, wanted: Any, origin: str) -> Any:
    """Return a value as the type that an option demands. Raises ConfigError, which names the value's source."""
    try:
        if isinstance(value, CONTAINERS):
            check_written(value)
        return msgspec.convert(value, wanted)
    except (TooMuch, UnicodeEncodeError) as error:
        raise ConfigError(f"{prefix_of(origin)}{option}: {error}") from None
    except msgspec.ValidationError as error:
        raise ConfigError(f"{prefix_of(origin)}{_mistake(option, value, wanted, str(error))}") from None


def tolerated(value: Any, wanted: Any, default: Any) -> Any:
    """Return the valid part of a wrong value: the valid entries of a list or mapping, else the default."""
    if isinstance(value, list) and (item := _item_type(value, wanted)) is not None:
        return [each for each in value if not _why_not(each, item)]
    if isinstance(value, Mapping) and (item := _item_type(value, wanted)) is not None:
        return {key: each for key, each in value.items() if not _why_not(each, item)}
    return default


def is_list_of_texts(wanted: Any) -> bool:
    """Return whether an option is a list of texts, which may also be a single text."""
    return wanted == list[str] or (get_origin(wanted) is list and get_origin(get_args(wanted)[0]) is Literal)


def in_lower_case(value: Any) -> Any:
    """Return a text, or the texts of a list or mapping, in lower case; any other value unchanged."""
    if isinstance(value, str):
        return value.lower()
    if isinstance(value, list):
        return [in_lower_case(each) for each in value]
    return {key: in_lower_case(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def _mistake(option: str, value: Any, wanted: Any, message: str) -> str:
    """Return what is wrong with a value or one of its entries: the expected type, the nearest value."""
    item = _item_type(value, wanted)
    if item is not None:
        for key, each in value.items() if isinstance(value, Mapping) else (("", each) for each in value):
            if isinstance(key, str) and (why := _why_not(each, item)):
                return _mistake(f"{option}: {key}" if key else option, each, item, why)
    types = _members(wanted)
    choices = [choice for each in types if get_origin(each) is Literal for choice in get_args(each) if choice]
    if choices and item is None:
        known = ["true", "false"] * (bool in types) + choices
        near = nearest(value.lower(), known) if isinstance(value, str) else ""
        hint = f". Did you mean {near!r}?" if near else ""
        return f"{option}: expected {', '.join(known[:-1])} or {known[-1]}, got {value!r}{hint}"
    for each in types:
        for meta in getattr(each, "__metadata__", ()):
            if meta.pattern and meta.description:
                return f"{option}: expected {meta.description}, got {value!r}"
    text = _in_yaml_words(message)
    return f"{option}: {text}" if ", got " in text else f"{option}: {text}, got {value!r}"


def _members(wanted: Any) -> tuple[Any, ...]:
    """Return the types of a union; any other type alone."""
    return get_args(wanted) if get_origin(wanted) in {Union, UnionType} else (wanted,)


def _item_type(value: Any, wanted: Any) -> Any:
    """Return the type demanded of a value's entries; None unless both it and the demanded type have entries."""
    kind = dict if isinstance(value, Mapping) else list if isinstance(value, list) else None
    return next((get_args(each)[-1] for each in _members(wanted) if kind and get_origin(each) is kind), None)


def _why_not(value: Any, wanted: Any) -> str:
    try:
        msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _in_yaml_words(message: str) -> str:
    """Turn msgspec's "Expected `array`, got `int` - at `$['base']`" into YAML's terms: "expected a list, …"."""
    text, _, path = message.partition(" - at `$")

    def words(match: re.Match[str]) -> str:
        return " or ".join(_YAML_WORDS.get(name.strip(), name.strip()) for name in match[1].split("|"))

    text = re.sub(r"`([^`]*)`", words, text)
    text = text[:1].lower() + text[1:]
    return f"{text} (at {path.rstrip('`')})" if path else text


def prefix_of(origin: str) -> str:
    """Return the source of a value as the beginning of a message; "" if unknown."""
    return f"{origin.partition(' ')[2]}: " if origin else ""


def origin_file(origin: str) -> str:
    """Return the file that a value comes from; "" if it comes from elsewhere."""
    return origin.removeprefix("file ") if origin.startswith("file ") else ""


def base_directory(origin: str) -> str:
    """Return the base of relative paths: the folder of the file that names them, else the working directory."""
    try:
        return os.path.dirname(origin_file(origin)) or os.getcwd()
    except FileNotFoundError:
        raise ConfigError("The working directory no longer exists. Change to one that does.") from None


def copied(value: Any) -> Any:
    """Copy dicts and lists, at every level; the other values are shared."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def normalise_roots(option: str, value: Any, origin: str) -> Roots:
    """Make every root an absolute path, with ``~`` and globs expanded. A single root need not be a list.

    Without any, the result is the default root of ``base``.
    """
    if isinstance(value, Mapping):
        value = {name: [roots] if isinstance(roots, str) else (roots or []) for name, roots in value.items()}
    roots_by_env: dict[str | int | float, list[str]] = convert(
        option, value, dict[str | int | float, list[str]], origin
    )
    base = base_directory(origin)
    roots = {
        str(saltenv): [path for root in named for path in _expand_root(root, base)]
        for saltenv, named in roots_by_env.items()
    }
    return roots or {"base": [DEFAULT_ROOTS[option]]}


def _expand_root(root: str, base: str) -> list[str]:
    path = os.path.abspath(os.path.join(base, os.path.expanduser(root)))
    if {*"*?["}.isdisjoint(path):
        return [path]
    import glob  # noqa: PLC0415 - hardly any configuration has globs in its roots

    return sorted(glob.glob(path)) or [path]


def check_roots(option: str, saltenv: str, roots: list[str], origin: str) -> None:
    """Raise ConfigError if no root of an environment exists; warn of each that does not."""
    if saltenv == "__env__" or roots == [DEFAULT_ROOTS[option]]:
        return
    missing = [root for root in roots if not os.path.isdir(root)]
    if missing and len(missing) == len(roots):
        what = "is not a directory" if os.path.exists(missing[0]) else "no such directory"
        raise ConfigError(
            f"{prefix_of(origin)}{option}: environment {saltenv!r}: {', '.join(missing)}: {what}. "
            "Create it, or name the directory that contains the tree (relative paths start at "
            f"{base_directory(origin)})."
        )
    for root in missing:
        log.warning(
            "%s%s: %s (environment %r) does not exist and is left out", prefix_of(origin), option, root, saltenv
        )
