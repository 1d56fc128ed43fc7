"""Tables of execution functions, tests/modules/calls/*.yaml: a system, calls one after the other, and what they give.

Each case is a title with ``calls``; a call is a function with its arguments, the named ones in ``options``, and what it
``gives``, or the text of what it ``raises``, in which ``…`` is any text. The rest is as in support/state_tables.py.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from record_state_rows import cleaned
from state_tables import difference, placed, prepare, seen, table_cases

from asyncstate.errors import AsyncStateError

if TYPE_CHECKING:
    import pytest
    from plugin_harness import PluginHarness

TABLES = Path(__file__).parents[1] / "modules" / "calls"


def cases() -> dict[str, dict[str, Any]]:
    """Return the cases of all tables, by ``table: title``."""
    return table_cases(TABLES, {"calls"})


def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: dict[str, Any]) -> dict[str, Any]:
    """Make the calls of a case; return them with what they gave, and what became of the system."""
    plugins, fake, root = prepare(tmp_path, monkeypatch, case)
    before = seen(root, fake)
    made = [cleaned(answered(plugins, placed(copy.deepcopy(each), root)), root) for each in case["calls"]]
    after = seen(root, fake)
    return {
        "calls": made,
        "after": cleaned(difference(before[0], after[0], deep=False), root),
        "machine after": cleaned(difference(before[1], after[1]), root),
    }


def answered(plugins: PluginHarness, call: dict[str, Any]) -> dict[str, Any]:
    """Make a call; return it with what it gives or raises."""
    function, arguments = next(iter(call.items()))
    options = call.get("options", {})
    asked = {function: copy.deepcopy(arguments), **({"options": copy.deepcopy(options)} if options else {})}
    try:
        gives = plugins.call(function, *arguments, **options)
    except AsyncStateError as error:
        return {**asked, "raises": str(error)}
    if isinstance(gives, dict):
        gives.pop("pid", None)
    return {**asked, "gives": gives}


def expected(case: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return what `replay` must have found; what ``…`` leaves open is as it was found."""
    calls = [dict(call) for call in case["calls"]]
    for call, made in zip(calls, found["calls"], strict=True):
        for key in ("raises", "gives"):
            if isinstance(call.get(key), str) and isinstance(said := made.get(key), str):
                pattern = ".*".join(map(re.escape, call[key].split("…")))
                call[key] = said if re.fullmatch(pattern, said, re.DOTALL) else call[key]
    return {"calls": calls, **{name: case.get(name, {}) for name in ("after", "machine after")}}
