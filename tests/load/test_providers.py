"""``providers: {virtual name: file}`` chooses who provides a virtual name, whatever the file thinks of this machine."""

import json

import pytest
from interface_classes import bundled_interfaces
from messages import said
from plugin_trees import PluginTree

from asyncstate import interfaces
from asyncstate.errors import LoaderError

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
def call(run_here, tree, tmp_path):
    def run(function, *arguments, **settings):
        config = tmp_path / "minion"
        config.write_text(json.dumps({"file_roots": {"base": [str(tree.root)]}, **settings}))
        return run_here("call", function, *arguments, "--config", str(config), "--out", "json")

    return run


@pytest.fixture
def apply(run_here, tree, tmp_path):
    """Apply the SLS ``s``, whose only state fails without a change; return its row."""

    def run(*options):
        config = tmp_path / "minion"
        settings = {"file_roots": {"base": [str(tree.root)]}, "providers": {"pkg": "otherpkg"}}
        config.write_text(json.dumps({**settings, "cachedir": str(tmp_path / "cache")}))
        done = run_here("apply", "s", *options, "--config", str(config), "--out", "json")
        assert done.returncode == 2, done.stderr
        [row] = json.loads(done.stdout).values()
        assert (row["result"], row["changes"]) == (False, {})
        return row

    return run


@pytest.mark.feature("F093")
def test_the_file_that_is_named_provides_the_functions(call):
    done = call("pkg.version", "sun", providers={"pkg": "otherpkg"})
    assert json.loads(done.stdout) == "chosen", done.stderr


def test_what_it_lacks_is_not_implemented_and_comes_from_nobody_else(call):
    done = call("pkg.version_cmp", "1", "2", providers={"pkg": "otherpkg"})
    assert done.returncode != 0
    told = done.stdout + done.stderr
    assert "'pkg.version_cmp' is not implemented: PkgInterface asks for it" in told
    assert "otherpkg.py lacks it" in told


def test_a_state_that_needs_what_the_provider_lacks_says_so_in_words(apply, tree):
    tree.add(
        "_states/cleans.py",
        "def gone(name):\n    return {'name': name, 'result': True, 'changes': __salt__['pkg.remove'](name), 'comment': ''}\n",
    )
    tree.add("s.sls", "nginx: cleans.gone\n")
    row = apply()
    assert row["comment"].startswith("'pkg.remove' is not implemented: PkgInterface asks for it")
    assert "Traceback" not in row["comment"]


@pytest.mark.parametrize("options", [(), ("--test",)])
@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ("pkg.remove: [{name: sun}]", "Unavailable function: pkg.remove. "),
        ("name: pkg.remove", "Module function pkg.remove is not available: "),
    ],
)
def test_a_call_through_a_state_says_why_the_provider_lacks_the_function(apply, tree, arguments, first, options):
    tree.add("s.sls", f"gone: {{module.run: [{{{arguments}}}]}}\n")
    row = apply(*options)
    assert row["comment"].startswith(f"{first}'pkg.remove' is not implemented: PkgInterface asks for it")
    assert "otherpkg.py lacks it" in row["comment"]


@pytest.mark.parametrize("function", ["virt.other", "virt.one"])
def test_without_any_interface_too_the_file_that_is_named_is_alone(tree, function):
    text = "__virtualname__ = 'virt'\ndef __virtual__(): return {answer}\ndef {name}(): return {name!r}\n"
    tree.add("_modules/first.py", text.format(answer=False, name="one"))
    tree.add("_modules/second.py", text.format(answer=True, name="other"))
    loader = tree.host({"providers": {"virt": "first"}}).loaders["modules"]
    assert loader.has(function) is (function == "virt.one")
    assert [name for name in loader.names() if name.startswith("virt.")] == ["virt.one"]


def test_a_bundled_provider_of_another_platform(call):
    done = call("pkg.version_cmp", "1.0~rc", "1.0^git", providers={"pkg": "yumpkg"})
    assert json.loads(done.stdout) == -1, done.stderr
    done = call("service.zap", "../sun", providers={"service": "gentoo_service"})
    assert json.loads(done.stdout) is False, done.stderr


def test_a_file_that_does_not_exist_is_named(call):
    done = call("pkg.version", "sun", providers={"pkg": "nosuch"})
    assert done.returncode != 0
    assert said("no-provider", virtual="pkg", file="nosuch") in done.stderr + done.stdout
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


OWN = """
from asyncstate.interfaces.{module} import {interface} as Followed

__virtualname__ = Followed(__name__)()

def {function}(*names, **kwargs):
    return "mine"
"""


INTERFACES = bundled_interfaces()


@pytest.mark.parametrize("virtual", sorted(INTERFACES))
def test_a_provider_in_the_tree_answers_before_the_bundled_ones_whatever_its_file_is_called(tree, virtual):
    interface = INTERFACES[virtual]
    first, other, *_ = sorted(interfaces.functions_of(interface("test")))
    text = OWN.format(module=interface.__module__.rpartition(".")[2], interface=interface.__name__, function=first)
    tree.add("_modules/mine.py", text)
    loader = tree.host({}).loaders["modules"]
    found = loader.get(f"{virtual}.{first}")
    assert (found.module.file, found.func("x")) == (str(tree.root / "_modules/mine.py"), "mine")
    assert loader.module(virtual).file == found.module.file
    lacking = loader.find(f"{virtual}.{other}")
    assert lacking is None or lacking.module.file == found.module.file, "nothing is filled in from a bundled file"


def test_what_a_provider_in_the_tree_asks_of_the_bundled_one_while_it_loads_is_not_kept(tree):
    tree.add(
        "_modules/mine.py",
        """
        from asyncstate.interfaces.pkg import PkgInterface

        __virtualname__ = PkgInterface(__name__)()

        def __virtual__():
            "pkg.version" in __salt__
            return __virtualname__

        def version(*names, **kwargs):
            return "mine"
        """,
    )
    loader = tree.host({}).loaders["modules"]
    assert loader.get("pkg.version").func("x") == "mine"
