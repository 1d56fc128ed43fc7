"""The plugin for authors of states finds missing orders."""

import pytest

from asyncstate.testing import BrokenContract, States

MARKER = """
from pathlib import Path

def present(name, text="here"):
    Path(name).write_text(text)
    return {"name": name, "result": True, "changes": {"text": text}, "comment": "Written"}

def mod_footprint(low):
    return {"reads": [], "writes": ["path:" + low["name"]]}
"""
READS = "from pathlib import Path\n\ndef made(name, of):\n    Path(name).write_text(Path(of).read_text() * 2)\n    "
READS += "return {'name': name, 'result': True, 'changes': {'made': name}, 'comment': 'made'}\n"
DECLARED = "\ndef mod_footprint(low):\n    return {'reads': ['path:' + low['of']], 'writes': ['path:' + low['name']]}\n"


@pytest.fixture
def states(tmp_path):
    runner = States(tmp_path / "states")
    runner.tree("_states/marker.py", MARKER)
    return runner


def two_states(states):
    return {
        "text": {"marker.present": [{"name": states.path("marker")}]},
        "twice": {"reader.made": [{"name": states.path("twice")}, {"of": states.path("marker")}]},
    }


def test_states_that_declare_what_they_touch_may_be_shaken(states):
    states.tree("_states/reader.py", READS + DECLARED)
    states.shake(two_states(states))
    assert (states.root / "twice").read_text() == "herehere"


def test_shaking_names_two_states_that_nothing_orders(states):
    states.tree("_states/reader.py", READS)
    (states.root / "rest").touch()
    with pytest.raises(BrokenContract, match=r"reader\.made: twice .* must run after marker\.present: text"):
        states.shake(two_states(states))
    with pytest.raises(BrokenContract, match="1 order missing: 2 states delayed"):
        states.shake(two_states(states), before=(states.root / "filled").touch)
    assert (states.root / "filled").exists()
    assert not (states.root / "rest").exists()


def test_a_tree_that_breaks_off_cannot_be_shaken(states):
    tree = {"a": {"test.fail_without_changes": [{"failhard": True}]}, "b": {"test.nop": []}}
    with pytest.raises(BrokenContract, match="failhard failed: test_"):
        states.shake(tree)
