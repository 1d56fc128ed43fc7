from __future__ import annotations

import asyncio
import copy
import threading
import traceback

import pytest
from plugin_trees import PluginTree

from asyncstate import dunders
from asyncstate.errors import FunctionNotFound, LoaderError


@pytest.fixture
def tree(tmp_path):
    return PluginTree(tmp_path / "salt")


def test_every_kind_comes_from_the_file_roots(tree):
    for kind in ("states", "modules", "utils", "grains", "renderers"):
        tree.add(f"_{kind}/mine.py", "def render(*args): return 'x'\n")
    host = tree.host()
    assert "mine.render" in host.states
    assert "mine.render" in host.salt
    assert "mine.render" in host.utils
    assert "mine.render" in host.grains_functions
    assert "mine" in host.renderers


async def test_async_functions_are_awaited_in_place_and_plain_ones_in_a_thread(tree):
    tree.add(
        "_states/st.py",
        """
        import asyncio, threading
        async def native(name): return threading.get_ident(), asyncio.current_task()
        def plain(name): return threading.get_ident()
        """,
    )
    async with tree.attached() as host:
        native, plain = (host.loaders["states"].get(f"st.{fun}") for fun in ("native", "plain"))
        assert await host.call(native, ["x"]) == (threading.get_ident(), asyncio.current_task())
        assert host.workers.started == 0
        assert await host.call(plain, [], {"name": "x"}) != threading.get_ident()


async def test_calls_see_their_context_and_leave_the_callers_alone(tree):
    tree.add(
        "_states/st.py",
        "def plain(name): return __opts__['test'], str(__sls__)\nasync def native(name): return plain(name)\n",
    )
    async with tree.attached() as host:
        for fun in ("plain", "native"):
            function = host.loaders["states"].get(f"st.{fun}")
            assert await host.call(function, ["x"], context=host.context(test=True, sls="a.b")) == (True, "a.b")
            assert await host.call(function, ["x"]) == (False, "")
        assert dunders.context.current.get(None) is None


async def test_calls_at_once_see_each_their_own(tree):
    tree.add(
        "_states/st.py",
        "import asyncio\nasync def native(name):\n    await asyncio.sleep(0.001)\n    return name == __low__['name']\n",
    )
    async with tree.attached() as host:
        function = host.loaders["states"].get("st.native")
        calls = [host.call(function, [str(n)], context=host.context(low={"name": str(n)})) for n in range(50)]
        assert all(await asyncio.gather(*calls))


async def test_two_hosts_share_code_and_nothing_else(tree):
    tree.add(
        "_modules/m.py",
        "def who(): return __opts__['id'], __grains__['g'], __context__.setdefault('n', __opts__['id'])\n",
    )
    first, second = tree.host({"id": "a", "grains": {"g": 1}}), tree.host({"id": "b", "grains": {"g": 2}})
    assert first.salt["m.who"].__wrapped__ is second.salt["m.who"].__wrapped__
    assert await first.salt["m.who"]() == ("a", 1, "a")
    assert await second.salt["m.who"]() == ("b", 2, "b")


@pytest.mark.parametrize("text", ["def leave(name): raise SystemExit(2)", "async def leave(name): raise SystemExit(2)"])
async def test_sys_exit_is_an_error_of_the_call(tree, text):
    tree.add("_states/st.py", text + "\n")
    async with tree.attached() as host:
        with pytest.raises(LoaderError, match=r"sys\.exit\(2\)"):
            await host.call(host.loaders["states"].get("st.leave"), ["x"])


async def test_a_plain_function_that_returns_an_awaitable(tree):
    tree.add("_states/st.py", "async def inner(): return str(__sls__)\ndef outer(name): return inner()\n")
    async with tree.attached() as host:
        outer = host.loaders["states"].get("st.outer")
        assert await host.call(outer, ["x"], context=host.context(sls="s")) == "s"


@pytest.mark.parametrize("text", ["def env(): return [__env__]", "async def env(): return [__env__]"])
async def test_returned_dunders_keep_the_value_they_had(tree, text):
    tree.add("_modules/m.py", text + "\n")
    async with tree.attached() as host:
        (env,) = await host.call(host.loaders["modules"].get("m.env"), context=host.context(env="dev"))
        assert type(env) is str
        assert env == "dev"


def test_registered_states(tree):
    def deployed(name):
        return {"name": name}

    host = tree.host(extra_states={"app.deployed": deployed})
    assert host.states["app.deployed"]("x") == {"name": "x"}
    host.register_state("app.deployed", lambda name: "second")
    assert host.states["app.deployed"]("x") == "second"


def test_grains_and_pillar_reach_options_contexts_and_virtual(tree):
    tree.add(
        "_modules/m.py",
        "def __virtual__(): return bool(__pillar__)\ndef f(): return __grains__['os'], __pillar__['p']\n",
    )
    host = tree.host()
    assert "m.f" not in host.salt
    host.set_grains({"os": "Debian"})
    host.set_pillar({"p": 1})
    assert host.salt["m.f"]() == ("Debian", 1)
    assert host.opts["grains"] == host.grains == {"os": "Debian"}
    assert host.opts["pillar"] == host.pillar == {"p": 1}


def test_equal_grains_reload_nothing(tree):
    tree.add("_modules/m.py", "def f(): pass\n")
    host = tree.host()
    before = host.salt["m.f"]
    host.set_grains(dict(host.grains))
    host.set_pillar(dict(host.pillar))
    assert host.salt["m.f"] is before


def test_enter_sets_the_context_for_synchronous_work(tree):
    host = tree.host()
    with host.enter(sls="s") as context:
        assert dunders.context.current.get() is context
        assert str(dunders.__sls__) == "s"
        assert dunders.__salt__.value() is host.salt
    assert dunders.context.current.get(None) is None


def test_context_is_one_per_host(tree):
    host = tree.host()
    assert host.context().context is host.shared
    assert host.shared.once("k", lambda: 1) == 1
    assert host.context().context["k"] == 1


def test_context_refuses_what_it_does_not_know(tree):
    with pytest.raises(TypeError, match="no tset"):
        tree.host().context(tset=True)


def test_reload_reads_changed_files(tree):
    from plugin_trees import rewrite

    path = tree.add("_modules/m.py", "def f(): return 1\n")
    host = tree.host()
    assert host.salt["m.f"]() == 1
    rewrite(path, "def f(): return 2\n")
    assert host.salt["m.f"]() == 1
    host.reload()
    assert host.salt["m.f"]() == 2


@pytest.fixture
def stocked(tree):
    """The tree with one module."""
    tree.add("_modules/mod.py", "def plain(x=1):\n    'Say it.'\n    return x * 2\n")
    return tree


def test_missing_functions_are_key_errors_with_the_reason(stocked):
    host = stocked.host()
    with pytest.raises(KeyError) as caught:
        host.salt["mod.plian"]
    assert traceback.format_exception_only(caught.value) == [
        "KeyError: 'mod.plian'\n"
    ]  # the name alone, as rows show it
    assert isinstance(caught.value.__cause__, FunctionNotFound)
    assert str(caught.value.__cause__) == "'mod.plian' is not available. Did you mean 'mod.plain'?"
    assert host.salt.get("mod.nope") is None
    assert "mod.nope" not in host.salt
    assert 3 not in host.salt


def test_attributes(stocked):
    salt = stocked.host().salt
    assert salt.mod.plain(2) == 4
    assert salt.mod["plain"](2) == 4
    assert not hasattr(salt, "nomod")
    assert not hasattr(salt.mod, "nope")
    assert "mod" in repr(salt.mod)
    assert "__salt__" in repr(salt)
    with pytest.raises(AttributeError):
        salt.__wrapped__  # noqa: B018


def test_listing(stocked):
    salt = stocked.host().salt
    assert "mod.plain" in list(salt)
    assert len(salt) == len(list(salt.keys()))
    assert salt


def test_functions_keep_their_name_and_docs(stocked):
    call = stocked.host().salt["mod.plain"]
    assert call.__name__ == "plain"
    assert call.__doc__ == "Say it."
    assert call.__wrapped__ is stocked.host().loaders["modules"].get("mod.plain").func


def test_one_wrapper_per_name_until_reload(stocked):
    host = stocked.host()
    before = host.salt["mod.plain"]
    assert host.salt["mod.plain"] is before
    host.reload()
    assert host.salt["mod.plain"] is not before


def test_copies_are_the_map_itself(stocked):
    salt = stocked.host().salt
    assert copy.deepcopy({"salt": salt})["salt"] is salt


def test_renderers_go_by_the_modules_name(stocked):
    stocked.add("_renderers/shout.py", "def render(data, saltenv='base', sls='', **kwargs): return data.upper()\n")
    renderers = stocked.host().renderers
    assert renderers["shout"]("x") == "X"
    assert "shout" in renderers
    assert "nope" not in renderers
    assert list(renderers) == ["shout"]
    assert len(renderers) == 1
