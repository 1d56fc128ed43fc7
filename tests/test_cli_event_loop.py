"""Which event loop the command line runs on."""

import asyncio

import pytest

from asyncstate.cli import event_loop
from asyncstate.cli.event_loop import loop_factory, run_on
from asyncstate.errors import ConfigError


async def kind_of_loop():
    return type(asyncio.get_running_loop()).__module__.partition(".")[0]


@pytest.fixture
def without_uvloop(monkeypatch):
    monkeypatch.setattr(event_loop, "find_spec", lambda name: None)


@pytest.mark.feature("F139")
@pytest.mark.parametrize(("wanted", "loop"), [("auto", "uvloop"), ("uvloop", "uvloop"), ("asyncio", "asyncio")])
def test_where_uvloop_is_installed_it_is_taken_unless_asyncio_is_wanted(wanted, loop):
    assert run_on(wanted, kind_of_loop()) == loop


@pytest.mark.feature("F139")
def test_without_uvloop_asyncio_does(without_uvloop):
    assert loop_factory("auto") is None
    assert run_on("auto", kind_of_loop()) == "asyncio"


def test_uvloop_that_must_be_there_and_is_not(without_uvloop):
    with pytest.raises(ConfigError, match=r"pip install 'asyncstate\[fast\]'"):
        run_on("uvloop", kind_of_loop())
