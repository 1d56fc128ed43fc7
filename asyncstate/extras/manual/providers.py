"""All providers of virtual modules compared with their interfaces, also providers that do not load on this machine."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import textwrap
from typing import TYPE_CHECKING, Any, Literal

import asyncstate.interfaces as home
from asyncstate.errors import LoaderError
from asyncstate.interfaces import Interface, functions_of, interface_of
from asyncstate.interfaces import grain as grain_of
from asyncstate.interfaces.conformance import Finding, Status, check_conformance, declined_by, signature_of
from asyncstate.load.entry_points import entry_point_folders
from asyncstate.load.folders import PluginFile, bundled_folder, plugin_folders, scan
from asyncstate.load.imports import import_plugin, plugin_lock
from asyncstate.load.virtual import claims_of, exported_functions
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

    from asyncstate.dunders import FileRoots

KIND: Literal["modules"] = "modules"


class Provider(Value):
    """One execution module of a virtual name: a finding for each function, or why there are none.

    ``follows``: it names the interface itself. Other files are compared with the interface of the name they claim.
    ``chosen``: the setting ``providers`` names the file, which then is the only provider.
    """

    name: str
    file: str
    interface: Interface
    findings: tuple[Finding, ...] = ()
    trouble: str = ""
    follows: bool = True
    chosen: bool = False

    @property
    def is_broken(self) -> bool:
        """Whether it breaks the promises of its interface on the machines that it supports."""
        wrong = {Status.INCOMPATIBLE, Status.MISSING}
        return bool(self.trouble) or any(finding.status in wrong for finding in self.findings)


class Conformance(Value):
    """``interfaces`` and ``providers`` by virtual name; ``additions``: files that only add functions to one.

    ``troubles`` has, by file, the reason why it cannot be imported.
    """

    interfaces: dict[str, Interface]
    providers: dict[str, list[Provider]]
    additions: dict[str, list[str]]
    troubles: dict[str, str]


def bundled_interfaces() -> dict[str, Interface]:
    """Return the interfaces that come with this package, by virtual name."""
    found: dict[str, Interface] = {}
    for module in pkgutil.iter_modules(home.__path__, f"{home.__name__}."):
        namespace = importlib.import_module(module.name)
        found.update(_defined_in(namespace))
    return dict(sorted(found.items()))


def plugin_files(opts: Mapping[str, Any], file_client: FileRoots) -> dict[str, PluginFile]:
    """Return every execution module file: first the tree's, then installed and bundled ones."""
    folders = [*plugin_folders(KIND, opts, file_client), *entry_point_folders(KIND), *bundled_folder(KIND)]
    return scan(folders)


def namespace_of(plugin: PluginFile) -> ModuleType:
    """Import a file. Raises LoaderError if that fails."""
    with plugin_lock(plugin.source):
        return import_plugin(plugin, KIND)


def tree_interfaces(opts: Mapping[str, Any], file_client: FileRoots) -> tuple[dict[str, Interface], dict[str, str]]:
    """Return the interfaces under ``_interfaces`` by virtual name, and the reasons of failed imports by file."""
    found: dict[str, Interface] = {}
    troubles: dict[str, str] = {}
    for plugin in scan(plugin_folders("interfaces", opts, file_client)).values():
        try:
            with plugin_lock(plugin.source):
                namespace = import_plugin(plugin, "interfaces")
        except LoaderError as error:
            troubles[plugin.source] = str(error)
            continue
        for name, interface in _defined_in(namespace):
            found.setdefault(name, interface)
    return found, troubles


def _defined_in(namespace: ModuleType) -> Iterator[tuple[str, Interface]]:
    for value in vars(namespace).values():
        mine = inspect.isclass(value) and value.__module__ == namespace.__name__
        if mine and issubclass(value, Interface) and value.__modulename__:
            yield value.__modulename__, value(namespace.__name__)


def check_providers(
    files: Mapping[str, PluginFile],
    grains: Mapping[str, Any],
    interfaces: Mapping[str, Interface] | None = None,
    troubles: Mapping[str, str] | None = None,
    chosen: Mapping[str, str] | None = None,
) -> Conformance:
    """Compare every provider among ``files`` with its interface. Imports files that compute their virtual name.

    ``interfaces`` are those known without a provider, by default the bundled ones. ``grains`` are this machine's; a
    provider for other machines declares their grains in ``__smi_grains__``. ``chosen`` is the setting ``providers``,
    which gives files virtual names that they do not claim.
    """
    names = {file: name for name, file in (chosen or {}).items()}
    known = dict(bundled_interfaces() if interfaces is None else interfaces)
    found = Conformance(known, {}, {}, dict(troubles or {}))
    for plugin in files.values():
        if plugin.name in names or claims_of(plugin).opaque or _plain_names(plugin) & known.keys():
            _add(found, plugin, grains, names.get(plugin.name, ""))
    ordered = dict(sorted(found.providers.items()))
    return found.replaced(interfaces=dict(sorted(known.items())), providers=ordered)


def _plain_names(plugin: PluginFile) -> set[str]:
    """Return the virtual names that a file gives itself as literals, else its file name."""
    claims = claims_of(plugin)
    if not claims.renames:
        return {plugin.name}
    return set(claims.literals) or {plugin.name}


def unknown_grains(interface: Interface, grains: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return by function the grains in its conditions that this machine does not have: perhaps misspelt."""
    found = {
        name: [
            grain
            for condition in (*declared.supported, *declared.not_applicable)
            for grain in condition.wanted
            if grain_of(grain, grains) is None
        ]
        for name, declared in functions_of(interface).items()
    }
    return {name: names for name, names in found.items() if names}


def _add(found: Conformance, plugin: PluginFile, grains: Mapping[str, Any], chosen: str) -> None:
    try:
        namespace = namespace_of(plugin)
    except LoaderError as error:
        found.troubles[plugin.source] = str(error)
        return
    own = interface_of(namespace)
    name = str(own) if own is not None else chosen or _name_of(namespace, plugin, found.interfaces)
    interface = own or found.interfaces.get(name)
    if interface is None:
        return
    found.interfaces.setdefault(name, interface)
    exports = exported_functions(namespace)
    if own is None and not chosen and exports.keys().isdisjoint(functions_of(interface)):
        found.additions.setdefault(name, []).append(plugin.source)
        return
    provider = Provider(plugin.name, plugin.source, interface, follows=own is not None, chosen=chosen == name)
    found.providers.setdefault(name, []).append(_checked(provider, namespace, exports, grains))


def _name_of(namespace: ModuleType, plugin: PluginFile, interfaces: Mapping[str, Interface]) -> str:
    """Return the likely virtual name of a file that follows no interface, without calling its ``__virtual__``."""
    declared = getattr(namespace, "__virtualname__", None)
    if isinstance(declared, str) and inspect.isfunction(getattr(namespace, "__virtual__", None)):
        return declared
    returned = _returned_names(namespace)
    return next((name for name in returned if name in interfaces), "" if returned else plugin.name)


def _returned_names(module: ModuleType) -> list[str]:
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


def _checked(
    provider: Provider, namespace: ModuleType, exports: Mapping[str, Any], grains: Mapping[str, Any]
) -> Provider:
    declined = declined_by(namespace)
    unknown = [name for name in declined if name not in functions_of(provider.interface)]
    if unknown:
        trouble = (
            f"__smi_not_implemented__ names {unknown[0]!r}, which {type(provider.interface).__name__} does not have"
        )
        provider = provider.replaced(trouble=trouble)
    try:
        home_grains = {**grains, **getattr(namespace, "__smi_grains__", {})}
        findings = check_conformance(provider.interface, exports, home_grains, declined)
        findings = [_with_differing_defaults(finding, exports) for finding in findings]
    except LoaderError as error:
        return provider.replaced(trouble=str(error))
    if not provider.follows:
        findings = [finding for finding in findings if finding.status is not Status.DEPRECATED]
    return provider.replaced(findings=tuple(findings))


def _with_differing_defaults(finding: Finding, exports: Mapping[str, Any]) -> Finding:
    """Return a finding with differing defaults among its notes: without harm, they may be mistakes."""
    if finding.declared is None or finding.status not in {Status.OK, Status.INCOMPATIBLE}:
        return finding
    notes = differing_defaults(finding.declared.signature, signature_of(exports[finding.function]))
    return finding.replaced(notes=(*notes, *finding.notes))


def differing_defaults(declared: inspect.Signature, actual: inspect.Signature | None) -> list[str]:
    """Return the parameters whose default values differ: no conflict, but perhaps a mistake."""
    if actual is None:
        return []
    pairs = ((p, actual.parameters.get(name)) for name, p in declared.parameters.items())
    return [
        f"{ours.name}: {ours.default!r}, not {declared_.default!r}"
        for declared_, ours in pairs
        if ours is not None
        and inspect.Parameter.empty not in (declared_.default, ours.default)
        and declared_.default != ours.default
    ]
