"""Whatever a worker answers, the program ends soon, with a documented exit code, within its roots."""

import pytest
from fuzz_cases import tried
from fuzz_salt import answers, valid_answers


def test_no_answer_leads_out_of_the_roots_that_the_operator_chose(run_case):
    tried(answers, run_case, 15)


def test_answers_that_are_not_spoiled_are_taken(run_case):
    assert run_case(valid_answers()) is None


@pytest.mark.slow
def test_many_odd_answers_end_well(run_case):
    tried(answers, run_case, 40)
