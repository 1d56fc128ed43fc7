"""Cases of a family, drawn and tried in one process whose imports are done."""

from __future__ import annotations

import pytest
from fuzz_process import fuzz_process
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st


@pytest.fixture(scope="session")
def run_case(tmp_path_factory):
    with fuzz_process(tmp_path_factory.mktemp("fuzz") / "case") as run:
        yield run


def tried(family, run_case, cases):
    """Draw this many cases of a family, a function that returns a strategy, and require that each ends well."""

    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def one(data):
        drawn = data.draw(family())
        assert run_case(drawn) is None

    one()
