"""Past runs and saved plans in a user's hands: one tree, one machine, the command line."""

import json
import xml.etree.ElementTree as ET

import pytest

TREE = """
first:
  cmd.run:
    - name: echo first >> {log}
second:
  cmd.run:
    - name: test -e {mark}
    - require: [{{cmd: first}}]
third:
  cmd.run:
    - name: echo third >> {log}
    - require: [{{cmd: second}}]
beside:
  cmd.run:
    - name: echo beside >> {log}
"""


class Site:
    """A tree whose second state fails until there is a mark, and a log of what was done."""

    def __init__(self, path, run_cli):
        self.path, self._run = path, run_cli
        self.log, self.mark, self.sls = path / "log", path / "mark", path / "salt" / "web.sls"
        self.sls.parent.mkdir()
        self.write(TREE)

    def write(self, text):
        self.sls.write_text(text.format(log=self.log, mark=self.mark))

    def call(self, *words, code=0, tree=True):
        roots = ("--file-root", self.sls.parent) if tree else ()
        done = self._run(*words, *roots, cwd=self.path)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def done(self):
        """What was done since this was last asked."""
        words = sorted(self.log.read_text().split()) if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return words


@pytest.fixture
def site(tmp_path, run_cli):
    return Site(tmp_path, run_cli)


@pytest.mark.feature("F221", "F223")
def test_the_journal_has_every_run_and_what_its_report_said(site):
    said = json.loads(site.call("apply", "web", "--out", "json", code=2).stdout)
    site.call("apply", "web", "--test")
    dry, real = json.loads(site.call("runs", "list", "--out", "json", tree=False).stdout)
    assert (real["exit_code"], real["ending"], real["test"], dry["test"]) == (2, "finished", False, True)
    counts = [real["counts"][name] for name in ("chunks", "changed", "failed", "held_back")]
    assert counts == [4, 2, 1, 1], "each state counts once"
    assert json.loads(site.call("runs", "show", real["id"], "--out", "json", tree=False).stdout)["rows"] == said
    site.mark.touch()
    site.call("apply", "web")
    forgotten = json.loads(site.call("runs", "prune", "--keep-runs", "1", "--out", "json", tree=False).stdout)
    assert forgotten["forgotten"] == [dry["id"], real["id"]]
    assert len(json.loads(site.call("runs", "list", "--out", "json", tree=False).stdout)) == 1


@pytest.mark.feature("F222")
def test_a_run_that_was_killed_goes_on_where_it_was(site):
    site.write(TREE.replace("test -e {mark}", "'test -e {mark} || (touch {mark}; kill -9 $PPID; sleep 1)'"))
    site.call("apply", "web", "-j", "1", code=137)
    assert "first" in site.done()
    done = site.call("apply", "--resume", "--out", "json")
    rows = {row["__id__"]: row for row in json.loads(done.stdout).values()}
    assert all(row["result"] for row in rows.values())
    assert "was cut off, and was run again" in rows["second"]["comment"]
    assert "first" not in site.done()


@pytest.mark.feature("F224")
def test_a_run_is_shown_again_in_any_form(site):
    said = site.call("apply", "web", "--out", "json", code=2).stdout
    assert site.call("replay", "--out", "json", code=2, tree=False).stdout == said
    site.call("replay", "--junit", "run.xml", code=2, tree=False)
    assert len(ET.parse(site.path / "run.xml").getroot().findall(".//testcase")) == 4
    assert site.done() == ["beside", "first"], "nothing ran again"


@pytest.mark.feature("F227")
def test_only_what_failed_and_what_waited_for_it_is_done_again(site):
    site.call("apply", "web", code=2)
    assert site.done() == ["beside", "first"]
    site.mark.touch()
    site.call("apply", "--only-failed")
    assert site.done() == ["first", "third"], "with what they require"


@pytest.mark.feature("F228")
def test_what_was_reviewed_is_applied_or_nothing(site):
    site.mark.touch()
    site.call("apply", "web", "--test", "--plan-out", "web.plan")
    assert site.done() == []
    site.write(TREE.replace("echo third", "echo other"))
    refused = site.call("apply", "--plan", "web.plan", code=1).stderr
    assert "cmd.run: third" in refused
    assert "name: " in refused
    assert site.done() == []
    site.write(TREE)
    site.call("apply", "--plan", "web.plan")
    assert site.done() == ["beside", "first", "third"]
