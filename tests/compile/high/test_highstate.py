import json

import pytest
from record_answers import recorded
from trees import chunk_of, compiler, ids, messages, mistakes, plan, warnings

from asyncstate.errors import CompileError, RenderError


def high(tree, sls=("s",), **options):
    return compiler(tree, **options).highdata(list(sls)).data


@pytest.mark.parametrize(("files", "data"), recorded("high").items())
def test_high_data_is_salts(files, data):
    tree = {name.removesuffix(".sls"): text for name, text in json.loads(files).items()}
    assert high(tree) == data
    assert list(high(tree)) == list(data)


def test_dotted_keys_are_numbered_after_undotted_ones():
    tree = "n:\n  w.ok: []\n  x: [ok]\n"
    assert [chunk.state for chunk in plan(tree).chunks] == ["x", "w"]


def test_extend_and_exclude_stand_beside_the_ids():
    data = high("extend: {a: {test.nop: [{x: 1}]}}\nexclude: [b]\na: test.nop\n")
    assert data["__exclude__"] == ["b"]
    assert data["__extend__"] == [{"a": {"test": [{"x": 1}, "nop"], "__sls__": "s", "__env__": "base"}}]


def test_the_same_extension_given_twice_counts_once():
    extend = "extend: {a: {test: [{x: 1}]}}\n"
    tree = {"s": f"include: [t]\n{extend}a: test.nop\n", "t": extend}
    assert [next(iter(item)) for item in high(tree)["__extend__"]] == ["a", "a"]
    doubled = high(tree)["__extend__"]
    assert doubled[0]["a"]["__sls__"] == "s"
    assert doubled[1]["a"]["__sls__"] == "t"


def test_includes_are_numbered_before_the_includer_depth_first():
    tree = {
        "s": "include: [x, y]\nmine: test.nop\n",
        "x": "include: [z]\nx: test.nop\n",
        "y": "y: test.nop\n",
        "z": "z: test.nop\n",
    }
    assert ids(plan(tree)) == ["z", "x", "y", "mine"]
    assert chunk_of(plan(tree), "z").included_from == ("x", "s")


def test_each_sls_is_rendered_once_and_a_cycle_of_includes_is_cut():
    tree = {"s": "include: [t]\na: test.nop\n", "t": "include: [s]\nb: test.nop\n"}
    assert ids(plan(tree)) == ["b", "a"]
    assert ids(plan(tree, sls=["s", "t", "s"])) == ["b", "a"]


def test_a_chain_of_a_thousand_includes_is_no_recursion():
    tree = {f"n{i}": f"include: [n{i + 1}]\ni{i}: test.nop\n" for i in range(1500)}
    tree["n1500"] = "last: test.nop\n"
    assert len(plan(tree, sls=["n0"]).chunks) == 1501


@pytest.mark.parametrize(
    ("name", "include", "meant"),
    [
        ("p.q.a", ".b", "p.q.b"),
        ("p.q.a", "..c", "p.c"),
        ("p.q.a", "...d", "d"),
    ],
)
def test_relative_includes(name, include, meant):
    tree = {name: f"include: ['{include}']\n", meant: "found: test.nop\n"}
    assert ids(plan(tree, sls=[name])) == ["found"]


def test_relative_includes_of_an_init_file_have_one_more_level():
    tree = {"p/init.sls": "include: ['.b', '..c']\n", "p.b": "b: test.nop\n", "c": "c: test.nop\n"}
    assert ids(plan(tree, sls=["p"])) == ["b", "c"]


def test_globs_in_includes_and_on_the_command_line():
    tree = {"s": "include: ['web.*']\n", "web.a": "a: test.nop\n", "web.b": "b: test.nop\n", "db": "c: test.nop\n"}
    assert ids(plan(tree)) == ["a", "b"]
    assert ids(plan(tree, sls=["web.*", "d?"])) == ["a", "b", "c"]


def test_includes_from_another_environment():
    tree = {"s": "include: [{dev: t}]\na: test.nop\n"}
    compiled = plan(tree, envs={"dev": {"t": "b: test.nop\n"}})
    assert [(chunk.id, chunk.env) for chunk in compiled.chunks] == [("b", "dev"), ("a", "base")]


def test_an_sls_with_a_slash_keeps_it():
    compiled = plan({"d.b": "include: ['.c']\nb: test.nop\n", "d.c": "c: test.nop\n"}, sls=["d/b"])
    assert [(chunk.id, chunk.sls) for chunk in compiled.chunks] == [("c", "d.c"), ("b", "d/b")]


def test_an_alias_shares_its_list():
    tree = "a: {test.succeed_with_changes: &x [{comment: c}]}\nb: {test.nop: *x}\n"
    assert messages(tree) == [
        f"Too many functions declared in state '{id_}' in SLS 's'. Please choose one of the following: "
        "succeed_with_changes, nop"
        for id_ in "ab"
    ]


@pytest.mark.parametrize(
    ("include", "message"),
    [
        ("helper", "Include Declaration in SLS s is not formed as a list"),
        ("['...x']", "Attempted relative include of '...x' within SLS 'base:s' goes beyond top level package "),
        ("[{nowhere: x}]", "Nonexistent saltenv 'nowhere' found in include of 'x' within SLS 'base:s'"),
        ("[{dev: x}]", "Unknown include: Specified SLS dev: x is not available on the salt master in saltenv(s): dev "),
        ("[5]", "Badly formatted include 5 found in include in SLS 'base:s'"),
        (
            "[gone]",
            "Specified SLS gone in saltenv base is not available on the salt master or through a configured fileserver",
        ),
    ],
)
def test_wrong_includes(include, message):
    found = mistakes(f"include: {include}\na: test.nop\n", envs={"dev": {"y": "b: test.nop\n"}})
    assert found[0].message == message


def test_xenv_looks_in_the_environments_that_are_asked_for():
    tree = {"s": "include: [{_xenv: t}]\n"}
    client = compiler(tree, envs={"dev": {"t": "b: test.nop\n"}})
    high_data = client._build({"base": ["s"], "dev": []}, ())
    assert list(high_data.data) == ["b"]
    assert messages({"s": "include: [{_xenv: gone}]\n"})[0].startswith("Unknown include: Specified SLS _xenv: gone")


def test_an_include_that_several_environments_have_is_ambiguous():
    tree = {"s": "a: test.nop\n"}
    envs = {"dev": {"t": "b: test.nop\n"}, "live": {"t": "b: test.nop\n"}, "own": {"u": "include: [{_xenv: t}]\n"}}
    high_data = compiler(tree, envs=envs)._build({"own": ["u"], "dev": [], "live": []}, ())
    assert [issue.code for issue in high_data.findings.errors] == ["E110"]


def test_a_missing_sls_is_named_and_the_nearest_suggested():
    [issue] = mistakes({"webserver": "a: test.nop\n"}, sls=["webservr"])
    assert issue.message == "No matching sls found for 'webservr' in env 'base'"
    assert issue.hint == "did you mean 'webserver'?"


@pytest.mark.parametrize(
    "path", ["web.sls", "./salt/web.sls", "/srv/salt/web", "salt/web/init.sls", "db/main.sls", "../salt/db/main"]
)
def test_the_path_of_a_file_in_place_of_an_sls_has_its_name_for_a_hint(path):
    [issue] = mistakes({"web": "a: test.nop\n", "db.main": "b: test.nop\n"}, sls=[path])
    assert issue.hint == f"did you mean '{'db.main' if 'db' in path else 'web'}'?"


def test_a_missing_sls_that_the_top_file_names_has_its_line_there():
    tree = {"top": "base:\n  '*':\n    - web\n    - gone\n", "web": "a: test.nop\n"}
    for compiled in (compiler(tree).plan, compiler(tree).highdata):
        with pytest.raises(CompileError) as caught:
            compiled()
        [issue] = caught.value.issues
        assert (issue.code, issue.file.endswith("top.sls"), issue.line) == ("E102", True, 4)


def test_an_unknown_environment():
    with pytest.raises(CompileError) as caught:
        compiler("a: test.nop\n").plan(["s"], saltenv="dev")
    assert [issue.message for issue in caught.value.issues] == [
        "No matching salt environment for environment 'dev' found",
        "No matching sls found for 's' in env 'dev'",
    ]
    assert caught.value.issues[0].hint == "file_roots has base"


def test_all_broken_sls_are_reported_with_file_and_line():
    tree = {
        "s": "include: [one, two, three]\n",
        "one": "a:\n  test.nop: [\n",
        "two": "{{ nothing.here }}\n",
        "three": "ok: test.nop\nbad: {test.nop: {a: 1}}\n",
    }
    found = mistakes(tree)
    assert [issue.file.rpartition("/")[2] for issue in found] == ["one.sls", "two.sls", "three.sls"]
    assert found[0].message.startswith("Rendering SLS 'base:one' failed: ")
    assert found[1].message.startswith("Rendering SLS 'base:two' failed: Jinja variable 'nothing' is undefined")
    assert found[2].message == "State 'bad' in SLS 'three' is not formed as a list"
    assert [issue.line for issue in found[1:]] == [1, 2]


def test_a_renderer_that_raises_is_a_mistake_of_that_sls():
    client = compiler({"s": "a: test.nop\n"})

    def render(file, extra):
        raise ZeroDivisionError("by nothing")

    client._render = render
    with pytest.raises(CompileError, match="Rendering SLS s failed, render error: ZeroDivisionError: by nothing"):
        client.plan(["s"])


def test_an_sls_that_is_no_dictionary():
    assert messages("- a\n- b\n") == [
        "SLS s does not render to a dictionary",
        "Error when rendering state with contents: ['a', 'b']",
    ]


def test_ids_must_be_unique_over_all_sls():
    tree = {"s": "include: [t]\nsame: test.nop\n", "t": "other: test.nop\nsame: test.nop\n"}
    [issue] = mistakes(tree)
    assert issue.message == (
        "Detected conflicting IDs, SLS IDs need to be globally unique.\n"
        "    The conflicting ID is 'same' and is found in SLS 'base:s' and SLS 'base:t'"
    )
    assert (issue.file.rpartition("/")[2], issue.line) == ("t.sls", 2)
    assert issue.hint.endswith("s.sls:2")


def test_duplicate_ids_first_keeps_the_one_that_is_numbered_first():
    tree = {"s": "include: [t]\nsame: test.ping\nmine: test.nop\n", "t": "same: test.nop\n", "u": "same: test.ping\n"}
    compiled = plan(tree, sls=["s", "u"], duplicate_ids="first")
    assert [(chunk.id, chunk.fun) for chunk in compiled.chunks] == [("same", "nop"), ("mine", "nop")]
    assert warnings(tree, sls=["s", "u"], duplicate_ids="first") == [
        "ID 'same' in SLS 'base:s' is ignored: 'base:t' has it first",
        "ID 'same' in SLS 'base:u' is ignored: 'base:t' has it first",
    ]


def test_an_empty_sls_gives_nothing():
    compiled = plan({"s": "# nothing\n"})
    assert compiled.chunks == ()
    assert compiled.rows == {}


@pytest.mark.parametrize(("path", "name"), [("a.b", "a.b"), ("v1.2/init", "v1.2"), ("x.y/z", "x.y.z")])
@pytest.mark.parametrize("asked", ["", "include"])
def test_a_period_in_a_file_name_is_named_as_the_cause(path, name, asked):
    tree = {f"{path}.sls": "x: test.nop\n", "s": f"include: ['{name}']\n"}
    [issue] = mistakes(tree, sls=["s"] if asked else [name])
    assert f"there is a file {path}.sls" in issue.hint
    assert f"means {name.replace('.', '/')}.sls" in issue.hint
    assert "did you mean" not in issue.hint


def test_the_first_of_two_ids_in_one_file_counts_if_asked_for():
    text = "a:\n  test.nop: []\n{% for n in [1] %}\na:\n  test.fail_without_changes: []\n{% endfor %}\nb: test.nop\n"
    assert "found conflicting ID 'a'" in messages(text)[0]
    compiled = plan(text, duplicate_ids="first")
    assert [(chunk.id, chunk.fun, chunk.line) for chunk in compiled.chunks] == [("a", "nop", 2), ("b", "nop", 7)]
    told = "ID 'a' in SLS 'base:s' is ignored: the same file has it first, in line 1"
    assert [(issue.message, issue.line) for issue in compiled.warnings] == [(told, 4)]
    assert "found conflicting ID 'x'" in messages("a: {test.nop: [{x: {x: 1, x: 2}}]}\n", duplicate_ids="first")[0]
    assert "found conflicting ID 'include'" in messages("include: []\ninclude: []\n", duplicate_ids="first")[0]


def test_the_sls_to_include_is_named_for_the_first_errors_only():
    wanting = "".join(f"w{number}: {{test.nop: [{{require: [{{test: a{number}}}]}}]}}\n" for number in range(30))
    declaring = "".join(f"a{number}: test.nop\n" for number in range(30))
    found = mistakes({"s": wanting, "t": declaring, "top": declaring})
    hints = [issue.hint for issue in found]
    assert hints[0] == "SLS 't' declares 'a0' and is not included: include it"
    assert sum("is not included" in hint for hint in hints) == 10
    assert len(hints) == 30


def test_an_sls_that_cannot_be_read_hides_no_error():
    tree = compiler({"s": "w: {test.nop: [{require: [{test: a}]}]}\n", "t": "a: test.nop\n"})
    path = tree._file_client.sls_file("t", "base").path
    read = tree._file_client.read

    def refuse(wanted):
        if wanted == path:
            raise RenderError("Cannot read it")
        return read(wanted)

    tree._file_client.read = refuse
    with pytest.raises(CompileError) as caught:
        tree.plan(["s"])
    assert [issue.code for issue in caught.value.issues] == ["E305"]
