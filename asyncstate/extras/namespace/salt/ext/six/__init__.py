"""``salt.ext.six``: the names of the ``six`` library, as they are on Python 3. Salt dropped it; many trees have not."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from asyncstate.extras.namespace.names import ModuleGetattr, submodules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import TracebackType

PY2 = False
PY3 = True
PY34 = True
MAXSIZE = sys.maxsize

string_types: tuple[type[str]] = (str,)
integer_types: tuple[type[int]] = (int,)
class_types: tuple[type[type]] = (type,)
text_type = str
binary_type = bytes

StringIO = io.StringIO
BytesIO = io.BytesIO

unichr = chr
int2byte: Callable[[int], bytes] = b"%c".__mod__
next = next  # noqa: A001, PLW0127 - six has the built-in under its name
callable = callable  # noqa: A001, PLW0127


def iterkeys(mapping: Mapping[Any, Any]) -> Iterator[Any]:
    """Iterate over the keys."""
    return iter(mapping.keys())


def itervalues(mapping: Mapping[Any, Any]) -> Iterator[Any]:
    """Iterate over the values."""
    return iter(mapping.values())


def iteritems(mapping: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Iterate over the pairs."""
    return iter(mapping.items())


def viewkeys(mapping: Mapping[Any, Any]) -> Any:
    """Return the view of the keys."""
    return mapping.keys()


def viewvalues(mapping: Mapping[Any, Any]) -> Any:
    """Return the view of the values."""
    return mapping.values()


def viewitems(mapping: Mapping[Any, Any]) -> Any:
    """Return the view of the pairs."""
    return mapping.items()


def b(text: str) -> bytes:
    """Return a byte literal."""
    return text.encode("latin-1")


def u(text: str) -> str:
    """Return a text literal."""
    return text


def ensure_text(value: str | bytes, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Return text."""
    return value.decode(encoding, errors) if isinstance(value, bytes) else value


ensure_str = ensure_text


def ensure_binary(value: str | bytes, encoding: str = "utf-8", errors: str = "strict") -> bytes:
    """Return bytes."""
    return value.encode(encoding, errors) if isinstance(value, str) else value


def reraise(
    _kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None = None
) -> NoReturn:
    """Raise an exception with a traceback."""
    error = value if value is not None else (_kind or Exception)()
    raise error.with_traceback(trace)


def raise_from(value: BaseException, cause: BaseException | None) -> NoReturn:
    """Raise an exception from another."""
    raise value from cause


def add_metaclass(metaclass: type) -> Callable[[type], type]:
    """Return a class decorator that makes the class anew with a metaclass."""

    def remake(cls: type) -> type:
        body = {name: value for name, value in vars(cls).items() if name not in {"__dict__", "__weakref__"}}
        made: type = metaclass(cls.__name__, cls.__bases__, body)
        return made

    return remake


def with_metaclass(metaclass: type, *bases: type) -> type:
    """Return a base class with a metaclass."""
    made: type = metaclass("temporary_class", bases, {})
    return made


def python_2_unicode_compatible(cls: type) -> type:
    """Return the class as it is."""
    return cls


__getattr__: ModuleGetattr = submodules(__name__)
