from tables import rows
from trees import ids, mistakes, plan, warnings

from asyncstate.errors import Issue


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


@rows(("target", "shown"), [("'c*'", "c*"), ("null", "None"), ("5", "5")])
def test_a_target_that_does_not_exist_is_a_row(target, shown):
    compiled = plan(f"a: {{test.nop: [{{listen: [{{test: {target}}}]}}]}}\nc1: test.nop\n")
    assert compiled.rows == {
        f"Listen_Error_|-listen_{shown}_|-listen_test_|-Listen_Error": {
            "comment": f"Referenced state test: {shown} does not exist",
            "name": f"listen_test:{shown}",
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


def listening(argument):
    """A tree in which ``a`` has an argument, and another SLS that is not included."""
    return {"s": f"a:\n  test.nop:\n    - {argument}\nnginx: test.nop\nweb: cmd.run\n", "t": "apart: test.nop\n"}


OWN = ("/memory/base/s.sls", 2)
ARGUMENT = ("/memory/base/s.sls", 3)
UNKNOWN = "Referenced state does not exist for requisite [{}] in state [a] in SLS [s]"


@rows(
    ("argument", "reference", "hint"),
    [
        ("listen: [{test: nginxx}]", "listen: (test: nginxx)", "did you mean 'nginx'?"),
        ("listen_in: [{test: nginxx}]", "listen_in: (test: nginxx)", "did you mean 'nginx'?"),
        ("listen: [{test: web}]", "listen: (test: web)", "'web' is there, but as cmd: write '- cmd: web'"),
        (
            "listen: [{test: apart}]",
            "listen: (test: apart)",
            "SLS 't' declares 'apart' and is not included: include it",
        ),
        ("listen: [{cmd: nginxx}]", "listen: (cmd: nginxx)", "declare it, or remove it from listen"),
        ("listen_in: [{cmd: gone}]", "listen_in: (cmd: gone)", "declare it, or remove it from listen_in"),
        ("listen: [{test: 5}]", "listen: (test: 5)", "declare it, or remove it from listen"),
        ("listen: [{test: null}]", "listen: (test: None)", "declare it, or remove it from listen"),
        ("listen_in: [{test: null}]", "listen_in: (test: None)", "declare it, or remove it from listen_in"),
    ],
)
def test_a_name_that_no_state_has_is_a_mistake_with_a_hint(argument, reference, hint):
    message = UNKNOWN.format(reference)
    expected = Issue(message, *ARGUMENT, hint, rule="tree", mistake=True, code="E305")
    assert plan(listening(argument)).warnings == (expected,)


def test_the_hint_is_for_the_environment_of_the_state():
    envs = {"dev": listening("listen: [{test: apart}]")}
    [issue] = plan({}, envs=envs, saltenv="dev").warnings
    assert issue.hint == "SLS 't' declares 'apart' and is not included: include it"


@rows(
    ("value", "told"),
    [
        ("[gone]", "listen_in names 'gone', which is no state of this tree"),
        ("[[nginx]]", "listen_in: ['nginx'] is ignored: it needs to be a module and its target"),
        ("[5]", "listen_in: 5 is ignored: it needs to be a module and its target"),
        ("nginx", "listen_in: nginx is ignored: it needs to be a list"),
        ("5", "listen_in: 5 is ignored: it needs to be a list"),
    ],
)
def test_whatever_names_no_state_is_warned_of(value, told):
    compiled = plan(listening(f"listen_in: {value}"))
    assert compiled.warnings == (Issue(f"{told} (state 'a' in SLS 's')", *OWN, code="W204"),)
    assert compiled.listeners == ()


@rows("value", ["[]", "null", "{}"])
def test_nothing_is_named_by_an_empty_list(value):
    compiled = plan(listening(f"listen_in: {value}"))
    assert (compiled.warnings, compiled.listeners) == ((), ())


@rows(("target", "shown"), [("[nginx]", "['nginx']"), ("{nginx: 1}", "{'nginx': 1}")])
def test_a_target_is_no_list(target, shown):
    message = f'Illegal requisite "{shown}" in SLS "s", please check your syntax.\n'
    assert mistakes(listening(f"listen: [{{test: {target}}}]")) == [Issue(message, *ARGUMENT, code="E304")]
    assert mistakes(listening(f"listen_in: [{{test: {target}}}]")) == [Issue(message, *OWN, code="E304")]


def test_a_mapping_is_a_list_of_its_items():
    assert listeners(plan(listening("listen_in: {test: nginx, cmd: web}"))) == [("nginx", ["a"]), ("web", ["a"])]
    assert listeners(plan(listening("listen_in: [{test: nginx, cmd: web}]"))) == [("nginx", ["a"]), ("web", ["a"])]
