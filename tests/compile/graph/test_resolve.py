import pytest
from trees import FakeStates, edges, messages, mistakes, plan, requisites, warnings

from asyncstate.model.plan import NodeKind


def test_a_reference_means_id_or_name_within_its_module():
    tree = """
a: {test.nop: [{require: [{test: b}, {cmd: n}, {id: d}, e]}]}
b: {test.nop: [], cmd.run: []}
c: {cmd.run: [{name: n}], test.nop: []}
d: {pkg.installed: []}
e: {test.nop: [], pkg.removed: []}
"""
    compiled = plan(tree)
    assert requisites(compiled, "a") == [("require", target) for target in ("b", "c", "d", "e", "e")]
    assert edges(compiled) == {("b", "a"), ("c", "a"), ("d", "a"), ("e", "a")}


def test_an_id_means_all_its_names_a_name_means_one():
    tree = "m: {test.nop: [{names: [x, y]}]}\na: {test.nop: [{require: [{test: m}]}]}\nb: {test.nop: [{watch: [x]}]}\n"
    compiled = plan(tree)
    assert [kind for kind, _ in requisites(compiled, "a")] == ["require", "require"]
    [(kind, node)] = [(r.kind, r.node) for r in compiled.requisites[-1]]
    assert (kind, compiled.chunks[node].name) == ("watch", "x")


def test_repeated_references_are_one():
    tree = "a: {test.nop: [{require: [b, {test: b}, b]}, {watch: [b]}]}\nb: test.nop\n"
    assert requisites(plan(tree), "a") == [("require", "b"), ("watch", "b")]
    assert edges(plan(tree), "watch") == {("b", "a")}


@pytest.mark.parametrize("pattern", ["b*", "b?", "b[12]", "*1", "b1*"])
def test_globs_match_ids_and_names(pattern):
    tree = f"a: {{test.nop: [{{require: [{{test: '{pattern}'}}]}}]}}\nb1: test.nop\nb2: test.nop\nc: {{cmd.run: [{{name: b1}}]}}\n"
    expected = {("b1", "a")} if "1" in pattern and "[" not in pattern else {("b1", "a"), ("b2", "a")}
    assert edges(plan(tree)) == expected


def test_an_exact_match_comes_before_a_glob():
    tree = "a: {test.nop: [{require: [{test: 'b[1]'}]}]}\nb1: test.nop\n'b[1]': test.nop\n"
    assert edges(plan(tree)) == {("b[1]", "a")}


def test_a_glob_never_matches_the_state_itself():
    assert edges(plan("aa: {test.nop: [{require: [{test: 'a*'}]}]}\nab: test.nop\n")) == {("ab", "aa")}
    many = "".join(f"a{i}: test.nop\n" for i in range(12))
    compiled = plan(f"aa: {{test.nop: [{{require: [{{test: 'a*'}}]}}]}}\n{many}")
    assert len(edges(compiled, "set")) == 12
    assert ("aa", "test: a*") not in edges(compiled)


def test_a_glob_that_matches_only_the_state_itself_matches_nothing_else():
    assert edges(plan("aa: {test.nop: [{require: [{test: 'a*'}]}]}\nb: test.nop\n")) == set()


def test_two_states_with_a_glob_for_each_other_are_a_cycle():
    tree = "aa: {test.nop: [{require: [{test: 'a*'}]}]}\nab: {test.nop: [{require: [{test: 'a*'}]}]}\n"
    assert messages(tree)[0].startswith("Recursive requisites were found: ")


def test_many_targets_go_through_one_set():
    lib = "".join(f"l{i}: test.nop\n" for i in range(20))
    users = "".join(
        f"u{i}: {{test.nop: [{{require: [{{sls: t}}]}}, {{onchanges: [{{sls: t}}]}}]}}\n" for i in range(20)
    )
    compiled = plan({"s": f"include: [t]\n{users}", "t": lib})
    sets = [node for node in compiled.nodes if node.kind is NodeKind.SET]
    assert [(node.label, len(node.members)) for node in sets] == [("sls: t", 20), ("sls: t", 20)]
    assert len(list(compiled.dag.edges())) == 80
    assert requisites(compiled, "u3") == [("require", "sls: t"), ("onchanges", "sls: t")]


def test_sls_means_its_states_and_those_included_through_it():
    tree = {
        "s": "include: [t]\na: {test.nop: [{require: [{sls: t}]}]}\n",
        "t": "include: [u]\nt1: test.nop\n",
        "u": "u1: test.nop\n",
    }
    assert edges(plan(tree)) == {("t1", "a"), ("u1", "a")}


def test_sls_requisites_on_empty_include_only_and_diamond_sls():
    tree = {
        "s": "include: [empty, x, y]\na: {test.nop: [{require: [{sls: empty}]}]}\nb: {test.nop: [{require: [{sls: y}]}]}\n",
        "empty": "# nothing\n",
        "x": "include: [leaf]\n",
        "y": "include: [leaf]\n",
        "leaf": "l: test.nop\n",
    }
    assert edges(plan(tree)) == {("l", "b")}


def test_sls_globs_and_one_that_is_dead():
    tree = {
        "s": "include: [t.a, t.b]\na: {test.nop: [{require: [{sls: 't.*'}]}, {watch: [{sls: 'gone*'}]}]}\n",
        "t.a": "ta: test.nop\n",
        "t.b": "tb: test.nop\n",
    }
    assert edges(plan(tree)) == {("ta", "a"), ("tb", "a")}
    assert warnings(tree) == ["'sls: gone*' in state 'a' in SLS 's' matches no SLS"]


def test_an_included_sls_that_requires_its_includer_is_a_cycle():
    tree = {"s": "include: [t]\na: test.nop\n", "t": "b: {test.nop: [{require: [{sls: s}]}]}\n"}
    assert messages(tree) == [
        "Recursive requisites were found: ({'SLS': 't', 'ID': 'b'}, 'require', {'SLS': 't', 'ID': 'b'})"
    ]


def test_watch_is_require_where_there_is_no_mod_watch():
    states = FakeStates("test.mod_watch")
    tree = """
a: {cmd.run: [{require: [b]}, {watch: [c]}, {watch_any: [d]}]}
e: {cmd.run: [{watch: [b]}]}
b: {test.nop: [{watch: [c]}]}
c: test.nop
d: test.nop
"""
    compiled = plan(tree, states=states)
    assert requisites(compiled, "a") == [("require", "b"), ("require", "c"), ("require_any", "d")]
    assert requisites(compiled, "b") == [("watch", "c")]
    assert states.asked.count("cmd.mod_watch") == 1
    assert next(chunk for chunk in compiled.chunks if chunk.id == "a").args == {
        "require": ["b", "c"],
        "require_any": ["d"],
    }


def test_missing_states_are_all_named_once_with_a_hint():
    tree = """
a:
  test.nop:
    - require: [{test: nginxx}, {pkg: web}, gone, gone]
    - watch: [{sls: libb}, {sls: othr}, {sls: apart}]
nginx: test.nop
web: {service.running: []}
"""
    found = mistakes({"s": "include: [lib]\n" + tree, "lib": "x: test.nop\n", "other": "", "apart": ""})
    reference = "Referenced state does not exist for requisite [{}] in state [a] in SLS [s]"
    assert [(issue.message, issue.hint) for issue in found] == [
        (reference.format("require: (test: nginxx)"), "did you mean 'nginx'?"),
        (reference.format("require: (pkg: web)"), "'web' is there, but as service: write '- service: web'"),
        (
            reference.format("require: (id: gone)"),
            "declare a state with the ID 'gone', include the SLS that has it, or remove the requisite",
        ),
        (reference.format("watch: (sls: libb)"), "did you mean 'lib'?"),
        (reference.format("watch: (sls: othr)"), "did you mean 'other'?"),
        (reference.format("watch: (sls: apart)"), "include SLS 'apart', or remove the requisite"),
    ]
    assert {issue.line for issue in found} == {5, 6}


def test_every_target_of_an_any_requisite_must_exist():
    assert len(messages("a: {test.nop: [{require_any: [b, c]}]}\nb: test.nop\n")) == 1


def test_targets_that_are_no_names():
    assert messages("a: {test.nop: [{require: [{test: 7}]}]}\n") == [
        "Requisite [require: test] in state [a] in SLS [s] must have a string as the value"
    ]
    tree = "a: {test.nop: [{watch: [{test: null}]}]}\n"
    assert warnings(tree) == ["'watch: test' in state 'a' in SLS 's' names nothing and is ignored"]
    assert edges(plan(tree)) == set()


def test_disabled_requisites_are_not_even_looked_up():
    tree = "a: {test.nop: [{require: [gone]}, {watch: [b]}]}\nb: {test.nop: [{require: [gone]}]}\n"
    assert edges(plan(tree, disabled_requisites=["require"])) == {("b", "a")}
    assert warnings(tree, disabled_requisites=["require"]) == ["The require requisite has been disabled, Ignoring."]


@pytest.mark.parametrize(
    ("override", "start"),
    [("{require: b}", "The require statement in state 'a'"), ("{require: [[b]]}", "Requisite declaration ['b']")],
)
def test_requisites_that_only_a_names_entry_has_are_checked(override, start):
    [message] = messages(f"a: {{test.nop: [{{names: [{{p: [{override}]}}]}}]}}\nb: test.nop\n")
    assert message.startswith(start)


def test_kinds_are_resolved_in_one_order_whatever_is_written_first():
    tree = "a: {test.nop: [{onchanges: [b]}, {watch: [b]}, {require: [b]}]}\nb: test.nop\n"
    assert [kind for kind, _ in requisites(plan(tree), "a")] == ["require", "watch", "onchanges"]
