from __future__ import annotations

import pytest
from record_answers import read, recorded
from tables import beside

from asyncstate.errors import Issue
from asyncstate.model.result import RunReport
from asyncstate.report.human import FORMS, Style, report_lines, row_lines
from asyncstate.report.terminal import COLOURED, without_control

TABLES = beside(__file__)

TAG = "file_|-web_conf_|-/etc/web.conf_|-managed"


def row(result=True, changes=None, comment="All right", **more):
    return {
        "name": "/etc/web.conf",
        "result": result,
        "changes": changes or {},
        "comment": comment,
        "__id__": "web_conf",
        "__sls__": "web",
        "__run_num__": 0,
        "start_time": "10:00:00.000001",
        "duration": 1.5,
        **more,
    }


def shown(row, tag=TAG, **style):
    return list(row_lines(tag, row, Style(**style)))


@pytest.mark.feature("F154", "F155")
@pytest.mark.parametrize(("question", "lines"), recorded("highstate").items())
def test_rows_have_salts_lines_and_columns(question, lines):
    shown_rows, options = read(question)
    [(tag, row)] = shown_rows.items()
    salts = [line.rstrip() for line in lines[1 : lines.index("Summary for local") - 1]]
    assert shown(row, tag, **options) == salts


def test_name_is_left_out_where_it_is_the_id():
    lines = shown(row(), tag="test_|-a_|-a_|-nop")
    assert not any("Name:" in line for line in lines)


@pytest.mark.feature("F155")
def test_tabular_terse():
    assert shown(row(result=None), state_output="terse", state_tabular=True) == [
        "10:00:00.000001 [    1.5 ms]       file.managed    Differs   Name: /etc/web.conf"
    ]


@pytest.mark.feature("F155")
@pytest.mark.parametrize(
    ("layout", "line"),
    [
        ("{4}: {2}.{3} {1} {6[duration]}", "Clean: file.managed /etc/web.conf 1.5"),
        ("%(name)s", "%(name)s"),
        ("{1} {9}", "{1} {9}  (state_tabular: Replacement index 9 out of range for positional args tuple)"),
    ],
)
def test_a_table_of_ones_own(layout, line):
    style = Style.of({"state_output": "terse", "state_tabular": layout})
    assert list(row_lines(TAG, row(), style)) == [line]


@pytest.mark.feature("F155")
@pytest.mark.parametrize(
    ("form", "clean", "changed", "failed", "differs"),
    TABLES["forms"],
)
def test_forms(form, clean, changed, failed, differs):
    rows = {
        "clean": row(),
        "changed": row(changes={"a": 1}),
        "failed": row(result=False),
        "differs": row(result=None, changes={"a": 1}),
    }
    found = {name: "full" if len(shown(each, state_output=form)) > 1 else "terse" for name, each in rows.items()}
    assert found == {"clean": clean, "changed": changed, "failed": failed, "differs": differs}


@pytest.mark.feature("F155")
def test_filter_leaves_out_and_shortens_by_result():
    style = Style.of({"state_output": "filter", "state_output_exclude": "True,", "state_output_terse": [None]})
    assert list(row_lines(TAG, row(), style)) == []
    assert len(list(row_lines(TAG, row(result=None), style))) == 1
    assert len(list(row_lines(TAG, row(result=False), style))) > 1


@pytest.mark.feature("F155")
def test_not_verbose_hides_what_was_right_already():
    assert shown(row(), state_verbose=False) == []
    assert shown(row(), state_output_diff=True) == []
    assert shown(row(result=None), state_verbose=False) != []
    assert shown(row(changes={"a": 1}), state_verbose=False) != []


def test_an_unknown_form_in_the_configuration_means_full():
    assert Style.of({"state_output": "fancy"}).form == "full"
    assert Style.of({"state_output": "Mixed_ID"}).by_id
    assert set(FORMS) == {"full", "terse", "mixed", "changes", "filter", "brief"}


def test_a_failed_state_says_where_it_was_declared():
    lines = shown(row(result=False), places={TAG: "/srv/salt/web.sls:12"})
    assert "      Source: /srv/salt/web.sls:12" in lines
    assert not any("Source:" in line for line in shown(row(), places={TAG: "/srv/salt/web.sls:12"}))


def test_warnings_are_wrapped_under_their_label():
    lines = shown(row(warnings=["word " * 30]), width=60)
    at = next(number for number, line in enumerate(lines) if line.startswith("    Warnings: word"))
    assert lines[at + 1].startswith(" " * 14 + "word")
    assert max(map(len, lines)) <= 60


def test_escape_sequences_of_a_command_do_not_reach_the_terminal():
    lines = shown(row(comment="\x1b[31mred\x1b[0m \x1b]0;title\x07bell\x07", changes={"stdout": "a\x1b[2Jb\x00c"}))
    text = "\n".join(lines)
    assert "\x1b" not in text
    assert "Comment: red bell\\x07" in text
    assert "ab\\x00c" in text


def test_colour_follows_the_outcome():
    for result, changes, code in ((True, {}, 32), (True, {"a": 1}, 36), (None, {}, 33), (False, {}, 31)):
        first = next(row_lines(TAG, row(result=result, changes=changes), Style(palette=COLOURED)))
        assert without_control(first) == f"\x1b[{code}m----------\x1b[0m"


def test_a_list_comment_a_data_key_and_a_tag_of_no_form_are_shown():
    lines = shown(row(comment=["one", "two"], data={"k": "v"}), tag="strange")
    assert "          ID: strange" in lines
    assert lines[lines.index("     Comment: one") + 1 :][:2] == ["              two", "              k: v"]


def test_a_long_report_names_at_its_end_what_failed_of_itself():
    rows = {f"test_|-id{n}_|-id{n}_|-nop": row() for n in range(9)}
    rows["test_|-culprit_|-culprit_|-nop"] = row(result=False)
    rows["test_|-victim_|-victim_|-nop"] = row(result=False, __state_ran__=False)
    held = {"test_|-victim_|-victim_|-nop": "requires test: culprit, which failed"}
    style = Style(state_output="terse", places={"test_|-culprit_|-culprit_|-nop": "/web.sls:3"}, held=held)
    lines = list(report_lines(RunReport(rows=rows), style))
    at = lines.index("Failed:")
    assert lines[at + 1 : at + 6] == TABLES["a long report names at its end what failed of itself"]
    del rows["test_|-id0_|-id0_|-nop"]
    assert "Failed:" not in list(report_lines(RunReport(rows=rows), style))


def test_the_report_is_host_rows_and_summary():
    report = RunReport(rows={TAG: row(changes={"a": 1})}, wall_ms=2.0, busy_ms=1.5, warnings=(Issue("odd"),))
    lines = list(report_lines(report, Style(state_output="terse", state_output_profile=False)))
    assert lines == TABLES["the report is host rows and summary"]


def test_the_rows_of_other_hosts_are_rows():
    """``salt.state`` has them among its changes."""
    hosts = {"web1": {TAG: row(changes={"mode": "0644"})}, "web2": ["No matching sls"], "web3": False}
    lines = shown(row(result=False, changes={"out": "highstate", "ret": hosts}), state_output="mixed")
    start = lines.index("     Changes:") + 1
    times = " - Started: 10:00:00.000001 - Duration: 1.5 ms"
    assert lines[start:] == [
        "              web1:",
        f"                Name: /etc/web.conf - Function: file.managed - Result: Changed{times}",
        "              web2:",
        "                  - No matching sls",
        "              web3:",
        "                  False",
    ]
    full = shown(row(changes={"out": "highstate", "ret": {"web1": {TAG: row()}}}))
    assert "                        ID: web_conf" in full


@pytest.mark.parametrize(
    "hosts", ["text", {"web1": {"tag": "no row"}}, {"web1": {"tag": {"result": True}}}, {"web1": {}}]
)
def test_changes_that_only_look_like_rows_of_hosts_are_shown_as_they_are(hosts):
    lines = shown(row(changes={"out": "highstate", "ret": hosts}))
    assert lines[lines.index("     Changes:") + 1].startswith("              ")
