from fnmatch import fnmatchcase

from hypothesis import given
from hypothesis import strategies as st
from tables import rows
from trees import declared, edges, messages, mistakes, plan, requisites, wired

from asyncstate.compile.graph.resolve import SET_THRESHOLD, TargetIndex
from asyncstate.compile.low.lowstate import UNSET, Draft
from asyncstate.model.plan import NodeKind

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


def test_the_set_of_a_glob_lacks_the_state_itself():
    many = "".join(f"a{i}: test.nop\n" for i in range(12))
    compiled = plan(f"aa: {{test.nop: [{{require: [{{test: 'a*'}}]}}]}}\n{many}")
    assert len(edges(compiled, "set")) == 12
    assert ("aa", "test: a*") not in edges(compiled)


def test_two_states_with_a_glob_for_each_other_are_a_cycle():
    tree = "aa: {test.nop: [{require: [{test: 'a*'}]}]}\nab: {test.nop: [{require: [{test: 'a*'}]}]}\n"
    assert [issue.code for issue in mistakes(tree)] == ["E307"]


@rows(("count", "sets"), [(SET_THRESHOLD - 1, 0), (SET_THRESHOLD, 1)])
@rows("reference", ["t", "'t*'", "'?*'"])
def test_many_targets_make_a_set_and_fewer_do_not(count, sets, reference):
    """``?*`` matches the state itself, too, and means the others."""
    states = "".join(f"t{number}: {{test.nop: [{{name: t}}]}}\n" for number in range(count))
    compiled = plan(f"{states}a: {{test.nop: [{{watch: [{{test: {reference}}}]}}]}}\n")
    label = f"test: {reference}".replace("'", "")
    assert [node.label for node in compiled.nodes if node.kind is NodeKind.SET] == [label] * sets
    assert len(requisites(compiled, "a")) == (1 if sets else count)


def test_the_same_glob_of_many_states_that_it_matches_costs_few_edges():
    high = declared({f"a{number}": [{"require": [{"test": "a*"}]}] for number in range(6)})
    graph, _, _ = wired(high)
    assert graph.after == [[1, 2, 3, 4, 5], *[[0]] * 5]


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


def test_the_nearest_name_is_looked_for_ten_times():
    states = "".join(f"word{number}: test.nop\n" for number in range(10, 22))
    asked = "".join(f", {{test: wodr{number}}}" for number in range(10, 22))
    found = mistakes(f"a: {{test.nop: [{{require: [{{cmd: word10}}{asked}]}}]}}\n{states}")
    nearest = [f"did you mean 'word{number}'?" for number in range(10, 20)]
    assert [issue.hint for issue in found[1:11]] == nearest
    assert [issue.hint.startswith("declare a state") for issue in found] == [False] * 11 + [True] * 2


def test_every_target_of_an_any_requisite_must_exist():
    assert len(messages("a: {test.nop: [{require_any: [b, c]}]}\nb: test.nop\n")) == 1
