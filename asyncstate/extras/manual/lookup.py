"""The functions of a loader's plugins, with their documentation, and why other files were not loaded."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from asyncstate.extras.manual.described import described
from asyncstate.extras.manual.function import Function, platforms
from asyncstate.report.origins import BUNDLED, origin_of

if TYPE_CHECKING:
    from asyncstate.extras.manual.described import Argument
    from asyncstate.load.loader import LazyLoader
    from asyncstate.load.plugin import LoadedFunction

_LIBRARY = re.compile(r"pip install ('[^']+'(?: '[^']+')*)")
"""The advice of a plugin whose library is not installed."""


def documentation(loader: LazyLoader, name: str | None) -> dict[str, Any]:
    """Return the documentation of the function or of all functions of the module ``name``; of all if it is None."""
    if name and "." in name:
        function = loader.find(name)
        return {name: _entry(loader.kind, name, function)} if function else {}
    names = [each for each in loader.names() if name is None or each.partition(".")[0] == name]
    if not names and name is not None and (module := loader.module(name)) is not None and module.borrowed:
        names = [f"{name}.{function}" for function in module.functions]
    return {each: _entry(loader.kind, each, loader.get(each)) for each in sorted(names) if not _is_hook(each)}


def borrowed_names(loader: LazyLoader) -> list[str]:
    """Return the modules of Salt that nothing here hides, whether they load on this machine or not."""
    if loader.borrowed is None:
        return []
    here = {name.partition(".")[0] for name in loader.names()}
    return [name for name in loader.borrowed.names() if name not in here]


def missing_libraries(loader: LazyLoader) -> dict[str, str]:
    """Return the modules that only lack a library, with what to install: x509, and ``'cryptography>=43'``."""
    loader.names()  # loads every plugin: only those that were tried can be refused
    found: dict[str, str] = {}
    for file, reason in loader.refusals().items():
        if wanted := _LIBRARY.search(reason):
            found[_module_of(str(file))] = wanted[1]
    return dict(sorted(found.items()))


def _module_of(file: str) -> str:
    """Return the name of the plugin in a file; for a package, the name of its folder."""
    folder, name = os.path.split(file)
    return os.path.basename(folder) if name == "__init__.py" else name.removesuffix(".py")


def _is_hook(name: str) -> bool:
    """Return whether only the engine calls this function, never a tree."""
    return name.partition(".")[2].startswith("mod_")


def _arguments(kind: str, name: str, loaded: LoadedFunction) -> list[Argument]:
    """Return the arguments of a bundled state; [] for others, whose meaning is not known here."""
    return described(name, loaded.func) if kind == "states" and origin_of(loaded.module) == BUNDLED else []


def _entry(kind: str, name: str, loaded: LoadedFunction) -> dict[str, Any]:
    function = Function(kind, name, loaded.func)
    return {
        "signature": function.signature,
        "doc": function.doc,
        "arguments": [asdict(argument) for argument in _arguments(kind, name, loaded)],
        "example": function.example,
        "platforms": platforms(loaded.module.file),
        "file": loaded.module.file,
        "origin": origin_of(loaded.module),
        "async": loaded.is_async,
    }


def why_not(loaders: dict[str, LazyLoader], module: str) -> list[str]:
    """Return why the files of a module that no other file provides were not loaded."""
    if any(each.partition(".")[0] == module for loader in loaders.values() for each in loader.names()):
        return []
    reasons = (
        reason
        for loader in loaders.values()
        for file, reason in loader.refusals().items()
        if module in {os.path.basename(os.path.dirname(file)), os.path.basename(file).removesuffix(".py")}
    )
    salts = (loader.borrowed.refusal(module) for loader in loaders.values() if loader.borrowed is not None)
    return list(dict.fromkeys(reason for reason in (*reasons, *salts) if reason))


def refusals(loader: LazyLoader, name: str | None) -> dict[str, str]:
    """Return why files were not loaded, by file; only those that could be ``name`` if one is given."""
    loader.names()  # loads every plugin: only those that were tried can be refused
    refused = {str(file): reason for file, reason in loader.refusals().items()}
    if name is None:
        return refused
    found = {file: reason for file, reason in refused.items() if name in file or f"'{name}'" in reason}
    salts = loader.borrowed.refusal(name) if loader.borrowed is not None and not found else ""
    return {f"{name} of Salt": salts} if salts else found
