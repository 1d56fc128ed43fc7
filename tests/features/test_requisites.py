"""Requisites: what they refer to, what they decide, and the rows that follow."""

import pytest

from asyncstate.errors import CycleError


@pytest.mark.feature("F063", "B3")
def test_depth_is_no_limit(tree):
    lines = ["s0: {x.run: [{require: [s2999]}]}"]
    lines += [f"s{n}: {{x.run: [{{require: [{{x: s{n - 1}}}]}}]}}" for n in range(1, 3000)]
    tree.write({"a.sls": "\n".join(lines)})
    with pytest.raises(CycleError):
        tree.plan()
    tree.write({"a.sls": "\n".join(["s0: x.run", *lines[1:]])})
    assert len(tree.order()) == 3000


@pytest.mark.feature("F079", "B9")
def test_what_a_plugin_does_to_its_arguments_stays_there(tree):
    def spoil(name, items):
        items.append("spoilt")
        return {"name": name, "result": None, "changes": {"items": list(items)}, "comment": ""}

    tree.states["x.spoil"] = spoil
    tree.write({"a.sls": "a: {x.run: [{prereq: [b]}]}\nb: {x.spoil: [{items: [one]}]}\n"})
    assert tree.rows()["b"]["changes"] == {"items": ["one", "spoilt"]}
