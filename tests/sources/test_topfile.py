import pytest
from memory_files import MemoryFileClient
from messages import said
from record_answers import recorded
from tables import beside
from trees import rendering

from asyncstate.errors import CompileError
from asyncstate.model.result import NO_STATES_TAG
from asyncstate.sources.matchers import Matcher
from asyncstate.sources.topfile import NO_MATCH, environments, matches, no_states_row, read_tops

TABLES = beside(__file__)
OPTS = {"id": "web1", "top_file_merging_strategy": "merge", "env_order": [], "default_top": "base", "saltenv": None}


def read(files, **opts):
    """The merged top files, and what of them matches."""
    client = MemoryFileClient(files if "base" in files else {"base": files})
    top = read_tops(client, OPTS | opts, rendering(client, **opts))
    return top, matches(top, Matcher(OPTS | opts, {"os": "Debian"}, {}), OPTS | opts)


@pytest.mark.parametrize("name", TABLES["tops"])
def test_what_matches(name):
    case = {"options": {}, "warns": [], **TABLES["tops"][name]}
    top, matched = read(case["files"], **case["options"])
    assert matched == case["matches"]
    assert [f"{issue.code} {issue.line}" for issue in top.warnings] == case["warns"]
    assert all(issue.file.startswith("/memory/base/") for issue in top.warnings)


@pytest.mark.parametrize(("target", "times"), [("and x", 0), ("G@os:x and (", 0), ("5", 1)])
def test_a_target_without_sense_matches_nothing_and_warns_once(target, times, caplog):
    top, matched = read({"top.sls": f"base: {{{target}: [x]}}"})
    assert matched == {}
    assert (caplog.text.count("ompound target"), len(top.warnings)) == (times, 1 - times)


@pytest.mark.parametrize("body", ["[a]", "3", "text", ""])
def test_an_environment_without_targets_is_one_failed_row(body):
    top, _ = read({"top.sls": f"base: {body}"})
    assert top.failure == said("no-targets")
    assert top.sections == {}
    assert no_states_row(top.failure)[NO_STATES_TAG] == {
        "result": False, "comment": top.failure, "name": "No States", "changes": {}, "__run_num__": 0,
    }  # fmt: skip


def test_the_row_of_no_match():
    assert list(no_states_row()) == ["no_|-states_|-states_|-None"]
    assert no_states_row()[NO_STATES_TAG]["comment"] == NO_MATCH


@pytest.mark.parametrize(("text", "line"), TABLES["mistakes in salts words with file and line"])
def test_mistakes_in_salts_words_with_file_and_line(text, line):
    message = recorded("top")[text][0]
    with pytest.raises(CompileError) as caught:
        read({"top.sls": text})
    (issue,) = caught.value.issues
    assert (issue.message, issue.file, issue.line) == (message, "/memory/base/top.sls", line)


def test_every_mistake_is_reported():
    with pytest.raises(CompileError) as caught:
        read({"top.sls": "base: {a: x, b: y, c: [z]}"})
    assert len(caught.value.issues) == 2


def test_an_unknown_match_type_counts_as_a_match():
    top, matched = read({"top.sls": "base: {'*': [{match: golb}, x]}"})
    assert matched == {"base": ["x"]}
    assert [issue.code for issue in top.errors] == ["E115"]


def test_same_needs_a_default_top():
    with pytest.raises(CompileError) as caught:
        read({"top.sls": "base: {}"}, top_file_merging_strategy="same", default_top="")
    assert [issue.code for issue in caught.value.issues] == ["E116"]


def test_environments():
    client = MemoryFileClient({"dev": {}, "base": {}, "qa": {}})
    assert environments(client, {}) == ["base", "dev", "qa"]
    assert environments(client, {"env_order": ["qa", "none", "base", "qa"]}) == ["qa", "base"]
