"""The table of programs is sound: every word of it is one that the reader knows."""

import re

from tables import rows

from asyncstate.data.commands import effects_of, programs
from asyncstate.data.commands.caller import SHELLS
from asyncstate.data.commands.irregular import IRREGULAR

OPERAND = re.compile(
    r"(?:[rwmtxgc]|script|owner|account|user|group|service|kmod|swap|docker:container|daemon!|container!|prefix)!?\*?$"
)
OPTION = re.compile(r"[rwxpPdDfi@]|mode|prefix|user|groups?|cron!|alternatives!|docker:container!")
RESOURCE = re.compile(r"path:[/~].+|[a-z]+|(?:service|systemd|docker|locale|sysctl):[a-z0-9]+|git-config:")


def every_use():
    for names, spec in [*programs._lines(programs._TABLE), *programs._lines(programs._PREFIXES)]:
        yield names, programs._program(spec)


@rows(("names", "use"), list(every_use()))
def test_every_line_has_known_words(names, use):
    assert all(map(OPERAND.fullmatch, use.operands)), names
    assert all(map(OPTION.fullmatch, use.options.values())), names
    assert all(map(RESOURCE.fullmatch, (*use.reads, *use.writes))), names
    assert sum(operand.endswith("*") for operand in use.operands) <= 1


def test_no_line_is_hidden_by_another():
    seen = set()
    for names, _ in programs._lines(programs._TABLE):
        called, _, words = names.partition(" / ")
        for program in called.split():
            hidden = set(words.split() or [""]) & {word for name, word in seen if name == program}
            assert not hidden, f"{program}: {hidden}"
            seen.update((program, word) for word in words.split() or [""])
            assert program not in SHELLS | IRREGULAR.keys(), names


@rows("program", sorted(programs._known()))
def test_every_program_can_be_called(program):
    for words in ("", "a", "-a b", "/a /b /c", "--x=/y -- z"):
        effects_of(f"{program} {words}", "/w")


def test_a_use_inherits_options():
    use, words = programs.use_of("git", ["-C", "/r", "pull"])
    assert use.options["-C"] == "d"
    assert words == ["-C", "/r"]
    assert programs.use_of("unheard-of", ["x"]) == (None, ["x"])
