"""Under which name a plugin wants to be known, if it wants to be loaded at all.

``__virtual__`` and ``__virtualname__`` work as in Salt: ``__virtualname__`` counts only beside a ``__virtual__``
function, and then the file's own name is no longer an address. The name an interface gives counts by itself.
"""

from __future__ import annotations

import ast
import inspect
import logging
import os
import re
import textwrap
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from asyncstate.errors import meant_for_program
from asyncstate.interfaces import interface_of
from asyncstate.load.reasons import told
from asyncstate.model.encode import plain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from asyncstate.load.folders import PluginFile

log: logging.Logger = logging.getLogger(__name__)

_TAG = {"modules": "module", "renderers": "render"}
_MENTIONS_VIRTUAL = re.compile(rb"__virtual(?:__|name__|_aliases__)")
_VIRTUALNAME = re.compile(rb"^__virtualname__[^=\n]*=\s*(.+)$", re.MULTILINE)
_LITERAL = re.compile(rb"""["']([\w.-]+)["']""")
_BODY = re.compile(rb"^def __virtual__\b([^\n]*\n?(?:[ \t#][^\n]*\n?|\n)*)", re.MULTILINE)
_RETURNED = re.compile(rb"\breturn\b[ \t]*(\w*)")
_PLAINLY_RETURNED = {b"", b"True", b"False", b"None"}


class Verdict(NamedTuple):
    """The answer of one plugin: ``name`` and ``aliases`` if ``accepted``, else perhaps a ``reason``."""

    accepted: bool
    name: str
    reason: str | None = None
    aliases: tuple[str, ...] = ()


class Claims(NamedTuple):
    """What a plugin's text tells about its names before it is imported.

    ``literals`` holds the ``__virtualname__``; without one, every quoted word of ``__virtual__``, or of the whole file
    where that returns anything but a literal. ``expression`` is the right-hand side of a ``__virtualname__`` that is no
    literal.
    """

    renames: bool
    literals: frozenset[str] = frozenset()
    expression: str = ""

    def may_claim(self, name: str) -> bool:
        """Tell whether the plugin may turn out to be called ``name``."""
        if not self.renames:
            return False
        return name in self.literals or name.replace("_", "").lower() in self.expression

    @property
    def opaque(self) -> bool:
        """Whether the name is computed, so that only importing the plugin tells."""
        return bool(self.expression)


def claims_of(plugin: PluginFile) -> Claims:
    """Read what ``plugin`` says about its names, without importing it."""
    source = plugin.source
    try:
        status = os.stat(source)
    except OSError:
        return Claims(renames=False)
    return _claims(source, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4096)
def _claims(source: str, _mtime_ns: int, _size: int) -> Claims:
    try:
        text = Path(source).read_bytes()
    except OSError:
        return Claims(renames=False)
    if not _MENTIONS_VIRTUAL.search(text):
        return Claims(renames=False)
    assigned = _VIRTUALNAME.search(text)
    literal = _LITERAL.match(assigned[1]) if assigned is not None else None
    if literal is not None and b"__virtual_aliases__" not in text:
        return Claims(renames=True, literals=frozenset([literal[1].decode("utf-8", "replace")]))
    words = frozenset(word.decode("utf-8", "replace") for word in _LITERAL.findall(_naming_part(text)))
    computed = assigned[1].decode("utf-8", "replace") if assigned is not None and literal is None else ""
    return Claims(renames=True, literals=words, expression=computed.replace("_", "").lower())


def _naming_part(text: bytes) -> bytes:
    """Return the part of a plugin's text that its names can stand in: a search must not import half of all plugins."""
    virtual = _BODY.search(text)
    if virtual is None or b"__virtualname__" in text or b"__virtual_aliases__" in text:
        return text
    plain = _PLAINLY_RETURNED.issuperset(_RETURNED.findall(virtual[1]))
    return virtual[1] if plain else text


def returned_names(module: ModuleType) -> list[str]:
    """Return the names that ``__virtual__`` of a module may return, as far as they are constants of its code."""
    virtual = getattr(module, "__virtual__", None)
    if not inspect.isfunction(virtual):
        return []
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(virtual)))
    except (OSError, SyntaxError):
        return []
    return [name for node in ast.walk(tree) if isinstance(node, ast.Return) for name in _texts(node.value)]


def _texts(node: ast.expr | None) -> Iterator[str]:
    """Yield the texts that an expression may come to, through conditions in it."""
    if isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for each in node.values:
            yield from _texts(each)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def evaluate(module: ModuleType, plugin: PluginFile, kind: str) -> Verdict:
    """Ask ``module`` whether it loads here, and under which name.

    Runs ``__virtual__`` in the caller's context. Whatever it raises is a refusal with Salt's sentence.
    """
    name = plugin.name
    aliases = tuple(str(alias) for alias in getattr(module, "__virtual_aliases__", ()))
    virtual = getattr(module, "__virtual__", None)
    declared = getattr(module, "__virtualname__", None)
    if not inspect.isfunction(virtual):
        interface = interface_of(module)
        return Verdict(accepted=True, name=name if interface is None else str(interface), aliases=aliases)
    reason: str | None = None
    try:
        answer = virtual()
        if isinstance(answer, tuple):
            answer, detail = answer
            reason = None if detail is None else str(plain(detail))
        if answer is not None and answer is not True:
            answer = str(plain(answer)) if answer else False
    except BaseException as error:
        if meant_for_program(error):
            raise
        address = f"salt.loaded.{'int' if plugin.folder.bundled else 'ext'}.{_TAG.get(kind, kind)}.{name}"
        code = f"sys.exit({plain(error.code)!r})" if isinstance(error, SystemExit) else ""
        what = code or told(error, plugin.source)
        reason = (
            f"Exception raised when processing __virtual__ function for {address}. Module will not be loaded: {what}"
        )
        log.warning("%s (%s)", reason, plugin.source)
        log.debug("__virtual__ of %s failed", plugin.source, exc_info=True)
        answer = False
    if answer is None:
        log.warning("%s: __virtual__() returned None; it should return True, False or a name", plugin.source)
    if not answer:
        return Verdict(accepted=False, name=str(declared or name), reason=reason)
    if answer is True:
        return Verdict(accepted=True, name=str(declared or name), aliases=aliases)
    if declared is not None and str(declared) != answer:
        log.warning("%s: __virtualname__ is %r but __virtual__() returned %r", plugin.source, str(declared), answer)
    return Verdict(accepted=True, name=str(declared or answer), aliases=aliases)
