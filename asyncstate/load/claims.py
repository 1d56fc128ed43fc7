"""The names that a plugin may turn out to have, read from its text or its code without running it."""

from __future__ import annotations

import ast
import inspect
import os
import re
import stat
import textwrap
from functools import lru_cache
from typing import TYPE_CHECKING

from asyncstate.pattern import lazy_pattern
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from asyncstate.load.folders import PluginFile

_MENTIONS_VIRTUAL = lazy_pattern(rb"__virtual(?:__|name__|_aliases__)")
_VIRTUALNAME = lazy_pattern(rb"\n__virtualname__[^=\n]*=\s*(.+)")  # begins with a text that is searched for fast
_LITERAL = lazy_pattern(rb"""["']([\w.-]+)["']""")
_BODY = lazy_pattern(rb"^def __virtual__\b([^\n]*\n?(?:[ \t#][^\n]*\n?|\n)*)", re.MULTILINE)
_RETURNED = lazy_pattern(rb"\breturn\b[ \t]*(\w*)")
_PLAINLY_RETURNED = {b"", b"True", b"False", b"None"}


class Claims(Value):
    """The names that a plugin's text allows, read before it is imported.

    ``literals`` holds the ``__virtualname__``; without one, every quoted word of ``__virtual__``, or of the whole file
    if ``__virtual__`` returns anything but a literal. ``expression`` is the right-hand side of a ``__virtualname__``
    that is not a literal; ``name`` is its value, where it is a name.
    """

    renames: bool
    literals: frozenset[str] = frozenset()
    expression: str = ""
    name: str = ""

    def may_claim(self, name: str) -> bool:
        """Return whether the plugin may turn out to be called ``name``."""
        if not self.renames:
            return False
        return name in self.literals or name.replace("_", "").lower() in self.expression

    @property
    def opaque(self) -> bool:
        """Whether the name is computed, so that it is known only after an import."""
        return bool(self.expression)


def claims_of(plugin: PluginFile) -> Claims:
    """Read the names that ``plugin`` may claim from its text, without importing it."""
    source = plugin.source
    try:
        status = os.stat(source)
    except OSError:
        return Claims(renames=False)
    if not stat.S_ISREG(status.st_mode):
        return Claims(renames=False)
    return _claims(source, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4096)
def _claims(source: str, _mtime_ns: int, _size: int) -> Claims:
    try:
        with open(source, "rb") as file:
            text = b"\n" + file.read()
    except OSError:
        return Claims(renames=False)
    if not _MENTIONS_VIRTUAL.search(text):
        return Claims(renames=False)
    assigned = _VIRTUALNAME.search(text)
    literal = _LITERAL.match(assigned[1]) if assigned is not None else None
    if literal is not None and b"__virtual_aliases__" not in text:
        name = literal[1].decode("utf-8", "replace")
        return Claims(renames=True, literals=frozenset([name]), name=name)
    words = frozenset(word.decode("utf-8", "replace") for word in _LITERAL.findall(_naming_part(text)))
    computed = assigned[1].decode("utf-8", "replace") if assigned is not None and literal is None else ""
    return Claims(renames=True, literals=words, expression=computed.replace("_", "").lower())


def _naming_part(text: bytes) -> bytes:
    """Return the part of a plugin's text that can hold its names: a search must not import half of all plugins."""
    virtual = _BODY.search(text)
    if virtual is None or b"__virtualname__" in text or b"__virtual_aliases__" in text:
        return text
    plain = _PLAINLY_RETURNED.issuperset(_RETURNED.findall(virtual[1]))
    return virtual[1] if plain else text


def returned_names(module: ModuleType) -> list[str]:
    """Return the names that ``__virtual__`` of a module may return, if they are constants in its code."""
    virtual = getattr(module, "__virtual__", None)
    if not inspect.isfunction(virtual):
        return []
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(virtual)))
    except (OSError, SyntaxError):
        return []
    return [name for node in ast.walk(tree) if isinstance(node, ast.Return) for name in _texts(node.value)]


def _texts(node: ast.expr | None) -> Iterator[str]:
    """Yield the strings that an expression may evaluate to, for any values of its conditions."""
    if isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for each in node.values:
            yield from _texts(each)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
