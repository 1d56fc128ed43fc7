import re
import sys
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import said
from odd_values import ERRORS, RaisingTruth, forgotten, odd_values
from plans import PlanBuilder

from asyncstate.load.threads import transferable
from asyncstate.model.encode import json_bytes
from asyncstate.run.gate import Verdict
from asyncstate.run.rows import exception_row, normalise, not_run_row, number_rows, sub_rows, unverified_row


def good(**changes):
    return {"name": "n", "result": True, "changes": {}, "comment": "c", **changes}


_KEYS = st.sampled_from(["pid", "old", "\udcff", "k" * 600, 5, None])
_VALUES = st.sampled_from([1, 2**14_100, -(2**14_100), 0.5, True, None, "x", "\udcff", "x" * 600, b"\xff", [], {}])
_NESTED = st.recursive(
    _VALUES,
    lambda below: (
        st.lists(below, max_size=2)
        | st.lists(st.text(max_size=3), max_size=3)
        | st.dictionaries(_KEYS, below, max_size=2)
    ),
    max_leaves=6,
)


@given(
    name=st.text(),
    result=st.none() | st.booleans(),
    comment=st.text() | st.just("c" * 5000),
    changes=st.dictionaries(_KEYS, _NESTED),
)
def test_the_plainest_return_is_treated_like_any_other(name, result, comment, changes):
    returned = {"name": name, "result": result, "changes": changes, "comment": comment}
    row = normalise(returned, "n")
    longer = normalise({**returned, "more": 1}, "n")
    assert row == {key: value for key, value in longer.items() if key != "more"}
    assert not containers(row) & containers(returned)


def containers(value):
    """The identities of all dicts and lists in a value."""
    below = value.values() if type(value) is dict else value if type(value) is list else ()
    own = {id(value)} if type(value) in (dict, list) else set()
    return own.union(*map(containers, below))


def test_changes_that_contain_themselves_are_cut_as_in_any_other_row():
    changes = {}
    changes[""] = changes
    row, longer = (normalise({**good(), "changes": changes, **more}, "n") for more in ({}, {"more": 1}))
    assert repr(row["changes"]) == repr(longer["changes"])


@pytest.mark.parametrize("returned", [None, "fine", [True], 5])
def test_a_return_that_is_no_dict_is_one_failed_row(returned):
    row = normalise(returned, "n")
    assert row["result"] is False
    assert row["comment"] == said("exception", text=said("return-no-dictionary"))


@pytest.mark.parametrize("changes", [["x"], None, "text"])
def test_changes_that_are_no_dict(changes):
    row = normalise(good(changes=changes), "n")
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"] == said("exception", text=said("changes-no-dictionary"))


def test_missing_keys_are_all_named():
    row = normalise({"name": "n", "result": True}, "the name")
    assert row == {
        "name": "the name",
        "changes": {},
        "result": False,
        "comment": said("keys-missing", keys="changes, comment"),
    }


@pytest.mark.parametrize(("result", "expected"), [(1, True), ("no", True), (0, False), ("", False), (None, None)])
def test_result_becomes_a_truth_value(result, expected):
    assert normalise(good(result=result), "n")["result"] is expected


def test_comment_lists_become_lines_and_extra_keys_stay():
    row = normalise(good(comment=["a", b"b"], extra={"k": 1}), "n")
    assert (row["comment"], row["extra"]) == ("a\nb", {"k": 1})


def test_a_comment_list_holds_texts_only():
    row = normalise(good(comment=["a", 1]), "n")
    assert row["comment"] == said("exception", text=said("comment-no-text", type="<class 'int'>"))
    assert row["result"] is False


def test_mappings_that_are_not_dicts_are_accepted():
    from collections import OrderedDict

    assert type(normalise(OrderedDict(good()), "n")) is dict


def test_exception_text_ends_with_the_exception():
    row = exception_row("n", ZeroDivisionError("bye"))
    assert row["comment"].startswith(said("exception", text=""))
    assert row["comment"].endswith("ZeroDivisionError: bye\n")


def test_a_function_that_called_sys_exit_is_named_without_a_traceback():
    assert exception_row("n", SystemExit(3))["comment"] == said("exception", text="the function called sys.exit(3)")
    try:
        sys.exit("bye")
    except SystemExit as error:
        in_a_thread = transferable(error)
    comment = exception_row("n", in_a_thread)["comment"]
    assert re.fullmatch(rf".*: the function called sys\.exit\('bye'\), at {re.escape(__file__)}:\d+", comment)


def test_failed_requisites_are_named_once_each():
    plan = PlanBuilder().chunk("a", sls="x.y").chunk("a", "cmd.run", sls="x.y").chunk("b").build()
    row = not_run_row(Verdict.FAIL, "n", plan.chunks)
    assert row["comment"] == said("requisite-failed", states="x.y.a, s.b")
    assert (row["result"], row["__state_ran__"]) == (False, False)


KEYS = ("name", "changes", "result", "comment", "warnings", "sub_state_run", "skip_watch", "__state_ran__", "extra")


def assert_well_formed(row):
    assert {"name", "changes", "result", "comment"} <= row.keys()
    assert type(row["changes"]) is dict
    assert row["result"] is None or type(row["result"]) is bool
    assert type(row.get("warnings", [])) is list
    assert all(type(warning) is str for warning in row.get("warnings", []))
    assert type(json_bytes(row, indent=0)) is bytes


@pytest.mark.feature("F216")
@pytest.mark.filterwarnings("ignore:coroutine 'forgotten'")  # what a limit cuts off is not closed
@given(st.dictionaries(st.sampled_from(KEYS), odd_values) | odd_values)
def test_whatever_a_function_returns_is_one_well_formed_row(returned):
    row = normalise(good(**returned) if isinstance(returned, dict) and returned.keys() <= set(KEYS) else returned, "n")
    assert_well_formed(row)
    subs = sub_rows({**row, "start_time": "10:00:00.000000"}, LOW)
    for sub in subs.values():
        assert_well_formed(sub)


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
def test_whatever_a_function_raises_is_one_well_formed_row(error):
    row = exception_row("n", error())
    assert_well_formed(row)
    assert row["result"] is False
    assert row["comment"].startswith(said("exception", text=""))


def test_a_row_shares_nothing_with_what_was_returned():
    returned = good(changes={"a": {"b": 1}})
    row = normalise(returned, "n")
    returned["changes"]["a"]["b"] = 2
    returned["result"] = False
    assert (row["result"], row["changes"]) == (True, {"a": {"b": 1}})


@pytest.mark.parametrize("key", ["name", "changes", "result", "comment", "extra"])
@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: {"in": [value]}])
def test_a_forgotten_await_fails_the_state_and_names_the_function(key, wrap):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = normalise(good(**{"changes": {"kept": 1}, key: wrap(forgotten())}), "n")
    assert row["result"] is False
    assert "you forgot to await forgotten (" in row["comment"]
    if key != "changes":
        assert row["changes"] == {"kept": 1}


def test_a_coroutine_in_place_of_a_return_is_a_forgotten_await():
    row = normalise(forgotten(), "n")
    assert (row["result"], row["changes"]) == (False, {})
    assert "you forgot to await forgotten (" in row["comment"]


def test_a_result_without_a_truth_fails_and_keeps_the_changes():
    row = normalise(good(result=RaisingTruth(), changes={"a": 1}), "n")
    assert (row["result"], row["changes"]) == (False, {"a": 1})
    assert row["comment"] == said("exception", text=said("result-without-truth", error="Boom: bool") + "\nc")


@pytest.mark.parametrize(
    ("given", "expected"), [("text", ["text"]), (["a", 1], ["a", "1"]), (None, []), ({"a": 1}, ["{'a': 1}"])]
)
def test_warnings_become_a_list_of_texts(given, expected):
    assert normalise(good(warnings=given), "n")["warnings"] == expected


def test_a_comment_of_bytes_that_are_no_text():
    assert normalise(good(comment=[b"\xff", "b"]), "n")["comment"] == "\\xff\nb"


LOW = {"state": "idem", "__id__": "parent", "name": "p", "fun": "state", "__sls__": "s"}


def test_sub_states_get_rows_of_their_own():
    sub = {"changes": {"x": 1}, "result": True, "comment": ["one", "two"], "name": "sub",
           "low": {"name": "vpc", "state": "aws", "__id__": "vpc", "fun": "present"}}  # fmt: skip
    row = {**good(), "start_time": "10:00:00.000000", "sub_state_run": [sub, {"result": True, "changes": {}}, 5]}
    rows = sub_rows(row, LOW)
    assert "sub_state_run" not in row
    assert rows["aws_|-vpc_|-vpc_|-present"] == {
        "changes": {"x": 1}, "result": True, "comment": "one\ntwo", "name": "p", "duration": 0.0,
        "start_time": "10:00:00.000000", "__state_ran__": True, "__sls__": "s", "__id__": "parent",
    }  # fmt: skip
    assert [r["result"] for r in rows.values()] == [True, False, False]


def sub(**more):
    low = {"name": "vpc", "state": "aws", "__id__": "vpc", "fun": "present"}
    return {"changes": {}, "result": True, "comment": "", "low": low, **more}


@pytest.mark.parametrize(
    ("seconds", "milliseconds"), [(1.5, 1500.0), (2, 2000.0), (None, 0.0), ("1", 0.0), (True, 0.0), (float("inf"), 0.0)]
)
def test_the_duration_of_a_sub_state_is_given_in_seconds(seconds, milliseconds):
    row = normalise(good(sub_state_run=[sub(duration=seconds)]), "n")
    (shown,) = sub_rows({**row, "start_time": "10:00:00.000000"}, LOW).values()
    assert shown["duration"] == milliseconds


@pytest.mark.parametrize("value", [5, "text", {"a": 1}, [None]])
def test_what_is_no_sub_state_is_a_failed_row(value):
    row = normalise(good(sub_state_run=value), "n")
    (shown,) = sub_rows({**row, "start_time": "10:00:00.000000"}, LOW).values()
    assert shown["result"] is False
    assert shown["comment"] == said("sub-state-without-low")


def test_two_sub_states_of_one_name_have_two_rows():
    row = normalise(good(sub_state_run=[sub(comment="1"), sub(comment="2"), sub(comment="3")]), "n")
    rows = sub_rows({**row, "start_time": "10:00:00.000000"}, LOW)
    assert [(tag, shown["comment"]) for tag, shown in rows.items()] == [
        ("aws_|-vpc_|-vpc_|-present", "1"),
        ("aws_|-vpc_|-vpc (2)_|-present", "2"),
        ("aws_|-vpc_|-vpc (3)_|-present", "3"),
    ]


def test_a_sub_state_takes_no_row_of_another_state():
    row = normalise(good(sub_state_run=[sub()]), "n")
    rows = sub_rows({**row, "start_time": "10:00:00.000000"}, LOW, ["aws_|-vpc_|-vpc_|-present"])
    assert list(rows) == ["aws_|-vpc_|-vpc (2)_|-present"]


def test_numbers_follow_the_serial_order():
    plan = PlanBuilder().chunk("a").chunk("b").build()
    a, b = (chunk.tag for chunk in plan.chunks)
    rows = number_rows(plan, {b: good(), "listener": good(), a: good()}, {a: {"sub": good()}}, {})
    assert list(rows) == [a, "sub", b, "listener"]


def test_listeners_that_refer_to_nothing_come_last_and_other_known_rows_first():
    builder = PlanBuilder().chunk("a")
    builder.rows = {"Listen_Error_|-listen_x_|-listen_test_|-Listen_Error": good(), "disabled": good()}
    plan = builder.build()
    a = plan.chunks[0].tag
    rows = number_rows(plan, {"listener": good(), a: good()}, {}, {})
    assert list(rows) == ["disabled", a, "listener", "Listen_Error_|-listen_x_|-listen_test_|-Listen_Error"]
    assert [row["__run_num__"] for row in rows.values()] == [0, 1, 2, 3]
    assert [row["__run_num__"] for row in rows.values()] == [0, 1, 2, 3]


def test_a_chunk_held_back_at_its_check_is_numbered_there():
    plan = PlanBuilder().chunk("a").chunk("b").build()
    a, b = (chunk.tag for chunk in plan.chunks)
    assert list(number_rows(plan, {a: good(), b: good()}, {}, {1: 0})) == [b, a]


def test_low_data_that_names_nothing_callable_has_no_id_in_its_row():
    assert unverified_row("n", "c") == {
        "name": "n", "changes": {}, "result": False, "comment": "c", "__id__": None, "__sls__": None,
    }  # fmt: skip
