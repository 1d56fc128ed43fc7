"""Bundled states are written as docs/writing-states.md shows: one builder of rows, one question for a dry run."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROW_KEYS = {"name", "changes", "result", "comment"}


def keys_of(node: ast.Dict) -> set[object]:
    return {key.value for key in node.keys if isinstance(key, ast.Constant)}


def oddities(source: str) -> Iterator[str]:
    """Yield what the builder and `is_dry_run` are there for, and is written out."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Assign(targets=[ast.Name("Row")]) | ast.AnnAssign(target=ast.Name("Row")):
                yield f"{node.lineno}: a type of rows of its own"
            case ast.Subscript(ast.Name("__opts__"), ast.Constant("test"), ast.Load()):
                yield f'{node.lineno}: __opts__["test"]'
            case ast.Call(ast.Attribute(ast.Name("__opts__"), "get"), [ast.Constant("test"), *_]):
                yield f'{node.lineno}: __opts__.get("test")'
            case ast.Dict() if keys_of(node) >= ROW_KEYS:
                yield f"{node.lineno}: a row written out"
            case ast.Dict() if None in node.keys and "result" in keys_of(node):
                yield f"{node.lineno}: a row made of another"


def test_states_make_rows_with_the_builder(checkout):
    files = sorted((checkout / "states").rglob("*.py"))
    assert len(files) > 80
    assert [f"{file.relative_to(checkout)}:{each}" for file in files for each in oddities(file.read_text())] == []


@pytest.mark.parametrize(
    "source",
    [
        "Row = dict[str, Any]",
        "Row: TypeAlias = dict[str, Any]",
        'if __opts__["test"]:\n    pass',
        'test = __opts__.get("test", False)',
        'row = {"name": name, "changes": {}, "result": True, "comment": ""}',
        'row = {"comment": c, "changes": {"a": 1}, "name": name, "result": None, "path": path}',
        'return_ = {**row, "result": False, "comment": "No"}',
    ],
)
def test_what_is_written_out_is_found(source):
    assert len(list(oddities(source))) == 1


@pytest.mark.parametrize(
    "source", ['__opts__["test"] = True', 'row = {"result": 1, "comment": 2}', 'row = row | {"comment": "No"}']
)
def test_what_is_no_row_is_left_alone(source):
    assert list(oddities(source)) == []
