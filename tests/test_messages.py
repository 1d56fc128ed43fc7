"""The cases of messages.yaml."""

import pytest
from messages import catalogue, compiled

TREES = {str(number): case for number, case in enumerate(catalogue()["trees"])}


@pytest.mark.parametrize("case", TREES)
def test_trees(case):
    case = TREES[case]
    assert compiled(case.get("tree"), pillar=case.get("pillar"), **case.get("options", {})) == case["says"]
