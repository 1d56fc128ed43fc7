"""Plugins of a tree that import each other, and the interfaces of the tree."""

import sys

import pytest
from messages import said
from plugin_trees import PluginTree, rewrite
from tables import beside

from asyncstate import Settings, StateRuntime
from asyncstate.errors import CompileError, FunctionNotFound

TABLES = beside(__file__)


@pytest.fixture
def tree(tmp_path):
    return PluginTree(tmp_path / "srv")


def call(host, name, *args, kind="modules"):
    function = host.loaders[kind].get(name)
    with host.enter():
        return function.func(*args)


def reason(host, name, kind="modules"):
    with pytest.raises(FunctionNotFound) as caught:
        host.loaders[kind].get(name)
    return caught.value.reason


SIBLING = "import helper\ndef f(): return helper.who()\n"


@pytest.mark.parametrize("kind", ["modules", "states", "utils", "grains", "renderers"])
@pytest.mark.parametrize("home", ["own", "utils"])
def test_a_plugin_imports_a_file_beside_it_or_of_utils(tree, kind, home):
    tree.add(f"_{kind if home == 'own' else 'utils'}/helper.py", f"def who(): return {home!r}\n")
    tree.add(f"_{kind}/uses.py", SIBLING)
    assert call(tree.host(), "uses.f", kind=kind) == home


@pytest.mark.parametrize(("statement", "expression"), TABLES["every form of the import statement"])
def test_every_form_of_the_import_statement(tree, statement, expression):
    tree.add("_utils/helper.py", "WHO = 1\n")
    tree.add("_utils/_private.py", "WHO = 1\n")
    tree.add("_utils/pack/__init__.py", "TOP = 1\n")
    tree.add("_utils/pack/part.py", "from . import TOP\nWHO = TOP\n")
    tree.add("_modules/early.py", f"{statement}\ndef f(): return {expression}\n")
    tree.add("_modules/late.py", f"def f():\n    {statement}\n    return {expression}\n")
    host = tree.host()
    assert call(host, "early.f") == 1
    if "*" not in statement:
        assert call(host, "late.f") == 1


def test_two_trees_in_one_process_each_see_their_own_helper(tmp_path):
    before, names = list(sys.path), set(sys.modules)
    hosts = []
    for name in ("one", "two"):
        tree = PluginTree(tmp_path / name)
        tree.add("_modules/helper.py", f"def who(): return {name!r}\n")
        tree.add("_modules/uses.py", SIBLING + "def late():\n    import helper as again\n    return again is helper\n")
        hosts.append(tree.host())
    assert [call(host, "uses.f") for host in hosts] == ["one", "two"]
    assert all(call(host, "uses.late") for host in hosts)
    assert sys.path == before
    assert all(name.startswith("asyncstate.") for name in set(sys.modules) - names)


def test_one_file_in_two_sets_of_roots_sees_the_helper_of_each(tmp_path):
    from plugin_trees import Roots

    from asyncstate.load.host import PluginHost

    shared = PluginTree(tmp_path / "shared")
    shared.add("_modules/uses.py", SIBLING)
    hosts = []
    for name in ("one", "two"):
        PluginTree(tmp_path / name).add("_modules/helper.py", f"def who(): return {name!r}\n")
        roots = Roots(base=[shared.root, tmp_path / name])
        hosts.append(PluginHost({"id": "m", "test": False}, file_client=roots))
    assert [call(host, "uses.f") for host in hosts] == ["one", "two"]


def test_a_helper_is_the_plugin_itself_and_has_the_dunders(tree):
    tree.add("_utils/helper.py", "def who(): return __grains__['os']\n")
    tree.add("_modules/uses.py", SIBLING)
    host = tree.host({"grains": {"os": "Plan9"}})
    assert call(host, "uses.f") == "Plan9"
    used = host.loaders["modules"].module("uses").namespace.helper
    assert used is host.loaders["utils"].module("helper").namespace


def test_an_edited_helper_is_read_again_by_all_that_import_it(tree):
    helper = tree.add("_utils/helper.py", "def who(): return 'before'\n")
    tree.add("_utils/between.py", "import helper\n")
    tree.add("_modules/uses.py", "import between\ndef f(): return between.helper.who()\n")
    old, new = tree.host(), tree.host()
    assert call(old, "uses.f") == "before"
    rewrite(helper, "def who(): return 'after!'\n")
    assert call(new, "uses.f") == "after!"
    assert call(old, "uses.f") == "before"
    old.reload()
    assert call(old, "uses.f") == "after!"
    helper.unlink()
    old.reload()
    assert "No module named 'helper'" in reason(old, "uses.f")


def test_plugins_that_import_each_other_get_what_there_is(tree):
    one = tree.add("_modules/one.py", "NAME = 1\nimport two\ndef f(): return two.NAME\n")
    tree.add("_modules/two.py", "NAME = 2\nimport one\ndef f(): return one.NAME\n")
    host = tree.host()
    assert (call(host, "one.f"), call(host, "two.f")) == (2, 1)
    rewrite(one, "NAME = 3\nimport two\ndef f(): return two.NAME\n")
    host.reload()
    assert (call(host, "two.f"), call(host, "one.f")) == (3, 2)


@pytest.mark.parametrize("statement", ["from ._ifaces import X", "from . import _ifaces", "from ..x import y"])
def test_a_relative_import_is_answered_with_what_to_write(tree, statement):
    tree.add("_modules/uses.py", f"{statement}\ndef f(): pass\n")
    told = reason(tree.host(), "uses.f")
    assert "is no package" in told
    assert "_interfaces" in told


def test_a_relative_import_that_fails_within_a_package_is_pythons(tree):
    tree.add("_modules/pack/__init__.py", "from .absent import x\ndef f(): pass\n")
    assert "absent" in reason(tree.host(), "pack.f")
    assert "no package" not in reason(tree.host(), "pack.f")


INTERFACE = """
    from asyncstate.interfaces import Interface

    class QueueInterface(Interface):
        __modulename__ = "queue"

        def push(self, item):
            "Add an item."
            return True

        def pop(self):
            "Take an item."
            return {}
"""
PROVIDER = """
    {statement}

    __virtualname__ = {interface}(__name__)()

    def push(item):
        return item
"""


@pytest.mark.parametrize(("statement", "interface"), TABLES["two providers share an interface of the tree"])
def test_two_providers_share_an_interface_of_the_tree(tree, statement, interface):
    tree.add("_interfaces/queue.py", INTERFACE)
    refusing = "\n\n    def __virtual__():\n        return False, 'not here'\n"
    tree.add("_modules/rabbit.py", PROVIDER.format(statement=statement, interface=interface) + refusing)
    tree.add("_modules/redis_queue.py", PROVIDER.format(statement=statement, interface=interface))
    host = tree.host()
    assert call(host, "queue.push", 3) == 3
    with pytest.raises(NotImplementedError, match=r"queue\.pop"):
        call(host, "queue.pop")
    assert host.loaders["modules"].module("rabbit") is None
    first, second = (
        getattr(module.__dict__["__virtualname__"], "interface", None)
        for name, module in sorted(sys.modules.items())
        if name.startswith(("asyncstate.ext.modules.rabbit_", "asyncstate.ext.modules.redis_queue_"))
        and str(tree.root) in module.__file__
    )
    assert type(first) is type(second)


def test_an_interface_that_is_not_there_is_named_with_the_folders(tree):
    tree.add("_modules/uses.py", "from _interfaces.queue import QueueInterface\ndef f(): pass\n")
    assert said("no-interface", file="queue.py", folders=f"{tree.root}/_interfaces") in reason(tree.host(), "uses.f")


def test_interfaces_may_build_on_each_other(tree):
    tree.add("_interfaces/base.py", INTERFACE)
    tree.add(
        "_interfaces/more.py",
        """
        from _interfaces.base import QueueInterface
        import base

        class MoreInterface(QueueInterface):
            __modulename__ = "more"
        """,
    )
    tree.add(
        "_modules/uses.py",
        PROVIDER.format(statement="from _interfaces.more import MoreInterface", interface="MoreInterface"),
    )
    assert call(tree.host(), "more.push", 1) == 1


@pytest.mark.parametrize(("expression", "told"), TABLES["a template says why a function is not there"])
async def test_a_template_says_why_a_function_is_not_there(tree, tmp_path, expression, told):
    tree.add("_modules/uses.py", "import absent_lib\ndef f(): pass\n")
    tree.add("_modules/fine.py", "def first(): pass\n")
    tree.add("s.sls", f"a:\n  test.nop:\n    - name: {{{{ {expression} }}}}\n")
    settings = Settings(file_roots={"base": [str(tree.root)]}, pillar_roots={}, cachedir=str(tmp_path / "cache"))
    async with StateRuntime(settings) as runtime:
        with pytest.raises(CompileError) as caught:
            await runtime.compile(["s"])
    assert f"Jinja variable {told}" in str(caught.value)
