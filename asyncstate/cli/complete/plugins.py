"""The functions of plugins and their arguments, read from the text of the plugins."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from asyncstate.cli.complete import store

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Iterator, Sequence

_FORMAT = 2
"""Counts the changes of what an index holds."""


class Argument(NamedTuple):
    """One argument of a function. ``values`` are those it may have, as far as its annotation or default says."""

    name: str
    values: list[str]


class Plugins:
    """The plugins of a kind in some folders, the first folder first."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._files = _plugin_files(folders)
        self._indexes = {folder: _Index(folder) for folder in dict.fromkeys(map(_folder_of, self._files))}

    def modules(self) -> list[str]:
        """Return the names by which the plugins are called, sorted."""
        return sorted({name for path in self._files for name in self._about(path)["names"]})

    def functions(self, module: str) -> dict[str, list[Argument]]:
        """Return the functions of a module and their arguments; of several files with its name, those of all."""
        found: dict[str, list[Argument]] = {}
        for path in self._files:
            about = self._about(path)
            if module in about["names"]:
                for name, arguments in self._functions_of(path, about).items():
                    found.setdefault(name, [Argument(*argument) for argument in arguments])
        return found

    def keep(self) -> None:
        """Write what was read anew, without files that are gone."""
        for index in self._indexes.values():
            index.keep()

    def _about(self, path: str) -> dict[str, Any]:
        stamp = store.stamp(path)
        index = self._indexes[_folder_of(path)]
        known: dict[str, Any] | None = index.known.get(path)
        if known is None or known["stamp"] != stamp:
            known = {"stamp": stamp, "names": _names(self._files[path], path), "functions": None}
            index.known[path] = known
            index.changed = True
        return known

    def _functions_of(self, path: str, about: dict[str, Any]) -> dict[str, Any]:
        if about["functions"] is None:
            about["functions"] = dict(sorted(_Text(path).functions()))
            self._indexes[_folder_of(path)].changed = True
        functions: dict[str, Any] = about["functions"]
        return functions


class _Index:
    """What is known of the plugins in one folder; it serves all trees that use the folder."""

    def __init__(self, folder: str) -> None:
        self._name = f"functions-{store.key_of('functions', _FORMAT, folder)}.json"
        self.known: dict[str, Any] = store.load(self._name)
        self.changed = False

    def keep(self) -> None:
        if self.changed:
            store.save(self._name, {path: known for path, known in self.known.items() if os.path.exists(path)})


def _folder_of(path: str) -> str:
    """Return the folder of plugins that a file is in: a package is a folder in it."""
    folder, name = os.path.split(path)
    return os.path.dirname(folder) if name == "__init__.py" else folder


def _plugin_files(folders: Iterable[str]) -> dict[str, str]:
    """Return the files of plugins and the name of each; of files with one name, that of the first folder."""
    found: dict[str, str] = {}
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            stem, suffix = os.path.splitext(name)
            if stem.startswith(("_", ".")) or stem in found or suffix not in {"", ".py"}:
                continue
            path = os.path.join(folder, name) if suffix else os.path.join(folder, name, "__init__.py")
            if os.path.isfile(path):
                found[stem] = path
    return {path: stem for stem, path in found.items()}


def _names(stem: str, path: str) -> list[str]:
    """Return the names that the plugin in a file answers for, as its text has them: its own, or a virtual one."""
    import re

    from asyncstate.load.claims import claims_of
    from asyncstate.load.folders import PluginFile, PluginFolder

    claims = claims_of(PluginFile(stem, path, PluginFolder(os.path.dirname(path))))
    if claims.name:
        return [claims.name]
    if interface := re.match(r"(\w+)interface\(", claims.expression):  # __virtualname__ = PkgInterface(__name__)()
        return [interface[1]]
    return [stem]


class _Text:
    """The text of a plugin file: which functions it offers, also those that it imports from files beside it."""

    def __init__(self, path: str) -> None:
        import ast

        self._path = path
        try:
            with open(path, encoding="utf-8") as file:
                self._body = list(_statements(ast.parse(file.read()).body))
        except (OSError, ValueError, SyntaxError, RecursionError):
            self._body = []

    def functions(self) -> Iterator[tuple[str, list[Argument]]]:
        """Yield the functions by the names that callers use, as `asyncstate.load.exports` does for a loaded plugin."""
        import ast

        own = self.own()
        listed = self._literal("__load__") or self._literal("__all__")
        renamed = self._literal("__func_alias__") or {}
        imported = {
            alias.asname or alias.name: (node, alias.name)
            for node in self._body
            if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
            for alias in node.names
        }
        beside: dict[str, _Text] = {}
        for name in listed or own:
            if name.startswith("_"):
                continue
            if name in own:
                yield renamed.get(name, name), _arguments(own[name])
            elif name in imported:
                node, original = imported[name]
                module = str(node.module)
                if module not in beside:
                    beside[module] = _Text(_beside(self._path, module))
                definition = beside[module].own().get(original)
                yield renamed.get(name, name), _arguments(definition) if definition else []

    def own(self) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
        """Return the functions that the file defines, by name."""
        import ast

        found: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        for node in self._body:
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    found[name] = node
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=same)) if same in found:
                    found[name] = found[same]
        return found

    def _literal(self, name: str) -> Any:
        import ast

        for node in self._body:
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                try:
                    return ast.literal_eval(node.value)
                except ValueError:
                    return None
        return None


def _beside(path: str, module: str) -> str:
    stem = os.path.join(os.path.dirname(path), *module.split("."))
    return f"{stem}.py" if os.path.isfile(f"{stem}.py") else os.path.join(stem, "__init__.py")


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements at the level of a module, those under ``if`` and ``try`` too."""
    import ast

    for node in body:
        if isinstance(node, (ast.If, ast.Try)):
            yield from _statements([*node.body, *node.orelse])
        else:
            yield node


def _arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[Argument]:
    import ast

    given = function.args
    positional = [*given.posonlyargs, *given.args]
    defaults = [*[None] * (len(positional) - len(given.defaults)), *given.defaults, *given.kw_defaults]
    found = []
    for argument, default in zip([*positional, *given.kwonlyargs], defaults, strict=True):
        if argument.arg.startswith("_"):
            continue
        is_truth = isinstance(default, ast.Constant) and isinstance(default.value, bool)
        annotation = ast.unparse(argument.annotation) if argument.annotation is not None else ""
        values = ["True", "False"] if is_truth or "bool" in annotation.split(" | ") else _choices(argument.annotation)
        found.append(Argument(argument.arg, values))
    return found


def _choices(annotation: ast.expr | None) -> list[str]:
    """Return the texts of a ``Literal`` in an annotation."""
    import ast

    return [
        str(constant.value)
        for node in ast.walk(annotation or ast.Constant(None))
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "Literal"
        for constant in ast.walk(node.slice)
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
    ]
