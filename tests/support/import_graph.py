"""The import graph of the package and the bundled plugins, read from the source."""

from __future__ import annotations

import ast
import gc
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

TREES = {"asyncstate": "asyncstate", "states": "asyncstate.states", "modules": "asyncstate.modules"}


class Source(NamedTuple):
    """One Python file under its import name."""

    name: str
    path: Path

    @property
    def package(self) -> str:
        """What its relative imports start from."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]


def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file, to be read only."""
    return parse(path.read_text())


@cache
def parse(text: str) -> ast.Module:
    """Return the syntax tree of a text, to be read only.

    The collector does not look at it, neither now nor later, as it is kept: that would take most of the time.
    """
    gc.disable()
    try:
        return ast.parse(text)
    finally:
        gc.freeze()
        gc.enable()


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements within a node, those within others, too."""
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        for child in getattr(node, field, ()):
            if isinstance(child, ast.stmt):
                yield child
            yield from statements(child)


def sources(checkout: Path) -> dict[str, Source]:
    """Return every file of the package and of the bundled plugins, by import name."""
    found = {}
    for folder, package in TREES.items():
        for path in sorted((checkout / folder).rglob("*.py")):
            parts = path.relative_to(checkout / folder).with_suffix("").parts
            name = ".".join([package, *parts]).removesuffix(".__init__")
            found[name] = Source(name, path)
    return found


def import_graph(files: Mapping[str, Source]) -> dict[str, set[str]]:
    """Return what each file imports: at its top, in functions, and for types only; files by import name, others too."""
    return {name: set(_imports(source, files)) - {name} for name, source in files.items()}


def _imports(source: Source, files: Mapping[str, Source]) -> Iterator[str]:
    for node in ast.walk(parsed(source.path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                home = source.package.split(".")
                base = ".".join([*home[: len(home) - node.level + 1], *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if inner in files else base


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the strongly connected components of more than one member, each sorted (Tarjan)."""
    found: list[list[str]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_: list[str] = []

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        open_.append(node)
        for other in graph[node]:
            if other not in graph:
                continue
            if other not in number:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in open_:
                lowest[node] = min(lowest[node], number[other])
        if lowest[node] == number[node]:
            at = open_.index(node)
            if len(open_) - at > 1:
                found.append(sorted(open_[at:]))
            del open_[at:]

    for node in graph:
        if node not in number:
            visit(node)
    return found
