"""The offer of an imported plugin: whether it loads, under which name, and with which functions.

``__virtual__`` and ``__virtualname__`` work as in Salt: ``__virtualname__`` counts only beside a ``__virtual__``
function, and then callers cannot use the file's own name. The name of an interface counts without ``__virtual__``.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from asyncstate.errors import PathRefused, meant_for_program
from asyncstate.filesystem import READ_LIMIT, read_start
from asyncstate.interfaces import interface_of
from asyncstate.logs import get_logger
from asyncstate.model.encode import plain
from asyncstate.pattern import lazy_pattern
from asyncstate.salt_compat import offered
from asyncstate.value import Value

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Mapping
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
    return _claims(source, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4096)
def _claims(source: str, _mtime_ns: int, _size: int) -> Claims:
    try:
        text = b"\n" + read_start(source, READ_LIMIT)
    except (OSError, PathRefused):
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


log: logging.Logger = get_logger(__name__)

_TAG = {"modules": "module", "renderers": "render"}


class Verdict(Value):
    """Whether a plugin loads: ``name`` and ``aliases`` if ``accepted``, else its ``reason``, if any."""

    accepted: bool
    name: str
    reason: str | None = None
    aliases: tuple[str, ...] = ()


def evaluate(module: ModuleType, plugin: PluginFile, kind: str) -> Verdict:
    """Return whether ``module`` loads here, and under which name.

    ``__virtual__`` runs in the caller's context. If it raises, the plugin does not load, and the reason is Salt's
    message.
    """
    name = plugin.name
    aliases = tuple(str(alias) for alias in getattr(module, "__virtual_aliases__", ()))
    virtual = getattr(module, "__virtual__", None)
    if not inspect.isfunction(virtual):
        interface = interface_of(module)
        return Verdict(accepted=True, name=name if interface is None else str(interface), aliases=aliases)
    declared = getattr(module, "__virtualname__", None)
    answer, reason = _ask(virtual, plugin, kind)
    if answer is None:
        log.warning("%s: __virtual__() returned None; it should return True, False or a name", plugin.source)
    if not answer:
        return Verdict(accepted=False, name=str(declared or name), reason=reason)
    if answer is True:
        return Verdict(accepted=True, name=str(declared or name), aliases=aliases)
    if declared is not None and str(declared) != answer:
        log.warning("%s: __virtualname__ is %r but __virtual__() returned %r", plugin.source, str(declared), answer)
    return Verdict(accepted=True, name=str(declared or answer), aliases=aliases)


def _ask(virtual: Callable[[], Any], plugin: PluginFile, kind: str) -> tuple[str | bool | None, str | None]:
    """Return the answer of ``__virtual__``, False if it raises, and its reason."""
    reason: str | None = None
    try:
        answer = virtual()
        if isinstance(answer, tuple):
            answer, detail = answer[0], answer[1]
            reason = None if detail is None else str(plain(detail))
        if answer is not None and answer is not True:
            answer = str(plain(answer)) if answer else False
    except BaseException as error:
        if meant_for_program(error):
            raise
        address = f"salt.loaded.{'int' if plugin.folder.bundled else 'ext'}.{_TAG.get(kind, kind)}.{plugin.name}"
        code = f"sys.exit({plain(error.code)!r})" if isinstance(error, SystemExit) else ""
        from asyncstate.load.reasons import told  # noqa: PLC0415 - an error

        what = code or told(error, plugin.source)
        reason = (
            f"Exception raised when processing __virtual__ function for {address}. Module will not be loaded: {what}"
        )
        log.warning("%s (%s)", reason, plugin.source)
        log.debug("__virtual__ of %s failed", plugin.source, exc_info=True)
        answer = False
    return answer, reason


def exported_functions(namespace: ModuleType, *, imported_too: bool = False) -> Mapping[str, Callable[..., Any]]:
    """Return the functions that a plugin offers, by the names callers use.

    As in Salt 3008: the functions listed in ``__load__`` or ``__all__``, else those defined in the plugin itself
    (``imported_too``: all of its namespace), renamed by ``__func_alias__``. Private names and functions that
    ``depends`` refuses are left out.
    """
    listed = getattr(namespace, "__load__", None)
    if listed is None:
        listed = getattr(namespace, "__all__", None)
    aliases = getattr(namespace, "__func_alias__", {})
    exports: dict[str, Callable[..., Any]] = {}
    for attribute in dir(namespace) if listed is None else listed:
        func = None if attribute.startswith("_") else getattr(namespace, attribute, None)
        if not (inspect.isfunction(func) or isinstance(func, functools.partial)):
            continue
        if imported_too or listed is not None or _defined_in(namespace, func):
            func = offered(func)
            if func is not None:
                exports[aliases.get(attribute, attribute)] = func
    return exports


def _defined_in(namespace: ModuleType, func: Any) -> bool:
    home = getattr(func, "__module__", None) or ""
    return home == namespace.__name__ or home.startswith(f"{namespace.__name__}.")
