"""What file states make of a text, as far as the tree tells."""

import pytest
from tables import rows
from trees import plan

from asyncstate.errors import CommandExecutionError
from asyncstate.extras.contradictions.lines_of_entries import OnlyARunKnows
from asyncstate.extras.contradictions.texts import writer
from asyncstate.model.chunk import LowChunk

ZONE = "#-- start managed zone --\n%s#-- end managed zone --\n"


def written_by(function, accumulated=False, **args):
    state, _, fun = function.partition(".")
    chunk = LowChunk(0, state, fun, "i", "/x", "s", "base", 0, args)
    return writer(chunk, lambda chunk: "of a source\n", accumulated=accumulated)


@rows(
    ("fun", "args", "before", "after"),
    [
        ("append", {"text": ["a", "b"]}, "b\n", "b\na\n"),
        ("append", {"text": "a"}, "b\na", "b\na"),
        ("prepend", {"text": ["a", "b"]}, "b\n", "a\nb\n"),
        ("prepend", {"text": ["a", "b"], "header": True}, "b\na\n", "a\nb\nb\na\n"),
        ("replace", {"pattern": "a", "repl": "b", "count": 1}, "aa", "ba"),
        ("line", {"content": "a", "mode": "insert", "location": "start"}, "b\n", "a\nb\n"),
        ("line", {"content": "a", "mode": "insert", "before": "b", "indent": False}, "  b\n", "a\n  b\n"),
        ("line", {"content": "a", "mode": "delete"}, "a\nNone\n", "None\n"),
        ("comment", {"regex": "^a$", "char": ";"}, "b\na\nc\n", "b\n;a\nc\n"),
        ("uncomment", {"regex": "^a$"}, "b\n#a\nc\n", "b\na\nc\n"),
        ("uncomment", {"regex": "^a"}, "b\na\n", "b\na\n"),
        ("comment", {"regex": "^a", "ignore_missing": True}, "b\n", "b\n"),
        ("blockreplace", {"content": "c"}, "a\n" + ZONE % "b\n", "a\n" + ZONE % "c\n"),
        ("blockreplace", {"content": "c", "append_newline": False}, ZONE % "b\n", ZONE.replace("%s", "c")),
        ("blockreplace", {}, ZONE % "b\n", ZONE % "\n"),
        ("blockreplace", {"marker_start": "<", "marker_end": ">", "content": "c"}, "<\n>\n", "<\nc\n>\n"),
        ("keyvalue", {"key": "a", "value": 2}, "b=1\na=1\nc=1\n", "b=1\na=2\nc=1\n"),
        ("keyvalue", {"key": "a", "value": 2, "count": 2}, "a=1\na=1\n", "a=2\na=2\n"),
        ("keyvalue", {"key": "a", "value": 2, "uncomment": "#"}, "#a=1\n", "a=2\n"),
        ("keyvalue", {"key": "a", "value": "x", "key_ignore_case": True}, "A=1\n", "A=x\n"),
        ("keyvalue", {"key": "a", "value": "x", "value_ignore_case": True}, "a=X\n", "a=X\n"),
        ("keyvalue", {"key": "a", "value": 1, "prune": True}, "a=1\nb=1\n", "a=1\n"),
        ("keyvalue", {"key": "a", "value": 1, "prepend_if_not_found": True}, "b=1\n", "a=1\nb=1\n"),
        ("keyvalue", {"key": "a", "value": 1, "append_if_not_found": True}, "a=1\r\n", "a=1\r\n"),
        ("serialize", {"dataset": {"b": 2}, "merge_if_exists": True}, "a: 1\n", "a: 1\nb: 2\n"),
        ("serialize", {"dataset": {"b": 2}, "merge_if_exists": True}, "b:  2\n", "b:  2\n"),
        ("serialize", {"dataset": {"b": 2}, "serializer": "JSON", "serializer_opts": [{"indent": 1}]}, "", '{\n "b": 2\n}\n'),
        ("serialize", {"dataset": {"b": 2}, "serializer": "json", "merge_if_exists": True}, '{"b":2}', '{"b":2}'),
        ("serialize", {"dataset": {"b": 2}, "serializer": "json", "merge_if_exists": True, "deserializer_opts": {"no_option": 1}}, '{"a": 1}', CommandExecutionError),
        ("managed", {"contents": "a", "contents_newline": False}, "", "a"),
        ("replace", {"pattern": "b", "repl": "c"}, "a" * 4096, "a" * 4096),
        ("replace", {"pattern": "b", "repl": "c"}, "a" * 4097, OnlyARunKnows),
        ("append", {"text": "a"}, "b\n" * 4096, "b\n" * 4096 + "a\n"),
        ("blockreplace", {"accumulated": True, "content": "c"}, ZONE % "", OnlyARunKnows),
    ],
)  # fmt: skip
def test_what_a_state_makes_of_a_text(fun, args, before, after):
    edit = written_by(f"file.{fun}", **args).edit
    if isinstance(after, str):
        assert edit(before) == after
    else:
        with pytest.raises(after):
            edit(before)


NOT_EACH_TIME, WHOLE, PART = None, (True, True), (False, True)
UNKNOWN_TEXT, UNKNOWN_PART = (True, False), (False, False)


@rows(
    ("function", "args", "expected"),
    [
        ("file.managed", {"contents": "a"}, WHOLE),
        ("file.managed", {"contents": []}, UNKNOWN_TEXT),
        ("file.managed", {"source": ["salt://a", "salt://b"]}, UNKNOWN_TEXT),
        ("file.serialize", {"dataset": {"a": 1}, "encoding": "latin-1"}, UNKNOWN_TEXT),
        ("file.decode", {"encoded_data": "a"}, UNKNOWN_TEXT),
        ("file.copy", {"source": "/y", "force": True, "subdir": True}, NOT_EACH_TIME),
        ("file.append", {"text": "a"}, PART),
        ("file.append", {"text": "a", "ignore_whitespace": False}, UNKNOWN_PART),
        ("file.append", {"text": "a", "encoding": "latin-1"}, UNKNOWN_PART),
        ("file.append", {"text": "a", "source": "salt://a"}, UNKNOWN_PART),
        ("file.append", {"text": "a", "sources": ["salt://a"]}, UNKNOWN_PART),
        ("file.append", {"text": "a", "accumulated": True}, UNKNOWN_PART),
        ("file.line", {"mode": "insert"}, NOT_EACH_TIME),
        ("cron.file", {"template": "jinja"}, UNKNOWN_TEXT),
        ("x509.certificate_managed", {"encoding": "pkcs7_pem"}, PART),
        ("x509.certificate_managed", {"encoding": "der"}, UNKNOWN_PART),
        ("host.present", {"ip": "192.0.2.7"}, PART),
    ],
)
def test_what_is_known_of_a_writer(function, args, expected):
    found = written_by(function, **args)
    assert (found and (found.whole, found.edit is not None)) == expected
    assert not found or found.chunk.function == function


@rows(
    ("fun", "args", "sample"),
    [
        ("append", {"text": "a"}, ""),
        ("prepend", {"text": "a"}, ""),
        ("line", {"content": "a", "mode": "ensure", "after": "b", "before": "c"}, "b\na\nc\n"),
        ("comment", {"regex": "^aX$"}, "aX\n"),
        ("uncomment", {"regex": "^a$"}, "#a\n"),
        ("keyvalue", {"key_values": {"a": 1, "b": 2}}, "a=1\nb=2\n"),
        ("serialize", {"dataset": {"a": 1}, "merge_if_exists": True}, "a: 1\n"),
    ],
)
def test_a_text_in_which_a_state_has_something_to_do(fun, args, sample):
    assert written_by(f"file.{fun}", **args).sample == sample


def test_of_many_states_those_with_an_unknown_text_are_compared_with_all():
    one, other = (f"file.managed: [{{name: /x}}, {{contents_pillar: {key}}}]" for key in "ab")
    replacing = "file.replace: [{name: /x}, {pattern: a}, {repl: a}]"
    states = [replacing, one, *[replacing] * 6, other, replacing]
    made = plan("\n".join(f"s{index}: {{{each}}}" for index, each in enumerate(states)), ["s"])
    pairs = {(min(first, second), max(first, second)) for first in (1, 8) for second in range(10) if second != first}
    assert {(each.first, each.second) for each in made.contradictions} == pairs


def test_of_many_states_one_that_undoes_the_one_before_it_is_found():
    appending = [f"file.append: [{{name: /x}}, {{text: line {each}}}]" for each in range(10)]
    states = [*appending[:4], "file.replace: [{name: /x}, {pattern: line 3$}, {repl: other}]", *appending[4:]]
    made = plan("\n".join(f"s{index}: {{{each}}}" for index, each in enumerate(states)), ["s"])
    assert [(each.first, each.second) for each in made.contradictions] == [(3, 4)]
