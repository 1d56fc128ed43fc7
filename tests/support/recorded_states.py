"""Replays the calls of tests/recorded/state_rows, whose rows record_state_rows.py had from Salt, on bundled plugins.

CASES = recorded("alias")

@pytest.mark.parametrize("case", CASES, ids=CASES)
def test_the_rows_of_salt(plugins, case):
    assert_as_recorded(plugins, CASES[case])
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from record_state_rows import CASES, cleaned, essence, files_of, lay_out
from recording import filled

from asyncstate.data.formats import yaml_data
from asyncstate.errors import AsyncStateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from plugin_harness import PluginHarness

_EXCEPTION = re.compile(r"^[\w.]*(Error|Exception): ")


def recorded(name: str, *, but: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """Return the cases of a file with what was recorded of them, without those whose titles are in ``but``."""
    cases = yaml_data((CASES / f"{name}.yaml").read_text())
    results = json.loads((CASES / f"{name}.json").read_text())
    return {title: {**case, **results[title]} for title, case in cases.items() if title not in but}


def replay(
    plugins: PluginHarness, case: dict[str, Any], run: Callable[[str], Any] | None = None
) -> tuple[list[Any], dict[str, str]]:
    """Make a case's calls below ``tmp_path/root``; return the rows and the files as the recorder writes them.

    ``run`` gets the commands that come before. The engine makes a failed row of an exception; here its text is the
    comment.
    """
    root = plugins.tmp_path / "root"
    root.mkdir(exist_ok=True)
    if case.get("home"):
        (root / "home").mkdir(exist_ok=True)
    lay_out(case, root)
    for name, text in case.get("tree", {}).items():
        plugins.salt_file(name, text)
    plugins.opts.update(filled(case.get("opts", {}), {"{root}": root}))
    for command in case.get("before", []) if run else []:
        run(filled(command, {"{root}": root}))
    rows = []
    for test in (True, False, False):
        before = files_of(root)
        try:
            row = plugins.state(case["state"], test=test, **filled(case["arguments"], {"{root}": root}))
        except AsyncStateError as error:
            row = {"result": False, "changes": {}, "comment": str(error)}
        rows.append(essence(row))
        assert not test or files_of(root) == before, "the dry run changed something"
    return cleaned(rows, root), cleaned(files_of(root), root)


def expected(case: dict[str, Any]) -> tuple[list[Any], dict[str, str]]:
    """Return what `replay` must: what Salt made of a case. Exceptions are compared by their text."""
    return [[result, changes, _EXCEPTION.sub("", comment)] for result, changes, comment in case["rows"]], case["after"]
