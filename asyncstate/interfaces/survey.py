"""Every provider there is, whether it would load on this machine or not, against its interface."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import asyncstate.interfaces as home
from asyncstate.errors import LoaderError
from asyncstate.interfaces.base import Interface, functions_of, interface_of
from asyncstate.interfaces.examine import Finding, examine
from asyncstate.load.folders import PluginFile, bundled_folder, entry_point_folders, scan
from asyncstate.load.host import plugin_folders
from asyncstate.load.imports import import_plugin, plugin_lock
from asyncstate.load.loader import exported_functions
from asyncstate.load.virtual import claims_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

KIND: Literal["modules"] = "modules"


class Provider(NamedTuple):
    """One execution module that follows an interface: what it makes of each function, or why that cannot be told."""

    name: str
    file: str
    interface: Interface
    findings: tuple[Finding, ...] = ()
    trouble: str = ""


class Survey(NamedTuple):
    """``providers`` by virtual name; ``legacy``: files that claim a virtual name without following its interface."""

    providers: dict[str, list[Provider]]
    legacy: dict[str, list[str]]
    troubles: dict[str, str]


def bundled_interfaces() -> dict[str, Interface]:
    """Return the interfaces that come with this package, by virtual name."""
    found: dict[str, Interface] = {}
    for module in pkgutil.iter_modules(home.__path__, f"{home.__name__}."):
        namespace = importlib.import_module(module.name)
        for value in vars(namespace).values():
            mine = inspect.isclass(value) and value.__module__ == module.name
            if mine and issubclass(value, Interface) and value.__modulename__:
                found[value.__modulename__] = value(module.name)
    return dict(sorted(found.items()))


def plugin_files(opts: Mapping[str, Any], file_client: Any) -> dict[str, PluginFile]:
    """Return every execution module file, those of the tree before installed and bundled ones."""
    folders = [*plugin_folders(KIND, opts, file_client), *entry_point_folders(KIND), *bundled_folder(KIND)]
    return scan(folders)


def namespace_of(plugin: PluginFile) -> ModuleType:
    """Import a file. LoaderError if that fails."""
    with plugin_lock(plugin.source):
        return import_plugin(plugin, KIND)


def survey(files: Mapping[str, PluginFile], grains: Mapping[str, Any]) -> Survey:
    """Compare every provider among ``files`` with its interface. Imports what computes its virtual name.

    ``grains`` are this machine's; a provider for another kind of machine says of which in ``__smi_grains__``.
    """
    known = set(bundled_interfaces())
    found = Survey({}, {}, {})
    for plugin in files.values():
        claims = claims_of(plugin)
        if claims.opaque and "interface" in claims.expression:
            _add(found, plugin, grains)
        for name in sorted(known & claims.literals if claims.renames and not claims.opaque else set()):
            found.legacy.setdefault(name, []).append(plugin.source)
    return Survey(dict(sorted(found.providers.items())), found.legacy, found.troubles)


def unknown_grains(interface: Interface, grains: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return by function the grains its conditions name that this machine does not have: perhaps misspelt."""
    found = {
        name: [
            grain
            for condition in (*declared.supported, *declared.not_applicable)
            for grain in condition.wanted
            if grain not in grains
        ]
        for name, declared in functions_of(interface).items()
    }
    return {name: names for name, names in found.items() if names}


def _add(found: Survey, plugin: PluginFile, grains: Mapping[str, Any]) -> None:
    try:
        namespace = namespace_of(plugin)
    except LoaderError as error:
        found.troubles[plugin.source] = str(error)
        return
    interface = interface_of(namespace)
    if interface is None:
        return
    provider = Provider(plugin.name, plugin.source, interface)
    try:
        home_grains = {**grains, **getattr(namespace, "__smi_grains__", {})}
        findings = examine(interface, exported_functions(namespace), home_grains)
    except LoaderError as error:
        provider = provider._replace(trouble=str(error))
    else:
        provider = provider._replace(findings=tuple(findings))
    found.providers.setdefault(str(interface), []).append(provider)
