"""Applies confirm `check` on two states that write one file: they undo each other's work, or settle.

A pair is loud if its third apply still changes the file twice. Of edits of a file that the tree does not write as a
whole, only what the file has beforehand decides: there, lint may name a pair that `check` does not.
"""

from __future__ import annotations

import asyncio
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from asyncstate import Settings, StateRuntime

LINES = ["a = 1", "a = 2", "b = 1", "# a = 1", "#b = 1", "port", "  a = 1", "# start", "# end", ""]
PATTERNS = ["a", "^a = .*", "^a = 1$", "b", "^#", "port", "^b", " = ", r"\Aa", "1$"]
KEYS = ["a", "b", "port"]
line = st.sampled_from(LINES)
lines = st.lists(line, max_size=4)
some_lines = st.lists(line, min_size=1, max_size=4)
text = lines.map("\n".join)
pattern = st.sampled_from(PATTERNS)
place = st.sampled_from([{"append_if_not_found": True}, {"prepend_if_not_found": True}, {}])
some_data = st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 2)), min_size=1, max_size=2).map(dict)
data = st.just({}) | some_data
regex = st.sampled_from(["a = 1", "^a", "^b = 1$", "port"])


def state(function, **arguments):
    return st.fixed_dictionaries(arguments).map(
        lambda drawn: (
            f"file.{function}",
            {
                key: value
                for name, given in drawn.items()
                for key, value in (given if name == "more" else {name: given}).items()
            },
        )
    )


managed = st.one_of(
    state("managed", contents=st.one_of(text, some_lines)),
    state("managed", contents=text, contents_newline=st.just(False)),
    state("managed", source=st.sampled_from(["salt://one", "salt://two", "salt://empty"])),
    state("managed", contents=text, replace=st.just(False)),
)
serialize = state(
    "serialize",
    dataset=data,
    serializer=st.sampled_from(["yaml", "json"]),
    more=st.sampled_from([{}, {"merge_if_exists": True}]),
)
edit = st.one_of(
    state("append", text=st.one_of(line, some_lines)),
    state("prepend", text=st.one_of(line, some_lines), more=st.sampled_from([{}, {"header": True}])),
    state("replace", pattern=pattern, repl=line, more=place),
    state("replace", pattern=pattern, repl=line, count=st.just(1), flags=st.just(["IGNORECASE", "MULTILINE"])),
    state("line", content=line, mode=st.sampled_from(["ensure", "insert"]), after=regex),
    state("line", content=line, mode=st.sampled_from(["ensure", "insert"]), before=regex),
    state("line", content=line, mode=st.just("replace"), match=regex),
    state("line", match=regex, mode=st.just("delete")),
    state("line", content=line, mode=st.just("insert"), location=st.sampled_from(["start", "end"])),
    state("comment", regex=regex, more=st.sampled_from([{}, {"char": ";"}])),
    state("uncomment", regex=regex),
    state(
        "blockreplace", marker_start=st.just("# start"), marker_end=st.just("# end"), content=text, more=place
    ),
    state("keyvalue", key_values=some_data, separator=st.sampled_from(["=", " = "]), more=place),
)  # fmt: skip
present = st.none() | text


class Seen(NamedTuple):
    loud: bool
    silent: bool
    certain: bool
    possible: bool


class Files:
    """Applies states to files of their own."""

    def __init__(self, base, runner, runtime):
        self._base = base
        self._runner = runner
        self._runtime = runtime
        self._numbers = count()

    def seen(self, first, second, present, *, require=False):
        rows, found = self._runner.run(self._third([first, second], present, require=require))
        return Seen(
            all(row["result"] is True and row["changes"] for row in rows),
            not any(row["changes"] or not row["result"] for row in rows),
            any(each.certain for each in found),
            any(not each.certain for each in found),
        )

    def settles(self, state, present):
        """Whether a state alone does."""
        (row,), _ = self._runner.run(self._third([state], present))
        return not row["changes"]

    async def _third(self, states, present, *, require=False):
        """Return the rows of the third apply, and what undoes what."""
        path = self._base / f"file{next(self._numbers)}"
        if present is not None:
            path.write_text(present)
        declared = {}
        for number, (function, arguments) in enumerate(states):
            more = {"require": [{"id": "s0"}]} if require and number else {}
            listed = {"name": str(path), **arguments, **more}
            declared[f"s{number}"] = {function: [{key: value} for key, value in listed.items()]}
        plan = await self._runtime.compile_data(declared)
        for _ in range(3):
            async with self._runtime.run(plan, events=False, lock=False) as run:
                pass
        return list(run.report.rows.values()), [each for each in plan.contradictions if each.code == "E430"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    base = tmp_path_factory.mktemp("undone")
    (base / "salt").mkdir()
    for name, content in (("one", "a = 1\nport\n"), ("two", "b = 1"), ("empty", "")):
        (base / "salt" / name).write_text(content)
    settings = Settings(
        file_roots={"base": [str(base / "salt")]},
        pillar_roots={},
        cachedir=str(base / "cache"),
        conf_file=str(base / "minion"),
        journal="off",
    )
    with asyncio.Runner() as runner:
        runtime = runner.run(StateRuntime(settings).__aenter__())
        yield Files(base, runner, runtime)
        runner.run(runtime.__aexit__(None, None, None))


@given(st.one_of(managed, serialize), st.one_of(edit, managed, serialize), present, st.booleans())
def test_a_written_file_and_what_else_is_done_with_it(files, whole, other, present, require):
    seen = files.seen(whole, other, present, require=require)
    assert seen.certain == files.seen(other, whole, present, require=require).certain
    keeps = whole[1].get("replace") is False or other[1].get("replace") is False
    merges = "merge_if_exists" in whole[1]
    assert seen.certain or not seen.loud or ((keeps or merges) and seen.possible) or (keeps and other[0] != whole[0])
    assert not (seen.certain and seen.silent)


@given(edit, edit, present, st.booleans())
@example(("file.append", {"text": "a = 1"}), ("file.replace", {"pattern": "a = 1", "repl": "a = 2"}), None, False)
def test_two_edits(files, one, other, present, require):
    seen = files.seen(one, other, present, require=require)
    if seen.loud and not (seen.certain or seen.possible):
        assert not (files.settles(one, present) and files.settles(other, present))
    assert not (seen.certain and seen.silent)
