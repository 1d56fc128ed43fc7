"""Every argument of every bundled state has a type, a default or the word that it is required, a meaning, an example."""

from __future__ import annotations

import re
from typing import Any

from asyncstate.extras.manual.described import Argument, described
from asyncstate.extras.manual.entries import Entry, entries, entry_of, example_of
from asyncstate.extras.manual.values import keywords_of
from docs.bundled import bundled_modules


def functions():
    """Yield (name, function) of every bundled state."""
    for name, providers in bundled_modules("states").items():
        for provider in providers:
            for function, func in provider.functions.items():
                yield f"{name}.{function}", func


def plain(
    name: str,
    mode: Any,
    *more: str,
    user: str | None = None,
    size: dict[str, int] = (),
    drop: bool = True,
    **rest: object,
) -> None:
    """Do it."""


def test_an_argument_has_type_default_meaning_and_example():
    known = entries()
    found = described("file.plain", plain)
    assert found == [
        Argument("name", "str", "the ID", known["file.name"].meaning, ("- name: /etc/app.conf",)),
        Argument("mode", "any", None, known["mode"].meaning, ("- mode: '0644'",)),
        Argument("user", "str | None", "None", known["file.user"].meaning, ("- user: root",)),
        Argument("size", "dict[str, int]", "()", known["file.size"].meaning, ("- size: 10M",)),
        Argument("drop", "bool", "True", "", ("- drop: False",)),
    ]
    assert [each.line for each in found][:2] == ["name: str, default the ID", "mode: any, required"]
    assert described("sky.plain", plain)[0].meaning == ""


def test_the_most_exact_entry_holds():
    links = [each.meaning for each in described("file.symlink", plain) if each.name == "mode"]
    assert links == [entries()["file.symlink.mode"].meaning] != [entries()["mode"].meaning]
    assert entry_of("file.directory", "name") == Entry(entries()["file.name"].meaning, "/srv/app", "path")


def test_an_example_brings_what_it_needs():
    assert example_of("file.managed", "defaults") == {"defaults": "{port: 80}", "template": "jinja"}
    assert len(example_of("file.directory", "recurse")) == 3
    assert example_of("sky.plain", "colour") == {}


def test_every_argument_of_every_bundled_state_is_described():
    missing = [
        f"{name}.{argument.name}"
        for name, func in functions()
        for argument in described(name, func)
        if not argument.meaning or not argument.type
    ]
    assert missing == []
    assert sum(len(described(name, func)) for name, func in functions()) > 1000


def test_nothing_is_written_of_an_argument_that_does_not_exist():
    used = set()
    for name, func in functions():
        module = name.partition(".")[0]
        for argument in (*(each.name for each in described(name, func)), *keywords_of(func)):
            keys = (f"{name}.{argument}", f"{module}.{argument}", argument)
            for part in Entry.__struct_fields__:
                used |= set([key for key in keys if key in entries() and getattr(entries()[key], part)][:1])
    assert sorted(entries().keys() - used) == []


def test_meanings_are_short_and_plain():
    for name, entry in entries().items():
        text = entry.meaning
        assert len(text) < 140, name
        assert not text.endswith("."), name
        assert not re.search(r"\b(TODO|TBD)\b", text), name
