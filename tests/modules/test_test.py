from __future__ import annotations

import asyncio
import hashlib

import pytest
from asyncstate.modules import test as module
from plugin_harness import PluginHarness

from asyncstate import __version__
from asyncstate.errors import CommandExecutionError, RunCancelled


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "test")
    return harness


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        ("ping", (), True),
        ("echo", ("x",), "x"),
        ("true", (), True),
        ("false", (), False),
        ("outputter", ([1],), [1]),
        ("version", (), __version__),
    ],
)
def test_known_answers(plugins, function, arguments, expected):
    assert plugins.call(f"test.{function}", *arguments) == expected


def test_arguments(plugins):
    assert plugins.call("test.arg", 1, a="x") == {"args": (1,), "kwargs": {"a": "x"}}
    assert plugins.call("test.arg_repr", 1, a="x") == {"args": "(1,)", "kwargs": "{'a': 'x'}"}
    assert plugins.call("test.arg_type", 1, a="x") == {"args": ["<class 'int'>"], "kwargs": {"a": "<class 'str'>"}}
    assert plugins.call("test.arg_clean", 1, a="x", __b="y") == {"args": (1,), "kwargs": {"a": "x"}}
    assert plugins.call("test.kwarg", a="x") == {"a": "x"}


@pytest.mark.parametrize(("number", "expected"), [(0, 0), (1, 1), (2, 1), (7, 13), ("10", 55)])
def test_fib(plugins, number, expected):
    assert plugins.call("test.fib", number)[0] == expected


def test_fib_of_nothing(plugins):
    with pytest.raises(ValueError, match="Negative"):
        plugins.call("test.fib", -1)


def test_collatz(plugins):
    assert plugins.call("test.collatz", 3)[0] == [3, 10, 5, 16, 8, 4, 2]


def test_failing(plugins):
    with pytest.raises(CommandExecutionError, match="said"):
        plugins.call("test.exception", "said")
    with pytest.raises(OSError, match="x"):
        plugins.call("test.raise_exception", "OSError", "x")
    assert plugins.call("test.raise_exception", "Nonsense") is False
    plugins.call("test.assertion", True)
    with pytest.raises(AssertionError):
        plugins.call("test.assertion", False)


def test_calling_others(plugins):
    assert plugins.call("test.cross_test", "test.echo", ["x"]) == "x"
    assert plugins.call("test.try", "test.echo", text="x") == "x"
    assert plugins.call("test.try", "test.exception") is None
    assert str(plugins.call("test.try", "test.exception", return_try_exception=True)) == "Test Exception"


def test_try_does_not_swallow_a_cancelled_run(plugins):
    from asyncstate.dunders.context import CancelToken

    token = CancelToken()
    token.cancel("SIGINT")
    with plugins.calling(cancel=token), pytest.raises(RunCancelled):
        plugins.salt["test.try"]("test.exception")


def test_retcode(plugins):
    with plugins.calling() as context:
        assert plugins.salt["test.retcode"]() is True
        assert context.retcode == 42


def test_random_hash(plugins):
    assert len(plugins.call("test.random_hash")) == 64
    assert len(plugins.call("test.rand_str", hash_type="md5")) == 32
    assert plugins.call("test.random_hash", size=1) == hashlib.sha256(b"0").hexdigest()


def test_options(plugins):
    assert plugins.call("test.get_opts")["hash_type"] == "sha256"
    assert plugins.call("test.opts_pkg")["hash_type"] == "sha256"


async def test_sleep_can_be_cancelled():
    assert await module.sleep(0) is True
    assert await module.rand_sleep(0) is True
    with pytest.raises(TimeoutError):  # the time limit of the test tells if it could not be cancelled
        async with asyncio.timeout(0.01):
            await module.sleep(600)


def test_provider(plugins):
    files = plugins.services.plugins("modules").files
    files.update(pkg="/x/modules/aptpkg.py", cmd="/x/modules/cmd/__init__.py")
    assert plugins.call("test.provider", "pkg") == "aptpkg"
    assert plugins.call("test.provider", "cmd") == "cmd"
    assert plugins.call("test.provider", "gone") == ""
    plugins.salt = {"pkg.install": None, "cmd.run": None, "test.providers": plugins.salt["test.providers"]}
    files["test"] = "/x/modules/test.py"
    assert plugins.call("test.providers") == {"aptpkg": "pkg", "cmd": "cmd", "test": "test"}


def test_versions(plugins):
    parts = plugins.call("test.versions_information")
    assert parts["asyncstate"] == {"asyncstate": __version__}
    assert "Not Installed" not in parts["Dependency Versions"].values()
    text = plugins.call("test.versions_report")
    assert text == plugins.call("test.versions")
    assert text.startswith("Salt Version:\n")
    assert f"asyncstate: {__version__}\n" in text


def test_a_library_that_is_not_there(plugins, monkeypatch):
    monkeypatch.setattr(module, "_LIBRARIES", ("no-library-of-this-name",))
    assert "Not Installed" in plugins.call("test.versions")


def test_what_tells_of_the_modules(plugins):
    plugins.services.plugins("modules")
    report = plugins.call("test.module_report")
    assert "test.ping" in report["functions"]
    assert "test" in report["modules"]
    assert report["missing_attrs"] == report["missing_subs"] == []
    plugins.salt["grains.items"] = lambda: {"os": "Debian"}
    assert plugins.call("test.attr_call") == {"os": "Debian"}


def test_bundled_files_that_are_not_loaded(plugins):
    found = plugins.call("test.not_loaded")
    assert "aptpkg" in found
    assert not any(name.startswith("_") for name in found)


def test_what_only_tells(plugins, caplog):
    assert plugins.call("test.deprecation_warning") is True
    assert caplog.text.count("deprecation") == 2
    assert "format_stack" in plugins.call("test.stack")
    assert "cmd.tty" in plugins.call("test.tty", "tty0", "text")
