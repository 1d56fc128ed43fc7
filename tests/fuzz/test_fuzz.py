"""Whatever the input is, the program ends soon, with a documented exit code, a message, and no traceback."""

import pytest
from fuzz_messages import valid
from fuzz_trees import FAMILIES, case
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

ROOTS = ["--file-root", "salt", "--pillar-root", "pillar"]
HARMFUL = {
    "opened": "open('../beside/file').close()\n",
    "died": "import os\nos.abort()\n",
    "memory": "x = 'x' * 1_200_000_000\n",
    "changed": "open('../beside/made', 'w').close()\n",
    "traceback": "import sys\nsys.stderr.write('Traceback (most recent call last):')\n",
    "exit code": "import os\nos._exit(77)\n",
    "internal error": "import asyncstate.runtime as r\nr.StateRuntime.compile_sync = None\n",
}


@pytest.mark.parametrize("kind", HARMFUL)
def test_what_is_wrong_is_seen(kind, run_case):
    files = {
        "salt/a.sls": "a: {odd.here: []}\n",
        "salt/_states/odd.py": HARMFUL[kind],
        "salt/_grains/odd.py": HARMFUL[kind],
        "pillar/x": "",
    }
    files["salt/_grains/odd.py"] += "def some(): return {'a': 1}\n"
    assert run_case(case(files, ["check", "a", *ROOTS, "--log-level", "quiet"])).kind == kind


def _try(family, run_case, cases):
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
        drawn = data.draw(FAMILIES[family]())
        assert run_case(drawn) is None

    one()


@pytest.mark.parametrize("family", FAMILIES)
def test_odd_input_ends_well(family, run_case):
    _try(family, run_case, 3)


@pytest.mark.parametrize(("family", "cases"), {"outward": 60, "answers": 15, "streams": 15, "offers": 5}.items())
def test_no_record_and_no_message_leads_out_of_the_roots_that_the_operator_chose(family, cases, run_case):
    _try(family, run_case, cases)


@pytest.mark.parametrize("messages", list(valid()), ids=lambda messages: messages["words"][0])
def test_messages_that_are_not_spoiled_are_taken(messages, run_case):
    assert run_case(messages) is None


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_much_odd_input_ends_well(family, run_case):
    _try(family, run_case, 40)
