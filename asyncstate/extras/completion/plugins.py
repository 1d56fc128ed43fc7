"""The functions of plugins and their arguments, read from the text of the plugins."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Iterator

    from asyncstate.load.folders import PluginFile


class Argument(NamedTuple):
    """An argument of a function. ``values`` are its possible values, as far as its annotation or default tells."""

    name: str
    values: list[str]


class Plugins:
    """The plugins of a kind in a list of folders, in order of lookup."""

    def __init__(self, folders: Iterable[str]) -> None:
        from asyncstate.load.folders import PluginFolder, scan

        self._files = scan(map(PluginFolder, folders)).values()

    def modules(self) -> list[str]:
        """Return the names by which the plugins are called, sorted."""
        return sorted({name for plugin in self._files for name in _names(plugin)})

    def functions(self, module: str) -> dict[str, list[Argument]]:
        """Return the functions of a module and their arguments, from all files that provide it."""
        found: dict[str, list[Argument]] = {}
        for plugin in self._files:
            if module in _names(plugin):
                for name, arguments in sorted(_Text(plugin.source).functions()):
                    found.setdefault(name, arguments)
        return found


def _names(plugin: PluginFile) -> list[str]:
    """Return the names that a plugin file provides according to its text: its own, or virtual ones."""
    import re

    from asyncstate.load.virtual import claims_of

    claims = claims_of(plugin)
    if claims.name:
        return [claims.name]
    if interface := re.match(r"(\w+)interface\(", claims.expression):  # __virtualname__ = PkgInterface(__name__)()
        return [interface[1]]
    return [plugin.name]


class _Text:
    """The text of a plugin file, and the functions it exports, also those imported from sibling files."""

    def __init__(self, path: str) -> None:
        import ast

        self._path = path
        try:
            with open(path, encoding="utf-8") as file:
                self._body = list(_statements(ast.parse(file.read()).body))
        except (OSError, ValueError, SyntaxError, RecursionError):
            self._body = []

    def functions(self) -> Iterator[tuple[str, list[Argument]]]:
        """Yield the functions by the names that callers use, as `asyncstate.load.virtual` does for a loaded plugin."""
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
    """Yield the statements of a module, also those under ``if`` and ``try``."""
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
