"""The page that ``--report`` writes: of any run, however it ended, and again of the same one."""

from __future__ import annotations

import json
import os
import signal

import pytest

from asyncstate.extras.analyse.profile import Profile, profile_lines
from asyncstate.extras.analyse.reasons import run_lines
from asyncstate.extras.picture.html import html_report
from asyncstate.extras.picture.picture import dot, html, mermaid
from asyncstate.extras.picture.plan_graph import graph_data, picture_of
from asyncstate.model.encode import json_bytes
from asyncstate.model.result import HostResult
from tests.cli.test_apply import run, tree  # noqa: F401 - fixtures
from tests.cli.test_last_report import Site
from tests.cli.test_replay import VARIED
from tests.cli.test_runs import TREE, machine  # noqa: F401 - a fixture
from tests.guarantees.test_boundary import ODDITIES, apply, ask, runtime_of
from tests.guarantees.test_boundary import tree as odd_tree  # noqa: F401 - a fixture
from tests.guarantees.test_canary import asyncstate  # noqa: F401 - a fixture


@pytest.mark.feature("F158")
def test_a_run_that_fails_has_its_page(run, tmp_path):  # noqa: F811
    page = tmp_path / "run.html"
    assert run("apply", "bad", "--report", page).returncode == 2
    assert "test.fail_without_changes: breaks" in page.read_text()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="a machine without /proc")
def test_a_page_that_cannot_be_written_is_said(run):  # noqa: F811
    done = run("apply", "good", "--out", "json", "--report", "/proc/report")
    assert done.returncode == 74
    assert len(json.loads(done.stdout)) == 2
    assert done.stderr == "asyncstate: /proc/report could not be written: No such file or directory\n"


@pytest.mark.parametrize("name", ["run.pdf", "run.json", "run.svg", "run.html.gz"])
def test_a_page_under_the_name_of_another_format_is_refused_before_anything_runs(run, tmp_path, name):  # noqa: F811
    done = run("apply", "good", "--report", tmp_path / name)
    assert (done.returncode, done.stdout, list(tmp_path.glob("run.*"))) == (1, "", [])
    assert "the report is an HTML page: name it" in done.stderr
    assert "name it FILE.html" in done.stderr


def test_a_page_in_a_missing_folder_is_refused_before_anything_runs(run, tmp_path):  # noqa: F811
    done = run("apply", "good", "--report", tmp_path / "gone" / "run.html")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{tmp_path / 'gone'} is not a directory" in done.stderr


@pytest.mark.parametrize("tree", [TREE, VARIED, "{}"], ids=["plain", "varied", "empty"])
@pytest.mark.parametrize("width", ["1", "4"])
def test_a_replay_gives_the_page_of_the_run(machine, tree, width):  # noqa: F811
    machine.sls(tree)
    words = ["--report", f"{machine.path}/html"]
    code = 0 if tree == "{}" else 2
    machine.call("apply", "web", "-j", width, "--progress", "none", *words, code=code)
    page = (machine.path / "html").read_bytes()
    assert f"<dd>asyncstate apply web -j {width} ".encode() in page
    machine.call("replay", *words, code=code)
    assert (machine.path / "html").read_bytes() == page


def test_a_run_that_has_to_end_where_it_is_leaves_its_page(tmp_path):
    site = Site(tmp_path)
    with site.started(words=["tree", "--file-root", "srv", "--grace", "0.1", "--report", "r.html"]) as process:
        site.news.read_text()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 143, errors
    assert "was first" in site.text("r.html")


def test_a_page_shows_no_secret(asyncstate):  # noqa: F811
    page = asyncstate.written / "report.html"
    code, _, errors = asyncstate("apply", "--report", page, "--profile", "--explain", "--concurrency", 8)
    assert code == 2, errors
    assert "**********" in page.read_text()


async def test_whatever_a_plugin_returns_is_shown_and_drawn(odd_tree):  # noqa: F811
    async with runtime_of(odd_tree) as runtime:
        for deed in ODDITIES:
            ask("here", deed)
            done = await apply(runtime, "odd_keys" if deed[0] != "raise" else "odd_all")
            profile = Profile()
            for event in done.events:
                profile.on_event(event)
            assert html_report(HostResult(report=done.report), profile, done.plan).encode()
            assert "\n".join([*profile_lines(profile), *run_lines(profile)]).encode()
    assert json_bytes(graph_data(done.plan))
    picture = picture_of(done.plan)
    assert all(draw(picture).encode() for draw in (dot, mermaid, lambda whole: html(whole, "plan")))
