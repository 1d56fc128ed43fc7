import json
import sys

import pytest
import yaml
from memory_files import MemoryFileClient
from record_answers import recorded
from tables import beside

from asyncstate.errors import PillarError, RenderError
from asyncstate.sources.fileclient import LocalFileClient
from asyncstate.sources.pillar import FAILED, compile_pillar

TABLES = beside(__file__)

OPTS = {"id": "web1", "renderer": "jinja|yaml"}
TOP = "base: {'*': [a]}"


class Rendered:
    def __init__(self, text):
        self.data = yaml.safe_load(text) or {}
        self.lines = text.splitlines()

    def line_of(self, id, state=None):
        return next((n for n, line in enumerate(self.lines, 1) if line.startswith(str(id))), 0)


def compiled(files, override=None, client=None, **opts):
    """Compile with a renderer that knows ``$name`` from extra and ``!undefined`` to fail."""
    client = client or MemoryFileClient(files if "base" in files or "dev" in files else {"base": files})

    def render(file, extra):
        text = client.read(file.path).decode()
        for name, value in extra.items():
            text = text.replace(f"${name}", str(value))
        if "!undefined" in text:
            raise RenderError("Jinja variable 'x' is undefined\nsecret: 1", file=file.path, line=7)
        return Rendered(text)

    return compile_pillar(OPTS | opts, {"os": "Debian"}, client, render, override)


def mistakes(*args, **kwargs):
    with pytest.raises(PillarError) as caught:
        compiled(*args, **kwargs)
    headline, *issues = caught.value.issues
    assert headline.message == FAILED
    return issues


def test_no_top_no_pillar():
    assert compiled({"a.sls": "x: 1"}) == {}
    assert compiled({}, {"k": 1}) == {"k": 1}


def test_targets_globs_and_override():
    files = TABLES["targets globs and override"]
    override = {"nested": {"b": 99}, "list": [2]}
    pillar = compiled(files, override)
    assert pillar == {"motd": "debian", "nested": {"a": 1, "b": 99, "c": 3}, "list": [2], "one": 1}
    assert list(pillar) == ["motd", "nested", "list", "one"]
    assert list(pillar["nested"]) == ["a", "b", "c"]
    pillar["nested"]["b"] = 0
    assert override == {"nested": {"b": 99}, "list": [2]}
    assert compiled(files, override, pillar_merge_lists=True)["list"] == [1, 2]


@pytest.mark.parametrize(("options", "recorded"), TABLES["the override comes after what files give"])
def test_the_override_comes_after_what_files_give(options, recorded):
    """The pillar of ``salt-call state.apply pillar=…``, with the order of its keys and of the items of its lists."""
    files = {"top.sls": "base: {'*': [p, r]}", "p.sls": "{l: [1, 2], n: {l: [1], z: 1}}", "r.sls": "{l: [5], k: 1}"}
    assert json.dumps(compiled(files, {"new": 1, "l": [2, 3], "n": {"l": [9]}}, **options)) == recorded


def test_an_include_of_two_names_is_the_first_and_dots_that_lead_nowhere_mean_the_root():
    files = TABLES["an include of two names is the first and dots that lead nowhere mean the root"]
    assert compiled(files) == {"s": 1, "u": 1}


def test_the_order_of_targets():
    files = {"top.sls": "base: {'*': [{order: 10}, a], 'web*': [{order: '2'}, b]}", "a.sls": "k: a", "b.sls": "k: b"}
    assert compiled(files)["k"] == "a"


def test_includes_are_weaker_than_the_file_itself():
    files = {
        "top.sls": TOP,
        "a.sls": "include: [{b: {defaults: {d: 5}, key: 'x:y'}}, 'c.*', .e]\nk: mine\nm: {a: 1}",
        "b.sls": "bval: $d",
        "c/one.sls": "m: {b: 2, a: 9}\nk: theirs",
        "e.sls": "e: 1",
    }
    assert compiled(files) == {"x": {"y": {"bval": 5}}, "m": {"b": 2, "a": 1}, "k": "mine", "e": 1}
    assert compiled(files, pillar_includes_override_sls=True)["k"] == "theirs"


def test_relative_includes():
    files = TABLES["relative includes"]
    assert compiled(files) == {"two": 1, "other": 1}


def test_includes_in_a_circle_end():
    files = {"top.sls": TOP, "a.sls": "include: [b]\na: 1", "b.sls": "include: [a]\nb: 1\na: 2"}
    assert compiled(files) == {"a": 1, "b": 1}


@pytest.mark.parametrize("name", [".a", "..a", "....a"])
def test_a_file_that_includes_itself_under_other_names_ends(name):
    assert compiled({"top.sls": TOP, "a.sls": f"include: [{name}]\na: 1"}) == {"a": 1}


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
    assert (issue.code, "nested deeper than 100 levels" in issue.message) == ("E510", True)


@pytest.mark.parametrize(
    ("content", "message", "line"),
    [
        ("!undefined", "Rendering SLS 'a' failed. Please see master log for details.", 7),
        ("include: [5]", "Include Declaration in SLS 'a' contains something that is not an include: 5", 1),
        ("include: [{b: {defaults: 5}}]", "Include Declaration in SLS 'a' contains something that is not an include: {'b': {'defaults': 5}}", 1),
    ],
)  # fmt: skip
def test_mistakes_that_salt_says_nothing_useful_of(content, message, line):
    assert message not in str(recorded("pillar").get(content))
    (issue,) = mistakes({"top.sls": TOP, "a.sls": content})
    assert (issue.message, issue.file, issue.line) == (message, "/memory/base/a.sls", line)


@pytest.mark.parametrize(("content", "line"), [("- a", 1), ("k: 1\ninclude: foo", 2), ("k: 1\ninclude: [gone]", 2)])
def test_mistakes_in_salts_words(content, line):
    message = recorded("pillar")[content][0]
    (issue,) = mistakes({"top.sls": TOP, "a.sls": content})
    assert (issue.message, issue.file, issue.line) == (message, "/memory/base/a.sls", line)


def test_a_render_error_shows_its_reason_but_no_source():
    files = {"top.sls": TOP, "a.sls": "!undefined"}
    assert mistakes(files)[0].hint == (
        "Jinja variable 'x' is undefined\n"
        "there is no master: pillar_safe_render_error: False in the configuration shows the whole error here"
    )
    (issue,) = mistakes(files, pillar_safe_render_error=False)
    assert issue.message == "Rendering SLS 'a' failed, render error:\nJinja variable 'x' is undefined\nsecret: 1"


def test_every_mistake_is_reported():
    files = {"top.sls": "base: {'*': [a, gone, b]}", "a.sls": "!undefined", "b.sls": "[x]"}
    assert len(mistakes(files)) == 3


@pytest.mark.parametrize("top", ["[a]", "3", "base: [a]", "base: 5", "base: {'*': a}", "include: x\nbase: {}"])
def test_a_top_of_the_wrong_shape(top):
    (issue,) = mistakes({"top.sls": top, "a.sls": "x: 1"})
    assert issue.message == "Error encountered while rendering pillar top file."
    assert issue.file == "/memory/base/top.sls"


@pytest.mark.parametrize("items", ["a", "5", "{}", "{a: b}", "", "null"])
def test_a_target_of_the_top_file_is_judged_only_where_it_matches(items):
    """The keys of a mapping are names, and {} names nothing."""
    others = {"top.sls": f"base:\n  '*': [b]\n  'elsewhere': {items}\n", "b.sls": "y: 1"}
    assert compiled(others) == {"y": 1}
    own = {"top.sls": f"base:\n  '*': {items}\n", "a.sls": "x: 1"}
    if items.startswith("{"):
        assert compiled(own) == ({"x": 1} if "a" in items else {})
    else:
        (issue,) = mistakes(own)
        assert (issue.code, issue.hint) == ("E504", "Target '*' in environment 'base' is a list of SLS names.")


def test_a_top_that_does_not_render():
    (issue,) = mistakes({"top.sls": "!undefined"})
    assert issue.message.startswith("Rendering Primary Top file failed, render error:\nJinja variable")
    assert (issue.file, issue.line) == ("/memory/base/top.sls", 7)


def test_an_unknown_match_type():
    (issue,) = mistakes({"top.sls": "base: {'*': [{match: golb}, a]}"})
    assert "golb" in issue.hint


def test_missing_sls():
    files = {"top.sls": "base: {'*': [gone]}"}
    assert (
        mistakes(files)[0].message == "Specified SLS 'gone' in environment 'base' is not available on the salt master"
    )
    assert compiled({"top.sls": "base: {'*': [{ignore_missing: true}, gone]}"}) == {}


def test_an_environment_there_is_none_of():
    (issue,) = mistakes({"top.sls": "dev: {'*': [a]}"})
    assert issue.message == "No matching pillar environment for environment 'dev' found"


def test_includes_of_a_top(caplog):
    files = {"top.sls": "include: [more, gone]\nbase: {'web*': [a]}", "more.sls": "base: {'*': [b]}"}
    files |= {"a.sls": "a: 1", "b.sls": "b: 1"}
    assert compiled(files) == {"a": 1, "b": 1}
    assert "'gone'" in caplog.text


ENVS = {"base": {"top.sls": "base: {'*': [a]}\ndev: {'*': [a]}", "a.sls": "k: base\nb: 1"}, "dev": {"a.sls": "k: dev"}}


def test_environments_merge_in_order():
    assert compiled(ENVS) == {"k": "dev", "b": 1}
    assert compiled(ENVS, env_order=["dev", "base"])["k"] == "base"
    assert compiled(ENVS, pillarenv="dev") == {}
    with_top = ENVS | {"dev": {"top.sls": "dev: {'*': [a]}", "a.sls": "k: dev"}}
    assert compiled(with_top, pillarenv="dev") == {"k": "dev"}
    assert compiled(with_top, pillarenv="nowhere") == {}
    assert compiled(with_top, pillar_source_merging_strategy="none", saltenv="dev") == {"k": "dev"}


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
    with pytest.raises(
        PillarError, match="Pillar data must be formatted as a dictionary, unless pillar_enc is specified"
    ) as caught:
        compiled({}, ["a"])
    assert caught.value.issues[0].code == "E501"
