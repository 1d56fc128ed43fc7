"""The list of guarantees: every promise names tests that are there, and every figure is that of the tests."""

import ast
import importlib
import json
import math
import re

import pytest
import yaml

TEST = re.compile(r"([\w/]+\.py)(?:::(\w+))?")


@pytest.fixture
def written(checkout):
    return yaml.safe_load((checkout / "docs" / "guarantees.yaml").read_text())


@pytest.fixture
def promises(written):
    return [promise for section in written["promises"].values() for promise in section]


def functions(path):
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def test_every_promise_names_tests_that_are_there(checkout, promises):
    missing = []
    assert len(promises) >= 20
    for promise in promises:
        named = [each for test in promise["tests"] for each in TEST.findall(test)]
        if len(named) < max(len(promise["tests"]), 1):
            missing.append(promise["promise"])
        for file, function in named:
            path = checkout / "tests" / file
            if not path.is_file() or (function and function not in functions(path)):
                missing.append(f"{file}::{function}")
    assert missing == []


class Counted:
    """How many cases a test tries: in every run of the tests, and in one with the slow ones, too.

    That is one for each parameter or row, or the parameter ``least``, times what Hypothesis draws.
    """

    def __init__(self, checkout, file, name):
        path = checkout / "tests" / file
        self._tree = ast.parse(path.read_text())
        found = [node for node in ast.walk(self._tree) if getattr(node, "name", "") == name]
        assert found, f"a figure names {file}::{name}, which is not there"
        self._node = found[0]
        module = importlib.import_module(f"tests.{file.removesuffix('.py').replace('/', '.')}")
        marks = [
            mark for mark in getattr(getattr(module, name), "pytestmark", []) if mark.name in {"parametrize", "slow"}
        ]
        tables = [(mark.args[0], list(mark.args[1])) for mark in marks if mark.name == "parametrize"]
        each = self._each() * math.prod(map(len, getattr(getattr(module, name), "tables", ())))
        self.thorough = each * math.prod(_weight(names, table) for names, table in tables)
        quick = [_weight(names, [one for one in table if not _is_slow(one)]) for names, table in tables]
        self.usual = 0 if any(mark.name == "slow" for mark in marks) else each * math.prod(quick)

    def _each(self):
        for call in (node for node in ast.walk(self._node) if isinstance(node, ast.Call)):
            if ast.unparse(call.func) == "tried" and len(call.args) == 3:  # of the fuzz tests, with a number of cases
                return ast.literal_eval(call.args[2])
        drawn = [
            word.value.value
            for each in self._node.decorator_list
            for word in getattr(each, "keywords", ())
            if word.arg == "max_examples"
        ]
        given = any(ast.unparse(each).startswith("given(") for each in self._node.decorator_list)
        return drawn[0] if drawn else _DRAWN if given else 1


_DRAWN = 60
"""What Hypothesis draws where a test says nothing else."""


def _weight(names, table):
    """How many cases a table of parameters stands for: at least what it says itself, or one a line."""
    if "least" not in names:
        return len(table)
    return sum(line[names.index("least")] for line in table)


def _is_slow(parameter):
    return any(mark.name == "slow" for mark in getattr(parameter, "marks", ()))


def test_hypothesis_draws_what_the_figures_take_for_granted(checkout):
    assert f"max_examples={_DRAWN}" in (checkout / "tests" / "conftest.py").read_text()


def test_the_figures_are_those_of_the_tests(checkout, written):
    wrong, searched = [], 0
    for row in written["figures"]:
        said = [row["always"], row["in_all"]]
        if row["tests"] == ["fuzz/tried.json"]:
            searched = said[1]
            continue
        counted = [Counted(checkout, *named) for test in row["tests"] for named in TEST.findall(test)]
        found = [sum(one.usual for one in counted), sum(one.thorough for one in counted)]
        if not counted or not all(least <= number <= 2 * least for least, number in zip(said, found, strict=True)):
            wrong.append(f"{row['tried']}: {found[0]:,} and {found[1]:,}")
    assert wrong == []
    tried = sum(json.loads((checkout / "tests" / "fuzz" / "tried.json").read_text()).values())
    assert 0 < searched <= tried < 2 * searched, f"{tried:,} cases were searched"
