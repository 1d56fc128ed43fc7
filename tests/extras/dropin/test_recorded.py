"""Command lines beside the real ``salt-call``: the same exit code, and the same standard output.

``tests/extras/support/record_salt_call.py`` has recorded the answers of Salt 3008.
"""

from __future__ import annotations

import json
import re

import pytest
from record_salt_call import HERE, PLACE, command_lines, words

from asyncstate.cli import main

OUTCOMES = json.loads((HERE / "outcomes.json").read_text(encoding="utf-8"))
_TEXT = "`__id__` is always text"
_OWN_WORDS = "a wrong call prints the documentation of the function, which is our own"
_NO_MINION = "there is no minion that must be told, so nothing fails"
_NO_PAUSE = "Salt notes it for a run that may not exist; here it is refused, as no run would heed it"
_NO_COPY = "plugins and files of the tree are read where they are, so there is nothing to copy"
KNOWN = {
    "test.echo": _OWN_WORDS,
    "state.single test.nop": _OWN_WORDS,
    "state.apply pillar='[1]'": _OWN_WORDS,
    "pillar.obfuscate": "the types are those of the values, not of the asterisks that hide them",
    "cp.is_cached salt://hello.txt": "a file of the tree is where it is, without a copy",
    "saltutil.refresh_pillar": _NO_MINION,
    "state.single file.cached salt://hello.txt --out=raw": _NO_COPY,
    "event.send 'my/tag' '{a: 1}'": _NO_MINION,
    "saltutil.sync_all --out=json": _NO_COPY,
    "state.apply ok terse=True --out=json": "Salt exits with 1 although nothing failed",
    "state.apply nothing --out=json": "Salt exits with 1 although nothing failed",
    "state.low '{state: test, fun: nop, name: low, __id__: low}' --out=json": "Salt always exits with 1",
    "state.show_low_sls ordered --out=json": "it goes through the whole compiler",
    "state.sls_id nosuch ok": _OWN_WORDS,
    "state.sls_id before prereqs --out=txt": "what a prereq comes before is applied, too",
    "state.pause 20200101000000000000": _NO_PAUSE,
    "state.soft_kill 20200101000000000000": _NO_PAUSE,
    "state.single cmd.run name=false --out=txt": _TEXT,
    "saltutil.update": "it says what is to be done here",
    "saltutil.mmodule base test.ping": "Salt does not find the function on a minion without a master",
    "saltutil.cmd_iter x test.ping": "it is refused, as saltutil.cmd is, where no fleet is",
    "sys.list_renderers --out=json": "some renderers of Salt are not here",
    "state.apply retried --out=txt": "__run_num__ does not count the attempts",
    "state.apply badyaml": "the message shows the line",
    "state.apply misspelt,nosuch --out=nested": "all mistakes are told at once",
}
"""Command line -> why the answer is another one."""
CHANGING = (
    (re.compile(r"\d\d:\d\d:\d\d\.\d{6}"), "TIME"),
    (re.compile(r"\b20\d{18}\b"), "JID"),
    (re.compile(r"""((?:duration|pid)["']?: )[\d.e-]+(?: ms)?""", re.IGNORECASE), r"\1 0"),
    (re.compile(r"(?<=pid:\n)( +)\d+"), r"\1 0"),
    (re.compile(r"(Total run time: ) *[\d.]+ m?s"), r"\1 0"),
    (re.compile(r"\b\d+\.\d+(?:e-\d+)?(?=\)?$)", re.MULTILINE), "0.0"),
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


def test_at_least_95_of_100_command_lines_are_answered_as_by_salt():
    assert set(KNOWN) <= set(OUTCOMES)
    assert len(KNOWN) / len(OUTCOMES) < 0.05


@pytest.mark.parametrize("line", KNOWN)
def test_a_known_difference_is_one(root, capfd, line):
    code = main(["salt-call", *words(line, root)])
    wanted = OUTCOMES[line]
    out, _ = capfd.readouterr()
    assert (code, _settled(out, root)) != (wanted["exit"], _settled(wanted["stdout"], root))


@pytest.mark.parametrize("line", [line for line in KNOWN if KNOWN[line] is _TEXT])
def test_what_is_false_is_a_name_and_only_its_id_is_text(root, capfd, line):
    code = main(["salt-call", *words(line, root)])
    out, _ = capfd.readouterr()
    assert code == OUTCOMES[line]["exit"]
    without_id = [re.sub(r", '__id__': .*", "", _settled(text, root)) for text in (out, OUTCOMES[line]["stdout"])]
    assert without_id[0] == without_id[1]
