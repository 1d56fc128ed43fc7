import ast
import re
from pathlib import Path

import pytest

import asyncstate
from asyncstate.pattern import lazy_pattern


def test_it_is_compiled_on_first_use(monkeypatch):
    compiled = []
    monkeypatch.setattr(re, "compile", lambda *args: compiled.append(args) or re._compile(*args))
    found = lazy_pattern("A+", re.IGNORECASE)
    assert compiled == []
    assert found.fullmatch("aA")[0] == "aA"
    assert compiled == [("A+", re.IGNORECASE)]
    found.fullmatch("a")
    assert len(compiled) == 1


@pytest.mark.parametrize("text", ["b", b"b"], ids=["text", "bytes"])
def test_it_has_the_methods_of_a_pattern(text):
    found, original = lazy_pattern(text), re.compile(text)
    assert (found.pattern, found.flags, found.sub(text, text * 2)) == (original.pattern, original.flags, text * 2)
    with pytest.raises(AttributeError, match="no attribute 'matches'"):
        found.matches  # noqa: B018 - reading it is what is tested


def test_each_pattern_of_the_package_can_be_compiled():
    calls = [
        node
        for path in Path(asyncstate.__file__).parent.rglob("*.py")
        if b"lazy_pattern" in (source := path.read_bytes())
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "lazy_pattern"
    ]
    texts = [call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)]
    assert len(texts) > 30
    for text in texts:
        re.compile(text)
