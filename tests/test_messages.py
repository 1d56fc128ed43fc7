"""The cases of messages.yaml."""

import pytest
from messages import catalogue, compiled, compiled_pillar

TREES = {str(number): case for number, case in enumerate(catalogue()["trees"])}


@pytest.mark.parametrize("case", TREES)
def test_trees(case):
    case = TREES[case]
    options = case.get("options", {})
    found = compiled_pillar(case["pillar"], **options) if "pillar" in case else compiled(case["tree"], **options)
    assert found == case["says"]
