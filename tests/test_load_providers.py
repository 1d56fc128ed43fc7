"""``providers: {virtual name: file}`` chooses who provides a virtual name, whatever the file thinks of this machine."""

import json

import pytest

from asyncstate.errors import LoaderError
from tests.plugin_trees import PluginTree

CHOSEN = """
    __virtualname__ = "pkg"

    def __virtual__():
        return False, "not on this machine"

    def version(*names, **kwargs):
        return "chosen"
"""


@pytest.fixture
def tree(tmp_path):
    made = PluginTree(tmp_path / "salt")
    made.add("top.sls", "{}")
    made.add("_modules/otherpkg.py", CHOSEN)
    return made


@pytest.fixture
def call(run_cli, tree, tmp_path):
    def run(function, *arguments, **settings):
        config = tmp_path / "minion"
        config.write_text(json.dumps({"file_roots": {"base": [str(tree.root)]}, **settings}))
        return run_cli("call", function, *arguments, "--config", str(config), "--out", "json")

    return run


@pytest.mark.feature("F093")
def test_the_file_that_is_named_provides_the_functions(call):
    done = call("pkg.version", "sun", providers={"pkg": "otherpkg"})
    assert json.loads(done.stdout) == "chosen", done.stderr


def test_what_it_lacks_comes_from_the_one_that_loads_by_itself(call):
    done = call("pkg.version_cmp", "1", "2", providers={"pkg": "otherpkg"})
    assert json.loads(done.stdout) == -1, done.stderr


def test_a_bundled_provider_of_another_platform(call):
    done = call("pkg.version_cmp", "1.0~rc", "1.0^git", providers={"pkg": "yumpkg"})
    assert json.loads(done.stdout) == -1, done.stderr
    done = call("service.zap", "../sun", providers={"service": "gentoo_service"})
    assert json.loads(done.stdout) is False, done.stderr


def test_a_file_that_does_not_exist_is_named(call):
    done = call("pkg.version", "sun", providers={"pkg": "nosuch"})
    assert done.returncode != 0
    assert "there is no execution module file 'nosuch'" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout


def test_a_file_that_cannot_be_imported_is_named(call, tree):
    tree.add("_modules/broken.py", "import nothing_of_that_name\n")
    done = call("pkg.version", "sun", providers={"pkg": "broken"})
    assert done.returncode != 0
    assert "nothing_of_that_name" in done.stderr + done.stdout
    assert LoaderError.__name__ not in done.stdout


def test_grains_choose_among_the_bundled_providers(call):
    done = call("pkg.version_cmp", "1.0rc1", "1.0", grains={"os_family": "Arch"})
    assert json.loads(done.stdout) == -1, done.stderr
    done = call("pkg.version_cmp", "1.0rc1", "1.0", grains={"os_family": "Debian"})
    assert json.loads(done.stdout) == 1, done.stderr
