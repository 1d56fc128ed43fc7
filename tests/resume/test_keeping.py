"""Conditions for resuming a run, and the message where one fails: each file, key, plugin and option that differs."""

import fcntl
import shutil
from pathlib import Path

import anyio
import pytest
from messages import said

from asyncstate import Settings, StateRuntime
from asyncstate.errors import JournalError, ResumeRefused
from asyncstate.journal.store import Journal
from asyncstate.resume.keeping import Keeping
from asyncstate.run.options import RunOptions

SLS = """
{% set unused = salt['test.ping']() %}
first:
  own.step: []
conf:
  file.managed:
    - name: {{ pillar['folder'] }}/conf
    - source: salt://conf
    - require: [own: first]
stops:
  own.fails:
    - failhard: True
    - require: [file: conf]
last:
  own.step:
    - require: [own: stops]
"""
OWN = """
def step(name):
    with open(__pillar__["folder"] + "/calls", "a") as file:
        file.write(name + " ")
    return {"name": name, "changes": {name: 1}, "result": True, "comment": "done"}

def fails(name):
    import os
    step(name)
    done = os.path.exists(__pillar__["folder"] + "/repaired")
    return {"name": name, "changes": {}, "result": done, "comment": "repaired" if done else "broken"}
"""


class Site:
    """A tree that stops half-way, until somebody repairs what it stumbles over."""

    def __init__(self, tmp_path):
        self.tree = tmp_path / "salt"
        (self.tree / "_states").mkdir(parents=True)
        (self.tree / "site.sls").write_text(SLS)
        (self.tree / "conf").write_text("port 80\n")
        (self.tree / "_states" / "own.py").write_text(OWN)
        self.folder = tmp_path / "machine"
        self.folder.mkdir()
        self.state_dir = str(tmp_path / "state")
        self.pillar = {"folder": str(self.folder), "port": 80}
        self.grains = {"os": "Debian", "os_family": "Debian", "kernel": "Linux", "role": "web"}
        self.more = {}

    async def apply(self, **options):
        (self.folder / "calls").write_text("")
        settings = Settings(
            file_roots={"base": [str(self.tree)]},
            cachedir=str(self.folder.parent / "cache"),
            state_dir=self.state_dir,
            pillar=self.pillar,
            grains_override=self.grains,
            prefetch=False,
            journal=True,
            trust_writable=True,
            **self.more,
        )
        async with StateRuntime(settings) as runtime:
            return await runtime.apply(["site"], **{"concurrency": 1, **options})

    @property
    def calls(self):
        return (self.folder / "calls").read_text().split()

    def kept(self):
        """The content of each file of the journal."""
        return {path.name: path.read_bytes() for path in Path(self.state_dir, "journal").glob("*.*")}

    def restored(self, kept):
        """Make the journal anew, of the content of its files; return them."""
        folder = Path(self.state_dir, "journal")
        shutil.rmtree(folder)
        folder.joinpath("plans").mkdir(mode=0o700, parents=True)
        for name, content in kept.items():
            folder.joinpath(name).write_bytes(content)
        return [folder / name for name in kept]

    def runs(self):
        return Journal.open(self.state_dir).runs()


@pytest.fixture
async def site(tmp_path):
    """A site on which a run has stopped."""
    site = Site(tmp_path)
    report = await site.apply()
    assert site.calls == ["first", "stops"]
    assert len(report.rows) == 3
    return site


async def refused(site, **options):
    with pytest.raises(ResumeRefused) as error:
        await site.apply(resume="latest", **options)
    assert site.calls == []
    return str(error.value)


async def test_what_stopped_a_run_is_tried_again(site):
    (site.folder / "repaired").touch()
    report = await site.apply(resume="latest", concurrency=8)
    assert site.calls == ["stops", "last"]
    assert report.exit_code == 0
    assert [row["comment"] for row in report.rows.values() if row["name"] != str(site.folder / "conf")] == [
        "done",
        "repaired",
        "done",
    ]


async def test_each_file_that_differs_is_named(site):
    (site.tree / "conf").write_text("port 81\n")
    (site.tree / "_states" / "own.py").write_text(OWN + "\n")
    said = await refused(site)
    assert "~ file salt://conf changed" in said
    assert "~ plugin salt://_states/own.py changed" in said
    assert "site.sls" not in said


async def test_a_tree_that_only_says_more_is_another_tree_whose_rows_all_count(site):
    (site.tree / "site.sls").write_text("# a comment\n" + SLS)
    said = await refused(site)
    assert "~ file salt://site.sls changed" in said
    assert said.count("\n    ") == 1
    await site.apply(resume="latest", force=True)
    assert site.calls == ["stops"]


async def test_each_key_of_pillar_and_grains_that_differs_is_named(site):
    site.pillar = {**site.pillar, "port": 81, "more": 1}
    site.grains = {**site.grains, "role": "db"}
    said = await refused(site)
    assert "~ pillar key port changed" in said
    assert "+ pillar key more added" in said
    assert "~ grain role changed" in said
    assert "folder" not in said


async def test_each_option_that_differs_is_named(site):
    site.more = {"state_auto_order": False}
    assert "~ option state_auto_order changed" in await refused(site)


async def test_each_state_that_differs_is_named_and_force_runs_it(site):
    (site.folder / "repaired").touch()
    text = SLS.replace("first:\n  own.step: []", "first:\n  own.step: [{name: other}]")
    (site.tree / "site.sls").write_text(text + "more:\n  own.step: []\n")
    said = await refused(site)
    assert "+ own.step: more in site" in said
    assert "- own.step: first in site" in said or "~ own.step: first" in said
    await site.apply(resume="latest", force=True)
    assert set(site.calls) == {"other", "stops", "last", "more"}


LINKED = """
one:
  file.managed: [name: {{ pillar['folder'] }}/real/x, contents: a, makedirs: True, require: [own: last]]
two:
  file.managed: [name: {{ pillar['folder'] }}/link/x, contents: a, makedirs: True, require: [own: last]]
"""


async def test_edges_from_links_on_the_disk_are_no_reason(tmp_path):
    """The order between states that only a link causes is not part of what must be the same."""
    site = Site(tmp_path)
    (site.tree / "site.sls").write_text(SLS + LINKED)
    await site.apply()
    before = site.runs()[0].digest
    (site.folder / "real").mkdir()
    (site.folder / "link").symlink_to("real")
    (site.folder / "repaired").touch()
    report = await site.apply(resume="latest")
    assert site.calls == ["stops", "last"]
    assert report.exit_code == 0
    assert site.runs()[0].digest != before  # the link has made an edge


async def test_a_run_that_was_resumed_is_not_resumed_again(site):
    first = site.runs()[0].id
    await site.apply(resume="latest")
    second = site.runs()[0].id
    with pytest.raises(ResumeRefused, match=f"run {first} was resumed as run {second}: resume that"):
        await site.apply(resume=first)
    (site.folder / "repaired").touch()
    await site.apply(resume=second)
    assert site.calls == ["stops", "last"]


async def test_wherever_a_file_of_the_journal_is_damaged_it_is_said_or_the_run_is_resumed(site):
    (site.folder / "repaired").touch()
    kept = site.kept()
    assert sorted(Path(name).suffix for name in kept) == [".ended", ".plan"]
    for name, whole in kept.items():
        for place in range(0, len(whole), len(whole) // 12):
            (path,) = [path for path in site.restored(kept) if path.name == name]
            path.write_bytes(whole[:place] + b"\xff" * 30 + whole[place + 30 :])
            try:
                await site.apply(resume="latest")
            except (JournalError, ResumeRefused):
                assert site.calls == []
            else:
                assert site.calls in (["stops", "last"], ["first", "stops", "last"])


async def test_only_one_of_two_resumes_at_once_goes_on(site):
    (site.folder / "repaired").touch()
    first = site.runs()[0].id
    said = []

    async def resume():
        try:
            report = await site.apply(resume=first, wait=60)
            said.append(report.exit_code)
        except ResumeRefused as error:
            said.append("was resumed as run" in str(error))

    async with anyio.create_task_group() as group:
        group.start_soon(resume)
        group.start_soon(resume)
    assert sorted(said) == [0, True]
    assert site.calls == ["stops", "last"]


class Carrying:
    """A run to resume, and its plan; ``records`` returns what it carries over."""

    run = "before"

    def __init__(self, records):
        self.records = records

    def encoded(self):
        return [b"{}\n"]

    def go_on_from(self, past):
        assert past is self


def begun(state_dir, carrying, stop=None):
    """Begin the journal of a run that resumes another."""
    settings = Settings(state_dir=state_dir, journal="required")
    keeping = Keeping(settings, lambda: "key", lambda _shown: carrying, carrying, "before", force=False)
    return keeping.begin(RunOptions(run_id="r" * 8), {}, None, stop)


@pytest.fixture
def carrying(monkeypatch):
    monkeypatch.setattr(Keeping, "_past", lambda keeping, _shown: keeping.resumed)


@pytest.mark.usefixtures("carrying")
def test_a_journal_that_cannot_take_what_is_carried_over_is_let_go(tmp_path):
    with pytest.raises(ZeroDivisionError):
        begun(str(tmp_path), Carrying(lambda: 1 / 0))
    for log in (tmp_path / "journal").glob("*.*"):
        with log.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class FullDisk:
    """A keeper that can write nothing after its first line."""

    trouble = None

    def record(self, *_lines):
        self.trouble("No space left on device")


@pytest.mark.usefixtures("carrying")
def test_a_required_journal_that_cannot_take_what_is_carried_over_stops_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr("asyncstate.resume.keeping.keeper_of", lambda _settings, _made: (FullDisk(), []))
    stopped = []
    begun(str(tmp_path), Carrying(list), stopped.append)
    assert stopped == [said("journal-full", why="No space left on device")]
