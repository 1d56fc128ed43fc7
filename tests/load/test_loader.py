from __future__ import annotations

import json
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from messages import match
from plugin_trees import PluginTree, rewrite
from record_answers import recorded
from tables import beside

from asyncstate.errors import FunctionNotFound
from asyncstate.load import entry_points
from asyncstate.load.imports import plugin_lock
from asyncstate.load.plugin import LoadedFunction, LoadedModule, is_async

TABLES = beside(__file__)
LOADING = {tuple(json.loads(question)[0].items()): answer for question, answer in recorded("loading").items()}
REASONS = {name: reason for reasons in LOADING.values() for name, reason in reasons.items()}
"""Why functions of state modules are not there, None where they are."""
REASONS["y1.f"] = "'y1' __virtual__ returned False: the module called sys.exit(3)"  # Salt says 3


@pytest.fixture
def tree(tmp_path):
    return PluginTree(tmp_path / "salt")


@pytest.fixture(scope="module")
def salt_table(tmp_path_factory):
    tree = PluginTree(tmp_path_factory.mktemp("table"))
    for texts in LOADING:
        for name, text in texts:
            tree.add(f"_states/{name}.py", text)
    return tree.host().loaders["states"]


@pytest.mark.parametrize(("name", "reason"), REASONS.items())
def test_which_modules_load_and_what_is_said_of_the_rest(salt_table, name, reason):
    if reason is None:
        assert salt_table.get(name).name == name
    else:
        assert not salt_table.has(name)
        with pytest.raises(FunctionNotFound) as caught:
            salt_table.get(name)
        # Behind the sentence stands the place of a key that is not there.
        assert caught.value.reason.partition(" (/")[0] == reason


def test_refusals_are_kept_by_file(salt_table):
    salt_table.names()
    refusals = {path.rsplit("/", 1)[1]: reason for path, reason in salt_table.refusals().items()}
    assert refusals["v2.py"] == "because reasons"
    assert refusals["v1.py"] == ""
    assert "own.py" not in refusals


def test_names_lists_everything_loadable(salt_table):
    names = salt_table.names()
    assert {"own.f", "vv.list", "w8alias.c", "renamed.f"} <= set(names)
    assert names == sorted(names)
    assert not {"own.dedent", "v1.f", "v4.list"} & set(names)


def test_suggestions(salt_table):
    with pytest.raises(FunctionNotFound) as caught:
        salt_table.get("own.lamm")
    assert caught.value.suggestion == "own.lam"
    with pytest.raises(FunctionNotFound) as caught:
        salt_table.get("onw.f")
    assert caught.value.suggestion == "own.f"
    assert str(caught.value) == "'onw.f' is not available. Did you mean 'own.f'?"
    with pytest.raises(FunctionNotFound) as caught:
        salt_table.get("v2.list")  # v2 is there, and says why it cannot be used
    assert caught.value.suggestion == ""


@pytest.mark.parametrize("name", TABLES)
def test_trees(tree, name):
    case = {"options": {}, "gives": {}, "lacks": {}, **TABLES[name]}
    for path, text in case["files"].items():
        tree.add(path, text)
    host = tree.host(json.loads(json.dumps(case["options"]).replace("ROOT", str(tree.root))))
    for call, value in case["gives"].items():
        kind, function, *arguments = call.split()
        with host.enter():
            found = host.loaders[kind].get(function).func(*arguments or ["x"] * (kind == "states"))
        assert found == value
    for call, reason in case["lacks"].items():
        kind, function = call.split()
        assert not host.loaders[kind].has(function)
        said = re.sub(r"\.many_\w+\.", ".MANY.", host.loaders[kind].reason(function))
        assert said.endswith(reason.replace("ROOT", str(tree.root)))


@pytest.mark.parametrize("name", ["nodot", "", ".", "x.", None, 3])
def test_odd_names_are_not_there(tree, name):
    assert not tree.host().loaders["states"].has(name)


def test_a_file_is_imported_when_it_is_needed_and_not_before(tree):
    marker = "import sys; sys.modules[__name__].ran = True\n"
    tree.add("_states/needed.py", marker + "def f(name): pass\n")
    tree.add("_states/other.py", marker + "def f(name): pass\n")
    loader = tree.host().loaders["states"]
    assert loader.find("needed.f")
    imported = [
        name
        for name, module in sys.modules.items()
        if getattr(module, "__file__", "") == str(tree.root / "_states/other.py")
    ]
    assert not imported


def test_two_runtimes_share_one_import(tree):
    tree.add("_states/shared.py", "def f(name): pass\n")
    first, second = (tree.host().loaders["states"].get("shared.f") for _ in range(2))
    assert first.func is second.func


def test_a_new_runtime_reads_an_edited_file_and_the_old_one_goes_on(tree):
    path = tree.add("_states/edited.py", "def f(name): return 1\n")
    old = tree.host()
    assert old.loaders["states"].get("edited.f").func("x") == 1
    rewrite(path, "def f(name): return 2\n")
    assert tree.host().loaders["states"].get("edited.f").func("x") == 2
    assert old.loaders["states"].get("edited.f").func("x") == 1
    old.reload()
    assert old.loaders["states"].get("edited.f").func("x") == 2


def test_reset_sees_new_files_and_retries_failed_ones(tree):
    path = tree.add("_states/late.py", "import nonexistent_y\n")
    loader = tree.host().loaders["states"]
    assert not loader.has("late.f")
    assert not loader.has("newer.f")
    rewrite(path, "def f(name): pass\n")
    tree.add("_states/newer.py", "def f(name): pass\n")
    assert not loader.has("late.f")
    loader.reset()
    assert loader.has("late.f")
    assert loader.has("newer.f")


def test_nothing_is_written_beside_plugins(tree):
    tree.add("_states/one.py", "def f(name): pass\n")
    tree.add("_states/many/__init__.py", "from .part import f\n")
    tree.add("_states/many/part.py", "def f(name): return __opts__['id']\n")
    host = tree.host()
    with host.enter():
        assert host.loaders["states"].get("many.f").func("x") == "m"
    assert host.loaders["states"].get("one.f")
    assert not list(tree.root.rglob("__pycache__"))


def test_an_edited_part_of_a_package_is_read_again(tree):
    tree.add("_states/many/__init__.py", "from .part import f\n")
    part = tree.add("_states/many/part.py", "def f(name): return 1\n")
    assert tree.host().loaders["states"].get("many.f").func("x") == 1
    rewrite(part, "def f(name): return 22\n")
    assert tree.host().loaders["states"].get("many.f").func("x") == 22


def test_virtual_is_asked_once_per_runtime_with_its_grains(tree):
    tree.add("_modules/prov.py", "def __virtual__(): return __grains__.get('os') == 'Debian'\ndef f(): pass\n")
    debian, other = tree.host({"grains": {"os": "Debian"}}), tree.host({"grains": {"os": "Arch"}})
    assert debian.loaders["modules"].has("prov.f")
    assert not other.loaders["modules"].has("prov.f")
    other.set_grains({"os": "Debian"})
    assert other.loaders["modules"].has("prov.f")


def test_init_runs_once_per_runtime_with_the_options(tree):
    tree.add("_modules/ini.py", "seen = []\ndef __init__(opts): seen.append(opts['id'])\ndef f(): return list(seen)\n")
    first, second = tree.host({"id": "a"}), tree.host({"id": "b"})
    for host in (first, first, second):
        host.loaders["modules"].get("ini.f")
    assert first.loaders["modules"].get("ini.f").func() == ["a", "b"]


async def test_virtual_gets_values_on_the_loop_too(tree):
    tree.add(
        "_modules/helper.py",
        """
        import asyncio
        def plain(): return 1
        async def there():
            await asyncio.sleep(0)
            return await __salt__["helper.plain"]() + 1
        """,
    )
    tree.add("_modules/user.py", "def __virtual__(): return __salt__['helper.there']() == 2\ndef f(): pass\n")
    async with tree.attached() as host:
        assert host.loaders["modules"].has("user.f")


async def test_a_load_that_comes_back_to_itself_by_way_of_another_thread_ends(tree):
    tree.add(
        "_modules/helper.py",
        """
        def plain(): return "user.f" in __salt__
        async def there(): return await __salt__["helper.plain"]()
        """,
    )
    tree.add("_modules/user.py", "def __virtual__(): return not __salt__['helper.there']()\ndef f(): pass\n")
    async with tree.attached() as host:
        assert host.loaders["modules"].has("user.f")


async def test_an_error_while_loading_on_the_loop_is_a_refusal(tree):
    tree.add("_modules/helper.py", "async def there(): raise ValueError('not today')\n")
    tree.add("_modules/asking.py", "def __virtual__(): return __salt__['helper.there']()\n")
    async with tree.attached() as host:
        assert not host.loaders["modules"].has("asking.f")
        reason = host.loaders["modules"].reason("asking.f")
        assert reason.endswith(f": not today ({tree.root}/_modules/helper.py, line 1)")


def test_plugins_that_ask_for_each_other_while_loading_do_not_hang(tree):
    for mine, other in [("ping", "pong"), ("pong", "ping")]:
        tree.add(
            f"_modules/{mine}.py",
            f"import time\ndef __virtual__():\n    time.sleep(0.05)\n    '{other}.f' in __salt__\n    return True\ndef f(): pass\n",
        )
    loader = tree.host().loaders["modules"]
    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(loader.find, ("ping.f", "pong.f")))


def test_threads_that_ask_at_once_import_once(tree):
    tree.add("_modules/slow.py", "import time\ntime.sleep(0.05)\nobject_made_at_import = object()\ndef f(): pass\n")
    loader = tree.host().loaders["modules"]
    with ThreadPoolExecutor(8) as pool:
        assert len({id(function.func) for function in pool.map(loader.get, ["slow.f"] * 8)}) == 1


def test_a_lock_is_waited_for_unless_that_could_not_end():
    order = []

    def hold():
        with plugin_lock("k") as mine:
            order.append(mine)
            held.set()
            time.sleep(0.05)
            order.append("released")

    held = threading.Event()
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with plugin_lock("k") as mine, plugin_lock("k") as again:
        order += [mine, again]
    thread.join()
    assert order == [True, "released", True, False]


def test_bundled_plugins_are_the_modules_others_import():
    import asyncstate.states.test as imported

    host = PluginTree("/nowhere").host()
    function = host.loaders["states"].get("test.nop")
    assert function.func is imported.nop
    assert function.module.bundled


def test_modules_lists_what_loads_in_search_order(salt_table):
    listed = [module.name for module in salt_table.modules() if not module.bundled]
    there = {name.partition(".")[0] for name, reason in REASONS.items() if reason is None}
    assert sorted(listed) == sorted(there)
    assert [salt_table.module(name).file for name in listed] == sorted(salt_table.module(name).file for name in listed)
    assert {"vv", "renamed", "w8alias"} <= set(listed)
    own = salt_table.module("own")
    assert own.attribute("partial")
    assert own.attribute("__exclusive__", False) is False
    assert own.file in repr(own)


def test_registered_functions_come_first(tree):
    tree.add("_states/app.py", "def deployed(name): return 1\ndef other(name): return 2\n")
    loader = tree.host().loaders["states"]
    assert loader.get("app.deployed").func("x") == 1
    loader.register("app.deployed", lambda name: 3)
    loader.register("fresh.one", lambda name: 4)
    assert loader.get("app.deployed").func("x") == 3
    assert loader.get("app.other").func("x") == 2
    loader.reset()
    assert loader.get("fresh.one").func("x") == 4
    assert loader.module("fresh").functions["one"].name == "fresh.one"
    assert "fresh.one" in loader.names()


def test_only_what_can_be_called_is_registered(tree):
    with pytest.raises(TypeError, match=match("no-function", name="app.deployed", value=3)):
        tree.host().register_state("app.deployed", 3)


@pytest.mark.parametrize("name", ["nodot", ".f", "m.", ""])
def test_registering_needs_a_full_name(tree, name):
    with pytest.raises(ValueError, match=r"module\.function"):
        tree.host().register_state(name, print)


def test_an_interface_shapes_the_exports(tree):
    tree.add(
        "_modules/prov.py",
        """
        from asyncstate.interfaces import Interface
        class Virt(Interface):
            __modulename__ = "virt"
            def f(self): pass
            def lacking(self): pass
        __virtualname__ = Virt(__name__)()
        def __virtual__(): return True
        def f(): pass
        """,
    )
    loader = tree.host().loaders["modules"]
    assert loader.has("virt.f")
    assert not loader.has("virt.lacking")
    assert loader.get("virt.lacking").hidden
    assert "virt.lacking" not in loader.names()


def test_entry_points_come_after_configured_directories_and_before_bundled(tree, tmp_path, monkeypatch):
    site = tmp_path / "site"
    for name, text in {
        "offered_plugins/__init__.py": "",
        "offered_plugins/states/offered.py": "def f(name): return __opts__['id']\n",
        "offered_plugins/states/mine.py": "def f(name): return 'installed'\n",
        "offered_plugins/states/test.py": "def f(name): return 'not bundled'\n",
        "offered_dirs.py": f"def places(): return {{'states': [{str(site / 'more')!r}]}}\n",
        "more/extra.py": "def f(name): return 'extra'\n",
        "offered-1.dist-info/entry_points.txt": "[asyncstate.loader]\na = offered_plugins\nb = offered_dirs:places\nc = not_there\n",
        "offered-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: offered\nVersion: 1\n",
    }.items():
        PluginTree(site).add(name, text)
    monkeypatch.syspath_prepend(str(site))
    entry_points._entry_points.cache_clear()
    try:
        tree.add("_states/mine.py", "def f(name): return 'root'\n")
        host = tree.host()
        states, given = (
            host.loaders["states"],
            {"offered": "m", "extra": "extra", "mine": "root", "test": "not bundled"},
        )
        with host.enter():
            assert {name: states.get(f"{name}.f").func("x") for name in given} == given
        assert not states.has("test.nop")
    finally:
        entry_points._entry_points.cache_clear()


def test_async_functions_are_recognised_through_what_wraps_them():
    import functools

    async def coroutine(): ...

    @functools.wraps(coroutine)
    def wrapper():
        return coroutine()

    class Awaitable:
        async def __call__(self): ...

    assert is_async(coroutine)
    assert is_async(wrapper)
    assert is_async(functools.partial(coroutine))
    assert is_async(Awaitable())
    assert not is_async(print)
    assert not is_async(lambda: None)


def test_loaded_function_shows_its_docs():
    def f(name):
        """Say it.

        More.
        """

    function = LoadedFunction("m.f", f, LoadedModule("m", "m.py", None))
    assert function.doc == "Say it.\n\nMore."
    assert repr(function) == "<function m.f from m.py>"


def test_the_reason_of_a_refusal_outlives_a_reset_by_another_state(tree):
    tree.add("_modules/v.py", "def __virtual__(): return (False, 'no program for it')\ndef f(name): pass\n")
    loader = tree.host().loaders["modules"]
    find, resets = loader.find, []

    def found_and_reset(*args):
        function = find(*args)
        loader.reset()
        resets.append(function)
        return function

    loader.find = found_and_reset
    with pytest.raises(FunctionNotFound, match="'v' __virtual__ returned False: no program for it"):
        loader.get("v.f")
    assert resets
