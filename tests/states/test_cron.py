"""The cron states on the real execution module, with a crontab program that keeps tables in a dict."""

from __future__ import annotations

import json
import os
import re

import pytest
from asyncstate.states import cron
from fake_crontab import ME, FakeCrontab
from plugin_harness import PluginHarness
from record_answers import recorded

MARKER = "# Lines below here are managed by Salt, do not edit\n"


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "cron")
    harness.load("states", "cron")
    return harness


@pytest.fixture
def crontab(plugins):
    return FakeCrontab(plugins)


@pytest.mark.parametrize(("question", "answer"), recorded("cron").items())
def test_rows_and_tables(plugins, crontab, question, answer):
    """As recorded from Salt, but that a second run does nothing, and a dry run says what the run does."""
    user, before, function, arguments = json.loads(question)
    crontab.tables |= {} if before is None else {user: before}
    runs = plugins.three_runs(f"cron.{function}", user=user, **arguments)
    *rows, table = [*([row["result"], row["comment"], row["changes"]] for row in runs), crontab.tables.get(user)]
    wanted = answer[:3]
    if wanted[2][2]:
        # Salt updates a job without an identifier, and a variable without a value, in each run.
        wanted[2] = [True, f"{wanted[2][1].removesuffix(' updated')} already present", {}]
    if wanted[1][2]:
        # Salt's dry run does not see a job with a word such as @daily where the other kind was, or is to go.
        wanted[0] = [None, re.sub(r" (added|updated|removed)\b.*", r" is set to be \1", wanted[1][1]), {}]
    assert [*rows, table] == [*wanted, answer[3]]


@pytest.mark.parametrize(("minute", "low", "high"), [("random", 0, 59), ("10:20", 10, 20), ("20:10", 10, 20)])
def test_a_drawn_time_stays(plugins, crontab, minute, low, high):
    arguments = {"name": "x", "minute": minute, "hour": "random", "daymonth": "random", "month": "random"}
    plugins.state("cron.present", **arguments)
    table = crontab.tables["root"]
    assert low <= int(table.splitlines()[-1].split()[0]) <= high
    assert plugins.state("cron.present", **arguments)["changes"] == {}
    assert plugins.state("cron.present", **arguments, test=True)["result"] is True
    assert crontab.tables["root"] == table


def test_other_functions(plugins, crontab):
    crontab.tables["root"] = f"{MARKER}# SALT_CRON_IDENTIFIER:job\n1 2 * * * /bin/x\n"
    job = plugins.call("cron.get_entry", "root", identifier="job")
    assert (job["cmd"], job["minute"], job["comment"]) == ("/bin/x", "1", "")
    assert plugins.call("cron.get_entry", "root", cmd="/bin/x") == job
    assert plugins.call("cron.get_entry", "root", cmd="none") is False
    assert plugins.call("cron.ls", "root") == plugins.call("cron.list_tab", "root")
    assert plugins.call("cron.rm_job", "root", "/bin/x", minute=5, identifier="job") == "absent"
    assert plugins.call("cron.rm", "root", "/bin/x", minute=1, identifier="job") == "removed"


@pytest.fixture
def files(plugins, crontab):
    for module in ("file", "user", "hashutil"):
        plugins.load("modules", module)
    plugins.salt_file("tab", "1 * * * * x\n")
    return plugins


def test_a_whole_file(files, crontab):
    dry, real, again = files.three_runs("cron.file", name="salt://tab", user=ME)
    assert dry["result"] is None
    assert (real["result"], real["comment"]) == (True, f"Crontab for user {ME} was updated")
    assert "+1 * * * * x" in real["changes"]["diff"]
    assert crontab.tables[ME] == "1 * * * * x\n"
    assert (again["comment"], again["changes"]) == (f"Crontab for user {ME} is in the correct state", {})
    row = files.state("cron.file", name="salt://tab", user=ME, replace=False)
    assert row["comment"] == f"User {ME} already has a crontab. No changes made"


def test_a_backslash_is_no_line_break(plugins, crontab):
    command = r"printf 'a\n0 0 * * * b\n'"
    assert plugins.state("cron.present", name=command, user=ME)["result"] is True
    assert crontab.tables[ME].splitlines()[-1] == f"* * * * * {command}"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has files that its user may not read")
def test_nobody_exchanges_the_copy_of_a_whole_file(files, crontab, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tmp_path.chmod(0o1777)
    folders = []
    manage = files.salt["file.manage_file"]

    def managing(name, **arguments):
        folders.append((os.stat(name).st_uid, os.stat(os.path.dirname(name))))
        return manage(name=name, **arguments)

    files.salt["file.manage_file"] = managing
    assert files.state("cron.file", name="salt://tab", user="nobody")["result"] is True
    assert crontab.tables["nobody"] == "1 * * * * x\n"
    ((owner, folder),) = folders
    assert (owner, folder.st_uid, folder.st_mode & 0o777) == (0, 0, 0o700)


def test_a_whole_file_that_fails(files, crontab):
    row = files.state("cron.file", name="salt://none", user=ME)
    assert row["result"] is False
    crontab.complaint = "bad minute"
    row = files.state("cron.file", name="salt://tab", user=ME)
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"].endswith("Error: bad minute")
    row = files.state("cron.file", name="salt://tab", user="no-such-user")
    assert row["comment"] == "Could not identify group for user no-such-user"


@pytest.mark.parametrize("end", ["\r", "\v", "\f", "\x1c", "\x85", "\u2028"])
def test_a_line_ends_where_crond_ends_it(plugins, crontab, end):
    evil = "* * * * * /bin/evil"
    plugins.state("cron.present", name="/bin/x", user=ME, comment=f"a{end}{evil}")
    plugins.state("cron.present", name=f"/bin/y{end}{evil}", user=ME)
    plugins.state("cron.present", name="/bin/z", user=ME)
    assert evil not in crontab.tables[ME].split("\n")


def test_a_command_that_is_too_long_for_cron_concerns_the_whole_table():
    assert "cron:root" in cron.mod_footprint({"fun": "present", "name": "x" * 901})["writes"]
