import pytest
from trees import chunk_of, ids, messages, names, plan, warnings


def test_a_chunk_holds_what_was_written_but_what_has_a_field():
    chunk = plan("a: {test.nop: [{name: n}, {state: x}, {fun: y}, {order: 3}, {arg: 1, more: 2}]}\n").chunks[0]
    assert (chunk.state, chunk.fun, chunk.id, chunk.name, chunk.order) == ("test", "nop", "a", "n", 3)
    assert chunk.args == {"arg": 1, "more": 2}
    assert (chunk.sls, chunk.env, chunk.included_from) == ("s", "base", ())


def test_an_argument_may_replace_id_sls_and_environment():
    chunk = plan("a: {test.nop: [{__id__: z}, {__sls__: other}, {__env__: dev}]}\n").chunks[0]
    assert (chunk.id, chunk.sls, chunk.env, chunk.args) == ("z", "other", "dev", {})


def test_an_environment_that_is_no_text_stays_an_argument():
    chunk = plan("a: {test.nop: [{__env__: [{LC_ALL: C}]}]}\n").chunks[0]
    assert chunk.env == "base"
    assert chunk.as_low()["__env__"] == [{"LC_ALL": "C"}]


def test_later_arguments_win():
    assert plan("a: {test.nop: [{x: 1}, {x: 2}]}\n").chunks[0].args == {"x": 2}


@pytest.mark.parametrize(("written", "name"), [("null", "a"), ("[x]", "a"), ("5", "a"), ("''", ""), ("n", "n")])
def test_a_name_must_be_a_string(written, name):
    assert plan(f"a: {{test.nop: [{{name: {written}}}]}}\n").chunks[0].name == name


def test_the_place_of_a_chunk_is_known():
    compiled = plan("{% if true %}\nx: test.nop\n{% endif %}\na:\n  test.nop: []\n  cmd.run: []\n")
    places = [(chunk.file.rpartition("/")[2], chunk.line) for chunk in compiled.chunks]
    assert places == [("s.sls", 2), ("s.sls", 5), ("s.sls", 6)]


def test_names_and_what_is_different_for_one():
    tree = "a: {test.nop: [{name: n}, {x: 1}, {names: [p, {q: [{x: 2}, {name: r}, {fun: no}]}, p, q]}]}\n"
    compiled = plan(tree)
    assert [(chunk.name, chunk.args) for chunk in compiled.chunks] == [
        ("p", {"x": 1}),
        ("r", {"x": 2}),
        ("q", {"x": 1}),
    ]


def test_names_that_give_the_same_tag_are_one_state():
    compiled = plan("a: {test.nop: [{names: [p, {p: [{x: 2}]}, q]}]}\n")
    assert [(chunk.name, chunk.args) for chunk in compiled.chunks] == [("p", {"x": 2}), ("q", {})]


def test_two_names_blocks_are_joined():
    assert names(plan("a: {test.nop: [{names: [p]}, {names: [q, p]}]}\n")) == ["p", "q"]


def test_names_that_are_no_strings_are_kept_for_the_run_to_refuse():
    assert names(plan("a: {test.nop: [{names: [80, 443, {}]}]}\n")) == [80, 443]


def test_an_entry_with_overrides_of_the_wrong_shape():
    assert messages("a: {test.nop: [{names: [{p: {x: 1}}]}]}\n") == [
        "The entry 'p' of 'names' in state 'a' in SLS 's' needs to be a list of arguments"
    ]


@pytest.mark.parametrize("entry", ["[p]", "!!set {p}", "{p: [{name: [q]}]}"])
def test_a_name_that_is_a_collection(entry):
    (message,) = messages(f"a: {{test.nop: [{{names: [{entry}, p]}}]}}\n")
    assert message.endswith("of 'names' in state 'a' in SLS 's' needs to be a string")


def test_names_do_not_share_their_arguments():
    compiled = plan("a: {test.nop: [{names: [p, {q: [{require: [b]}]}]}]}\nb: test.nop\n")
    assert [chunk.args for chunk in compiled.chunks] == [{}, {}, {"require": ["b"]}]


def test_states_disabled_by_a_grain_are_rows_not_chunks():
    tree = "a: test.nop\nb: cmd.run\nc: test.ping\n"
    compiled = plan(tree, grains={"state_runs_disabled": ["test.p*", "cmd.run"]})
    assert ids(compiled) == ["a"]
    assert compiled.rows["cmd_|-b_|-b_|-run"] == {
        "changes": {},
        "result": False,
        "comment": 'The state function "cmd.run" is currently disabled by "cmd.run", to re-enable, run state.enable '
        "cmd.run.",
        "name": "b",
        "__id__": "b",
        "__sls__": "s",
    }
    assert len(compiled.rows) == 2


def test_requiring_a_disabled_state_is_a_mistake():
    tree = "a: {test.nop: [{require: [b]}]}\nb: cmd.run\n"
    assert messages(tree, grains={"state_runs_disabled": "cmd.*"}) == [
        "Referenced state does not exist for requisite [require: (id: b)] in state [a] in SLS [s]"
    ]


def test_an_extension_without_a_function_has_no_effect():
    tree = {
        "s": "include: [t]\nextend: {a: {cmd: [function_less: 1]}}\n".replace("function_less: 1", "{x: 1}"),
        "t": "a: test.nop\n",
    }
    assert messages(tree) == ["No function declared in state 'a' in SLS 't'"]
    assert warnings("a: test.nop\n") == []


def test_order_of_a_names_entry_counts_as_written():
    tree = "a: {test.nop: [{names: [{p: [{order: soon}]}]}]}\nb: test.nop\n"
    assert chunk_of(plan(tree), "a").order == 10101.0001
    assert len(warnings(tree)) == 1
