"""One process for all cases, whose imports are done."""

import pytest
from fuzz_process import fuzz_process


@pytest.fixture(scope="session")
def run_case(tmp_path_factory):
    with fuzz_process(tmp_path_factory.mktemp("fuzz") / "case") as run:
        yield run
