from asyncstate.redact import MASK
from asyncstate.redact.no_log import hush_arguments, hush_high, hush_row


def test_nothing_but_the_id_and_the_outcome_is_left():
    row = {
        "name": "echo hunter2",
        "result": False,
        "changes": {"old": "", "new": "hunter2", "hunter2": ["hunter2", 0], "pid": 0},
        "comment": "hunter2",
        "__id__": "i",
        "__sls__": "s",
        "duration": 1.5,
        "warnings": ["hunter2"],
        "hunter2": {"hunter2": "hunter2"},
        "data": "hunter2",
    }
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
    row = {"name": "n", "result": False, "changes": {}, "comment": "One or more requisite failed: s.a", "__id__": "i"}
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
    high = {
        "quiet": {"cmd": ["run", {"names": ["one", {"two": [{"env": "x"}]}]}, {"no_log": True}], "__sls__": "s"},
        "named": {"cmd": ["run", {"name": "three"}, {"no_log": True}]},
        "other": {
            "cmd": [
                "run",
                {"require": [{"cmd": "two"}, {"cmd": "three"}, "named"]},
                {"use": [{"cmd": "two"}]},
                {"cwd": "one"},
            ]
        },
        "__exclude__": ["x"],
    }
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
