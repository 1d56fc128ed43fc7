"""An interpreter that follows a script without running it: folders, variables, redirections, nested commands."""

from __future__ import annotations

import re
from itertools import islice, product
from typing import TYPE_CHECKING

from asyncstate.data.commands import syntax
from asyncstate.data.commands.caller import Caller
from asyncstate.data.commands.syntax import Token, Unreadable, plain_words, read_script

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from asyncstate.data.commands.found import Found
    from asyncstate.data.commands.paths import Folders

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=", re.DOTALL)
_MARKED = re.compile(f"{syntax.EMPTY}|([{syntax.VARIABLE}{syntax.QUOTED_VARIABLE}])([^{syntax.END}]*){syntax.END}")
_BEGINS = frozenset({"if", "while", "until", "case", "for", "select"})
_GOES_ON = frozenset({"then", "do", "else", "elif", "{", "!", "time", "coproc"})
_ENDS = frozenset({"fi", "done", "esac", "}"})
_SYNTAX = _BEGINS | _GOES_ON | _ENDS | {"function", "case"}
_DECLARES = frozenset({"export", "readonly", "local", "declare", "typeset"})
_MOST_WORDS = 64
_MOST_BRACES = 12
_PLAIN_BRACES = str.maketrans({syntax.BRACE: "{", syntax.COMMA: ",", syntax.END_BRACE: "}"})
_SPLIT = "\ufdda"
_BLANKS = re.compile(r"\s+")
_GLOB = re.compile(r"[*?]|\[(?=[^\]]+\])")


class _Reading:
    """The parsed part of a command and of the syntax around it."""

    __slots__ = ("at_pattern", "cases", "in_array", "loop", "redirection", "redirections", "words")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.redirections: list[tuple[str, str]] = []
        self.redirection = ""
        self.loop: list[str] | None = None
        self.cases = 0
        self.at_pattern = False
        self.in_array = False


class Shell:
    """A shell that reads a script without running it.

    ``variables`` has all possible values of each known variable. ``depth`` counts nested shells.
    """

    def __init__(
        self, found: Found, folders: Folders, variables: Mapping[str, tuple[str, ...]], depth: int = 0
    ) -> None:
        self._found = found
        self._folders = folders
        self._variables = dict(variables)
        self._depth = depth
        self._saved: list[tuple[Folders, dict[str, tuple[str, ...]]]] = []
        self._conditions = 0
        self._perhaps = False
        self._functions: set[str] = set()

    def run(self, text: str) -> None:
        """Note the effects of a script's commands."""
        words = plain_words(text)
        if words and words[0] not in _SYNTAX:
            self._simple(words, [])
            return
        try:
            tokens = read_script(text, self._depth)
        except Unreadable as error:
            self._found.open(f"its text is no shell script that can be read: {error}")
            return
        self._follow(tokens)

    def _follow(self, tokens: list[Token]) -> None:
        reading = _Reading()
        for kind, text in tokens:
            if kind == syntax.WORD:
                self._word(reading, text if len(text) > 1 else text.translate(_PLAIN_BRACES))
            elif kind == syntax.REDIRECTION:
                reading.redirection = text
            elif kind == syntax.BODY:
                self._body(text)
            elif kind == syntax.NESTED:
                self._inner(text)
            elif reading.in_array or reading.at_pattern:
                reading.in_array = reading.in_array and text != ")"
                reading.at_pattern = reading.at_pattern and text != ")"
            elif text == "(" and reading.words:
                self._bracket_after(reading)
            else:
                self._end(reading)
                self._operator(text)
                reading.at_pattern = reading.cases > 0 and text.startswith(";;")
        self._end(reading)

    def _word(self, reading: _Reading, text: str) -> None:
        """Interpret a word: of a command, or of the syntax around commands."""
        if reading.redirection:
            reading.redirections.append((reading.redirection, text))
            reading.redirection = ""
        elif reading.in_array:
            pass
        elif reading.loop is not None:
            if text == "do" and len(reading.loop) == 1:
                self._end(reading)
            else:
                reading.loop.append(text)
        elif reading.at_pattern:
            if text == "esac":
                reading.at_pattern = False
                self._esac(reading)
        elif reading.words:
            if reading.words[0] == "case" and text == "in":
                reading.words = []
                reading.cases, reading.at_pattern = reading.cases + 1, True
            else:
                reading.words.append(text)
        elif text in _BEGINS:
            self._conditions += 1
            if text in {"for", "select"}:
                reading.loop = []
            elif text == "case":
                reading.words.append(text)
        elif text == "esac":
            self._esac(reading)
        elif text in _ENDS:
            self._conditions = max(0, self._conditions - (text != "}"))
        elif text not in _GOES_ON:
            reading.words.append(text)

    def _esac(self, reading: _Reading) -> None:
        reading.cases = max(0, reading.cases - 1)
        self._conditions = max(0, self._conditions - 1)

    def _bracket_after(self, reading: _Reading) -> None:
        """Interpret the bracket of ``name() …`` or of ``NAME=(…)``."""
        name = _ASSIGNMENT.match(reading.words[-1])
        if name is not None:
            reading.in_array = True
            self._forget(name.group(1))
            reading.words = reading.words[:-1]
        else:
            self._functions.add(reading.words[-1])
            self._forget_arguments()
            reading.words = []
            self._saved.append((self._folders, dict(self._variables)))

    def _end(self, reading: _Reading) -> None:
        """Interpret the command that ends here."""
        if reading.loop is not None:
            self._loop(reading.loop)
            reading.loop = None
        if reading.words or reading.redirections:
            words, redirections = reading.words, reading.redirections
            reading.words, reading.redirections = [], []
            self._simple(words, redirections)
        reading.redirection = ""

    def _operator(self, text: str) -> None:
        if text == "(":
            self._saved.append((self._folders, dict(self._variables)))
        elif text == ")":
            if self._saved:
                self._folders, self._variables = self._saved.pop()
        else:
            self._perhaps = text == "||" or (self._perhaps and text == "&&")

    def _inner(self, script: str) -> None:
        """Follow a script in a subshell."""
        Shell(self._found, self._folders, self._variables, self._depth + 1).run(script)

    def _body(self, body: str) -> None:
        """Follow the here-document of a shell; for other programs, its lines are no commands."""
        if self._found.reads_script:
            self._found.reads_script = False
            self._inner(body)

    def _loop(self, words: list[str]) -> None:
        if words:
            values = [value for word in words[2:] for value in self._expand(word)] if words[1:2] == ["in"] else []
            self._forget(words[0])
            if 0 < len(values) <= _MOST_WORDS:
                self._variables[words[0]] = tuple(values)

    def _forget_arguments(self) -> None:
        """Forget the positional parameters: functions, ``shift`` and ``set`` change them."""
        for number in range(1, 10):
            self._variables.pop(str(number), None)

    def _forget(self, name: str) -> None:
        self._variables.pop(name, None)
        self._found.forgotten.add(name)

    def _simple(self, words: list[str], redirections: list[tuple[str, str]]) -> None:
        if words[:1] == ["function"]:
            self._functions.update(words[1:2])
            self._forget_arguments()
            words = words[3:] if words[2:3] == ["{"] else words[2:]
        assigned: dict[str, tuple[str, ...]] = {}
        while words and (name := _ASSIGNMENT.match(words[0])) is not None:
            assigned[name.group(1)] = tuple(self._expand(words[0][name.end() :]) or [""])
            words = words[1:]
        caller = Caller(self._found, self._folders, assigned, self._inside, self._functions)
        for operator, target in redirections:
            for word in self._expand(target):
                if operator == "<<<" or (operator[-1] == "&" and _is_descriptor(word)):
                    continue
                if operator[0] == "<":
                    caller.read(word)
                if operator not in {"<", "<&"}:
                    caller.write(word)
        argv = [value for word in words for value in self._expand(word)]
        if not argv:
            self._assign(assigned)
        elif argv[0] in _DECLARES:
            for word in argv[1:]:
                name = _ASSIGNMENT.match(word)
                if name is not None:
                    self._assign({name.group(1): (word[name.end() :],)})
        elif argv[0] in {"cd", "chdir", "pushd", "popd"}:
            target = next((word for word in argv[1:] if word not in {"-P", "-L", "-e", "--"}), "")
            target = "-" if argv[0] == "popd" else target
            caller.read_folder(target)
            self._folders = self._folders.changed(target, perhaps=self._unsure())
        elif argv[0] in {"read", "unset", "mapfile", "readarray"}:
            for word in argv[1:]:
                self._forget(word)
        elif argv[0] == "shift" or (argv[0] == "set" and ("--" in argv or (argv[1:2] and argv[1][:1] not in "-+"))):
            self._forget_arguments()
        elif argv[0] == "eval":
            self._evaluate(" ".join(_as_script(word) for word in argv[1:]))
        else:
            caller.call(argv)

    def _evaluate(self, text: str) -> None:
        """Follow a script in this shell."""
        self._depth += 1
        self.run(text)

    def _inside(self, script: str, folders: Folders, assigned: Mapping[str, tuple[str, ...]]) -> None:
        """Follow a script that a command passes to another shell."""
        Shell(self._found, folders, {**self._variables, **assigned}, self._depth + 1).run(_as_script(script))

    def _unsure(self) -> bool:
        return self._perhaps or self._conditions > 0

    def _assign(self, assigned: Mapping[str, tuple[str, ...]]) -> None:
        for name, values in assigned.items():
            known = self._variables.get(name)
            if self._unsure():
                before = known if known is not None else (f"{syntax.OPEN}${name}{syntax.END}",)
                self._variables[name] = tuple(dict.fromkeys((*before, *values)))[:_MOST_WORDS]
            else:
                self._variables[name] = values

    def _expand(self, word: str) -> list[str]:
        """Return the words that a word expands to. Parts known only at run time stay in them, marked."""
        if syntax.ANY_MARK.search(word) is None:
            return [word]
        parts: list[Iterable[str]] = []
        place = 0
        splits = False
        for mark in _MARKED.finditer(word):
            parts.append((word[place : mark.start()],))
            place = mark.end()
            if mark.group(1):
                values = self._value(mark.group(2))
                if mark.group(1) == syntax.VARIABLE:
                    splits = True
                    values = tuple(_unquoted(value) for value in values)
                parts.append(values)
        parts.append((word[place:],))
        texts = ["".join(each) for each in islice(product(*parts), _MOST_WORDS)]
        if splits:
            texts = [part for text in texts for part in text.split(_SPLIT) if part or text == ""]
        return [each for text in texts for each in _braces(text)][:_MOST_WORDS] if word else [""]

    def _value(self, name: str) -> tuple[str, ...]:
        known = self._variables.get(name)
        if known is not None:
            return known
        if name == "HOME" and name not in self._found.forgotten:
            return (syntax.TILDE,)
        if name == "PWD" and self._folders.certain:
            return tuple(_from_home(path) for path in self._folders.paths)
        return (f"{syntax.OPEN}${name}{syntax.END}",)


def _unquoted(value: str) -> str:
    """Return the value of an unquoted variable: blanks separate words, and patterns are active."""
    return value if syntax.OPEN in value else _GLOB.sub(syntax.WILD, _BLANKS.sub(_SPLIT, value))


def _from_home(path: str) -> str:
    return syntax.TILDE + path[1:] if path.startswith("~") else path


def _is_descriptor(word: str) -> bool:
    return word == "-" or word.rstrip("-").isdigit()


def _as_script(word: str) -> str:
    """Return a word as text for another shell: unknown parts become a variable that is never set."""
    word = re.sub(f"{syntax.OPEN}[^{syntax.END}]*{syntax.END}", "${_}", word)
    return syntax.ANY_MARK.sub("", word.replace(syntax.TILDE, "~").replace(syntax.WILD, "*"))


def _braces(word: str) -> list[str]:
    """Return the expansion of ``{a,b}`` in a word."""
    if syntax.BRACE not in word and syntax.COMMA not in word and syntax.END_BRACE not in word:
        return [word]
    return [each.translate(_PLAIN_BRACES) for each in _choices(word)]


def _choices(word: str) -> list[str]:
    if word.count(syntax.BRACE) > _MOST_BRACES:
        return [word.replace(syntax.BRACE, syntax.WILD)]
    start = word.find(syntax.BRACE)
    parts, end = _parts(word, start) if start >= 0 else ([], -1)
    if end < 0:
        return [word]
    tails = _choices(word[end + 1 :])
    if len(parts) == 1:
        chosen = [syntax.WILD if ".." in parts[0] else f"{{{parts[0]}}}"]
    else:
        chosen = [choice for part in parts for choice in _choices(part)]
    return [f"{word[:start]}{choice}{tail}" for choice, tail in islice(product(chosen, tails), _MOST_WORDS)]


def _parts(word: str, start: int) -> tuple[list[str], int]:
    """Return the alternatives of the brace at ``start``, and its end; -1 if it has none."""
    depth, last = 0, start + 1
    parts = []
    for place in range(start, len(word)):
        character = word[place]
        if character == syntax.BRACE:
            depth += 1
        elif character == syntax.COMMA and depth == 1:
            parts.append(word[last:place])
            last = place + 1
        elif character == syntax.END_BRACE:
            depth -= 1
            if not depth:
                return [*parts, word[last:place]], place
    return [], -1
