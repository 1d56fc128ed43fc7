"""The published schema explains every field of a plan, and docs/plans.md every field of a difference."""

import json

import pytest

from asyncstate.plans import comparison, record

RECORDS = [record.PlanRecord, record.Selection, record.Inputs, record.ChunkRecord, record.NodeRecord]


@pytest.fixture(scope="module")
def text(request):
    return (request.config.rootpath / "docs" / "plans.md").read_text()


@pytest.mark.parametrize("kind", RECORDS)
def test_the_schema_explains_each_field(request, kind):
    schema = json.loads((request.config.rootpath / "docs" / "schemas" / "plan.json").read_text())
    published = schema["$defs"][kind.__name__]
    assert set(published["properties"]) == set(kind.__struct_fields__)
    assert {name for name in kind.__struct_fields__ if f"`{name}`" not in published["description"]} == set()


SHOWN = "StateChange ArgumentChange Move EdgeChange InputChange Differences".split()


@pytest.mark.parametrize("kind", [getattr(comparison, name) for name in SHOWN])
def test_what_show_diff_gives_is_documented(text, kind):
    section = text[text.index("## `show diff`") : text.index("## The format")]
    assert {name for name in kind.__struct_fields__ if f"`{name}`" not in section} == set()
