"""The project of the working directory: which one is found, what it sets, and for whom it counts."""

import os

import pytest
from messages import match
from tables import beside

from asyncstate.cli import main
from asyncstate.cli.overview import commands
from asyncstate.cli.root import root as program
from asyncstate.config import find_project, load_settings
from asyncstate.errors import ConfigError

TABLES = beside(__file__)


@pytest.fixture
def project(tmp_path):
    """Make a project without a configuration file."""
    for name in ("salt/top.sls", "salt/web/init.sls", "pillar/top.sls"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}\n")
    return tmp_path


def roots(settings):
    return settings.file_roots["base"], settings.pillar_roots["base"]


@pytest.mark.parametrize("below", ["", "salt", "salt/web", "pillar"])
def test_a_tree_is_found_from_each_folder_of_it(project, below):
    settings = load_settings(project=find_project(str(project / below)), environ={})
    assert roots(settings) == ([str(project / "salt")], [str(project / "pillar")])


def test_without_a_tree_there_is_no_project(tmp_path):
    (tmp_path / "salt").mkdir()
    assert find_project(str(tmp_path)) is None


def test_a_project_without_pillar_does_not_get_that_of_the_machine(project):
    (project / "pillar/top.sls").unlink()
    (project / "pillar").rmdir()
    assert roots(load_settings(project=find_project(str(project)), environ={})) == ([str(project / "salt")], [])


def test_its_configuration_names_the_roots(project):
    (project / "asyncstate.yaml").write_text("file_roots: {base: [states]}\nconcurrency: 3\n")
    (project / "states").mkdir()
    settings = load_settings(project=find_project(str(project / "salt/web")), environ={})
    assert (settings.file_roots["base"], settings.concurrency) == ([str(project / "states")], 3)


def test_a_configuration_that_names_no_roots_leaves_those_of_the_folder(project):
    (project / "asyncstate.yaml").write_text("concurrency: 3\n")
    settings = load_settings(project=find_project(str(project)), environ={})
    assert roots(settings) == ([str(project / "salt")], [str(project / "pillar")])
    assert settings.concurrency == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_root_does_not_take_a_tree_that_others_can_change_for_that_of_its_configuration(project):
    (project / "asyncstate.yaml").write_text("concurrency: 3\n")
    (project / "salt").chmod(0o777)
    with pytest.raises(
        ConfigError, match=match("foreign-project", marker=project / "salt/top.sls", user="others than root")
    ):
        load_settings(project=find_project(str(project)), environ={})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
@pytest.mark.parametrize("name", ["salt/web", "salt/web/init.sls", "pillar", "states"])
def test_root_does_not_use_a_project_with_a_place_that_others_can_change(project, name):
    (project / "states").mkdir()
    (project / "asyncstate.yaml").write_text("file_roots: {base: [salt, states]}\npillar_roots: {base: [pillar]}\n")
    for folder in ("salt/web", "pillar"):
        (project / folder).mkdir(exist_ok=True, parents=True)
    (project / "salt/web/init.sls").write_text("a: {test.nop: []}\n")
    load_settings(project=find_project(str(project)), environ={})
    (project / name).chmod(0o777)
    with pytest.raises(
        ConfigError,
        match=match(
            "foreign-tree",
            path=project / name,
            folder=project,
            user="others than root",
            root=project / name.partition("/")[0],
        ),
    ):
        load_settings(project=find_project(str(project)), environ={})


def test_the_nearest_project_counts(project):
    inner = project / "salt/inner"
    inner.mkdir()
    (inner / "asyncstate.yaml").write_text("concurrency: 2\n")
    assert find_project(str(inner)).folder == str(inner)


def test_other_sources_win_over_the_layout_of_a_folder(project, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    found = find_project(str(project))
    config = other / "config.yaml"
    config.write_text(f"file_roots: {{base: [{other}]}}\n")
    variable = {"ASYNCSTATE_FILE_ROOTS": f"{{base: [{other}]}}"}
    named = {"file_roots": {"base": [str(other)]}}
    for settings in (
        load_settings([config], environ={}, project=found),
        load_settings(environ=variable, project=found),
        load_settings(overrides=named, environ={}, project=found),
    ):
        assert settings.file_roots["base"] == [str(other)]
        assert "pillar_roots" not in settings.origins


def test_a_working_directory_that_is_gone_has_no_project(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find_project() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
@pytest.mark.parametrize(
    ("spoil", "user"),
    [(lambda path: os.chown(path, 65534, 65534), "user nobody"), (lambda path: path.chmod(0o777), "others than root")],
)
@pytest.mark.parametrize("name", ["salt/top.sls", "asyncstate.yaml"])
def test_root_does_not_use_what_others_can_change(project, name, spoil, user):
    (project / name).write_text("{}\n")
    spoil(project)
    found = find_project(str(project))
    with pytest.raises(ConfigError, match=match("foreign-project", marker=project / name, user=user)):
        load_settings(project=found, environ={})
    load_settings(project=found, overrides={"trust_writable": True}, environ={})


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_nobody_uses_a_project_in_a_folder_for_all(project, monkeypatch, mode):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    project.chmod(mode)
    with pytest.raises(ConfigError, match=r"you do not use .* everybody can change"):
        load_settings(project=find_project(str(project)), environ={})


def commands_of_trees():
    """Yield the command lines whose settings name a tree, each with the words that it needs."""
    words = TABLES["commands of trees"]
    for name in commands():
        command = program.get_command(None, name)
        parts = {name: command}
        if hasattr(command, "commands"):
            parts = {f"{name} {part}": command.get_command(None, part) for part in command.list_commands(None)}
        for line, each in parts.items():
            of_the_machine = line.startswith(("fleet", "lsp", "salt-call"))  # an agent, an editor, another program
            if not of_the_machine and any(param.name == "file_root" for param in each.params):
                yield line, words.get(line, [])


@pytest.mark.parametrize(("line", "words"), [pytest.param(*each, id=each[0]) for each in commands_of_trees()])
def test_every_command_finds_the_project(project, monkeypatch, line, words):
    """The first settings that a command loads have the roots of the project."""

    class Seen(BaseException):
        pass

    def seen(*_files, project=None, **_rest):
        raise Seen(project)

    monkeypatch.chdir(project / "salt/web")
    monkeypatch.setattr("asyncstate.config.load_settings", lambda files, overrides, project=None: seen(project=project))
    with pytest.raises(Seen) as found:
        main([*line.split(), *words])
    assert found.value.args[0].folder == str(project)
