"""The offer of an imported plugin: whether it loads, under which name, and with which functions.

``__virtual__`` and ``__virtualname__`` work as in Salt: ``__virtualname__`` counts only beside a ``__virtual__``
function, and then callers cannot use the file's own name. The name of an interface counts without ``__virtual__``.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from asyncstate.errors import meant_for_program
from asyncstate.interfaces import interface_of
from asyncstate.logs import get_logger
from asyncstate.model.encode import plain
from asyncstate.salt_compat import offered
from asyncstate.value import Value

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from asyncstate.load.folders import PluginFile

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
