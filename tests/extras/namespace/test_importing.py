"""Importing ``salt``: the allowed importers, the names they get, and the message about all others."""

from __future__ import annotations

import importlib
import logging
import sys

import pytest
from plugin_trees import PluginTree, write

from asyncstate import Settings, StateRuntime, extend, salt_compat
from asyncstate.errors import AsyncStateError, CommandExecutionError, FunctionNotFound, InvocationError
from asyncstate.load import folders, imports

WITHOUT = "install salt beside asyncstate"


@pytest.fixture
def tree(tmp_path):
    return PluginTree(tmp_path / "salt")


@pytest.fixture(autouse=True)
def no_salt_for_the_host():
    yield
    assert not [name for name in sys.modules if name == "salt" or name.startswith("salt.")]


def call(tree, name, *args, **kwargs):
    host = tree.host()
    with host.enter():
        return host.salt[name](*args, **kwargs)


def module(tree, text):
    """Add the execution module ``m`` and return a way to call its functions."""
    tree.add("_modules/m.py", text)
    return lambda function, *args, **kwargs: call(tree, f"m.{function}", *args, **kwargs)


def test_the_extra_is_looked_up_once(tree, monkeypatch):
    run = module(tree, "def name():\n    import salt.utils.files\n    return salt.utils.files.fopen.__name__")
    assert run("name") == "fopen"
    monkeypatch.setattr(extend, "extras", lambda: pytest.fail("it is looked up for each import"))
    assert run("name") == "fopen"


@pytest.mark.parametrize(
    ("statement", "expression"),
    [
        ("import salt", "salt.utils.files.fopen"),
        ("import salt.utils.files", "salt.utils.files.fopen"),
        ("import salt.utils.path", "salt.utils.files.fopen"),
        ("import salt.utils.files as f", "f.fopen"),
        ("from salt import utils", "utils.files.fopen"),
        ("from salt.utils import files", "files.fopen"),
        ("from salt.utils import files as f, path", "f.fopen"),
        ("from salt.utils.files import fopen", "fopen"),
        ("from salt.utils.files import *", "fopen"),
        ("import salt.utils", "salt.utils.fopen"),
        ("from salt.utils import fopen", "fopen"),
        ("salt = __import__('salt')", "salt.utils.files.fopen"),
    ],
)
def test_every_form_of_import(tree, statement, expression):
    run = module(tree, f"{statement}\ndef name(): return {expression}.__name__")
    assert run("name") == "fopen"


def test_an_import_inside_a_function_works_when_it_is_called_in_a_thread(tree):
    tree.add(
        "_modules/m.py",
        """
        def late():
            import salt.utils.stringutils
            from salt.utils.path import which
            return salt.utils.stringutils.to_str(b"x"), which("no-such-program")

        def evaluated():
            return eval("__import__('salt.version').version.__version__")
        """,
    )

    async def scenario():
        async with tree.attached() as host:
            return await host.salt["m.late"](), await host.salt["m.evaluated"]()

    import asyncio

    assert asyncio.run(scenario()) == (("x", None), "3008.3")


def test_a_part_of_a_plugin_and_every_kind_of_plugin_can_import_it(tree):
    tree.add("_modules/p/__init__.py", "from . import part\ndef f(): return part.NAME")
    tree.add("_modules/p/part.py", "import salt.utils.files\nNAME = salt.utils.files.TEMPFILE_PREFIX")
    for kind in ("states", "utils", "grains", "renderers"):
        tree.add(
            f"_{kind}/k.py", "from salt.exceptions import SaltException\ndef render(): return SaltException.__name__"
        )
    host = tree.host()
    with host.enter():
        assert host.salt["p.f"]() == "__salt.tmp."
        for functions in (host.states, host.utils, host.grains_functions):
            assert functions["k.render"]() == "AsyncStateError"
        assert host.renderers["k"]() == "AsyncStateError"


def test_nobody_else_can(tree, tmp_path, monkeypatch):
    library = "try:\n    import salt\n    HAS_SALT = True\nexcept ImportError:\n    HAS_SALT = False\n"
    write(tmp_path / "lib" / "salty_library.py", library)
    monkeypatch.syspath_prepend(tmp_path / "lib")
    run = module(tree, "import salt, salty_library\ndef f(): return salty_library.HAS_SALT")
    try:
        assert run("f") is False
        with pytest.raises(ModuleNotFoundError, match="No module named 'salt'"):
            importlib.import_module("salt")
    finally:
        sys.modules.pop("salty_library", None)


@pytest.mark.parametrize(
    ("statement", "missing", "instead"),
    [
        ("import salt.client", "salt.client", "use __salt__: there is no master to send jobs to"),
        ("from salt.client import LocalClient", "salt.client", "use __salt__"),
        ("from salt import client", "salt.client", "use __salt__"),
        ("import salt.utils.event", "salt.utils.event", "use __salt__['event.send']"),
        ("import salt.utils.nonesuch", "salt.utils.nonesuch", WITHOUT),
        ("import salt.utils.files.fopen", "salt.utils.files.fopen", WITHOUT),
        ("from salt.utils.files import nonesuch", "salt.utils.files.nonesuch", WITHOUT),
        ("from salt.config import master_config", "salt.config.master_config", "there is no master"),
        (
            "import salt.modules.nonesuch",
            "salt.modules.nonesuch",
            "only the modules of asyncstate are here; __salt__ has all",
        ),
        ("from salt.states.nonesuch import x", "salt.states.nonesuch", "__states__ has all"),
        ("from salt.modules.cmdmod import _run_quiet", "salt.modules.cmdmod._run_quiet", WITHOUT),
        ("from salt.ext.six.moves import nonesuch", "salt.ext.six.moves.nonesuch", WITHOUT),
    ],
)
def test_a_module_that_is_not_there_is_named_with_a_way_out(tree, statement, missing, instead):
    tree.add("_modules/m.py", f"{statement}\ndef f(): pass")
    with pytest.raises(FunctionNotFound) as caught:
        tree.host().loaders["modules"].get("m.f")
    refusal = f"'m' __virtual__ returned False: asyncstate offers no {missing} to custom modules"
    assert caught.value.reason.startswith(refusal)
    assert instead in caught.value.reason


def test_absence_can_be_handled_as_with_any_import(tree):
    run = module(
        tree,
        """
        try:
            import salt.client
            HAS_CLIENT = True
        except ImportError:
            HAS_CLIENT = False
        def f(): return HAS_CLIENT
        """,
    )
    assert run("f") is False


def test_a_missing_attribute_is_named_with_a_way_out(tree):
    run = module(
        tree,
        """
        import salt.utils.files
        def umask():
            with salt.utils.files.set_umask(0o77):
                pass
        def nonesuch(): return salt.utils.nonesuch
        def probe(): return hasattr(salt.utils.files, "__wrapped__")
        """,
    )
    with pytest.raises(
        AttributeError, match=r"no salt\.utils\.files\.set_umask .*; the umask belongs to the whole process"
    ):
        run("umask")
    with pytest.raises(AttributeError, match=rf"no salt\.utils\.nonesuch to custom modules\. .*{WITHOUT}"):
        run("nonesuch")
    assert run("probe") is False


def test_exceptions_are_ours_in_both_directions(tree):
    tree.add(
        "_modules/ours.py", "from asyncstate.errors import *\ndef fail(): raise CommandExecutionError('no', info=[1])"
    )
    run = module(
        tree,
        """
        import salt.exceptions
        from salt.exceptions import CommandExecutionError, SaltException, SaltInvocationError, CheckError
        def catch():
            try:
                __salt__["ours.fail"]()
            except CommandExecutionError as error:
                return error.error, error.info, error.strerror == str(error)
        def catch_base():
            try:
                __salt__["ours.fail"]()
            except SaltException as error:
                return error.message
        def fail(): raise CommandExecutionError("mine")
        def wrong(): raise salt.exceptions.SaltInvocationError("mine")
        def check(): raise CheckError("mine")
        """,
    )
    assert run("catch") == ("no", [1], True)
    assert run("catch_base") == "no. Additional info follows:\n\n- 1"
    for function, kind in (
        ("fail", CommandExecutionError),
        ("wrong", InvocationError),
        ("check", CommandExecutionError),
    ):
        with pytest.raises(kind, match="mine"):
            run(function)


def test_bundled_functions_can_be_imported_directly(tree):
    tree.add(
        "_modules/test.py",
        "from salt.modules.test import *\nfrom salt.modules.test import ping as shaken\ndef ping(): return shaken()",
    )
    tree.add(
        "_modules/m.py",
        """
        import salt.modules.cmdmod
        import salt.states.test as states
        from salt.modules import cmdmod
        cmdmod.__salt__ = __salt__
        def shell(): return salt.modules.cmdmod.run("echo yes")
        def state(): return states.nop("x")["result"]
        """,
    )
    runtime = StateRuntime(Settings(id="m", file_roots={"base": [str(tree.root)]}, root_dir=str(tree.root)))
    assert runtime.call_sync("test.ping") is True
    assert runtime.call_sync("m.shell") == "yes"
    assert runtime.call_sync("m.state") is True


async def test_a_bundled_async_function_runs_on_the_loop_of_the_runtime(tree):
    tree.add("_modules/m.py", "from salt.modules.cmdmod import run\ndef f(): return run('echo yes')")
    async with tree.attached() as host:
        assert await host.salt["m.f"]() == "yes"


def test_loggers_have_more_levels_and_the_name_of_the_caller(tree, caplog):
    run = module(
        tree,
        """
        import logging
        log = logging.getLogger(__name__)
        def f():
            log.trace("a %s", 1)
            log.garbage("b")
            log.profile("c")
        """,
    )
    with caplog.at_level(5):
        run("f")
    assert [
        (record.levelno, record.message, record.funcName) for record in caplog.records if record.name == "modules.m"
    ] == [
        (5, "a 1", "f"),
        (15, "c", "f"),
    ]
    assert not hasattr(logging.getLogger("somebody.else"), "trace")


def test_the_system_encoding_is_a_built_in(tree):
    assert module(tree, "def f(): return __salt_system_encoding__")("f") == "utf-8"


def test_depends_holds_functions_back(tree):
    run = module(
        tree,
        """
        from salt.utils.decorators import depends
        try:
            import json
            import nonesuch
        except ImportError:
            HAS_NONESUCH = False
        LATER = True
        def _instead(): return "instead"
        @depends("json")
        def there(): return 1
        @depends("nonesuch")
        def gone(): return 1
        @depends("HAS_NONESUCH", fallback_function=_instead)
        def replaced(): return 1
        @depends("DEFINED_LATER")
        def later(): return 1
        DEFINED_LATER = True
        @depends("json", version="99")
        def old(): return 1
        @depends("true", retcode=0)
        def command(): return 1
        @depends("no-such-command", retcode=0)
        def no_command(): return 1
        @depends("false", nonzero_retcode=True)
        @depends(True)
        def stacked(): return 1
        """,
    )
    assert [run(name) for name in ("there", "later", "command", "stacked", "replaced")] == [1, 1, 1, 1, "instead"]
    loader = tree.host().loaders["modules"]
    assert [loader.has(f"m.{name}") for name in ("gone", "old", "no_command")] == [False, False, False]


def test_interfaces_are_ours(tree, monkeypatch):
    class Interface:
        pass

    monkeypatch.setattr("asyncstate.interfaces.Interface", Interface, raising=False)
    run = module(tree, "from salt.interfaces import Interface\ndef f(): return Interface")
    assert run("f") is Interface


def test_an_installed_plugin_package_can_import_it_and_its_neighbours_cannot(tree, tmp_path, monkeypatch):
    site = tmp_path / "site"
    write(site / "plugpack" / "__init__.py", "")
    write(site / "plugpack" / "modules" / "__init__.py", "")
    write(site / "plugpack" / "shared.py", "import salt.utils.path\nwhich = salt.utils.path.which")
    write(
        site / "plugpack" / "modules" / "packed.py",
        "from plugpack.shared import which\nimport salt.utils.files\ndef f(): return which('sh') is not None",
    )
    write(site / "plugpackage.py", "import salt")
    monkeypatch.syspath_prepend(site)
    folder = folders.PluginFolder(str(site / "plugpack" / "modules"), "plugpack.modules")
    host = tree.host()
    host.loaders["modules"]._folders = (folder,)
    try:
        with host.enter():
            assert host.salt["packed.f"]() is True
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("plugpackage")
        import inspect

        assert "def f()" in inspect.getsource(sys.modules["plugpack.modules.packed"])
    finally:
        for name in [name for name in sys.modules if name.startswith("plugpack")]:
            del sys.modules[name]
        imports._finder.packages.pop("plugpack", None)


class TestWhereSaltIsInstalled:
    """A stand-in for Salt: a package of that name with exceptions of its own."""

    @pytest.fixture(autouse=True)
    def salt(self, tmp_path, monkeypatch):
        site = tmp_path / "with_salt"
        write(site / "salt" / "__init__.py", "REAL = True")
        write(
            site / "salt" / "exceptions.py",
            """
            class SaltException(Exception): pass
            class CommandExecutionError(SaltException): pass
            class SaltInvocationError(SaltException, TypeError): pass
            class SaltRenderError(SaltException): pass
            class CheckError(CommandExecutionError): pass
            """,
        )
        monkeypatch.syspath_prepend(site)
        salt_compat.real_salt_is_installed.cache_clear()
        yield
        for name in [name for name in sys.modules if name.partition(".")[0] == "salt"]:
            del sys.modules[name]
        salt_compat.real_salt_is_installed.cache_clear()

    def test_plugins_get_it(self, tree):
        assert module(tree, "import salt\ndef f(): return salt.REAL")("f") is True

    def test_an_exception_is_caught_by_both_names(self, tree):
        tree.add(
            "_modules/ours.py",
            "from asyncstate.errors import *\n"
            "def fail(): raise CommandExecutionError('no')\n"
            "async def later(): raise InvocationError('late')\n"
            "def other(): raise KeyError('x')\n",
        )
        run = module(
            tree,
            """
            import salt.exceptions
            def catch(name, kind):
                try:
                    __salt__[name]()
                except getattr(salt.exceptions, kind) as error:
                    return type(error).__name__, str(error)
            def fail(): raise salt.exceptions.CheckError("theirs")
            """,
        )
        assert run("catch", "ours.fail", "CommandExecutionError") == ("CommandExecutionError", "no")
        assert run("catch", "ours.fail", "SaltException") == ("CommandExecutionError", "no")
        assert run("catch", "ours.later", "SaltInvocationError") == ("InvocationError", "late")
        with pytest.raises(KeyError, match="x"):
            run("catch", "ours.other", "SaltException")
        with pytest.raises(CommandExecutionError, match="theirs") as caught:
            run("fail")
        assert isinstance(caught.value, AsyncStateError)
        assert isinstance(caught.value, sys.modules["salt.exceptions"].CheckError)

    async def test_on_the_loop_too(self, tree):
        tree.add("_modules/theirs.py", "import salt.exceptions as e\ndef fail(): raise e.CommandExecutionError('no')")
        async with tree.attached() as host:
            with pytest.raises(CommandExecutionError, match="no"):
                await host.salt["theirs.fail"]()


def test_a_directory_called_salt_is_not_salt(tree, tmp_path, monkeypatch):
    write(tmp_path / "srv" / "salt" / "top.sls", "base: {}")
    monkeypatch.syspath_prepend(tmp_path / "srv")
    salt_compat.real_salt_is_installed.cache_clear()
    try:
        assert module(tree, "import salt.version\ndef f(): return salt.version.__version__")("f") == "3008.3"
    finally:
        salt_compat.real_salt_is_installed.cache_clear()


def test_interfaces_of_a_tree_do_not_hide_it(tree):
    tree.add(
        "_modules/uses.py",
        "from salt.interfaces.pkg import PkgInterface\nimport salt.utils.files\ndef f(): return PkgInterface.__name__\n",
    )
    assert call(tree, "uses.f") == "PkgInterface"
