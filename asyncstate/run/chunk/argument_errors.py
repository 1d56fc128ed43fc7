"""Finds the arguments of a failed state function that do not fit its annotations.

Arguments are checked only after a failure: an ``int`` instead of a text usually works, and Salt accepts it. Values are
not shown, since any of them may be a password. For errors from outside, such as a file or a program, the text of the
error is used.

A state passes keywords on to functions that take them. The frames of the traceback are these functions' calls, so their
annotations count, too.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from asyncstate.errors import AsyncStateError, FunctionNotFound
from asyncstate.load.plugin import Expected, described
from asyncstate.model.chunk import texts_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_LARGEST = (1 << 63) - 1
"""The largest number that the system and its libraries accept."""


def wrong_use(function: Callable[..., Any], given: Mapping[str, Any], error: BaseException) -> str:
    """Return the mistake in ``given`` arguments that fails every run; "" if another run may succeed."""
    if isinstance(error, re.error):
        return f"Invalid regular expression: {error}"
    if is_argument_error(error):
        for called, values in ((function, given), *_calls(error, given)):
            if wrong := wrong_arguments(called, values):
                return wrong
    return ""


def _calls(error: BaseException, given: Mapping[str, Any]) -> Iterator[tuple[Callable[..., Any], dict[str, Any]]]:
    """Yield the functions in an error's traceback, each with the given arguments among its variables."""
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        function = frame.f_globals.get(frame.f_code.co_name)
        if function is not None and getattr(function, "__code__", None) is frame.f_code:
            yield function, {name: value for name, value in frame.f_locals.items() if name in given}
        trace = trace.tb_next


def is_argument_error(error: BaseException) -> bool:
    """Return whether wrong argument types cause such an error; False for errors of asyncstate."""
    trips = (TypeError, AttributeError, ValueError, OverflowError)
    return isinstance(error, trips) and not isinstance(error, AsyncStateError)


def cause_in_words(error: BaseException) -> str:
    """Return the text of an error about the system or the data; "" for an error that means a bug in the code."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, KeyError) and isinstance(error.__cause__, FunctionNotFound):
        return f"{error.__cause__.name} is needed for that. {error.__cause__}"
    return str(error) if isinstance(error, (AsyncStateError, OSError, ValueError, OverflowError)) else ""


def wrong_arguments(function: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """Return which arguments in ``given`` do not fit ``function``, and what it expects; "" if all fit.

    ``'hosts' must be a text or a list of texts, not a number``
    """
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in given:
            continue
        expected = Expected.of(parameter.annotation)
        if isinstance(given[name], (int, float)) and not abs(given[name]) <= _LARGEST:
            found.append(f"'{name}' must not be so large a number")
        elif expected is not None and not expected.fits(given[name]):
            found.append(f"'{name}' must be {expected}, not {described(given[name])}")
        elif any("\0" in text for text in texts_in(given[name], keys=True)):
            found.append(f"'{name}' must not hold a NUL character")
    return "; ".join(found)
