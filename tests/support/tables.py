"""A table of a pure function as one test, where a test for each row would take many times what the row takes."""

from __future__ import annotations

import inspect
from functools import wraps
from pathlib import Path
from types import FunctionType

import pytest
import yaml


def beside(file):
    """Return the tables of a module of tests by name: those of the file with its name that ends with ``.yaml``."""
    return yaml.load(Path(file).with_suffix(".yaml").read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def rows(names, values):
    """Call a test with each row of a table, as ``pytest.mark.parametrize`` writes it; a failure names its row.

    Fixtures are made once, for all rows.
    """
    words = tuple(word.strip() for word in names.split(",")) if isinstance(names, str) else tuple(names)
    alone = isinstance(names, str) and len(words) == 1
    table = [_values(row) if isinstance(row, _PARAM) else (row,) if alone else tuple(row) for row in values]
    assert table
    assert all(len(row) == len(words) for row in table)

    def decorate(test):
        @wraps(test)
        def run(**fixtures):
            wrong, skipped = [], []
            for row in table:
                try:
                    test(**fixtures, **dict(zip(words, row, strict=True)))
                except pytest.skip.Exception as reason:
                    skipped.append(reason)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - all of them are raised below
                    error.add_note(", ".join(f"{word}: {value!r}" for word, value in zip(words, row, strict=True)))
                    wrong.append(error)
            if wrong:
                raise wrong[0] if len(wrong) == 1 else BaseExceptionGroup(f"{len(wrong)} rows of {len(table)}", wrong)
            if len(skipped) == len(table):
                raise skipped[0]

        signature = inspect.signature(test)
        left = [each for each in signature.parameters.values() if each.name not in words]
        run.__signature__ = signature.replace(parameters=left)
        run.tables = [*getattr(test, "tables", ()), table]
        return run

    return decorate


_PARAM = type(pytest.param())


def _values(row):
    assert not row.marks, "a row of a test that is one has no marks of its own"
    return row.values


def pytest_pycollect_makeitem(collector, name, obj):
    """Make one test of those whose arguments are all in their tables, unless rows are asked for by ``::`` or ``-k``.

    A test of its own takes pytest and its workers five milliseconds, and most rows a tenth of one.
    """
    config = collector.config
    if config.option.keyword or any("::" in each for each in config.args):
        return None
    if not (isinstance(collector, pytest.Module) and isinstance(obj, FunctionType) and name.startswith("test_")):
        return None
    marks = getattr(obj, "pytestmark", [])
    tables = [mark for mark in marks if mark.name == "parametrize"]
    if not tables or inspect.iscoroutinefunction(obj) or not all(map(_is_plain, marks)):
        return None
    whole = obj
    for mark in tables:
        whole = rows(*mark.args[:2])(whole)
    if inspect.signature(whole).parameters:
        return None
    whole.pytestmark = [mark for mark in marks if mark.name != "parametrize"]
    item = pytest.Function.from_parent(collector, name=name, callobj=whole)
    return item if {*item.fixturenames} <= OF_EVERY_TEST else None


OF_EVERY_TEST = {"event_loop_policy", "private_directories", "request", "tmp_path_factory", "validating_machine"}
"""The fixtures of the session, which are not made for a test."""


def _is_plain(mark):
    """Whether a mark says the same of each row: a table with neither marks nor fixtures of its own."""
    if mark.name != "parametrize":
        return mark.name != "xfail"
    has_size = len(mark.args) == 2 and hasattr(mark.args[1], "__len__") and len(mark.args[1]) > 0
    return (
        has_size
        and "indirect" not in mark.kwargs
        and not any(isinstance(row, _PARAM) and row.marks for row in mark.args[1])
    )
