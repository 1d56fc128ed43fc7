from trees import ids, plan


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


def test_the_place_of_a_chunk_is_known():
    compiled = plan("{% if true %}\nx: test.nop\n{% endif %}\na:\n  test.nop: []\n  cmd.run: []\n")
    places = [(chunk.file.rpartition("/")[2], chunk.line) for chunk in compiled.chunks]
    assert places == [("s.sls", 2), ("s.sls", 5), ("s.sls", 6)]


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
