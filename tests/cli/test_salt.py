from __future__ import annotations

import math
import re

import click
import pytest
from messages import said as said_of
from tables import beside

from asyncstate.cli.settings import (
    MappingType,
    fold_keywords,
    keyword,
    parse_value,
    sls_names,
    split_arguments,
)

TABLES = beside(__file__)


@pytest.mark.parametrize(
    ("text", "value"),
    TABLES["parse value reads yaml where nothing is lost"],
)
def test_parse_value_reads_yaml_where_nothing_is_lost(text, value):
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


def test_keyword():
    assert keyword("a=b=c") == ("a", "b=c")
    assert keyword("a=line\nline") == ("a", "line\nline")
    assert keyword("/path=x") is None
    assert keyword("plain") is None


def test_split_arguments():
    positional, keywords = split_arguments(["uname -a", "cwd=/", "n=3", "http://x/?a=b"])
    assert positional == ["uname -a", "http://x/?a=b"]
    assert keywords == {"cwd": "/", "n": 3}


def test_fold_keywords_takes_salts_spelling():
    options = {"test": None, "exclude": ("id:x",)}
    words = ["web", "test=True", "pillar={'a': 1}", "saltenv=dev", "exclude=[{'id': y}, z]", "name=kept"]
    accepted = ("test", "pillar", "saltenv", "exclude")
    assert fold_keywords(words, options, accepted) == ["web", "name=kept"]
    assert options == {"test": True, "pillar": {"a": 1}, "saltenv": "dev", "exclude": ("id:x", {"id": "y"}, "z")}


@pytest.mark.parametrize(
    ("word", "taken"),
    [
        ("mock=True", {"mock": True}),
        ("mock=False", {"mock": False}),
        ("queue=True", {"wait": math.inf}),
        ("queue=3", {"wait": math.inf}),
        ("queue=False", {"wait": 0.0}),
        ("queue=0", {"wait": 0.0}),
        ("localconfig=/etc/mine.yaml", {"localconfig": "/etc/mine.yaml"}),
    ],
)
def test_keywords_of_a_run(word, taken):
    options = {}
    assert fold_keywords([word], options, ("mock", "queue", "localconfig")) == []
    assert options == taken


@pytest.mark.parametrize("words", [["test=maybe"], ["pillar=[1]"], ["pillar={"]])
def test_fold_keywords_refuses_nonsense(words):
    with pytest.raises(click.UsageError):
        fold_keywords(words, {}, ("test", "pillar"))


def test_sls_names_are_split_at_commas():
    assert sls_names(["web,db", "mail"]) == ["web", "db", "mail"]
    with pytest.raises(click.UsageError, match="empty"):
        sls_names(["web,,db"])
    with pytest.raises(click.UsageError, match="tset=True: no such keyword"):
        sls_names(["tset=True"])


def test_a_mapping_is_json_or_yaml():
    kind = MappingType()
    assert kind.convert('{"a": [1, null]}', None, None) == {"a": [1, None]}
    assert kind.convert("a: yes", None, None) == {"a": True}
    with pytest.raises(click.BadParameter, match=r"expected a mapping.*got list"):
        kind.convert("[1]", None, None)
    with pytest.raises(click.BadParameter, match="neither JSON nor YAML"):
        kind.convert("{", None, None)


def test_a_mapping_in_a_file(tmp_path):
    kind = MappingType(from_file=True)
    file = tmp_path / "grains.yaml"
    file.write_text("os: Debian\n")
    assert kind.convert(str(file), None, None) == {"os": "Debian"}
    with pytest.raises(click.BadParameter, match=r"cannot read .*missing: No such file"):
        kind.convert(str(tmp_path / "missing"), None, None)
    for text, said in {
        "a: 1\nb: [1\nc: 2\n": r":3: neither JSON nor YAML: (?s:.*)" + said_of("bracket-open"),
        "a: 1\na: 2\n": r":2: neither JSON nor YAML: (?s:.*)a key stands twice",
        "- a\n": ": expected a mapping.*got list",
        "": ": expected a mapping.*got nothing",
        "[" * 200 + "]" * 200: ": nested deeper than 100 levels",
    }.items():
        file.write_text(text)
        with pytest.raises(click.BadParameter, match=re.escape(str(file)) + said):
            kind.convert(str(file), None, None)
    file.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(click.BadParameter, match="cannot read"):
        kind.convert(str(file), None, None)
