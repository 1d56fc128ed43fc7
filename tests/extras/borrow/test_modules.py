from __future__ import annotations

import pytest
from fake_salt import FakeSalt
from plugin_trees import PluginTree

from asyncstate.errors import FunctionNotFound


@pytest.fixture
def salt(tmp_path):
    return FakeSalt(tmp_path / "environment")


@pytest.fixture
def tree(tmp_path):
    return PluginTree(tmp_path / "salt")


@pytest.fixture
def host(tree, salt):
    made = tree.host({"salt_python": str(salt.python)})
    yield made
    made.detach()


@pytest.fixture
def started(monkeypatch):
    """The workers that were started."""
    found = []
    start = "asyncstate.extras.borrow.workers.WorkerProcess"
    from asyncstate.extras.borrow.process import WorkerProcess

    monkeypatch.setattr(start, lambda python: found.append(python) or WorkerProcess(python))
    return found


def test_a_module_that_nothing_here_provides_is_borrowed(host, salt):
    salt.state("theirs", 'def present(name, size: int = 3, **kwargs):\n    """Make it."""\n    return size\n')
    function = host.loaders["states"].get("theirs.present")
    assert function.module.borrowed
    assert not function.module.bundled
    assert function.module.file == str(salt.salt / "states/theirs.py")
    assert function.signature.required == ("name",)
    assert function.signature.keywords == {"size"}
    assert function.signature.has_kwargs
    assert function.doc == "Make it."
    assert host.states["theirs.present"]("x", size=4) == 4
    assert function.module.attribute("__lane__") == "salt.theirs"


def test_bundled_and_custom_modules_hide_salts_whole(host, tree, salt, started):
    for name in ("test", "mine", "refuses"):
        salt.state(name, "def only_in_salt(name): return 'Salt'\n")
    tree.add("_states/mine.py", "def own(name): return 'mine'\n")
    tree.add("_states/refuses.py", "def __virtual__(): return False, 'not here'\n")
    for name in ("test", "mine", "refuses"):
        assert not host.loaders["states"].has(f"{name}.only_in_salt")
    host.register_state("app.deployed", lambda name: name)
    salt.state("app", "def only_in_salt(name): return 'Salt'\n")
    assert not host.loaders["states"].has("app.only_in_salt")
    assert "not here" in host.loaders["states"].reason("refuses.only_in_salt")
    assert started == []


def test_a_name_that_no_file_of_salt_claims_starts_no_worker(host, started):
    with pytest.raises(FunctionNotFound, match=r"'nothing.x' is not available"):
        host.loaders["states"].get("nothing.x")
    assert "nothing.x" not in host.salt
    assert started == []


def test_a_virtual_name_is_found_and_a_refusal_is_passed_on(host, salt):
    salt.module("long_name", "__virtualname__ = 'short'\ndef f(): return 1\n")
    salt.module("no", "def __virtual__(): return False, 'no library'\ndef f(): return 1\n")
    assert host.salt["short.f"]() == 1
    assert "long_name.f" not in host.salt
    with pytest.raises(FunctionNotFound, match="'no' __virtual__ returned False: no library"):
        host.loaders["modules"].get("no.f")
    assert host.loaders["modules"].borrowed.names() == ["no", "short"]


def test_modules_of_the_tree_are_there_for_salts_and_the_other_way_round(host, tree, salt):
    tree.add("_modules/mine.py", "def f(): return 'mine' + __salt__['theirs.g']()\ndef back(): return 'back'\n")
    salt.module("theirs", "def g(): return 'theirs' + __salt__['mine.back']()\n")
    assert host.salt["mine.f"]() == "minetheirsback"


def test_after_a_reload_salt_is_looked_at_again(host, salt):
    salt.module("m", "def f(): return __pillar__.get('a')\n")
    assert host.salt["m.f"]() is None
    host.set_pillar({"a": 1})
    assert host.salt["m.f"]() == 1


def test_it_is_off_where_the_option_says_so(tree, salt):
    salt.module("m", "def f(): return 1\n")
    host = tree.host({"salt_python": "off"})
    assert "m.f" not in host.salt
    disabled = tree.host({"salt_python": str(salt.python), "disable_modules": ["m"]})
    assert "m.f" not in disabled.salt


def test_a_named_interpreter_that_does_not_work_is_told_once(tree, tmp_path, caplog):
    host = tree.host({"salt_python": str(tmp_path / "none")})
    assert "m.f" not in host.salt
    assert "m.g" not in host.salt
    assert [text for text in caplog.messages if "salt_python" in text] == [
        f"salt_python: {tmp_path}/none is not a program that can be run"
    ]


async def test_functions_are_awaited_on_the_loop(tree, salt):
    salt.module("m", "def f(): return 1\n")
    async with tree.attached({"salt_python": str(salt.python)}) as host:
        assert await host.salt["m.f"]() == 1
