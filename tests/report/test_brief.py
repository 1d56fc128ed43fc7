from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import said
from tables import beside

from asyncstate.model.forecast import Foretold
from asyncstate.model.result import RunReport
from asyncstate.report.brief import brief_lines, short_changes
from asyncstate.report.columns import cells, cut_within
from asyncstate.report.human import Style
from asyncstate.report.terminal import COLOURED, clean

TABLES = beside(__file__)

DIFF = "--- /etc/a\n+++ /etc/a\n@@ -1,2 +1,3 @@\n-- an SQL comment\n+x\n+y\n z\n"


def row(result=True, changes=None, comment="All right", **more):
    return {"name": "n", "result": result, "changes": changes or {}, "comment": comment, "duration": 13004.1, **more}


def shown(
    rows,
    width=0,
    foretold=None,
    *,
    verbose=False,
    places=None,
    held=None,
    palette=None,
    host="",
    diffs=None,
    diff_lines=0,
    **fields,
):
    more = {"palette": palette} if palette else {}
    more |= {"diffs": diffs, "diff_lines": diff_lines}
    style = Style(
        state_output="brief", state_verbose=verbose, width=width, places=places or {}, held=held or {}, **more
    )
    report = RunReport(rows=rows, wall_ms=83_000.0, **fields)
    return list(brief_lines(report, style, host, foretold))


ROWS = {
    "file_|-conf_|-/etc/web.conf_|-managed": row(changes={"diff": DIFF, "mode": "0600"}),
    "pkg_|-nginx_|-nginx_|-installed": row(changes={"nginx": {"old": "1.18", "new": "1.22"}}),
    "test_|-ok_|-ok_|-nop": row(),
    "cmd_|-broken_|-make\nmore_|-run": row(
        result=False,
        comment='Command "make\nmore" run',
        changes={"pid": 7, "retcode": 2, "stdout": "", "stderr": "no rule\x1b[2J\nto make it"},
    ),
    "service_|-nginx_|-nginx_|-running": row(False, comment=said("requisite-failed", states="web.broken"), __state_ran__=False, duration=0.0),
}  # fmt: skip


@pytest.mark.feature("F155")
def test_a_line_for_each_state_that_is_not_as_wanted_and_failures_whole():
    held = {"service_|-nginx_|-nginx_|-running": "requires cmd: broken, which failed"}
    assert (
        shown(ROWS, places={"cmd_|-broken_|-make\nmore_|-run": "/srv/web.sls:3"}, held=held)
        == TABLES["what is not as wanted has a line, and failures are whole"]
    )


def test_what_no_plan_explains_says_itself_why_it_was_held_back():
    assert shown(ROWS)[-3].endswith("nginx                 " + said("requisite-failed", states="web.broken"))


def test_states_of_one_id_are_told_apart_by_the_end_of_their_names():
    names = [f"/srv/application/shared/{name}" for name in ("releases", "config", "log")]
    rows = {f"file_|-folders_|-{name}_|-directory": row(changes={name: {"directory": "new"}}) for name in names}
    for line, name in zip(shown(rows, 60), ("releases)", "config)", "log)"), strict=False):
        assert line.split("  ")[2].startswith("folders (")
        assert name in line


@given(text=st.text("ab 状é\u0301👩\u200d", max_size=40), width=st.integers(1, 40))
def test_what_is_cut_in_the_middle_fits(text, width):
    short = cut_within(text, width)
    assert cells(short) <= width
    assert short == text or "…" in short


LONG = "fetch the release archive from the mirror of the whole company"
TWO = {
    f"cmd_|-{LONG}_|-curl --fail https://mirror.example.org/{'x' * 80}_|-run": row(False, comment="It failed"),
    "cmd_|-unpack_|-tar xf archive.tar_|-run": row(False, comment="One or more requisite failed", __state_ran__=False),
    "cmd_|-start_|-run_|-run": row(False, comment="stopped", __state_ran__=False),
    "file_|-conf_|-/etc/conf_|-managed": row(changes={"x" * 40: "y" * 90}),
}


@pytest.mark.parametrize("width", [24, 40, 60, 80, 100, 140, 200])
@pytest.mark.parametrize("why", [f"requires cmd: {LONG}, which failed", "requires cmd: 状態の名前, which failed"])
def test_on_a_narrow_terminal_the_id_of_a_failure_and_a_reason_are_whole(width, why):
    lines = shown(TWO, width, held={"cmd_|-unpack_|-tar xf archive.tar_|-run": why})
    assert LONG in next(line for line in lines if line.startswith("failed"))
    assert why in " ".join(" ".join(lines).split())
    assert any(line.endswith(" stopped") for line in lines), lines
    others = [line for line in lines if not line.startswith("failed") and " " in line.strip()]
    assert max(cells(line) for line in others[:-1]) <= width


@pytest.mark.parametrize("width", [20, 40, 61, 80])
def test_no_line_of_a_state_is_wider_than_the_terminal(width):
    wide = {
        f"test_|-状態の名前 {n}_|-e\u0301 👩\u200d🚒\t{'名' * n}_|-nop": row(None, {"a" * n: "ü"}) for n in range(40)
    }
    lines = shown(wide, width, test=True, palette=COLOURED)[:40]
    plain = [clean(line) for line in lines]
    assert {cells(line) <= width for line in plain} == {True}
    assert {line.find("test.nop") for line in plain} == {-1 if width <= 40 else 11 if width < 80 else 19}
    assert "…" in plain[-1]
    assert width < 40 or all("状態" in line and "a" in line for line in plain), "there is room for name and changes"
    assert all(line.startswith(COLOURED.paint(COLOURED.yellow, "to change  ")) for line in lines)


def test_what_is_as_wanted_is_shown_on_request_and_where_it_warns():
    rows = {"test_|-a_|-a_|-nop": row(comment=""), "test_|-b_|-b_|-nop": row(warnings=["old\nvery old"])}
    assert [line.split("  ")[0] for line in shown(rows, verbose=True)[:2]] == ["as wanted"] * 2
    assert shown(rows) == TABLES["what is as wanted is shown on request and where it warns"]


def test_a_host_of_several_of_which_nothing_is_to_be_said_is_one_line():
    rows = {"test_|-a_|-a_|-nop": row(), "test_|-b_|-b_|-nop": row()}
    assert shown(rows, host="web1") == ["web1: 2 states in 1 min 23 s: 2 as wanted"]
    del rows["test_|-b_|-b_|-nop"]
    assert shown(rows, host="web1")[:2] == ["web1:", "as wanted  13.0 s  test.nop  a  All right"]


def test_a_dry_run_has_words_of_its_own():
    rows = {
        "a_|-a_|-a_|-x": row(None, {"new": "2", "old": "1"}),
        "b_|-b_|-b_|-x": row(None, {"cmd": "b"}),
        "c_|-c_|-c_|-x": row(__state_ran__=False),
    }
    foretold = dict(zip(rows, Foretold, strict=True))
    lines = [
        line.replace("{not-told}", said("not-told-by-a-dry-run")) for line in TABLES["a dry run has words of its own"]
    ]
    assert shown(rows, foretold=foretold, test=True) == lines


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, ""),
        ("odd", ""),
        ({"diff": "New file"}, "new file"),
        ({"/etc/d": {"directory": "new"}}, "new directory"),
        ({"mode": {"old": "0644", "new": "0600"}, "user": "web"}, "mode 0644 → 0600, user web"),
        ({"vim": {"old": "", "new": "9"}, "ed": {"old": "1", "new": ""}}, "vim 9 (new), ed gone (was 1)"),
        ({"n": True}, "n"),
        ({"retcode": 0, "pid": 1, "stdout": "done\nall", "stderr": ""}, "exit 0: done …"),
        ({str(n): n for n in range(9)}, "0 0, 1 1, 2 2 and 6 more"),
        ({"groups": ["a", "b", "c", "d"]}, "groups a, b, c and 1 more"),
        ({"out": "highstate", "ret": {"web1": {"t": row(changes={"a": 1})}, "web2": "odd"}}, "2 hosts, 1 changed"),
        ({"a": {"b": {"diff": DIFF}}}, "a b +2 -1"),
        ({"x": "\x1b[2Jred\nnext"}, "x red …"),
    ],
)
def test_changes_in_a_few_words(changes, text):
    assert short_changes(changes, "/etc/d") == text


def test_a_state_without_a_result_has_one_word_in_its_line_and_in_the_summary():
    lines = shown({"test_|-a_|-a_|-nop": row(None), "test_|-b_|-b_|-nop": row(None)})
    assert lines[0].startswith("differs  ")
    assert lines[-1] == "2 states in 1 min 23 s: 2 differ"


NEW = "--- \n+++ \n@@ -0,0 +1,3 @@\n+one\n+two\x1b[2J\n+three\n"


def test_diffs_are_below_their_states_without_the_names_of_files():
    rows = {
        "file_|-conf_|-/etc/web.conf_|-managed": row(None, changes={"diff": NEW, "mode": "0600"}),
        "file_|-tree_|-/srv/app_|-recurse": row(None, changes={"/srv/app/a": {"diff": NEW}}),
    }
    lines = shown(rows, diffs=True)
    assert lines[1:5] == ["    @@ -0,0 +1,3 @@", "    +one", "    +two", "    +three"]
    assert lines[6:8] == ["    /srv/app/a", "    @@ -0,0 +1,3 @@"]
    cut = shown(rows, diffs=True, diff_lines=2)
    assert cut[1:4] == ["    @@ -0,0 +1,3 @@", "    +one", "    … 2 more lines"]
    assert not any("one" in line for line in shown(rows))
