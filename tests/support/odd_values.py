"""Odd values and exceptions of plugins, for the tests that none of them gets through."""

from __future__ import annotations

import asyncio
import collections
import datetime as dt
import decimal
import enum
import types
import uuid
from typing import NamedTuple

from hypothesis import strategies as st


class Boom(BaseException):
    """No Exception: what catches only those does not catch it."""


def in_itself(kind):
    """Return a list or dict that contains itself."""
    value = kind()
    if isinstance(value, dict):
        value["a"] = value
    else:
        value.append(value)
    return value


class RaisingRepr:
    def __repr__(self):
        raise Boom("repr")


class RaisingStr(str):
    __slots__ = ()

    def __str__(self):
        raise Boom("str")

    __repr__ = __format__ = __str__


class RaisingTruth:
    def __bool__(self):
        raise Boom("bool")


class RaisingClass:
    @property
    def __class__(self):
        raise Boom("class")


class RaisingDict(dict):
    def _refuse(self, *_args):
        raise Boom("dict")

    items = keys = values = get = __iter__ = __getitem__ = __contains__ = __len__ = _refuse


class RaisingMapping(collections.abc.Mapping):
    def _refuse(self, *_args):
        raise Boom("mapping")

    __iter__ = __getitem__ = __len__ = _refuse


class EndlessList(list):
    def __iter__(self):
        while True:
            yield 1


class RaisingError(Exception):
    def __str__(self):
        raise Boom("the text of an exception")

    __repr__ = __str__


class Colour(enum.IntEnum):
    RED = 1


class Awaitable:
    def __await__(self):
        yield

    def close(self):
        raise Boom("close")


class Point(NamedTuple):
    x: int
    y: object


def a_generator():
    yield 1


async def forgotten():
    """A coroutine function that somebody calls and does not await."""


def cyclic():
    value = {"list": []}
    value["list"].append(value)
    return value


def deep():
    value = "end"
    for number in range(5000):
        value = {"in": value} if number % 2 else [value]
    return value


def bomb():
    """A small value that is endless once it is written out."""
    value = "x" * 1000
    for _ in range(40):
        value = [value] * 10
    return value


_MAKERS = {
    "an object": object,
    "a raising repr": RaisingRepr,
    "a raising str": lambda: RaisingStr("text"),
    "a raising truth": RaisingTruth,
    "a raising class": RaisingClass,
    "a raising dict": lambda: RaisingDict(a=1),
    "a raising mapping": RaisingMapping,
    "an endless list": lambda: EndlessList([1]),
    "an exception without text": RaisingError,
    "a coroutine": lambda: forgotten(),  # noqa: PLW0108 - a new one each time
    "an awaitable": Awaitable,
    "a coroutine in a list": lambda: [forgotten()],
    "a generator": a_generator,
    "a cycle": cyclic,
    "depth": deep,
    "a bomb": bomb,
    "bytes": lambda: b"\xff\x00",
    "a byte array": lambda: bytearray(b"\xff"),
    "a view of memory": lambda: memoryview(b"\xffabc")[::2],
    "a lone surrogate": lambda: "caf\udce9",
    "a NUL": lambda: "a\0b\x1b[31m\u202e",
    "a huge number": lambda: 10**5000,
    "a number of 30 digits": lambda: 10**30,
    "no number": lambda: float("nan"),
    "infinity": lambda: float("-inf"),
    "a set": lambda: {1, "a", None},
    "keys of all kinds": lambda: {1: 1, None: 2, False: 3, (1, 2): 4, b"\xff": 5, "\udcff": 6, 1.5: 7, frozenset(): 8},
    "keys that are objects": lambda: {RaisingRepr(): 1, RaisingStr("k"): 2},
    "a date": lambda: dt.datetime(2026, 11, 22, tzinfo=dt.UTC),
    "an enumeration": lambda: Colour.RED,
    "a decimal": lambda: decimal.Decimal("1.5"),
    "a UUID": lambda: uuid.UUID(int=5),
    "a tuple with names": lambda: Point(1, {2}),
    "an ordered dict": lambda: collections.OrderedDict(a=1),
    "a view of a dict": lambda: types.MappingProxyType({"a": 1}),
    "a double-ended queue": lambda: collections.deque([1]),
    "a class": lambda: RaisingDict,
    "a module": lambda: collections,
    "an ellipsis": lambda: ...,
}


@st.composite
def _odd_object(draw):
    return _MAKERS[draw(st.sampled_from(sorted(_MAKERS)))]()


odd_objects = _odd_object()
"""One odd object, made anew each time. Hypothesis asks what `map` gave for its class, which one of them refuses."""

plain_values = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()

odd_values = st.recursive(
    plain_values | odd_objects,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=6,
)
"""Odd objects, plain data, and containers of both."""

odd_names = sorted(_MAKERS)


def odd(name):
    """Return a new odd object by its name."""
    return _MAKERS[name]()


class Circular(Exception):
    def __init__(self):
        super().__init__("round")
        self.__cause__ = self


def _syntax_error():
    error = SyntaxError("odd", ("file\udcff", 1, 1, "text"))
    error.filename, error.text, error.lineno = RaisingRepr(), 5, "x"
    return error


def _with_odd_notes():
    error = ValueError("noted")
    error.__notes__ = RaisingRepr()
    return error


ERRORS = {
    "an error": lambda: ValueError("wrong"),
    "BaseException": lambda: BaseException("base"),
    "KeyboardInterrupt": KeyboardInterrupt,
    "SystemExit": lambda: SystemExit(3),
    "SystemExit with an object": lambda: SystemExit(RaisingRepr()),
    "CancelledError": lambda: asyncio.CancelledError("mine"),
    "GeneratorExit": GeneratorExit,
    "StopIteration": lambda: StopIteration(5),
    "StopAsyncIteration": StopAsyncIteration,
    "TimeoutError": TimeoutError,
    "RecursionError": RecursionError,
    "MemoryError": MemoryError,
    "an error without text": RaisingError,
    "an error of a surrogate": lambda: ValueError("caf\udce9"),
    "an error of bytes": lambda: ValueError(b"\xff"),
    "an error with an odd argument": lambda: TypeError(RaisingRepr()),
    "an error with odd notes": _with_odd_notes,
    "an odd syntax error": _syntax_error,
    "an error that causes itself": Circular,
    "a group": lambda: BaseExceptionGroup("group", [KeyboardInterrupt(), RaisingError()]),
    "a key error": lambda: KeyError(RaisingRepr()),
}
"""What a plugin may raise, by name; each is made anew."""
