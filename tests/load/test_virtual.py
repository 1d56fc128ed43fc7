from __future__ import annotations

import types
from concurrent.futures import ThreadPoolExecutor

import pytest
from messages import said
from odd_values import ERRORS, odd, odd_names

from asyncstate.load.folders import PluginFile, PluginFolder
from asyncstate.load.virtual import Verdict, evaluate


def asked(kind="states", **namespace):
    module = types.ModuleType("m")
    module.__dict__.update(namespace)
    return evaluate(module, PluginFile("file_name", "/x/file_name.py", PluginFolder("/x")), kind)


def raising(error):
    def virtual():
        raise error

    return virtual


@pytest.mark.parametrize(("answer", "name"), [(True, "pkg"), ("different", "pkg"), (False, "pkg")])
def test_a_virtualname_counts_whatever_virtual_says(answer, name):
    assert asked(__virtual__=lambda: answer, __virtualname__="pkg").name == name


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(False, None), (None, None), ("", None), ((False, "because"), "because"), ((False, None), None)],
)
def test_refusals(answer, reason):
    assert asked(__virtual__=lambda: answer) == Verdict(accepted=False, name="file_name", reason=reason)


@pytest.mark.parametrize(("kind", "tag"), [("states", "states"), ("modules", "module"), ("renderers", "render")])
def test_an_exception_is_a_refusal_that_names_the_module_and_says_why(kind, tag):
    verdict = asked(kind, __virtual__=raising(ValueError("vboom")))
    assert verdict.reason == said("virtual", module=f"{tag}.file_name", error="vboom")


def test_sys_exit_is_a_refusal():
    verdict = asked(__virtual__=raising(SystemExit(3)))
    assert not verdict.accepted
    assert verdict.reason.endswith("sys.exit(3)")


def test_a_virtualname_may_be_any_object_with_a_text():
    class Interface:
        def __str__(self):
            return "pkg"

    assert asked(__virtual__=lambda: True, __virtualname__=Interface()).name == "pkg"


@pytest.mark.parametrize("name", ERRORS)
def test_whatever_virtual_raises_is_a_refusal(name):
    def virtual():
        error = ERRORS[name]()
        raise error

    with ThreadPoolExecutor(1) as pool:  # in the main thread a KeyboardInterrupt is the user's
        verdict = pool.submit(asked, __virtual__=virtual).result()
    assert not verdict.accepted
    assert verdict.reason.startswith(said("virtual", module="states.file_name", error=""))


@pytest.mark.filterwarnings("ignore:coroutine")
@pytest.mark.parametrize("name", odd_names)
def test_whatever_virtual_returns_is_a_verdict(name):
    for answer in (odd(name), (odd(name), odd(name))):
        verdict = asked(__virtual__=lambda answer=answer: answer)
        assert type(verdict.accepted) is bool
        assert type(verdict.name) is str
        assert verdict.reason is None or type(verdict.reason) is str


def test_ctrl_c_while_a_plugin_is_asked_ends_the_program():
    with pytest.raises(KeyboardInterrupt):
        asked(__virtual__=raising(KeyboardInterrupt()))
