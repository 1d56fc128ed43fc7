"""What is wrong with the arguments a state function tripped over, by what its signature says of them.

They are looked at only after the fact: an ``int`` where a text is meant does no harm more often than not, and Salt
takes it. Values are not shown, for any of them may be a password. What went wrong outside, with a file or a program, is
told in the error's own words.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from asyncstate.errors import AsyncStateError, FunctionNotFound
from asyncstate.load.annotations import Expected, described, texts_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def is_argument_error(error: BaseException) -> bool:
    """Tell whether code raises this where it is given something else than it takes, with no word of ours about it."""
    return isinstance(error, (TypeError, AttributeError, ValueError)) and not isinstance(error, AsyncStateError)


def cause_in_words(error: BaseException) -> str:
    """Return what an error says of the world or of the data; "" for one that tells of a mistake in the code."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, KeyError) and isinstance(error.__cause__, FunctionNotFound):
        return f"{error.__cause__.name} is needed for that. {error.__cause__}"
    if isinstance(error, re.error):
        return f"Invalid regular expression: {error}"
    return str(error) if isinstance(error, (AsyncStateError, OSError, ValueError)) else ""


def wrong_arguments(function: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """Name the arguments in ``given`` that are not what ``function`` takes, and what it does; "" if all of them are.

    ``'hosts' must be a text or a list of texts, not a number``
    """
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in given:
            continue
        expected = Expected.of(parameter.annotation)
        if expected is not None and not expected.fits(given[name]):
            found.append(f"'{name}' must be {expected}, not {described(given[name])}")
        elif any("\0" in text for text in texts_in(given[name])):
            found.append(f"'{name}' must not hold a NUL character")
    return "; ".join(found)
