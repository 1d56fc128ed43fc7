import pytest
from record_answers import recorded
from trees import chunk_of, messages, mistakes, plan, warnings


def args(text, id_, **options):
    return chunk_of(plan(text, **options), id_).args


@pytest.mark.parametrize("kind", ["require", "watch", "onchanges", "onfail"])
def test_the_target_gets_the_requisite(kind):
    tree = f"a: {{test.nop: [{{{kind}_in: [{{test: b}}]}}]}}\nb: test.nop\n"
    assert args(tree, "b") == {kind: [{"test": "a"}]}
    assert args(tree, "a") == {f"{kind}_in": [{"test": "b"}]}


def test_prereq_in():
    compiled = plan("a: {test.nop: [{prereq_in: [{test: b}]}]}\nb: test.nop\n")
    assert chunk_of(compiled, "b").args == {"prereq": [{"test": "a"}]}


def test_it_joins_what_the_target_requires_already():
    tree = "a: {test.nop: [{require_in: [{test: b}]}]}\nb: {test.nop: [{require: [{test: c}]}]}\nc: test.nop\n"
    assert args(tree, "b")["require"] == [{"test": "c"}, {"test": "a"}]


def test_later_targets_of_a_list_repeat_the_earlier_ones():
    tree = "a: {test.nop: [{require_in: [{test: x}, {test: y}, {test: z}]}]}\nx: test.nop\ny: test.nop\nz: test.nop\n"
    assert [len(args(tree, id_)["require"]) for id_ in "xyz"] == [3, 2, 1]


def test_a_very_long_list_is_not_repeated():
    count = 300
    targets = ", ".join(f"{{test: t{i}}}" for i in range(count))
    tree = f"a: {{test.nop: [{{require_in: [{targets}]}}]}}\n" + "".join(f"t{i}: test.nop\n" for i in range(count))
    assert sum(len(chunk.args.get("require", ())) for chunk in plan(tree).chunks) < 2 * count * 40


def test_a_dictionary_in_place_of_the_list():
    tree = "a: {test.nop: [{require_in: {test: b, cmd: c}}]}\nb: test.nop\nc: cmd.run\n"
    assert args(tree, "b") == {"require": [{"test": "a"}]}
    assert args(tree, "c") == {"require": [{"test": "a"}]}


def test_by_name_if_one_state_has_it():
    tree = "a: {test.nop: [{require_in: [{test: n}]}]}\nb: {test.nop: [{name: n}]}\n"
    assert args(tree, "b") == {"require": [{"test": "a"}]}


def test_a_bare_target_is_the_first_state_of_an_id_or_the_state_of_that_name():
    tree = "a: {test.nop: [{require_in: [b, n, gone]}]}\nb: {test.nop: [], cmd.run: []}\nc: {cmd.run: [{name: n}]}\n"
    compiled = plan(tree)
    assert [chunk.args.get("require") for chunk in compiled.chunks if chunk.id == "b"] == [[{"test": "a"}] * 2, None]
    assert chunk_of(compiled, "c").args == {"require": [{"test": "a"}]}
    assert [issue.message for issue in compiled.warnings] == [
        "require_in names 'gone', which is no state of this tree (state 'a' in SLS 's')"
    ]


def test_an_sls_means_each_state_of_its_own():
    tree = {
        "s": "include: [t]\na: {test.nop: [{require_in: [{sls: t}]}]}\n",
        "t": "include: [u]\nt1: {test.nop: [], cmd.run: []}\n",
        "u": "u1: test.nop\n",
    }
    compiled = plan(tree)
    assert [chunk.args.get("require") for chunk in compiled.chunks if chunk.id == "t1"] == [[{"test": "a"}]] * 2
    assert chunk_of(compiled, "u1").args == {}


def test_an_sls_without_states_is_named():
    assert warnings("a: {test.nop: [{require_in: [{sls: gone}]}]}\n") == [
        "require_in names SLS 'gone', which has no states (state 'a' in SLS 's')"
    ]


@pytest.mark.parametrize("target", ["{test: gone}", "{test: 'b*'}", "{test: same}"])
def test_an_unknown_target_is_a_mistake_of_the_state_that_names_it(target):
    tree = f"a: {{test.nop: [{{require_in: [{target}]}}]}}\nb: {{test.nop: [{{name: same}}]}}\nc: {{test.nop: [{{x: same}}]}}\n"
    [message] = messages(tree)
    assert message.startswith("Cannot extend ID '")


def test_a_dot_in_the_module():
    dot, unknown = messages("a: {test.nop: [{watch_in: [{test.nop: b}]}]}\nb: test.nop\n")
    assert dot == (
        "Invalid requisite in watch: test.nop for b, in SLS 's'. Requisites must not contain dots, did you mean 'test'?"
    )
    assert unknown.startswith("Cannot extend ID 'b' in 'base:s'.")


def test_a_dot_in_the_module_of_a_dictionary():
    assert messages("a: {test.nop: [{watch_in: {test.nop: b}}]}\nb: test.nop\n") == [
        "Invalid requisite in watch: test.nop for b in SLS 's'. Requisites must not contain dots, did you mean 'test'?"
    ]


def test_use_with_a_dictionary_copies_nothing():
    assert "x" not in args("a: {test.nop: [{use: {test: b}}]}\nb: {test.nop: [{x: 1}]}\n", "a")


@pytest.mark.parametrize("value", ["5", "word"])
@pytest.mark.parametrize("key", ["require_in", "use", "use_in"])
def test_a_value_of_the_wrong_shape_is_ignored_as_in_salt_and_named(key, value):
    tree = f"a: {{test.nop: [{{{key}: {value}}}]}}\nword: test.nop\n"
    assert [chunk.id for chunk in plan(tree).chunks] == [low["__id__"] for low in recorded("low")[tree]]
    assert warnings(tree) == [f"{key}: {value} is ignored: it needs to be a list (state 'a' in SLS 's')"]


@pytest.mark.parametrize("item", ["[x]", "{test: [x]}"])
def test_a_target_that_is_no_name(item):
    [message] = messages(f"a: {{test.nop: [{{require_in: [{item}]}}]}}\n")
    assert message.startswith("Illegal requisite ")


def test_only_the_first_of_two_targets_in_one_item_counts():
    tree = "a: {test.nop: [{require_in: [{test: b, cmd: c}]}]}\nb: test.nop\nc: cmd.run\n"
    assert args(tree, "c") == {}
    assert warnings(tree) == ["only the first of ['test', 'cmd'] in one require_in item counts (state 'a' in SLS 's')"]


def test_a_disabled_requisite_is_left_out_and_named():
    tree = "a: {test.nop: [{require_in: [{test: gone}]}]}\n"
    assert warnings(tree, disabled_requisites=["require_in"]) == [
        "The require_in requisite has been disabled, Ignoring."
    ]
    assert warnings(tree, disabled_requisites="require_in")


def test_any_forms_of_in_are_arguments():
    assert args("a: {test.nop: [{require_any_in: [b]}]}\n", "a") == {"require_any_in": ["b"]}


def test_use_copies_what_is_missing():
    tree = """
a: {test.nop: [{x: 1}, {y: 2}, {name: n}, {require: [{test: b}]}, {require_any: [{test: b}]}]}
b: test.nop
c: {cmd.run: [{y: 9}, {use: [{test: a}]}]}
"""
    assert args(tree, "c") == {"y": 9, "use": [{"test": "a"}], "x": 1, "require_any": [{"test": "b"}]}


def test_use_in_copies_to_the_target_and_chains_are_not_followed():
    tree = """
a: {test.nop: [{x: 1}, {use_in: [{test: b}]}]}
b: {test.nop: [{y: 2}]}
c: {test.nop: [{use: [{test: b}]}]}
"""
    assert args(tree, "b") == {"y": 2, "x": 1}
    assert args(tree, "c") == {"use": [{"test": "b"}], "y": 2}


def test_requisites_that_many_states_use_stay_as_many_as_they_are():
    tree = """
x: test.nop
y: test.nop
b: {test.nop: [{require_any: [x]}]}
c: {test.nop: [{require_any: [y]}]}
twice: {test.nop: [{use: [%s]}]}
"""
    tree %= ", ".join(["{test: b}, {test: c}"] * 20)
    tree += "".join(
        f"u{i}: {{test.nop: [{{use: [{{test: {'bc'[i % 2]}}}, {{test: {'cb'[i % 2]}}}]}}]}}\n" for i in range(60)
    )
    for state in ("b", "c", "twice", "u0", "u59"):  # Salt lets b and c share a list, too
        assert sorted(args(tree, state)["require_any"]) == ["x", "y"]


@pytest.mark.parametrize("word", ["use", "use_in"])
@pytest.mark.parametrize(
    ("name", "hint"), [("gone", "declare it, or remove it from {}"), ("othr", "did you mean 'other'?")]
)
def test_use_of_nothing_is_a_warning(word, name, hint):
    [issue] = plan({"s": f"c: {{test.nop: [{{{word}: [{{test: {name}}}]}}]}}\nother: test.nop\n"}, ["s"]).warnings
    assert (issue.code, issue.line, issue.hint) == ("W204", 1, hint.format(word))
    assert issue.message == f"{word} names test '{name}', which is no state of this tree (state 'c' in SLS 's')"


@pytest.mark.parametrize("value", ["5", "[b, c]", "{x: y}"])
def test_a_module_the_target_lacks_is_named_beside_what_use_in_copies(value):
    """Salt has the same error."""
    tree = f"""
a: {{test.nop: [{{watch_in: [{{id: c}}]}}]}}
b: {{test.nop: [{{use_in: [{{sls: s}}]}}, {{watch_in: [{{cmd: c}}]}}, {{foo: {value}}}]}}
c: {{cmd.run: [{{name: 'true'}}]}}
"""
    assert [message.partition(".")[0] for message in messages(tree)] == ["Cannot extend ID 'c' in 'base:s'"]


def test_a_module_the_target_lacks_is_named_and_has_no_effect():
    tree = "a: {test.nop: [{require_in: [{test: b}, {cmd: b}]}]}\nb: test.nop\n"
    assert len(plan(tree).chunks) == 2
    assert warnings(tree) == ["No function declared in state 'b' in SLS 's': what was added to its 'cmd' has no effect"]


def test_an_unknown_target_comes_with_the_nearest_id():
    [issue] = mistakes("web: {test.nop: [{require_in: [{test: databse}]}]}\ndatabase: test.nop\n")
    assert issue.hint == "did you mean 'database'?"
    [other] = mistakes("web: {test.nop: [{require_in: [{test: xyz}]}]}\ndatabase: test.nop\n")
    assert other.hint == "require_in of 'web' names it: correct that, or remove it"
