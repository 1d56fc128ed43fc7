"""A table of a pure function as one test, where a test for each row would take many times what the row takes."""

from __future__ import annotations

import inspect
from functools import wraps


def rows(names, values):
    """Call a test with each row of a table, as ``pytest.mark.parametrize`` writes it; a failure names its row.

    Fixtures are made once, for all rows.
    """
    words = (names,) if isinstance(names, str) else tuple(names)
    table = [(row,) if isinstance(names, str) else tuple(row) for row in values]
    assert table
    assert all(len(row) == len(words) for row in table)

    def decorate(test):
        @wraps(test)
        def run(**fixtures):
            wrong = []
            for row in table:
                try:
                    test(**fixtures, **dict(zip(words, row, strict=True)))
                except Exception as error:  # noqa: BLE001 - all of them are raised below
                    error.add_note(", ".join(f"{word}: {value!r}" for word, value in zip(words, row, strict=True)))
                    wrong.append(error)
            if wrong:
                raise wrong[0] if len(wrong) == 1 else ExceptionGroup(f"{len(wrong)} rows of {len(table)}", wrong)

        signature = inspect.signature(test)
        left = [each for each in signature.parameters.values() if each.name not in words]
        run.__signature__ = signature.replace(parameters=left)
        run.tables = [*getattr(test, "tables", ()), table]
        return run

    return decorate
