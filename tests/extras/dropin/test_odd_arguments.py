"""Odd arguments of functions: a message or an answer, never a bug."""

from __future__ import annotations

import pytest

from asyncstate.extras.dropin.showing import SHOWING
from asyncstate.extras.dropin.states import RUNNING

ODD = ["5", "[1, {a: 2}]", "{a: 1, 2: [b]}", "None", "", "a.b", "True", "../x", "nosuch"]


@pytest.mark.parametrize("name", [*RUNNING, *SHOWING])
def test_an_odd_value_is_no_internal_error(salt_call, name):
    for value in ODD:
        for words in ([value], [value, value], [value, value, value]):
            done = salt_call("--out=json", f"state.{name}", *words, "test=True")
            assert done.code in {0, 1, 2}, (words, done.errors)


@pytest.mark.parametrize(
    "keyword", ["saltenv", "pillarenv", "pillar", "exclude", "queue", "localconfig", "test", "mock", "terse", "name"]
)
def test_an_odd_keyword_is_no_internal_error(salt_call, keyword):
    for value in ODD:
        for function in (["apply", "ok"], ["highstate"], ["show_sls", "ok"], ["single", "test.nop"]):
            words = [f"{keyword}={value}"] + (["test=True"] if keyword != "test" else [])
            done = salt_call("--out=json", f"state.{function[0]}", *function[1:], *words)
            assert done.code in {0, 1, 2}, (function, words, done.errors)
