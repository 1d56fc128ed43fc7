"""Command lines beside the real ``salt-call``: the same exit code, and the same standard output.

``tests/support/record_salt_call.py`` has recorded what Salt 3008 answers.
"""

from __future__ import annotations

import json
import re

import pytest
from record_salt_call import HERE, PLACE, command_lines, words

from asyncstate.cli import main

OUTCOMES = json.loads((HERE / "outcomes.json").read_text(encoding="utf-8"))
_OWN_WORDS = "a wrong call prints the documentation of the function, which is our own"
_NO_MINION = "there is no minion that must be told, so nothing fails"
_NO_COPY = "plugins are read where they are, so there is nothing to copy"
KNOWN = {
    "test.echo": _OWN_WORDS,
    "test.echo a b c": _OWN_WORDS,
    "state.sls": _OWN_WORDS,
    "state.single test.nop": _OWN_WORDS,
    "state.sls_id nothing ok": _OWN_WORDS,
    "state.apply pillar='[1]'": _OWN_WORDS,
    "pillar.obfuscate": "the types are those of the values, not of the asterisks that hide them",
    "cp.is_cached salt://hello.txt": "a file of the tree is where it is, without a copy",
    "saltutil.refresh_modules": _NO_MINION,
    "saltutil.refresh_pillar": _NO_MINION,
    "event.send 'my/tag' '{a: 1}'": _NO_MINION,
    "saltutil.sync_all --out=json": _NO_COPY,
    "saltutil.sync_modules --out=json": _NO_COPY,
    "cmd.retcode 'false'": "a command must be text, and this is a truth value",
    "state.apply ok terse=True --out=json": "Salt exits with 1 although nothing failed",
    "state.low '{state: test, fun: nop, name: low, __id__: low}' --out=json": "Salt always exits with 1",
    "state.apply badyaml": "the message shows the line",
    "state.apply misspelt": "each row has its time",
    "state.apply misspelt --out=json": "each row has its time",
}
"""Command line -> why the answer is another one."""
CHANGING = (
    (re.compile(r"\d\d:\d\d:\d\d\.\d{6}"), "TIME"),
    (re.compile(r"\b20\d{18}\b"), "JID"),
    (re.compile(r"""((?:duration|pid)["']?: )[\d.e-]+(?: ms)?""", re.IGNORECASE), r"\1 0"),
    (re.compile(r"(?<=pid:\n)( +)\d+"), r"\1 0"),
    (re.compile(r"(Total run time: ) *[\d.]+ m?s"), r"\1 0"),
    (re.compile(r"\b\d\.\d+(?:e-\d+)?$", re.MULTILINE), "0.0"),
)
"""What differs between two runs of one program."""


def _settled(text, root):
    text = text.replace(str(root), PLACE)
    for pattern, settled in CHANGING:
        text = pattern.sub(settled, text)
    return text


def _comparable(text):
    """Return data for JSON, of which the order of keys is no part."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def test_the_recorded_command_lines_are_those_of_the_list():
    assert set(OUTCOMES) == set(command_lines())


@pytest.mark.parametrize("line", [line for line in command_lines() if line not in KNOWN])
def test_a_command_line_is_answered_as_by_salt(root, capfd, line):
    code = main(["salt-call", *words(line, root)])
    out, _ = capfd.readouterr()
    wanted = OUTCOMES[line]
    assert code == wanted["exit"]
    assert _comparable(_settled(out, root)) == _comparable(_settled(wanted["stdout"], root))
