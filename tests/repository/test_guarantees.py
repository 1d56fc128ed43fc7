"""The page of guarantees: every promise names tests, and every test it names is there."""

import ast
import re

import pytest

ROW = r"^\|(?! promise| ---)(?P<promise>[^|]+)\|(?P<condition>[^|]*)\|(?P<tests>[^|]+)\|$"
PROMISE = re.compile(ROW, re.MULTILINE)
TEST = re.compile(r"`([\w/]+\.py)(?:::(\w+))?`")


@pytest.fixture
def promises(checkout):
    text = (checkout / "docs" / "guarantees.md").read_text()
    return [match.groupdict() for match in PROMISE.finditer(text)]


def functions(path):
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def test_every_row_of_the_page_is_a_promise(checkout, promises):
    text = (checkout / "docs" / "guarantees.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith(("| promise", "| ---"))]
    assert len(promises) == len(rows) >= 20


def test_every_promise_names_tests_that_are_there(checkout, promises):
    missing = []
    for promise in promises:
        named = TEST.findall(promise["tests"])
        if not named:
            missing.append(promise["promise"])
        for file, function in named:
            path = checkout / "tests" / file
            if not path.is_file() or (function and function not in functions(path)):
                missing.append(f"{file}::{function}")
    assert missing == []
