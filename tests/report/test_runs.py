"""The table of runs: columns that fit, and nothing that controls a terminal."""

from __future__ import annotations

from asyncstate.journal.entry import RunEntry
from asyncstate.model.result import RunReport
from asyncstate.report.human import Style
from asyncstate.report.runs import run_lines, run_table
from asyncstate.report.terminal import COLOURED


def entry(**more):
    return RunEntry(**{"id": "ab12", "begun": 1e9, "ended": 1e9 + 61, "ending": "finished", "exit_code": 0, **more})


def test_a_table_is_as_wide_as_its_longest_cells():
    counts = {"chunks": 12345, "changed": 3, "failed": 0, "held_back": 4}
    heading, *lines = run_table([entry(), entry(id="ab12cd34", counts=counts, ending="killed", exit_code=None)])
    assert [line.index("2001") for line in lines] == [heading.index("Begun")] * 2
    assert lines[0].endswith("finished")
    assert lines[1].split()[3:] == ["1", "min", "1", "s", "12345", "3", "0", "4", "killed"]


def test_how_a_run_ended_in_words():
    (_, dry, would, part, only_held) = run_table(
        [
            entry(test=True),
            entry(test=True, foretold={"cannot be told": 1, "to change": 2}),
            entry(resumes="0123456789abcdef", counts={"failed": 2, "held_back": 3}),
            entry(counts={"failed": 0, "held_back": 1}),
        ]
    )
    assert dry.endswith("finished, dry run")
    assert would.endswith("  finished, dry run: 2 to change, 1 cannot be told")
    assert " 2  " not in would, "nothing was changed"
    assert part.endswith("finished, 2 states failed, 3 held back, went on with 01234567")
    assert only_held.endswith("finished, 1 state held back")


def test_what_did_not_end_well_is_red_and_what_runs_is_yellow():
    shown = list(run_table([entry(exit_code=2), entry(ending="under way", ended=None, exit_code=None)], COLOURED))
    assert shown[1].startswith(COLOURED.red)
    assert shown[2].startswith(COLOURED.yellow)


def test_no_name_controls_the_terminal():
    hostile = entry(host="h\x1b[2J", ending="cancelled: \x1b]0;x\x07", about={"sls": ["a\x1b[31m"]})
    text = "\n".join([*run_table([hostile]), *run_lines(hostile, RunReport(rows={}), Style())])
    assert "\x1b" not in text
