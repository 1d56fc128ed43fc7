"""Every command of docs/recipes.md does what the recipe says, and every file in it is one its reader can read.

`tests/real/test_recipes.py` lets cron, systemd, Packer, Vagrant and buildah do theirs.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml
from recipe_page import RECIPES, blocks, github_script, gitlab_script

CHECKOUT = Path(__file__).parents[2]
COMMAND = re.compile(r"(?:/opt/asyncstate/bin/)?asyncstate ((?:apply|plan|check|lint) [^\"\n\\]*)")


def commands():
    return [
        pytest.param(found[1].strip(), id=f"{title} {number}")
        for title in RECIPES
        for number, found in enumerate(COMMAND.finditer("\n".join(blocks(title))))
    ]


@pytest.fixture
def site(tmp_path):
    """A folder with the trees of all recipes, below itself as below the root of a machine."""
    for base in ("", "srv", "tmp/srv", "tmp/kitchen/data"):
        salt, pillar = tmp_path / base / "salt", tmp_path / base / "pillar"
        salt.mkdir(parents=True)
        pillar.mkdir()
        (salt / "top.sls").write_text("base:\n  '*': [web]\n")
        (salt / "web.sls").write_text(f"{tmp_path}/page:\n  file.managed:\n    - contents: {{{{ pillar['text'] }}}}\n")
        (pillar / "top.sls").write_text("base:\n  '*': [text]\n")
        (pillar / "text.sls").write_text("text: hello\n")
    (tmp_path / "var/lib/prometheus/node-exporter").mkdir(parents=True)
    return tmp_path


def words(command, site):
    """Return the arguments of a command, for the folder in place of the root, and for its tree where it names none."""
    given = [f"{site}{word}" if word.startswith("/") else word for word in command.split()]
    roots = ["--file-root", site / "srv/salt", "--pillar-root", site / "srv/pillar"]
    return given if "--file-root" in given else [*given, *roots]


@pytest.mark.parametrize("command", commands())
def test_each_command_works_and_has_nothing_to_do_the_second_time(site, run_here, command):
    given = words(command, site)
    dry = given[0] != "apply"
    first = run_here(*given, cwd=site)
    assert first.returncode == (3 if "--detailed-exitcode" in given else 0), first.stderr
    assert first.stdout
    assert (site / "page").exists() is not dry
    second = run_here(*given, cwd=site)
    assert second.returncode == 0, second.stderr
    if "-q" in given and not dry:
        assert (second.stdout, second.stderr) == ("", "")
    for option, root in (("--junit", site), ("--metrics", Path("/"))):
        if option in given:
            assert (root / given[given.index(option) + 1]).stat().st_size


@pytest.mark.parametrize("title", RECIPES)
def test_each_recipe_has_a_command_that_is_run(title):
    assert title == "pre-commit" or COMMAND.search("\n".join(blocks(title)))


def test_the_lines_of_cron_have_five_times_a_user_and_a_command():
    for line in "".join(blocks("cron")).splitlines():
        *times, user, program, _ = line.split(maxsplit=7)
        assert all(re.fullmatch(r"\*|\d+", time) for time in times)
        assert (len(times), user, program) == (5, "root", "/opt/asyncstate/bin/asyncstate")


def test_the_units_have_what_systemd_needs_and_time_for_the_grace_period():
    service, timer = (configparser.ConfigParser(interpolation=None) for _ in range(2))
    for parser in (service, timer):
        parser.optionxform = str
    service.read_string(blocks("systemd timer")[0])
    timer.read_string(blocks("systemd timer")[1])
    run = service["Service"]
    assert int(re.search(r"--grace (\d+)", run["ExecStart"])[1]) < int(run["TimeoutStopSec"])
    assert run["SuccessExitStatus"] == "3"
    assert timer["Install"]["WantedBy"] == "timers.target"


@pytest.fixture
def job(site, program, run_cli, tmp_path):
    """Run the script of a job as a CI server does: by bash, in the checkout, in an environment that has little."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "asyncstate").symlink_to(program)
    pip = programs / "pip"
    pip.write_text('#!/bin/sh\ntest "$*" = "install ./wheels/asyncstate-0.1.0-py3-none-any.whl"\n')
    (site / "wheels").mkdir()
    (site / "wheels/asyncstate-0.1.0-py3-none-any.whl").touch()
    pip.chmod(0o755)
    kept = ("HOME", "ASYNCSTATE_", "LANG", "LC_", "PYTHON")  # with other ones the program is not the warm one
    kept = {name: text for name, text in run_cli.environ.items() if name.startswith(kept)}
    environ = {**kept, "PATH": f"{programs}:/usr/bin:/bin", "CI": "true", "GITHUB_WORKSPACE": str(site)}

    def run(script):
        return subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=site,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_job_of_github_passes_with_a_good_tree_and_shows_a_mistake_at_its_line(job, site):
    done = job(github_script())
    assert (done.returncode, "::error" in done.stdout) == (0, False), done.stdout + done.stderr
    (site / "salt/web.sls").write_text("a:\n  test.nop:\n    - require: [test: b]\n# {{ pillar['text'] }}\n")
    done = job(github_script())
    assert done.returncode == 1
    assert done.stdout.count("::error file=salt/web.sls,line=3,title=E305::") == 1


def test_the_jobs_pass_with_a_tree_whose_states_need_what_earlier_ones_make(job, site):
    states = {
        "conf": {
            "file.managed": [
                {"name": f"{site}/new/conf"},
                {"contents": "a = 1"},
                {"makedirs": True},
                {"replace": False},
            ]
        },
        "edit": {
            "file.replace": [{"name": f"{site}/new/conf"}, {"pattern": "1"}, {"repl": "2"}, {"require": ["conf"]}]
        },
        "copy": {"file.copy": [{"name": f"{site}/copy"}, {"source": f"{site}/new/conf"}, {"require": ["edit"]}]},
        "there": {"file.exists": [{"name": f"{site}/copy"}, {"require": ["copy"]}]},
    }
    (site / "salt/web.sls").write_text(f"{json.dumps(states)}\n# {{{{ pillar['text'] }}}}\n")
    done = job(github_script())
    assert (done.returncode, "::error" in done.stdout) == (0, False), done.stdout + done.stderr
    done = job(gitlab_script())
    assert done.returncode == 0, done.stdout + done.stderr
    (suite,) = ET.parse(site / "states.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "0")
    assert not (site / "new").exists()


def test_the_job_of_gitlab_writes_what_it_promises_and_stops_at_a_mistake(job, site):
    (promised,) = yaml.safe_load(blocks("GitLab CI")[0])["states"]["artifacts"]["reports"].values()
    done = job(gitlab_script())
    assert done.returncode == 0, done.stdout + done.stderr
    (suite,) = ET.parse(site / promised).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "0")
    (site / promised).unlink()
    (site / "salt/web.sls").write_text("a:\n  test.nop:\n    - require: [test: b]\n")
    assert job(gitlab_script()).returncode == 1
    assert not (site / promised).exists()


@pytest.mark.parametrize(("title", "schema"), [("GitHub Actions", "github-workflows"), ("GitLab CI", "gitlab-ci")])
def test_the_files_of_jobs_are_what_their_makers_say_they_are(title, schema, tmp_path):
    file = tmp_path / "job.yml"
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", file]
    file.write_text(blocks(title)[0])
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    file.write_text(blocks(title)[0].replace("script:", "scripts:").replace("runs-on:", "run-on:"))
    assert subprocess.run(check, capture_output=True, check=False).returncode == 1


@pytest.mark.parametrize("title", ["pre-commit", "kitchen"])
def test_the_files_in_yaml_are_yaml(title):
    assert isinstance(yaml.safe_load(blocks(title)[0]), dict)


def hooks():
    return yaml.safe_load((CHECKOUT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


def test_the_hooks_are_those_of_the_recipe_and_programs_of_this_project():
    (repo,) = yaml.safe_load(blocks("pre-commit")[0])["repos"]
    assert [hook["id"] for hook in repo["hooks"]] == [hook["id"] for hook in hooks()]
    scripts = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert {hook["entry"].split()[0] for hook in hooks()} <= scripts.keys()


def test_the_hooks_let_a_good_tree_pass_and_refuse_a_bad_one(site, run_here):
    (repo,) = yaml.safe_load(blocks("pre-commit")[0])["repos"]
    for hook, asked in zip(hooks(), repo["hooks"], strict=True):
        command = [*hook["entry"].split()[1:], *asked["args"]]
        assert re.search(hook["files"], "salt/web.sls")
        (site / "salt/web.sls").write_text("a:\n  test.nop: []\n# {{ pillar['text'] }}\n")
        assert run_here(*command, cwd=site).returncode == 0
        (site / "salt/web.sls").write_text("a:\n  test.nop:\n    - requires: [test: b]\n")
        assert run_here(*command, cwd=site).returncode != 0


def test_pre_commit_takes_the_hooks(tmp_path):
    done = subprocess.run(
        [Path(sys.executable).with_name("pre-commit"), "validate-manifest", CHECKOUT / ".pre-commit-hooks.yaml"],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PRE_COMMIT_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_pre_commit_installs_the_hooks_from_this_repository_and_runs_them(site, tmp_path):
    """As for a reader, but that the repository is this folder: with an environment for the hooks, and the index of pip."""
    environ = {name: text for name, text in os.environ.items() if not name.startswith(("ASYNCSTATE_", "GIT_"))}
    environ |= {
        "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"),
        "ASYNCSTATE_CACHEDIR": str(tmp_path / "cache"),
        "ASYNCSTATE_STATE_DIR": str(tmp_path / "state"),
        "GIT_CONFIG_GLOBAL": str(tmp_path / "gitconfig"),
        "GIT_CONFIG_SYSTEM": "/dev/null",
    }
    (tmp_path / "gitconfig").write_text("[safe]\ndirectory = *\n[user]\nname = x\nemail = x@example.com\n")

    def run(*command, cwd=site):
        return subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)

    theirs = yaml.safe_load(blocks("pre-commit")[0])
    head = run("git", "rev-parse", "HEAD", cwd=CHECKOUT).stdout.strip()
    theirs["repos"][0] |= {"repo": str(CHECKOUT), "rev": head}
    (site / ".pre-commit-config.yaml").write_text(yaml.safe_dump(theirs))
    run("git", "init", "-q")
    run("git", "add", "salt", "pillar", ".pre-commit-config.yaml")
    hooks = [str(Path(sys.executable).with_name("pre-commit")), "run", "--all-files"]
    done = run(*hooks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("Passed") == 2
    (site / "salt/web.sls").write_text("a:\n  test.nop:\n    - require: [test: b]\n# {{ pillar['text'] }}\n")
    done = run(*hooks)
    assert done.returncode == 1
    assert "salt/web.sls" in done.stdout
