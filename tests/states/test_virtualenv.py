"""virtualenv.managed on the real modules, with a pip that keeps packages in a dict, and once with pip itself."""

from __future__ import annotations

import sys

import pytest
from plugin_harness import PluginHarness
from tables import beside
from wheelhouse import FakePip, lend_pip, make_wheel

from asyncstate.errors import CommandExecutionError

TABLES = beside(__file__)


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "pip")
    harness.load("modules", "virtualenv")
    harness.load("states", "virtualenv")
    harness.salt["cmd.run_stderr"] = lambda command, **_: ""
    harness.salt["cmd.refusal"] = lambda command, **_: ""
    return harness


class FakeSystem(FakePip):
    """Also makes environments: a folder with a bin/python in it."""

    def __init__(self, tmp_path):
        super().__init__()
        self.commands = []
        self.path = tmp_path / "env"
        self.broken = False

    def __call__(self, command, **options):
        if command[-1] != str(self.path):
            return super().__call__(command, **options)
        self.commands.append(command)
        (self.path / "bin").mkdir(parents=True, exist_ok=True)
        if self.broken:
            return {"retcode": 1, "stdout": "out ", "stderr": "no room"}
        python = self.path / "bin/python"
        python.write_text("#!/bin/sh\n")
        python.chmod(0o755)
        return {"retcode": 0, "stdout": "", "stderr": ""}


@pytest.fixture
def system(plugins, tmp_path):
    system = FakeSystem(tmp_path)
    system.available = {"tiny": ["1.0", "2.0"], "other": ["0.1"]}
    plugins.salt["cmd.run_all"] = system
    return system


def test_an_environment_is_made_once(plugins, system):
    dry, row, again = plugins.three_runs("virtualenv.managed", name=str(system.path), venv_bin="venv")
    assert (dry["result"], dry["comment"]) == (None, f"Virtualenv {system.path} is set to be created")
    assert (row["result"], row["comment"], row["changes"]) == (True, "Created new virtualenv", {"new": ""})
    assert (again["result"], again["comment"], again["changes"]) == (True, "virtualenv exists", {})
    assert system.commands == [[sys.executable, "-m", "venv", str(system.path)]]


@pytest.mark.feature("F196")
def test_packages_are_put_into_it(plugins, system):
    arguments = {"name": str(system.path), "venv_bin": "venv", "pip_pkgs": ["tiny==1.0"]}
    row = plugins.state("virtualenv.managed", **arguments)
    assert row["changes"]["packages"] == {"new": ["tiny==1.0"], "old": ""}
    dry, row, again = plugins.three_runs("virtualenv.managed", **{**arguments, "pip_pkgs": ["tiny==2.0", "other"]})
    assert (dry["result"], dry["changes"]) == (None, {})
    assert dry["comment"].endswith("is already created, packages are set to be installed: tiny==2.0, other")
    assert row["changes"] == {"packages": {"new": ["other==0.1", "tiny==2.0"], "old": ["tiny==1.0"]}}
    assert (again["result"], again["changes"]) == (True, {})
    dry = plugins.state("virtualenv.managed", **arguments, test=True)
    assert dry["result"] is None


def test_requirements_of_the_tree(plugins, system):
    path = plugins.salt_file("list", "# all we need\ntiny==1.0  # for now\n--no-index\n")
    arguments = {"name": str(system.path), "venv_bin": "venv", "requirements": "salt://list"}
    assert plugins.state("virtualenv.managed", **arguments, find_links="/")["result"] is True
    assert system.calls[-2] == ["install", "--find-links", "/", "--requirement", str(path)]
    dry = plugins.state("virtualenv.managed", **arguments, test=True)
    assert (dry["result"], dry["comment"].rpartition(": ")[2]) == (None, "tiny==1.0")
    system.installed["tiny"] = "1.0"
    assert plugins.state("virtualenv.managed", **arguments, test=True)["result"] is True
    row = plugins.state("virtualenv.managed", name=str(system.path), requirements="salt://gone")
    assert (row["result"], row["comment"]) == (False, "pip requirements file 'salt://gone' not found")


def test_clearing(plugins, system):
    arguments = {"name": str(system.path), "venv_bin": "venv"}
    plugins.state("virtualenv.managed", **arguments)
    dry = plugins.state("virtualenv.managed", clear=True, test=True, **arguments)
    assert (dry["result"], dry["changes"]) == (None, {"cleared_packages": ["pip==23.0.1"], "old": ""})
    row = plugins.state("virtualenv.managed", clear=True, **arguments)
    assert row["comment"] == "Cleared existing virtualenv"
    assert system.commands[-1][-2:] == ["--clear", str(system.path)]


def test_what_a_user_may_have_changed_is_run_as_that_user(plugins, system):
    asked = []
    plugins.salt["cmd.run_stderr"] = lambda command, **options: asked.append((command, options.get("runas"))) or ""
    plugins.state("virtualenv.managed", name=str(system.path), venv_bin="venv", user="www")
    plugins.state("virtualenv.managed", name=str(system.path), venv_bin="venv", user="www", clear=True, test=True)
    assert asked == [([str(system.path / "bin/python"), "-V"], "www")] * 2


def test_what_is_left_of_a_failure_is_removed_as_its_user(plugins, system):
    done = []

    def run(command, **options):
        done.append((command[0], options.get("runas")))
        system.path.mkdir(exist_ok=True)
        return {"retcode": 1, "stdout": "", "stderr": "no room"}

    plugins.salt["cmd.run_all"] = run
    plugins.call("virtualenv.create", str(system.path), venv_bin="venv", user="www")
    assert done[-1] == ("rm", "www")


def test_failures(plugins, system):
    system.broken = True
    row = plugins.state("virtualenv.managed", name=str(system.path), venv_bin="venv")
    assert (row["result"], row["changes"], row["comment"]) == (False, {}, "out no room")
    assert not system.path.exists()
    system.broken, system.complaint = False, "no such package"
    row = plugins.state("virtualenv.managed", name=str(system.path), venv_bin="venv", pip_pkgs=["gone"])
    assert row["result"] is False
    assert row["comment"] == "Created new virtualenv\nLooking\nno such package"


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ({"venv_bin": "venv", "python": "python3"}, ["python3", "-m", "venv"]),
        ({"venv_bin": "python3"}, ["python3", "-m", "venv"]),
        ({"venv_bin": "venv", "system_site_packages": True}, [sys.executable, "-m", "venv", "--system-site-packages"]),
        ({"venv_bin": "venv", "prompt": "p"}, [sys.executable, "-m", "venv", "--prompt", "p"]),
        ({"venv_bin": "/x/virtualenv", "python": "python3"}, ["/x/virtualenv", "--python=python3"]),
        ({"venv_bin": "/x/virtualenv", "never_download": False}, ["/x/virtualenv", "--download"]),
        ({"venv_bin": "/x/virtualenv", "extra_search_dir": "/a,/b"}, None),
    ],
)
def test_what_makes_it(plugins, system, arguments, command):
    plugins.salt["cmd.run_all"] = lambda words, **options: (
        {"retcode": 0, "stdout": "virtualenv 20.17.1+ds from /x", "stderr": ""}
        if words[-1] == "--version"
        else system(words, **options)
    )
    plugins.call("virtualenv.create", str(system.path), **arguments)
    expected = command or ["/x/virtualenv", "--extra-search-dir=/a", "--extra-search-dir=/b"]
    assert system.commands == [[*expected, str(system.path)]]


@pytest.mark.parametrize(("arguments", "comment"), TABLES["what makes no sense"])
def test_what_makes_no_sense(plugins, system, arguments, comment):
    row = plugins.state("virtualenv.managed", name=str(system.path), **arguments)
    assert (row["result"], row["changes"]) == (False, {})
    assert comment in row["comment"]


def test_with_python_itself(plugins, tmp_path):
    plugins.load("modules", "cmd")
    make_wheel(tmp_path / "wheels", "tiny", "1.0")
    create = plugins.salt["virtualenv.create"]

    def create_with_pip(path, **options):
        done = create(path, **options)
        lend_pip(tmp_path / "env")
        return done

    # Only so that the test need not install pip: what makes the environment is Python's own venv.
    (tmp_path / "python3").write_text(f'#!/bin/sh\nexec {sys.executable} "$@" --without-pip\n')
    (tmp_path / "python3").chmod(0o755)
    plugins.salt["virtualenv.create"] = create_with_pip
    env = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels")}
    arguments = {"name": str(tmp_path / "env"), "venv_bin": str(tmp_path / "python3"), "pip_pkgs": ["tiny"]}
    row = plugins.state("virtualenv.managed", **arguments, env_vars=env)
    assert row["result"] is True, row["comment"]
    assert row["changes"]["packages"]["new"] == ["tiny==1.0"]
    assert plugins.call("virtualenv.get_site_packages", arguments["name"]).endswith("site-packages")
    folder = plugins.call("virtualenv.get_distribution_path", arguments["name"], "tiny")
    assert folder.endswith("site-packages")
    with pytest.raises(CommandExecutionError, match="does not appear to be a virtualenv"):
        plugins.call("virtualenv.get_site_packages", str(tmp_path))
