"""Effects that a tree relies on without saying so: for each kind one pair of states that must keep its order.

Each pair is of two formulas, and nothing but what the states touch holds them apart.
"""

import json

import pytest
from bundled_states import Bundled
from tables import beside, rows
from trees import plan, reachable

ROOT = "/memory/base"
TABLES = beside(__file__)
APART = TABLES.pop("apart")
PAIRS = {title: pair for pairs in TABLES.values() for title, pair in pairs.items()}


class Links(dict):
    def __call__(self, path):
        first = f"/{path.split('/')[1]}"
        return self[first] + path[len(first) :] if first in self else path

    def target(self, path):
        return self.get(path, "")


def compiled(*states):
    tree = {f"f{number}": json.dumps({f"s{number}": state}) for number, state in enumerate(states)}
    links = Links({"/elsewhere": ROOT})
    envs = {"dev": {"x": "x: test.nop"}}
    return plan(tree, list(tree), states=Bundled(), implicit_order="footprint", links=links, envs=envs)


@rows("case", PAIRS)
def test_a_pair_keeps_its_order(case):
    pair = compiled(*PAIRS[case])
    last = len(pair.chunks) - 1
    assert reachable(pair, last - 1, last)


@pytest.mark.parametrize("case", APART)
def test_a_pair_that_has_nothing_to_do_with_each_other_runs_at_once(case):
    assert not reachable(compiled(*APART[case]), 0, 1)
