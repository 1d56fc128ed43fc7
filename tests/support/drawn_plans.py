"""Hypothesis strategies for compiled plans: of one host alone, and of hosts that wait for one another."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from simulated_system import StateModules
from simulated_trees import COUNTERS, FOLDERS, trees
from trees import compiler

from asyncstate.compile.graph import resolve

try:
    from drawn_parts import ACROSS, PATCHED, draw_part
except ModuleNotFoundError:  # the engine without fleets
    ACROSS, PATCHED, draw_part = (), (), None

INSTALLS = (("pkg", "installed"),)
HANDLERS = ("onfail", "onfail_any", "onfail_all")
WATCHES = ("watch", "watch_any", "onchanges")
SORTS = (
    ({}, ()),
    ({"options": {"implicit_order": "file"}, "kinds": HANDLERS}, ()),
    ({"functions": INSTALLS, "options": {"state_aggregate": None, "implicit_order": "footprint"}}, ()),
    ({"functions": COUNTERS, "options": {"state_aggregate": True}, "kinds": WATCHES}, ()),
    ({"functions": FOLDERS, "options": {"implicit_order": "footprint"}}, ()),
    *ACROSS,
)
"""How a tree is drawn; and, if its states are on two hosts, further arguments of its first states."""


@st.composite
def plans(draw, sorts=SORTS):
    """Plans with every kind of node and edge. Few states already go through a SET, in one plan of two."""
    with pytest.MonkeyPatch.context() as patch:
        if draw(st.booleans()):
            patch.setattr(resolve, "SET_THRESHOLD", 2)
            for module, name in PATCHED:
                patch.setattr(module, name, 2)
        how, across = draw(st.sampled_from(sorts))
        tree = draw(trees(**how))
        if across:
            return draw_part(draw, tree, across)
        return compiler({}, states=StateModules(), **tree.options).plan_high(tree.high)
