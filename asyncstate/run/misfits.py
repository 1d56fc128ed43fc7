"""What is wrong with the arguments a state function tripped over, by what its signature says of them.

They are looked at only after the fact: an ``int`` where a text is meant does no harm more often than not, and Salt
takes it. Values are not shown, for any of them may be a password. What went wrong outside, with a file or a program, is
told in the error's own words.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.errors import AsyncStateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
_NAMES = {str: "a text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a mapping"}


def is_trip(error: BaseException) -> bool:
    """Tell whether code raises this where it is given something else than it takes, with no word of ours about it."""
    return isinstance(error, (TypeError, AttributeError, ValueError)) and not isinstance(error, AsyncStateError)


def in_words(error: BaseException) -> str:
    """Return what an error says of the world or of the data; "" for one that tells of a mistake in the code."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, re.error):
        return f"Invalid regular expression: {error}"
    return str(error) if isinstance(error, (AsyncStateError, OSError, ValueError)) else ""


def misfits(function: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """Name the arguments in ``given`` that are not what ``function`` takes, and what it does; "" if all of them are.

    ``'hosts' must be a text or a list of texts, not a number``
    """
    found = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in given:
            continue
        expected = _Expected.of(parameter.annotation)
        if expected is not None and not expected.fits(given[name]):
            found.append(f"'{name}' must be {expected}, not {_described(given[name])}")
        elif any("\0" in text for text in _texts(given[name])):
            found.append(f"'{name}' must not hold a NUL character")
    return "; ".join(found)


class _Expected(NamedTuple):
    """An annotation as far as it can be told from its text: alternatives, each with what its members are."""

    alternatives: dict[str, Any]

    @classmethod
    def of(cls, annotation: Any) -> _Expected | None:
        """Read an annotation; None if it allows anything, or says something only a type checker understands."""
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        try:
            return cls._read(ast.parse(text, mode="eval").body)
        except SyntaxError:
            return None

    @classmethod
    def _read(cls, node: ast.expr) -> _Expected | None:
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
        """Tell whether a value, with all in it, is one of the alternatives."""
        for name, members in self.alternatives.items():
            if isinstance(value, _KINDS[name][1]) and not (isinstance(value, bool) and name in {"int", "float"}):
                inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
                if members is None or all(map(members.fits, inner)):
                    return True
        return False

    def __str__(self) -> str:
        words = []
        for name, members in self.alternatives.items():
            if name != "None":
                plain = members is not None and list(members.alternatives) == ["str"]
                words.append(f"{_KINDS[name][0]}{' of texts' if plain else ''}")
        return " or ".join(dict.fromkeys(words)) or "left out"


def _described(value: Any) -> str:
    text = _NAMES.get(type(value), "nothing" if value is None else f"a {type(value).__name__}")
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return f"{text} with {_described(inner[0])} in it" if inner and not isinstance(inner[0], str) else text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for each in value.items() if isinstance(value, dict) else value:
            yield from _texts(each)
