"""Whatever messages the parties of a fleet send, a program ends soon, with a documented exit code, within its roots."""

import pytest
from fuzz_cases import tried
from fuzz_fleet import FAMILIES, valid
from fuzz_hosts import valid_hosts


@pytest.mark.parametrize(("family", "cases"), {"streams": 6, "offers": 3, "hosts": 10}.items())
def test_no_message_leads_out_of_the_roots_that_the_operator_chose(family, cases, run_case):
    tried(FAMILIES[family], run_case, cases)


@pytest.mark.parametrize("messages", list(valid()), ids=lambda messages: messages["words"][0])
def test_messages_that_are_not_spoiled_are_taken(messages, run_case):
    assert run_case(messages) is None


def test_what_hosts_say_is_taken_if_it_is_not_spoiled(run_case):
    for case_of_command in valid_hosts():
        assert run_case(case_of_command) is None, case_of_command["words"]


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_much_odd_input_ends_well(family, run_case):
    tried(FAMILIES[family], run_case, 40)
