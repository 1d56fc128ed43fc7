"""Every command of docs/recipes.md does what the recipe says, and every file in it is one its reader can read."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).parents[2]
PAGE = (CHECKOUT / "docs" / "recipes.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
COMMAND = re.compile(r"(?:/opt/asyncstate/bin/)?asyncstate ((?:apply|check|lint) [^\"\n\\]*)")


def blocks(title):
    return re.findall(r"^```\w+\n(.*?)^```", RECIPES[title], re.DOTALL | re.MULTILINE)


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
def test_each_command_works_and_has_nothing_to_do_the_second_time(site, run_cli, command):
    given = words(command, site)
    dry = given[0] != "apply" or "--test" in given
    first = run_cli(*given, cwd=site)
    assert first.returncode == (3 if "--detailed-exitcode" in given else 0), first.stderr
    assert first.stdout
    assert (site / "page").exists() is not dry
    second = run_cli(*given, cwd=site)
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


@pytest.mark.parametrize("title", ["GitHub Actions", "GitLab CI", "pre-commit", "kitchen"])
def test_the_files_in_yaml_are_yaml(title):
    assert isinstance(yaml.safe_load(blocks(title)[0]), dict)


def hooks():
    return yaml.safe_load((CHECKOUT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


def test_the_hooks_are_those_of_the_recipe_and_programs_of_this_project():
    (repo,) = yaml.safe_load(blocks("pre-commit")[0])["repos"]
    assert [hook["id"] for hook in repo["hooks"]] == [hook["id"] for hook in hooks()]
    scripts = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    assert {hook["entry"].split()[0] for hook in hooks()} <= scripts.keys()


def test_the_hooks_let_a_good_tree_pass_and_refuse_a_bad_one(site, run_cli):
    (repo,) = yaml.safe_load(blocks("pre-commit")[0])["repos"]
    for hook, asked in zip(hooks(), repo["hooks"], strict=True):
        command = [*hook["entry"].split()[1:], *asked["args"]]
        assert re.search(hook["files"], "salt/web.sls")
        (site / "salt/web.sls").write_text("a:\n  test.nop: []\n# {{ pillar['text'] }}\n")
        assert run_cli(*command, cwd=site).returncode == 0
        (site / "salt/web.sls").write_text("a:\n  test.nop:\n    - requires: [test: b]\n")
        assert run_cli(*command, cwd=site).returncode != 0


def test_pre_commit_takes_the_hooks(tmp_path):
    done = subprocess.run(
        [Path(sys.executable).with_name("pre-commit"), "validate-manifest", CHECKOUT / ".pre-commit-hooks.yaml"],
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PRE_COMMIT_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
