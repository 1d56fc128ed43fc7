"""Reports: what of their rows is the same in every run."""

from asyncstate.model.result import RunReport

ROW = {"result": True, "changes": {"pid": 5, "retcode": 0}, "comment": "done", "start_time": "1", "duration": 2.0}


def test_repeatable_rows_have_no_times_and_process_numbers():
    again = {**ROW, "start_time": "9", "duration": 1.0, "changes": {"pid": 6, "retcode": 0}}
    first, second = RunReport({"t": ROW}).repeatable_rows, RunReport({"t": again}).repeatable_rows
    assert first == second == {"t": {"result": True, "changes": {"retcode": 0}, "comment": "done"}}


def test_repeatable_rows_keep_what_else_differs():
    assert RunReport({"t": {**ROW, "more": 1}}).repeatable_rows["t"]["more"] == 1
    assert RunReport({"t": {**ROW, "changes": {"pid": "nginx"}}}).repeatable_rows["t"]["changes"] == {"pid": "nginx"}
