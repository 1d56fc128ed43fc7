"""What a host lets operators do, whatever they sign."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.fleet.policy import Policy, refusals_of_call, refusals_of_offer, refusals_of_plan

NAMES = st.lists(st.text("abc.", min_size=1, max_size=4), max_size=4)


@given(NAMES, NAMES, st.booleans())
def test_without_a_policy_everything_is_allowed(sls, functions, test):
    assert refusals_of_offer(Policy(), sls=sls, test=test) == []
    assert refusals_of_plan(Policy(), sls=sls, functions=functions) == []


@given(NAMES, NAMES, NAMES, NAMES)
def test_each_name_must_fit(sls, functions, allow_sls, allow_functions):
    """Letters and dots stand for themselves in globs."""
    policy = Policy(allow_sls=tuple(allow_sls), allow_functions=tuple(allow_functions))
    refused = refusals_of_plan(policy, sls=sls, functions=functions)
    assert len(refused) == len(set(sls) - set(allow_sls)) + len(set(functions) - set(allow_functions))
    assert refusals_of_offer(policy, sls=sls, test=False) == [each for each in refused if " the SLS " in each]


def test_words_name_the_setting_and_what_it_allows():
    policy = Policy(allow_sls=("web.*", "base"), allow_functions=("file.*",), deny_test_false=True)
    assert refusals_of_offer(policy, sls=["web.site", "db"], test=False) == [
        "this host allows dry runs only (deny_test_false): add --test",
        "this host does not allow the SLS db (allow_sls: web.*, base)",
    ]
    assert refusals_of_offer(policy, sls=[], test=True) == []
    assert refusals_of_plan(policy, sls=["base"], functions=["file.managed", "cmd.run"]) == [
        "this host does not allow the function cmd.run (allow_functions: file.*)"
    ]


def test_an_empty_list_allows_nothing():
    assert refusals_of_plan(Policy(allow_functions=()), sls=[], functions=["test.nop"]) == [
        "this host does not allow the function test.nop (allow_functions: none)"
    ]


def test_a_slip_in_the_name_of_a_setting_is_not_taken_for_permission():
    with pytest.raises(msgspec.ValidationError, match="allow_function"):
        msgspec.convert({"allow_function": ["file.*"]}, Policy)


def test_a_function_is_called_if_the_policy_names_it():
    assert refusals_of_call(Policy(), "cmd.run") == []
    assert refusals_of_call(Policy(allow_functions=("test.*",)), "test.ping") == []
    assert refusals_of_call(Policy(allow_functions=("test.*",)), "cmd.run") == [
        "this host does not allow the function cmd.run (allow_functions: test.*)"
    ]


def test_a_policy_for_sls_alone_allows_no_calls():
    [words] = refusals_of_call(Policy(allow_sls=("web",)), "cmd.run")
    assert "allow_functions must name it" in words
    assert refusals_of_call(Policy(allow_sls=("web",), allow_functions=("cmd.*",)), "cmd.run") == []
