"""docs/plans.md names every field of the format, and no other."""

import re

import pytest

from asyncstate.plans import comparison, record

TABLES = {
    "Fields of the plan:": record.PlanRecord,
    "Fields of `selection`:": record.Selection,
    "Fields of `inputs`, a digest for each:": record.Inputs,
    "Fields of a state:": record.ChunkRecord,
    "Fields of a node:": record.NodeRecord,
}


@pytest.fixture(scope="module")
def text(request):
    return (request.config.rootpath / "docs" / "plans.md").read_text()


@pytest.mark.parametrize("head", TABLES)
def test_each_field_has_its_row(text, head):
    rows = text[text.index(f"\n{head}\n\n") + len(head) + 3 :].partition("\n\n")[0]
    named = [name for names in re.findall(r"^- (`.*?):", rows, re.MULTILINE) for name in re.findall(r"`(\w+)`", names)]
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
