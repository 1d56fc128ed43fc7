"""Every argument of every bundled state has a type, a default or the word that it is required, and a meaning."""

from __future__ import annotations

import re
from typing import Any

from asyncstate.reference.described import Argument, described, meanings
from asyncstate.reference.pages import bundled_modules


def functions():
    """Yield (name, function) of every bundled state."""
    for name, providers in bundled_modules("states").items():
        for provider in providers:
            for function, func in provider.functions.items():
                yield f"{name}.{function}", func


def plain(name: str, mode: Any, *more: str, user: str | None = None, size: dict[str, int] = (), **rest: object) -> None:
    """Do it."""


def test_an_argument_has_type_default_and_meaning():
    texts = meanings()
    found = described("file.plain", plain)
    assert found == [
        Argument("name", "str", "the ID", texts["file.name"]),
        Argument("mode", "any", None, texts["mode"]),
        Argument("user", "str | None", "None", texts["file.user"]),
        Argument("size", "dict[str, int]", "()", texts["file.size"]),
    ]
    assert [each.line for each in found][:2] == ["name: str, default the ID", "mode: any, required"]
    assert described("sky.plain", plain)[0].meaning == ""


def test_the_most_exact_meaning_holds():
    links = [each.meaning for each in described("file.symlink", plain) if each.name == "mode"]
    assert links == [meanings()["file.symlink.mode"]] != [meanings()["mode"]]


def test_every_argument_of_every_bundled_state_is_described():
    missing = [
        f"{name}.{argument.name}"
        for name, func in functions()
        for argument in described(name, func)
        if not argument.meaning or not argument.type
    ]
    assert missing == []
    assert sum(len(described(name, func)) for name, func in functions()) > 1000


def test_no_meaning_is_of_an_argument_that_does_not_exist():
    used = set()
    for name, func in functions():
        module = name.partition(".")[0]
        for argument in described(name, func):
            keys = (f"{name}.{argument.name}", f"{module}.{argument.name}", argument.name)
            used |= {next(key for key in keys if key in meanings())}
    assert sorted(meanings().keys() - used) == []


def test_meanings_are_short_and_plain():
    for name, text in meanings().items():
        assert len(text) < 140, name
        assert not text.endswith("."), name
        assert not re.search(r"\b(TODO|TBD)\b", text), name
