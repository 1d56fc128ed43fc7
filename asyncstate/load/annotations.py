"""The type of an argument: which one its parameter's annotation demands, and which one a value has, in words.

Values are not shown: any of them may be a password.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

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


class Expected(NamedTuple):
    """An annotation, as read from its text: the alternative types, each with the type of its members."""

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

    def shapes(self) -> frozenset[type]:
        """Return the containers that a value may be, ``dict`` and ``list``; ``object`` stands for all other types."""
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
    """Return the type of a value in words."""
    text = _NAMES.get(type(value), "nothing" if value is None else f"a {type(value).__name__}")
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return f"{text} with {described(inner[0])} in it" if inner and not isinstance(inner[0], str) else text


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for each in value.items() if isinstance(value, dict) else value:
            yield from texts_in(each)
