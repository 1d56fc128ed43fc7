import pytest
import yaml
from memory_files import MemoryFileClient
from record_answers import recorded
from tables import beside

from asyncstate.errors import CompileError, RenderError
from asyncstate.model.result import NO_STATES_TAG
from asyncstate.sources.matchers import Matcher
from asyncstate.sources.topfile import NO_MATCH, environments, matches, no_states_row, read_tops, top_path

TABLES = beside(__file__)

OPTS = {"id": "web1", "top_file_merging_strategy": "merge", "env_order": [], "default_top": "base", "saltenv": None}
BASE_AND_DEV = {
    "base": {"top.sls": "base: {'*': [b]}\ndev: {'*': [d1]}"},
    "dev": {"top.sls": "dev: {'*': [d2]}\nbase: {'*': [nope]}"},
}


class Rendered:
    def __init__(self, text):
        self.data = yaml.safe_load(text) or {}
        self.lines = text.splitlines()

    def line_of(self, id, state=None):
        wanted = id if state is None else state
        return next((n for n, line in enumerate(self.lines, 1) if line.strip(" '\"").startswith(str(wanted))), 0)


def renderer(client):
    def render(file, extra):
        assert extra == {}
        try:
            return Rendered(client.read(file.path).decode())
        except yaml.MarkedYAMLError as error:
            raise RenderError(str(error.problem), file=file.path, line=error.problem_mark.line + 1) from error

    return render


def top_of(files, **opts):
    client = MemoryFileClient(files if "base" in files or "dev" in files else {"base": files})
    return read_tops(client, OPTS | opts, renderer(client))


def matched(files, **opts):
    return matches(top_of(files, **opts), Matcher(OPTS | opts, {"os": "Debian"}, {}), OPTS | opts)


def top(text, **opts):
    return matched({"top.sls": text}, **opts)


def test_order_and_duplicates_are_kept():
    assert top("base:\n  '*': [a, b]\n  web*: [c, a]\n  db*: [x]\n") == {"base": ["a", "b", "c", "a"]}


def test_match_types():
    text = TABLES["match types"]
    assert top(text) == {"base": ["re", "lst", "deb", "comp"]}


def test_items_of_other_environments():
    files = {"base": {"top.sls": "base: {'*': [a, {dev: d}, {dev: [e, f]}, {gone: g}]}"}, "dev": {}}
    assert matched(files) == {"base": ["a"], "dev": ["d", "e", "f"]}


def test_subfilter():
    text = "base: {'*': [a, {subfilter: {'web*': [b, {match: glob}], 'db*': [c], '*1': d}}]}"
    assert top(text) == {"base": ["a", "b", "d"]}


def test_nothing_matches_or_nothing_is_there():
    assert top("base: {'db*': [a]}") == {}
    assert top("") == {}
    assert top("base: []") == {}
    assert matched({"a.sls": ""}) == {}
    assert top("base: {'*': []}") == {"base": []}


@pytest.mark.parametrize(("target", "said"), [("and x", 0), ("G@os:x and (", 0), ("5", 1)])
def test_a_target_without_sense_matches_nothing_and_warns_once(target, said, caplog):
    read = top_of({"top.sls": f"base: {{{target}: [x]}}"})
    assert matches(read, Matcher(OPTS, {}, {}), OPTS) == {}
    assert (caplog.text.count("ompound target"), len(read.warnings)) == (said, 1 - said)


def test_a_malformed_target_is_a_warning_with_file_and_line():
    read = top_of({"top.sls": "base:\n  'web* and': [a]\n  '(':\n    - match: pcre\n    - a\n  'web*': [a]\n"})
    assert matches(read, Matcher(OPTS, {}, {}), OPTS) == {"base": ["a"]}
    assert [(issue.code, issue.line) for issue in read.warnings] == [("W114", 2), ("W114", 3)]
    assert all(issue.file.endswith("top.sls") for issue in read.warnings)


def test_a_target_that_parts_a_nodegroup_is_a_warning_and_counts():
    read = top_of({"top.sls": "base:\n  'N@edge and not x*': [a]\n  '( N@edge ) and not x*': [b]\n"})
    matcher = Matcher({**OPTS, "id": "x1", "nodegroups": {"edge": "x* or y*"}}, {}, {})
    assert matches(read, matcher, OPTS) == {"base": ["a"]}
    assert [(issue.code, issue.line) for issue in read.warnings] == [("W114", 2)]


@pytest.mark.parametrize("body", ["[a]", "3", "text", ""])
def test_an_environment_without_targets_is_one_failed_row(body):
    result = top_of({"top.sls": f"base: {body}"})
    assert result.failure == "Unable to render top file: Unable to render top file. No targets found."
    assert result.sections == {}
    assert no_states_row(result.failure)[NO_STATES_TAG] == {
        "result": False, "comment": result.failure, "name": "No States", "changes": {}, "__run_num__": 0,
    }  # fmt: skip


def test_the_row_of_no_match():
    assert list(no_states_row()) == ["no_|-states_|-states_|-None"]
    assert no_states_row()[NO_STATES_TAG]["comment"] == NO_MATCH


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("[x]", "Top data was not formed as a dict", 1),
        ("base:\n  '*': [{match: ''}, x]", "Improperly formatted top file matcher in saltenv {'match': ''}:  file", 2),
        ("base:\n  '*': [7]", "Environment base contains an sls index that is not a string: 7", 2),
    ],
)  # fmt: skip
def test_mistakes_that_salt_says_nothing_useful_of(text, message, line):
    assert message not in str(recorded("top").get(text))
    with pytest.raises(CompileError) as caught:
        top(text)
    (issue,) = caught.value.issues
    assert (issue.message, issue.file, issue.line) == (message, "/memory/base/top.sls", line)


@pytest.mark.parametrize(("text", "line"), TABLES["mistakes in salts words with file and line"])
def test_mistakes_in_salts_words_with_file_and_line(text, line):
    message = recorded("top")[text][0]
    with pytest.raises(CompileError) as caught:
        top(text)
    (issue,) = caught.value.issues
    assert (issue.message, issue.file, issue.line) == (message, "/memory/base/top.sls", line)


def test_every_mistake_is_reported():
    with pytest.raises(CompileError) as caught:
        top("base: {a: x, b: y, c: [z]}")
    assert len(caught.value.issues) == 2


def test_an_unknown_match_type_has_a_suggestion():
    read = top_of({"top.sls": "base: {'*': [{match: golb}, x]}"})
    assert matches(read, Matcher(OPTS, {}, {}), OPTS) == {"base": ["x"]}
    [issue] = read.errors
    assert issue.message == "Unknown match type 'golb' for target '*' in saltenv 'base'"
    assert issue.hint == "Did you mean 'glob'?"


def test_a_top_that_does_not_render_names_file_and_line():
    with pytest.raises(CompileError) as caught:
        top("base:\n  '*': [a\n  b: c\n")
    (issue,) = caught.value.issues
    assert issue.message.startswith("Unable to render top file: ")
    assert (issue.file, issue.line) == ("/memory/base/top.sls", 3)


@pytest.mark.parametrize(("strategy", "expected"), TABLES["merging strategies"])
def test_merging_strategies(strategy, expected):
    assert matched(BASE_AND_DEV, top_file_merging_strategy=strategy) == expected


def test_merge_takes_an_environment_from_its_own_top_if_base_leaves_it_out():
    files = {"base": {"top.sls": "base: {'*': [b]}"}, "dev": {"top.sls": "dev: {'*': [d]}\nqa: {'*': [q]}"}}
    assert matched(files) == {"base": ["b"], "dev": ["d"]}


def test_same_falls_back_to_default_top():
    files = {"base": {"top.sls": "base: {'*': [b]}\ndev: {'*': [d]}"}, "dev": {}}
    assert matched(files, top_file_merging_strategy="same") == {"base": ["b"], "dev": ["d"]}
    with pytest.raises(CompileError, match="no default_top configuration option was set") as caught:
        matched(files, top_file_merging_strategy="same", default_top="")
    assert caught.value.issues[0].code == "E116"


def test_merge_all_joins_items_and_keeps_the_match_type():
    files = {
        "base": {"top.sls": "dev: {'web.': [{match: pcre}, a, b]}"},
        "dev": {"top.sls": "dev: {'web.': [{match: glob}, b, c]}"},
    }
    result = top_of(files, top_file_merging_strategy="merge_all")
    assert result.sections == {"dev": {"web.": [{"match": "glob"}, "a", "b", "c"]}}


def test_saltenv_restricts_tops_and_matches():
    assert matched(BASE_AND_DEV, saltenv="dev") == {"dev": ["d2"]}
    assert matched(BASE_AND_DEV, state_top_saltenv="dev", top_file_merging_strategy="merge_all") == {
        "dev": ["d2"],
        "base": ["nope"],
    }
    assert matched({"base": {}, "dev": {}}, saltenv="dev") == {}


def test_includes_of_a_top():
    files = {
        "top.sls": "include: [tops.*, gone]\nbase: {'*': [x]}",
        "tops/one.sls": "base: {'web*': [y]}",
        "tops/two.sls": "include: [more]\nbase: {'*': [z]}",
        "more.sls": "base: {'*': [never]}",
    }
    result = top_of(files)
    assert result.sections == {"base": {"*": ["z"], "web*": ["y"]}}
    assert [warning.message for warning in result.warnings] == [
        "The top file includes 'gone', which matches no SLS in environment 'base'",
        "The include of an included top file is ignored",
    ]
    assert top_of({"top.sls": "include: tops\nbase: {'*': [x]}"}).warnings[0].line == 1


@pytest.mark.parametrize("option", ["entry.sls", "/entry.sls", "salt://entry.sls"])
def test_state_top(option):
    assert top_path({"state_top": option}) == "entry.sls"
    assert matched({"entry.sls": "base: {'*': [a]}", "top.sls": "base: {'*': [b]}"}, state_top=option) == {
        "base": ["a"]
    }


def test_environments():
    client = MemoryFileClient({"dev": {}, "base": {}, "qa": {}})
    assert environments(client, {}) == ["base", "dev", "qa"]
    assert environments(client, {"env_order": ["qa", "none", "base", "qa"]}) == ["qa", "base"]
