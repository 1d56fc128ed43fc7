"""Navigation from words of SLS files to their targets, and back."""

from copy import deepcopy

import yaml
from editor_knowledge import at, knowledge_of
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.extras.editor.index import index
from asyncstate.extras.editor.mentions import read
from asyncstate.extras.editor.navigation import definitions, references
from asyncstate.extras.editor.renaming import prepare

FLOW = """\
include: [other]
web: {test.nop: [{require: [db, {test: db}]}]}
log:
  test.nop:
    - require: [
        db,
        test: 'db',
      ]
"""
OTHER = "db: {test.nop: []}\n"
PLACES = [("web.sls", 1, 28), ("web.sls", 1, 39), ("web.sls", 5, 8), ("web.sls", 6, 15)]


def test_words_in_flow_style_lead_to_ids_and_back():
    knowledge = knowledge_of({"web.sls": FLOW, "other.sls": OTHER})
    for marked in ("require: [d^b", "{test: d^b", "        d^b,", "'d^b'"):
        [found] = definitions(knowledge, *at(knowledge, marked))
        assert (found.path.rpartition("/")[2], found.place) == ("other.sls", (0, 0, 2))
        assert prepare(knowledge, *at(knowledge, marked)).text == "db"
    found = references(knowledge, *at(knowledge, "d^b: {"), declaration=False)
    assert [(each.path.rpartition("/")[2], *each.place[:2]) for each in found] == PLACES
    [found] = definitions(knowledge, *at(knowledge, "[oth^er]"))
    assert found.path.endswith("/other.sls")


IDS = st.sampled_from(["a", "b c", "/d", "e: f", "'g'", "0h"])
TARGETS = IDS | st.dictionaries(st.sampled_from(["test", "pkg", "id"]), IDS, min_size=1, max_size=1)
ARGUMENTS = st.lists(
    st.fixed_dictionaries({}, optional={"require": st.lists(TARGETS, max_size=3), "name": IDS}).filter(
        lambda item: len(item) == 1
    ),
    max_size=3,
)
TREES = st.dictionaries(
    IDS,
    st.fixed_dictionaries(
        {"test.nop": ARGUMENTS}, optional={"pkg.installed": ARGUMENTS, "watch": st.lists(TARGETS, max_size=3)}
    ),
    max_size=4,
)


@given(TREES, st.booleans() | st.none(), st.sampled_from([20, 80]))
def test_what_answers_are_made_of_is_what_yaml_says(tree, flow, width):
    text = yaml.dump(
        {"extend": deepcopy(tree), **tree}, default_flow_style=False if flow is False else None, width=width
    )
    if flow:
        text = "".join(
            f"{yaml.dump(key, default_flow_style=True).splitlines()[0]}: {yaml.dump(value, default_flow_style=True)}"
            for key, value in tree.items()
        )
    exact, tolerant = read(text), index(text)
    assert not exact.problem
    assert [(each.keyword, each.module, each.target.text, each.target.line) for each in exact.mentions] == [
        (each.keyword, each.module.removeprefix("id"), each.target.text, each.target.place.line + 1)
        for each in tolerant.references
    ]
    assert [(each.id.text, [state.line for state in each.states]) for each in exact.declared] == [
        (each.id.text, [state.place.line + 1 for state in each.states]) for each in tolerant.declarations
    ]
