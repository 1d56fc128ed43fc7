"""Large data of a tree: limits, so that no file can exhaust the stack, the memory or the digits of a number.

A few lines can mean gigabytes of data (an alias of aliases), endless data (a dict that contains itself), or a number
that Python refuses to write. Such data is a mistake, and is reported with its place.

What is within the limits is still large. Composing a big SLS makes many containers and no cycles; with the usual
thresholds Python's cyclic garbage collector visits the growing document over and over, which costs more than the
composing itself.
"""

from __future__ import annotations

import gc
import threading
from collections import OrderedDict
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from asyncstate.errors import RenderError, RunCancelled
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEEPEST: Final = 100
"""Limit of the levels of nesting."""
MOST_REPEATED: Final = 1_000_000
"""Limit of repeated values, which come from references such as aliases."""
MOST_VALUES: Final = 20_000_000
"""Limit of the values in one document: a million states have up to 20 million, which take 15 s to read."""
_PLAIN: Final[dict[type, Callable[[Any], Any]]] = {str: str.__str__, int: int.__int__, float: float.__float__}
_EXACT: Final = frozenset({*_PLAIN, bool, type(None)})
_LONGEST_INTEGER: Final = 14_000
"""Limit of the bits of a number: Python writes at most 4,300 decimal digits."""

TOO_DEEP: Final = f"nested deeper than {DEEPEST} levels"
TOO_MUCH: Final = f"the same data is repeated too often: more than {MOST_REPEATED:,} values"
TOO_MANY: Final = f"the document has more than {MOST_VALUES:,} values"
TOO_LONG: Final = "a number of more than 4,300 digits"

_RARELY: Final = 500_000
"""The collector's first threshold while a large document is being built."""
_lock = threading.Lock()
_users = 0
_before = (0, 0, 0)


class TooMuch(ValueError):
    """Data is beyond a limit; the message names it."""


class _Extent(Value):
    value: Any  # kept alive, so that its ``id`` stays unique
    size: int
    height: int


class Meter:
    """Measures the size of data as text without writing it: repeated objects are visited once."""

    def __init__(self) -> None:
        self._known: dict[int, _Extent] = {}
        self._open: set[int] = set()
        self._repeated = 0

    def repeat(self, value: Any, depth: int) -> None:
        """Count one more occurrence of ``value``, ``depth`` levels deep. Raises TooMuch."""
        extent = self._measure(value, depth)
        self._repeated += extent.size
        if self._repeated > MOST_REPEATED:
            raise TooMuch(TOO_MUCH)

    def check(self, value: Any, depth: int = 0) -> None:
        """Measure all of ``value``. Raises TooMuch."""
        self._measure(value, depth)

    def _measure(self, value: Any, depth: int) -> _Extent:
        if not isinstance(value, CONTAINERS):
            check_number(value)
            return _ONE
        known = self._known.get(id(value))
        if known is not None:
            if depth + known.height > DEEPEST:
                raise TooMuch(TOO_DEEP)
            return known
        if id(value) in self._open:
            raise TooMuch("data that contains itself")
        if depth >= DEEPEST:
            raise TooMuch(TOO_DEEP)
        self._open.add(id(value))
        size, height = 1, 0
        for item in value.values() if isinstance(value, dict) else value:
            if id(item) in self._known:
                self.repeat(item, depth + 1)
            inner = self._measure(item, depth + 1)
            size, height = size + inner.size, max(height, inner.height)
        if isinstance(value, dict):
            for key in value:
                check_number(key)
        self._open.remove(id(value))
        extent = self._known[id(value)] = _Extent(value, size, height + 1)
        return extent


_ONE = _Extent(None, 1, 0)


CONTAINERS: Final = (dict, list, tuple, set, frozenset)
_FEW: Final = 10_000


def check_written(value: Any) -> None:
    """Measure a container before it is written; fast for small ones. Raises TooMuch."""
    stack, members = [value], 0
    while stack:
        container = stack.pop()
        members += 1 + len(container)
        if members > _FEW:
            Meter().check(value)
            return
        inner = container.values() if isinstance(container, dict) else container
        stack += [each for each in inner if isinstance(each, CONTAINERS)]


def check_number(value: Any) -> None:
    """Raise TooMuch for a number that Python cannot write."""
    if isinstance(value, int) and value.bit_length() > _LONGEST_INTEGER:
        raise TooMuch(TOO_LONG)


def plain_data(data: Any, path: str) -> Any:
    """Return a renderer's data within the limits and in the types of YAML: other types may compare arbitrarily.

    Raises RenderError that names the file and the ID.
    """
    meter, where = Meter(), ""
    try:
        if not isinstance(data, dict):
            meter.check(data)
            return _exact(data)
        for key, value in dict.items(data):
            where = f", in {str(key)[:100]!r}"
            check_number(key)
            meter.check(value, 1)
        return _exact(data)
    except TooMuch as error:
        raise RenderError(f"{error}{where}", file=path) from None
    except (RunCancelled, KeyboardInterrupt):
        raise
    except BaseException as error:
        what = f"{type(error).__name__}: {error}"
        raise RenderError(f"the renderer returned data that cannot be read{where}: {what}", file=path) from error


def _exact(value: Any) -> Any:
    """Copy containers, convert subclasses of texts and numbers to their base type, share all other values.

    Passes on any exception from comparing or showing a value.
    """
    if type(value) in _EXACT:
        return value
    if isinstance(value, dict):
        pairs = ((_exact(key), _exact(item)) for key, item in dict.items(value))
        return OrderedDict(pairs) if isinstance(value, OrderedDict) else dict(pairs)
    if isinstance(value, list):
        return [_exact(item) for item in list.__iter__(value)]
    if isinstance(value, tuple):
        return tuple(_exact(item) for item in tuple.__iter__(value))
    for plain, read in _PLAIN.items():
        if isinstance(value, plain) and type(value) not in (plain, bool):
            return read(value)
    with suppress(TypeError):  # unhashable values exist
        hash(value)
    str((bool(value == ""), bool(value), f"{value}", value))
    return value


@contextmanager
def rare_collections() -> Iterator[None]:
    """Raise the collector's first threshold during the block; blocks may nest and overlap between threads.

    A threshold that other code changes meanwhile is left as set.
    """
    global _before, _users  # noqa: PLW0603 - the collector is process-wide, and so is the count of its users
    with _lock:
        _users += 1
        if _users == 1:
            _before = gc.get_threshold()
            if 0 < _before[0] < _RARELY:
                gc.set_threshold(_RARELY, *_before[1:])
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0 and gc.get_threshold() == (_RARELY, *_before[1:]):
                gc.set_threshold(*_before)
