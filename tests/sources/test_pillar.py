import json
import sys

import pytest
from memory_files import MemoryFileClient
from messages import match, said
from record_answers import recorded
from tables import beside
from trees import rendering

from asyncstate.errors import PillarError
from asyncstate.sources.fileclient import LocalFileClient
from asyncstate.sources.pillar import compile_pillar

TABLES = beside(__file__)
TOP = "base: {'*': [a]}"


def compiled(files, override=None, client=None, **opts):
    client = client or MemoryFileClient(files if "base" in files else {"base": files})
    return compile_pillar({"id": "web1", **opts}, {"os": "Debian"}, client, rendering(client, **opts), override)


def mistakes(*args, **kwargs):
    with pytest.raises(PillarError) as caught:
        compiled(*args, **kwargs)
    headline, *issues = caught.value.issues
    assert headline.code == "E500"
    return issues


@pytest.mark.parametrize("name", TABLES)
def test_pillars(name):
    case = {"override": None, "options": {}, **TABLES[name]}
    before = json.dumps(case["override"])
    pillar = compiled(case["files"], case["override"], **case["options"])
    assert json.dumps(pillar) == json.dumps(case["pillar"])
    for part in filter(lambda value: isinstance(value, dict), pillar.values()):
        part.clear()
    assert json.dumps(case["override"]) == before


def test_an_include_of_a_top_that_is_missing_is_logged(caplog):
    compiled({"top.sls": "include: [gone]\nbase: {}"})
    assert "'gone'" in caplog.text


def test_includes_may_be_deeper_than_the_stack():
    depth = sys.getrecursionlimit() + 100
    files = {f"p{n}.sls": f"include: [p{n + 1}]\nk{n}: {n}" for n in range(depth)}
    found = compiled({"top.sls": TOP, "a.sls": "include: [p0]", **files, f"p{depth}.sls": "last: 1"})
    assert (found["last"], found[f"k{depth - 1}"]) == (1, depth - 1)


@pytest.mark.parametrize(
    "files",
    [
        {f"p{n}.sls": f"include: [{{p{n + 1}: {{key: k}}}}]" for n in range(200)},
        {"p0.sls": f"include: [{{b: {{key: '{':'.join('k' * 101)}'}}}}]"},
    ],
    ids=["many", "one"],
)
def test_keys_of_includes_do_not_nest_data_deeper_than_a_file_may(files):
    (issue,) = mistakes({"top.sls": TOP, "a.sls": "include: [p0]", "b.sls": "b: 1", **files})
    assert (issue.code, said("too-deep") in issue.message) == ("E510", True)


@pytest.mark.parametrize(("content", "line"), [("- a", 1), ("k: 1\ninclude: foo", 2), ("k: 1\ninclude: [gone]", 2)])
def test_mistakes_in_salts_words(content, line):
    message = recorded("pillar")[content][0]
    (issue,) = mistakes({"top.sls": TOP, "a.sls": content})
    assert (issue.message, issue.file, issue.line) == (message, "/memory/base/a.sls", line)


@pytest.mark.parametrize("safe", [True, False])
def test_a_render_error_shows_the_source_where_the_configuration_says_so(safe):
    (issue,) = mistakes({"top.sls": TOP, "a.sls": "secret: {{ x }}"}, pillar_safe_render_error=safe)
    assert ("secret" in f"{issue.message} {issue.hint}") is not safe


def test_every_mistake_is_reported():
    files = {"top.sls": "base: {'*': [a, gone, b]}", "a.sls": "{{ x }}", "b.sls": "[x]"}
    assert [issue.code for issue in mistakes(files)] == ["E508", "E507", "E509"]


def test_dynamic_environment(tmp_path):
    (tmp_path / "qa").mkdir()
    (tmp_path / "qa/top.sls").write_text("qa: {'*': [a]}")
    (tmp_path / "qa/a.sls").write_text("k: qa")
    client = LocalFileClient({"__env__": [f"{tmp_path}/__env__"]})
    assert compiled({}, client=client, pillarenv="qa") == {"k": "qa"}


def test_pillar_opts():
    pillar = compiled({"top.sls": TOP, "a.sls": "x: 1"}, pillar_opts=True)
    assert pillar["master"]["id"] == "web1"


def test_override_must_be_a_mapping():
    with pytest.raises(PillarError, match=match("override")) as caught:
        compiled({}, ["a"])
    assert caught.value.issues[0].code == "E501"
