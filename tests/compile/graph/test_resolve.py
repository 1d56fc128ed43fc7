from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import rows
from trees import FakeStates, declared, edges, messages, mistakes, plan, requisites, warnings, wired

from asyncstate.compile.graph.resolve import SET_THRESHOLD, TargetIndex
from asyncstate.compile.low.lowstate import UNSET, Draft
from asyncstate.errors import Issue
from asyncstate.model.plan import NodeKind

FILE = "/memory/base/s.sls"
SLS = ("a", "b", "aa", "ab")


@st.composite
def drafts(draw):
    """States of two modules, with short IDs and names that globs match, and one name that is no text."""
    words = st.text("ab[", min_size=1, max_size=3)
    return [
        Draft(
            draw(st.sampled_from(("test", "cmd"))),
            "nop",
            id_,
            draw(st.one_of(st.just(id_), words, st.just(5))),
            sls=draw(st.sampled_from(SLS)),
            env="base",
            args={},
            order=UNSET,
            included_from=tuple(draw(st.lists(st.sampled_from(SLS), max_size=2))),
        )
        for id_ in draw(st.lists(words, max_size=6))
    ]


def known_as(draft, module):
    """The names under which a reference of a module finds a state."""
    if module == "sls":
        return {draft.sls, *draft.included_from}
    return {draft.id, draft.name} if module in {draft.state, "id"} else set()


@given(drafts(), st.sampled_from(("test", "cmd", "pkg", "id", "sls")), st.text("ab*?[]!", max_size=5))
def test_names_and_globs_find_what_a_look_at_every_state_finds(found, module, pattern):
    index = TargetIndex(found, {})
    names = [known_as(draft, module) for draft in found]
    assert index.table(module) == {
        name: [number for number, own in enumerate(names) if name in own] for name in set().union(*names)
    }
    assert index.glob(module, pattern) == [
        number
        for number, own in enumerate(names)
        if any(isinstance(name, str) and fnmatchcase(name, pattern) for name in own)
    ]
    assert index.known_names(module) == sorted({name for own in names for name in own if isinstance(name, str)})
    for once in (index.table, index.known_names, lambda each: index.glob(each, pattern)):
        assert once(module) is once(module), "it is made once"


@given(drafts(), st.dictionaries(st.sampled_from(SLS), st.lists(st.sampled_from((*SLS, "gone")), max_size=2)))
def test_an_sls_means_its_states_or_else_those_of_all_it_includes(found, includes):
    index = TargetIndex(found, includes)
    globbed = TargetIndex(found, includes).glob("sls", "a*")
    for name in (*SLS, "gone"):
        own = [number for number, draft in enumerate(found) if name in known_as(draft, "sls")]
        closure, more = set(), {name}
        while more - closure:
            closure |= more
            more = {each for sls in closure for each in includes.get(sls, ())}
        of_all = [number for number, draft in enumerate(found) if known_as(draft, "sls") & closure]
        expected = own or (of_all if name in includes else None)
        assert index.sls(name) == expected
        assert index.sls(name) is index.sls(name)
    assert index.glob("sls", "a*") == globbed, "a glob means the same, whatever was looked up before it"
    assert {*index.known_sls()} == {*index.table("sls"), *includes}


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


@rows(("count", "sets"), [(SET_THRESHOLD - 1, 0), (SET_THRESHOLD, 1)])
@rows("reference", ["t", "'t*'", "'?*'"])
def test_many_targets_make_a_set_and_fewer_do_not(count, sets, reference):
    """``?*`` matches the state itself, too, and means the others."""
    states = "".join(f"t{number}: {{test.nop: [{{name: t}}]}}\n" for number in range(count))
    compiled = plan(f"{states}a: {{test.nop: [{{watch: [{{test: {reference}}}]}}]}}\n")
    label = f"test: {reference}".replace("'", "")
    assert [node.label for node in compiled.nodes if node.kind is NodeKind.SET] == [label] * sets
    assert len(requisites(compiled, "a")) == (1 if sets else count)


def test_a_glob_of_its_own_says_nothing_of_another():
    tree = """
aa: {test.nop: [{require: [{test: 'a*'}]}]}
ba: {test.nop: [{require: [{test: 'b*'}]}]}
ab: {cmd.run: [{require: [{cmd: 'a*'}]}]}
bb: test.nop
ac: cmd.run
ad: test.nop
ae: {test.nop: [{onfail: [{test: 'ae*'}]}]}
"""
    assert edges(plan(tree)) == {("bb", "ba"), ("ac", "ab"), ("ad", "aa"), ("ae", "aa")}


def test_the_same_glob_of_many_states_that_it_matches_costs_few_edges():
    high = declared({f"a{number}": [{"require": [{"test": "a*"}]}] for number in range(6)})
    graph, _, _ = wired(high)
    assert graph.after == [[1, 2, 3, 4, 5], *[[0]] * 5]


def test_a_prereq_with_a_glob_of_its_own_checks_the_others():
    compiled = plan("aa: {test.nop: [{prereq: [{test: 'a*'}]}]}\nab: test.nop\nac: test.nop\nb: test.nop\n")
    assert requisites(compiled, "aa") == [("prereq", "?ab"), ("prereq", "?ac")]


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


@rows("first", ["{sls: y}", "{sls: x}"])
def test_a_glob_of_sls_means_the_same_whatever_other_states_name(first):
    tree = {
        "s": f"include: [x, y]\na: {{test.nop: [{{require: [{first}]}}]}}\nb: {{test.nop: [{{require: [{{sls: 'y*'}}]}}]}}\n",
        "x": "include: [leaf]\n",
        "y": "include: [leaf]\n",
        "leaf": "l: test.nop\n",
    }
    assert edges(plan(tree)) == {("l", "a")}
    assert warnings(tree) == ["'sls: y*' in state 'b' in SLS 's' matches no SLS"]


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


MISSING = "Referenced state does not exist for requisite [require: ({})] in state [a] in SLS [s]"


@rows(
    ("reference", "hint"),
    [
        ("test: nginxx", "did you mean 'nginx'?"),
        ("pkg: nginxx", "did you mean 'nginx'?"),
        ("id: nginxx", "did you mean 'nginx'?"),
        (
            "cmd: nginxx",
            "declare a state of 'cmd' with the ID or name 'nginxx', include the SLS that has it, or remove the requisite",
        ),
        ("id: gone", "declare a state with the ID 'gone', include the SLS that has it, or remove the requisite"),
        ("sls: nginx", "SLS files are searched in /memory/{}; write the file there, or correct the name"),
        ("sls: lbi", "did you mean 'lib'?"),
        ("sls: apart", "include SLS 'apart', or remove the requisite"),
        ("pkg: both", "'both' is there, but as cmd, test: write '- cmd: both'"),
        ("test: distant", "SLS 'apart' declares 'distant' and is not included: include it"),
        ("id: distant", "SLS 'apart' declares 'distant' and is not included: include it"),
    ],
)
@rows("env", ["base", "dev"])
def test_a_missing_state_is_an_error_with_a_hint(reference, hint, env):
    tree = {
        "s": f"include: [lib]\na:\n  test.nop:\n    - require: [{{{reference}}}]\nnginx: test.nop\nboth: {{test.nop: [], cmd.run: []}}\n",
        "lib": "x: test.nop\n",
        "apart": "distant: test.nop\n",
    }
    found = mistakes(tree if env == "base" else {}, envs={env: tree}, **{"saltenv": env} if env != "base" else {})
    message = MISSING.format(reference)
    assert found == [Issue(message, f"/memory/{env}/s.sls", 4, hint.format(env), code="E305")]


def test_the_nearest_sls_may_be_included_from_another_environment():
    tree = {"s": "include: [{dev: lib}]\na: {test.nop: [{require: [{sls: lbi}]}]}\n"}
    [issue] = mistakes(tree, envs={"dev": {"lib": "x: test.nop\n"}})
    assert issue.hint == "did you mean 'lib'?"


def test_the_nearest_name_is_looked_for_ten_times():
    states = "".join(f"word{number}: test.nop\n" for number in range(10, 22))
    asked = "".join(f", {{test: wodr{number}}}" for number in range(10, 22))
    found = mistakes(f"a: {{test.nop: [{{require: [{{cmd: word10}}{asked}]}}]}}\n{states}")
    nearest = [f"did you mean 'word{number}'?" for number in range(10, 20)]
    declare = (
        "declare a state of 'test' with the ID or name 'wodr{}', include the SLS that has it, or remove the requisite"
    )
    assert [issue.hint for issue in found] == [
        "'word10' is there, but as test: write '- test: word10'",
        *nearest,
        *(declare.format(number) for number in (20, 21)),
    ]


def test_every_target_of_an_any_requisite_must_exist():
    assert len(messages("a: {test.nop: [{require_any: [b, c]}]}\nb: test.nop\n")) == 1


LINES = "a:\n  test.nop:\n    - {}\nb: test.nop\n"


@rows(
    ("argument", "code", "message"),
    [
        ("watch: [{test: null}, b]", "W203", "'watch: test' in state 'a' in SLS 's' names nothing and is ignored"),
        ("watch: [{sls: 'g*'}, b]", "W202", "'sls: g*' in state 'a' in SLS 's' matches no SLS"),
    ],
)
def test_what_names_nothing_is_warned_of_and_the_rest_counts(argument, code, message):
    compiled = plan(LINES.format(argument))
    assert compiled.warnings == (Issue(message, FILE, 3, code=code),)
    assert requisites(compiled, "a") == [("watch", "b")]


def test_a_target_that_is_no_text_is_an_error():
    message = "Requisite [require: test] in state [a] in SLS [s] must have a string as the value"
    expected = Issue(message, FILE, 3, "put it in quotes", code="E306")
    assert mistakes(LINES.format("require: [{test: 7}]")) == [expected]


def test_disabled_requisites_are_not_even_looked_up_and_warned_of_once():
    tree = LINES.format("{require: [gone]}\n    - {watch: [b]}") + "c: {test.nop: [{require: [gone]}]}\n"
    compiled = plan(tree, disabled_requisites=["require"])
    assert edges(compiled) == {("b", "a")}
    message = "The require requisite has been disabled, Ignoring."
    assert compiled.warnings == (Issue(message, FILE, 3, code="W201"),)


@rows(
    ("override", "code", "message"),
    [
        ("require: b", "E301", "The require statement in state 'a' in SLS 's' needs to be formed as a list"),
        (
            "require: [[b]]",
            "E302",
            "Requisite declaration ['b'] in state a in SLS s is not formed as a single key dictionary",
        ),
        (
            "require: [{test: b, cmd: b}]",
            "E302",
            "Requisite declaration {'test': 'b', 'cmd': 'b'} in state a in SLS s is not formed as a single key dictionary",
        ),
    ],
)
def test_requisites_that_only_a_names_entry_has_are_checked(override, code, message):
    tree = LINES.format(f"names: [{{p: [{{{override}}}, {{watch: c}}]}}]")
    behind = Issue("The watch statement in state 'a' in SLS 's' needs to be formed as a list", FILE, 3, code="E301")
    assert mistakes(tree) == [Issue(message, FILE, 3, code=code), behind]


@rows("module", ["test", "test.nop", "test.nop.x"])
def test_a_names_entry_may_name_the_function_too(module):
    tree = LINES.format(f"names: [{{p: [{{require: [{{{module}: b}}]}}]}}]")
    assert edges(plan(tree)) == {("b", "a")}


@rows("nothing", ["[]", "null"])
def test_a_requisite_of_nothing_is_none_and_the_next_one_counts(nothing):
    tree = LINES.format(f"names: [{{p: [{{require: {nothing}}}, {{watch: [b]}}]}}]")
    compiled = plan(tree)
    assert compiled.warnings == ()
    assert requisites(compiled, "a") == [("watch", "b")]


def test_kinds_are_resolved_in_one_order_whatever_is_written_first():
    tree = "a: {test.nop: [{onchanges: [b]}, {watch: [b]}, {require: [b]}]}\nb: test.nop\n"
    assert [kind for kind, _ in requisites(plan(tree), "a")] == ["require", "watch", "onchanges"]
