from __future__ import annotations

import asyncio

import pytest
from asyncstate.modules import test as module
from plugin_harness import PluginHarness

from asyncstate import __version__
from asyncstate.errors import RunCancelled


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "test")
    return harness


def test_an_exception_that_was_caught(plugins):
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
    assert plugins.call("test.version") == __version__
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


def test_bundled_files_that_are_not_loaded(plugins):
    found = plugins.call("test.not_loaded")
    assert "aptpkg" in found
    assert not any(name.startswith("_") for name in found)
