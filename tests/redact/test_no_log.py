from tables import beside

from asyncstate.redact import MASK
from asyncstate.redact.no_log import hush_arguments, hush_high, hush_row

TABLES = beside(__file__)


def test_nothing_but_the_id_and_the_outcome_is_left():
    row = TABLES["nothing but the id and the outcome is left"]
    assert hush_row(row, "i") == {
        "name": MASK,
        "result": False,
        "changes": {"old": "", "new": MASK, MASK: [MASK, 0], "pid": 0},
        "comment": MASK,
        "__id__": "i",
        "__sls__": "s",
        "duration": 1.5,
        "warnings": [MASK],
        MASK: {MASK: MASK},
        "data": MASK,
    }


def test_of_a_state_that_was_not_called_the_engine_says_why():
    row = {"name": "n", "result": False, "changes": {}, "comment": "One requisite failed: s.a", "__id__": "i"}
    held_back = {**row, "__state_ran__": False}
    assert hush_row(held_back, "i") == {**held_back, "name": MASK}
    assert hush_row(held_back, "n") == held_back


def test_arguments_that_say_when_a_state_runs_stay():
    args = {"contents": "hunter2", "require": [{"a": "b"}], "unless": "hunter2", "no_log": True, "env": [{"A": "b"}]}
    assert hush_arguments(args) == {
        "contents": MASK,
        "require": [{"a": "b"}],
        "unless": MASK,
        "no_log": True,
        "env": [{MASK: MASK}],
    }


def test_high_data_names_no_state_with_no_log():
    high = TABLES["high data names no state with no log"]
    assert hush_high(high) == {
        "quiet": {"cmd": ["run", {"names": [MASK, {MASK: [{MASK: MASK}]}]}, {"no_log": True}], "__sls__": "s"},
        "named": {"cmd": ["run", {"name": MASK}, {"no_log": True}]},
        "other": {
            "cmd": [
                "run",
                {"require": [{"cmd": MASK}, {"cmd": MASK}, "named"]},
                {"use": [{"cmd": MASK}]},
                {"cwd": "one"},
            ]
        },
        "__exclude__": ["x"],
    }
