"""The pip states on the real execution module: with a pip that keeps packages in a dict, and with pip itself."""

from __future__ import annotations

import os
import subprocess
import zipfile
from pathlib import Path

import pytest
from plugin_harness import PluginHarness
from tables import beside
from wheelhouse import FakePip, make_environment, make_wheel

from asyncstate.errors import CommandExecutionError

TABLES = beside(__file__)


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "pip")
    harness.load("states", "pip")
    harness.salt["user.info"] = lambda name: {"name": name} if name == "www" else {}
    return harness


@pytest.fixture
def fake(plugins):
    fake = FakePip()
    fake.available = {"tiny": ["1.0", "1.5", "2.0"], "other": ["0.1"]}
    plugins.salt["cmd.run_all"] = fake
    return fake


@pytest.mark.parametrize(("arguments", "words"), TABLES["options reach pip"])
def test_options_reach_pip(plugins, fake, arguments, words):
    row = plugins.state("pip.installed", name="tiny", **arguments)
    assert row["result"] is True, row["comment"]
    [call] = [call for call in fake.calls if call[0] == "install"]
    positions = [call.index(word) for word in words]
    assert len(positions) == len(words)
    assert {"tiny", "--disable-pip-version-check"} <= set(call)


def test_who_runs_pip_and_how(plugins, fake):
    arguments = {"user": "www", "cwd": "/srv", "env_vars": {"A": 1}}
    assert plugins.state("pip.installed", name="tiny", **arguments)["result"] is True
    assert {options["runas"] for options in fake.options} == {"www"}
    options = fake.options[-2]
    assert (options["runas"], options["cwd"]) == ("www", "/srv")
    assert options["env"] == {"A": "1", "PIP_NO_INPUT": "1"}
    row = plugins.state("pip.installed", name="tiny", user="nobody-here")
    assert (row["result"], row["comment"]) == (False, "User nobody-here does not exist")


@pytest.mark.feature("F196")
def test_requirements_files(plugins, fake, tmp_path):
    arguments = {"name": "x", "requirements": "salt://list", "editable": "/srv/app"}
    path = plugins.salt_file("list", "tiny\n")
    dry = plugins.state("pip.installed", test=True, **arguments)
    assert dry["result"] is None
    assert dry["comment"].startswith("Requirements file 'salt://list' will be processed. Package will be installed in")
    row = plugins.state("pip.installed", **arguments)
    assert fake.calls[-1][-4:] == ["--editable", "/srv/app", "--requirement", str(path)]
    assert row["changes"] == {"editable": True}
    assert row["comment"].startswith("Requirements were already installed. Package successfully installed from VCS")
    fake.available["/srv/app"] = ["1"]
    assert plugins.state("pip.installed", **arguments)["changes"] == {"requirements": True, "editable": True}
    fake.complaint = "no"
    row = plugins.state("pip.installed", name="x", requirements="salt://list")
    assert row["comment"] == 'Unable to process requirements file "salt://list" Error: Looking no'


def test_a_user_gets_copies_of_the_trees_requirements(plugins, fake, monkeypatch):
    written = {"app/list": "-r ../base\n-r more/list\ntiny\n", "base": "other\n", "app/more/list": "-r ../list\n"}
    for name, text in written.items():
        plugins.salt_file(name, text)
    plugins.salt["file.user_to_uid"] = lambda user: os.geteuid()
    seen = []

    def look(command, **options):
        path = Path(command[-1])
        root = path.parent.parent
        seen.append(
            ({str(file.relative_to(root)): file.read_text() for file in root.rglob("*") if file.is_file()}, path)
        )
        return {"retcode": 0, "stdout": "", "stderr": ""}

    plugins.salt["cmd.run_all"] = look
    plugins.call("pip.install", requirements="salt://app/list", user="www")
    [(copies, path)] = seen
    assert copies == written
    assert not path.parent.parent.exists()


def test_a_folder_is_a_users_only_when_all_copies_are_in_it(plugins, fake, monkeypatch):
    plugins.salt_file("app/list", "-r base\ntiny\n")
    plugins.salt_file("app/base", "other\n")
    plugins.salt_file("web/list", "more\n")
    plugins.salt["file.user_to_uid"] = lambda user: 0
    given = []
    monkeypatch.setattr(os, "chown", lambda path, *_: given.append(sorted(os.listdir(path))))
    monkeypatch.setattr(os, "fchown", lambda *_: None)  # only root gives files away
    read = []

    def look(command, **options):
        read.extend(Path(path).read_text() for path in command if str(path).endswith("/list"))
        return {"retcode": 0, "stdout": "", "stderr": ""}

    plugins.salt["cmd.run_all"] = look
    plugins.call("pip.install", requirements=["salt://app/list", "salt://web/list"], user="www")
    assert given == [["base", "list"], ["list"]]
    assert read == ["-r base\ntiny\n", "more\n"]


@pytest.mark.parametrize(("version", "spec", "fine"), TABLES["versions are compared as pip does"])
def test_versions_are_compared_as_pip_does(plugins, version, spec, fine):
    name, specs = plugins.call("pip.requirement", f"tiny{spec}")
    assert name == "tiny"
    assert plugins.call("pip.satisfies", version, specs) is fine


@pytest.mark.parametrize(("text", "name", "specs"), TABLES["what requirements mean"])
def test_what_requirements_mean(plugins, text, name, specs):
    found, said = plugins.call("pip.requirement", text)
    assert (found, [list(spec) for spec in said]) == (name, specs)


@pytest.mark.feature("F196")
def test_an_environment_of_ones_own(plugins, tmp_path):
    plugins.load("modules", "cmd")
    wheels = tmp_path / "wheels"
    for version in ("1.0", "2.0"):
        make_wheel(wheels, "tiny", version)
    make_wheel(wheels, "Other.Pkg", "0.1", ("tiny<2",))
    env = str(make_environment(tmp_path / "env"))
    where = {"bin_env": env, "no_index": True, "find_links": str(wheels)}
    row = plugins.state("pip.installed", name="other_pkg", **where)
    assert row["changes"] == {"other-pkg==0.1": "Installed"}, row["comment"]
    row = plugins.state("pip.installed", name="tiny", upgrade=True, **where)
    assert row["changes"] == {"tiny==2.0": "Installed"}, row["comment"]
    row = plugins.state("pip.removed", name="tiny", bin_env=env)
    assert row["changes"] == {"tiny": "Removed"}
    row = plugins.state("pip.installed", name="gone", **where)
    assert row["result"] is False
    assert "No matching distribution found for gone" in row["comment"]


def test_pip_may_be_missing(plugins):
    plugins.salt["cmd.run_all"] = lambda *_, **__: {"retcode": 1, "stdout": "", "stderr": "No module named pip"}
    with pytest.raises(CommandExecutionError, match="Could not find a `pip` binary"):
        plugins.call("pip.version")
    row = plugins.state("pip.installed", name="tiny")
    assert row["comment"] == "Error installing 'tiny': Could not find a `pip` binary"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment with two packages, one of which lacks what it needs, and what pip says when it lists them."""
    env, wheels = make_environment(tmp_path_factory.mktemp("pip") / "env"), tmp_path_factory.mktemp("wheels")
    for name, needs in (("tiny", 'extra; extra == "more"\nProvides-Extra: more'), ("broken", "gone")):
        with zipfile.ZipFile(make_wheel(wheels, name, "1.0", (needs,))) as wheel:
            wheel.extractall(next(env.glob("lib/python*/site-packages")))
    command = [env / "bin" / "python", "-m", "pip", "list", "--format=json"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    return str(env), {"retcode": 0, "stdout": listed.stdout, "stderr": ""}


@pytest.mark.parametrize(("text", "others", "missing"), TABLES["a dry run knows whether requirements are met"])
def test_a_dry_run_knows_whether_requirements_are_met(plugins, environment, text, others, missing):
    plugins.load("modules", "cmd")
    plugins.opts["foresight"] = True
    (env, listed), run_all = environment, plugins.salt["cmd.run_all"]
    plugins.salt["cmd.run_all"] = lambda command, **how: listed if "list" in command else run_all(command, **how)
    path = plugins.salt_file("list", text)
    for name, content in others.items():
        plugins.salt_file(name, content)
    unmet, found = plugins.salt["pip.unmet"], []
    plugins.salt["pip.unmet"] = lambda **where: found.extend(unmet(**where)) or found
    row = plugins.state("pip.installed", test=True, name="x", requirements="salt://list", bin_env=env)
    assert [each.removeprefix(f"{path.parent}/") for each in found] == missing
    assert (row["result"], row["comment"]) == (
        (None, "Requirements file 'salt://list' will be processed.")
        if missing
        else (True, "Requirements were already installed.")
    )


def test_an_old_pip_does_not_judge_lines_with_markers(plugins, fake):
    fake.installed["tiny"] = "1.0"
    plugins.salt_file("list", "tiny\nother; python_version > '3'\n")
    assert plugins.call("pip.unmet", requirements="salt://list") == ["other; python_version > '3'"]
    plugins.salt_file("list", "tiny\n")
    assert plugins.call("pip.unmet", requirements="salt://list") == []
