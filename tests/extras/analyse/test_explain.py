"""Why a state waits for another: what it is that both touch."""

import pytest
from trees import FakeStates, plan

from asyncstate.extras.analyse.explain import explain_lines, explanation


def touches(low):
    return {
        "reads": low.get("r", []),
        "writes": low.get("w", []),
        "makes": low.get("m", []),
        "leaves": low.get("l", []),
    }


STATES = FakeStates(footprints={"t": touches})


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("{w: [user:www]}", "{r: [user:www]}", ["user:www"]),
        ("{r: [user:www]}", "{w: [user:www]}", ["user:www"]),
        ("{r: [user:www]}", "{r: [user:www]}", []),
        ("{w: ['path:/a']}", "{w: ['path:/a/b', pkgdb]}", ["path:/a"]),
        ("{w: ['path:/a/b/c']}", "{r: ['path:/a/**']}", ["path:/a/**"]),
        ("{m: ['path:/a']}", "{r: ['path:/a']}", ["path:/a"]),
        ("{m: ['path:/a']}", "{m: ['path:/a']}", []),
        ("{w: [pkgdb, 'path:/x']}", "{w: [pkgdb]}, {r: ['path:/x']}", ["path:/x", "pkgdb"]),
    ],
)
def test_what_keeps_two_states_in_order(before, after, names):
    compiled = plan(f"a: {{t.x: [{before}]}}\nb: {{t.x: [{after}]}}\n", states=STATES, implicit_order="footprint")
    told = [line for line in explain_lines(compiled, 1) if line.startswith("    - t.x: a")]
    assert told == ([f"    - t.x: a — {', '.join(names)}"] if names else [])
    assert explanation(compiled, 1)["waits_for"] == ({"footprint": [f"t.x: a — {', '.join(names)}"]} if names else {})


@pytest.mark.feature("F161")
def test_readers_joined_in_one_node_are_named_one_by_one():
    readers = "".join(f"r{number}: {{t.x: [{{r: ['path:/srv/**']}}]}}\n" for number in range(20))
    compiled = plan(readers + "z: {t.x: [{w: ['path:/srv/z']}]}\n", states=STATES, implicit_order="footprint")
    lines = list(explain_lines(compiled, 20))
    assert sum(line.endswith("— path:/srv/z") for line in lines) == 12
    assert "    and 8 more" in lines


def test_what_a_state_waits_for_unless_another_succeeds():
    tree = (
        "a: {t.x: [{w: ['path:/d']}, {l: ['path:/d']}]}\n"
        "b: {t.x: [{w: ['path:/d/b']}]}\nc: {t.x: [{m: ['path:/d']}, {w: ['path:/d/c']}]}\n"
    )
    compiled = plan(tree, states=STATES, implicit_order="footprint")
    assert explanation(compiled, 2)["waits_for"]["footprint"][1:] == [
        "t.x: b — path:/d, unless t.x: a succeeds first",
    ]
