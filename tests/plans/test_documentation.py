"""docs/plans.md names every field of the format, and no other."""

import re

import pytest

from asyncstate.plans import comparison, record

TABLES = {
    "field of the plan": record.PlanRecord,
    "field of `selection`": record.Selection,
    "field of `inputs`": record.Inputs,
    "field of a state": record.ChunkRecord,
    "field of a node": record.NodeRecord,
}


@pytest.fixture(scope="module")
def text(request):
    return (request.config.rootpath / "docs" / "plans.md").read_text()


@pytest.mark.parametrize("head", TABLES)
def test_each_field_has_its_row(text, head):
    table = text[text.index(f"| {head} |") :].partition("\n\n")[0]
    first_columns = re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE)
    named = [name for column in first_columns for name in re.findall(r"`(\w+)`", column)]
    assert named == sorted(named, key=named.index)
    assert set(named) == set(TABLES[head].__struct_fields__)


@pytest.mark.parametrize(
    "kind",
    [
        comparison.StateChange,
        comparison.ArgumentChange,
        comparison.Move,
        comparison.EdgeChange,
        comparison.InputChange,
        comparison.Differences,
    ],
)
def test_what_show_diff_gives_is_documented(text, kind):
    section = text[text.index("## `show diff`") : text.index("## The format")]
    assert {name for name in kind.__struct_fields__ if f"`{name}`" not in section} == set()
