import pytest
from trees import FakeStates, chunk_of, plan

from asyncstate.extras.analyse.impact import IF_CHANGED, IF_FAILED, effects, impact, impact_lines

STATES = FakeStates("test.mod_watch", footprints={"file": lambda low: {"writes": [f"path:{low['name']}"]}})


def of(tree, wanted, **options):
    compiled = plan(tree, states=STATES, implicit_order="footprint", **options)
    return compiled, chunk_of(compiled, wanted).index


def affected(tree, wanted):
    compiled, index = of(tree, wanted)
    return [(compiled.chunks[effect.chunk].id, effect.kinds, effect.steps) for effect in effects(compiled, index)]


@pytest.mark.parametrize(
    ("kind", "changed", "failed"),
    [
        ("require", "", IF_FAILED["require"]),
        ("require_any", "", IF_FAILED["require"] + ", unless another that it names does not fail"),
        ("watch", IF_CHANGED["watch"], IF_FAILED["watch"]),
        ("onchanges", IF_CHANGED["onchanges"], IF_FAILED["onchanges"]),
        ("onfail", "", "runs"),
        ("onfail_all", "", "runs, if all others that it names fail too"),
        ("prereq", IF_CHANGED["prereq"], IF_FAILED["prereq"]),
        ("listen", IF_CHANGED["listen"], ""),
    ],
)
def test_what_each_requisite_makes_of_a_change_and_a_failure(kind, changed, failed):
    compiled, index = of(f"a: test.nop\nb: {{test.nop: [{{{kind}: [a]}}]}}\n", "a")
    (effect,) = [one for one in impact(compiled, index)["affected"] if "_b_" in one["tag"] or "|-b_|" in one["tag"]]
    assert effect["if_changed"] == ([changed] if changed else [])
    assert effect["if_failed"] == ([failed] if failed else [])


@pytest.mark.feature("F165")
def test_effects_go_on_from_state_to_state_the_nearest_first():
    tree = "a: test.nop\nb: {test.nop: [{watch: [a]}]}\nc: {test.nop: [{onfail: [b]}]}\nd: {test.nop: [{require: [a, c]}]}\ne: test.nop\n"
    assert affected(tree, "a") == [("b", ("watch",), 1), ("d", ("require",), 1), ("c", ("onfail",), 2)]
    assert affected(tree, "e") == []


def test_a_set_affects_through_its_members():
    many = "".join(f"m{n}: test.nop\n" for n in range(10))
    assert affected(many + "z: {test.nop: [{require: [{test: 'm*'}]}]}\n", "m3") == [("z", ("require",), 1)]


def test_what_only_waits_is_apart():
    tree = "a: {file.x: [{name: /p}]}\nb: {file.x: [{name: /p/q}]}\nc: {file.x: [{name: /p/r}, {require: [a]}]}\n"
    compiled, index = of(tree, "a")
    facts = impact(compiled, index)
    assert [one["tag"] for one in facts["ordered_after"]] == [chunk_of(compiled, "b").tag]
    assert facts["ordered_after"][0]["sources"] == ["footprint"]
    assert facts["ordered_after"][0]["resources"] == ["path:/p"]


def test_lines():
    tree = "a: test.nop\nb: {test.nop: [{watch: [a]}]}\nc: {test.nop: [{require: [b]}]}\nx: {file.x: [{name: /p}]}\ny: {file.x: [{name: /p}]}\n"
    compiled, index = of(tree, "a")
    text = "\n".join(impact_lines(compiled, index))
    for said in ("If it changes", "If it fails", "test.nop: c, by its require on test.nop: b"):
        assert said in text
    assert "    - file.x: y (/p) (both touch path:/p)" in list(impact_lines(compiled, chunk_of(compiled, "x").index))
    assert "  Nothing depends on it." in list(impact_lines(compiled, chunk_of(compiled, "c").index))
