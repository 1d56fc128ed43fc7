import pytest
from trees import ids, messages, plan, warnings


def listeners(compiled):
    return [
        (compiled.chunks[listener.chunk].name, [compiled.chunks[target].name for target in listener.members])
        for listener in compiled.listeners
    ]


def test_listen_and_listen_in_add_no_edges():
    tree = "a: {test.nop: [{listen: [{test: b}]}]}\nb: {test.nop: [{listen_in: [{test: c}]}]}\nc: test.nop\n"
    compiled = plan(tree)
    assert ids(compiled) == ["a", "b", "c"]
    assert list(compiled.dag.edges()) == []
    assert listeners(compiled) == [("a", ["b"]), ("c", ["b"])]


def test_listeners_stand_in_serial_order():
    tree = "a: {test.nop: [{order: last}, {listen: [x]}]}\nb: {test.nop: [{listen: [x]}]}\nx: test.nop\n"
    assert listeners(plan(tree)) == [("b", ["x"]), ("a", ["x"])]


def test_targets_and_listeners_are_found_by_id_or_name():
    tree = """
m: {test.nop: [{names: [p, q]}, {listen: [{test: n}, {test: d}]}]}
c: {test.nop: [{name: n}]}
d: {test.nop: [{names: [y, z]}]}
"""
    assert listeners(plan(tree)) == [
        ("p", ["n"]),
        ("q", ["n"]),
        ("p", ["y", "z"]),
        ("q", ["y", "z"]),
        ("p", ["n"]),
        ("q", ["n"]),
        ("p", ["y", "z"]),
        ("q", ["y", "z"]),
    ]


def test_a_bare_name_is_the_first_state_that_has_it():
    tree = "a: {test.nop: [{listen: [b, gone]}]}\nb: {cmd.run: [], test.nop: []}\n"
    compiled = plan(tree)
    assert [compiled.chunks[target].state for target in compiled.listeners[0].members] == ["cmd"]
    assert warnings(tree) == ["listen names 'gone', which is no state of this tree (state 'a' in SLS 's')"]


def test_a_target_that_does_not_exist_is_a_row():
    compiled = plan("a: {test.nop: [{listen: [{test: 'c*'}]}]}\nc1: test.nop\n")
    assert compiled.rows == {
        "Listen_Error_|-listen_c*_|-listen_test_|-Listen_Error": {
            "comment": "Referenced state test: c* does not exist",
            "name": "listen_test:c*",
            "result": False,
            "changes": {},
        }
    }
    assert compiled.listeners == ()


def test_a_listener_that_does_not_exist_is_a_row_only_when_its_target_changes():
    compiled = plan("a: {test.nop: [{listen_in: [{service: gone}]}]}\n")
    assert compiled.rows == {}
    [broken] = compiled.broken_listeners
    assert broken.targets == (0,)
    assert broken.tag == "Listen_Error_|-listen_gone_|-listen_service_|-Listen_Error"
    assert broken.row["result"] is False


def test_odd_references():
    assert warnings("a: {test.nop: [{listen: [{test: null}]}]}\n") == [
        "'listen: test' names nothing (state 'a' in SLS 's')"
    ]
    assert listeners(plan("a: {test.nop: [{listen_in: {test: b}}]}\nb: test.nop\n")) == [("b", ["a"])]
    assert messages("a: {test.nop: [{listen_in: [{test: [b]}]}]}\n") == [
        'Illegal requisite "[\'b\']" in SLS "s", please check your syntax.\n'
    ]


@pytest.mark.parametrize("scalar", ["b", 5])
def test_a_scalar_is_not_taken_apart(scalar):
    tree = f"a: {{test.nop: [{{listen_in: {scalar}}}]}}\nb: test.nop\n"
    assert plan(tree).listeners == ()
    assert warnings(tree) == [f"listen_in: {scalar} is ignored: it needs to be a list (state 'a' in SLS 's')"]


@pytest.mark.parametrize("item", ["[b]", "5"])
def test_an_item_that_names_no_state_is_warned_of(item):
    tree = f"a: {{test.nop: [{{listen_in: [{item}]}}]}}\nb: test.nop\n"
    assert plan(tree).listeners == ()
    assert "needs to be a module and its target" in warnings(tree)[0]
