"""A parser for the words and operators of a POSIX shell (IEEE 1003.1, 2.2 to 2.10).

Words distinguish quoted text from syntax that the shell expands: in a word, the characters below represent unquoted
syntax. They are Unicode noncharacters, so no valid text contains them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

WILD = "\ufdd0"
"""An unquoted ``*``, ``?`` or ``[``."""

BRACE, COMMA, END_BRACE = "\ufdd1", "\ufdd2", "\ufdd3"
TILDE = "\ufdd4"
VARIABLE, QUOTED_VARIABLE, END = "\ufdd5", "\ufdd6", "\ufdd7"
"""``$X`` without and within quotes; the name follows, up to ``END``."""

OPEN = "\ufdd8"
"""Text known only at run time; the reason follows, up to ``END``."""

EMPTY = "\ufdd9"
"""Represents quotes, so that ``''`` is a word, and ``\"for\"`` is no keyword."""

ANY_MARK = re.compile("[\ufdd0-\ufdef]")

WORD, OPERATOR, REDIRECTION, BODY, NESTED = "word", "operator", "redirection", "body", "nested"

_DEEPEST = 20
_SPECIAL = re.compile(r"""[^\w\s./:=,@%+\-]|\n|(?<!\S)=|[\ufdd0-\ufdef]""")
_PLAIN = re.compile(r"""[^\s'"\\$`;&|<>()*?\[{},}~#\n]+""")
_OPERATOR = re.compile(r";;&|;;|;&|;|&&|&>>|&>|&|\|\||\|&|\||<<<|<<-|<<|<&|<>|<\(|<|>>|>&|>\||>\(|>|\(|\)|\n")
_ARITHMETIC = re.compile(r"\(\([\w\s$]*[-+*/%<>=!][^()\n]*\)\)")
_BRACKETED = re.compile(r"[^\s\]]+\]")
_OPERATOR_CHARACTERS = frozenset(";&|<>()\n")
_NAME = re.compile(r"[A-Za-z_]\w*")
_GROUPS = {BRACE: "{", END_BRACE: "}"}
"""Braces that group commands."""

_DIGITS = frozenset("123456789")
_SUBSTITUTION = re.compile(r"(?<!\\)(?:\$\((?!\()|`)")
_REDIRECTIONS = frozenset({"<", "<&", "<>", ">", ">>", ">&", ">|", "&>", "&>>", "<<<"})
_OF_OUTPUT = "the output of a command"


class Unreadable(ValueError):
    """The text is no complete shell script; the message is the reason."""


class Token(NamedTuple):
    """A word, an operator, the operator of a redirection, the body of a here-document, or a nested script."""

    kind: str
    text: str


def plain_words(text: str) -> list[str] | None:
    """Return the words of a text without quotes, operators and shell expansions; None for any other text."""
    return text.split() if _SPECIAL.search(text) is None else None


def read_script(text: str, depth: int = 0) -> list[Token]:
    """Return the tokens of a script. Raises Unreadable if a quote, a bracket or a substitution does not end."""
    if depth > _DEEPEST:
        raise Unreadable(f"scripts are nested more than {_DEEPEST} deep")
    return _Reader(ANY_MARK.sub("\ufffd", text)).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._tokens: list[Token] = []
        self._word: list[str] = []
        self._waiting: list[tuple[str, bool, bool]] = []
        self._testing = False

    def read(self) -> list[Token]:
        text, end = self._text, len(self._text)
        while self._place < end:
            plain = _PLAIN.match(text, self._place)
            if plain is not None:
                self._word.append(plain.group())
                self._place = plain.end()
                continue
            character = text[self._place]
            if character in _OPERATOR_CHARACTERS and (character == "\n" or not self._testing):
                self._syntax(character)
            elif character.isspace():
                self._end_word()
                self._place += 1
            elif character == "#" and not self._word:
                newline = text.find("\n", self._place)
                self._place = end if newline < 0 else newline
            else:
                self._part(character)
        self._end_word()
        self._bodies()
        return self._tokens

    def _part(self, character: str) -> None:
        """Read one piece of a word."""
        text, word = self._text, self._word
        self._place += 1
        if character == "\\":
            if text[self._place : self._place + 1] == "\n":
                self._place += 1
            else:
                word += [EMPTY, text[self._place : self._place + 1]]
                self._place += 1
        elif character == "'":
            end = self._find("'")
            word += [EMPTY, text[self._place : end]]
            self._place = end + 1
        elif character == '"':
            word.append(EMPTY)
            self._double_quoted()
        elif character == "$":
            self._dollar(VARIABLE)
        elif character == "`":
            self._backquoted()
        elif character in "*?" or (character == "[" and _BRACKETED.match(text, self._place)):
            word.append(character if self._testing else WILD)
        elif character == "~":
            word.append(TILDE if not word or word[-1][-1:] in "=:" else character)
        else:
            word.append({"{": BRACE, ",": COMMA, "}": END_BRACE}.get(character, character))

    def _find(self, closing: str) -> int:
        end = self._text.find(closing, self._place)
        if end < 0:
            raise Unreadable(f"a quote ({closing}) does not end")
        return end

    def _double_quoted(self) -> None:
        text, word = self._text, self._word
        while True:
            start = self._place
            while self._place < len(text) and text[self._place] not in '"\\$`':
                self._place += 1
            word.append(text[start : self._place])
            if self._place >= len(text):
                raise Unreadable('a quote (") does not end')
            character = text[self._place]
            self._place += 1
            if character == '"':
                return
            if character == "$":
                self._dollar(QUOTED_VARIABLE)
            elif character == "`":
                self._backquoted()
            else:
                escaped = text[self._place : self._place + 1]
                self._place += 1
                if escaped != "\n":
                    word.append(escaped if escaped in '"\\$`' else f"\\{escaped}")

    def _dollar(self, variable: str) -> None:
        """Read the text after a ``$``: a variable, a substitution, or a ``$'…'`` quote."""
        text, word = self._text, self._word
        name = _NAME.match(text, self._place)
        following = text[self._place : self._place + 1]
        if name is not None:
            word += [variable, name.group(), END]
            self._place = name.end()
        elif following == "{":
            end = _closing(text, self._place, "{}")
            self._parameter(text[self._place + 1 : end], variable)
            self._place = end + 1
        elif following == "(":
            end = _closing(text, self._place, "()")
            inner = text[self._place + 1 : end]
            if inner.startswith("(") and inner.endswith(")"):
                word += [OPEN, "a number that it computes", END]
            else:
                self._tokens.append(Token(NESTED, inner))
                word += [OPEN, _OF_OUTPUT, END]
            self._place = end + 1
        elif following in "'\"" and following and variable == VARIABLE:
            self._place += 1
            if following == '"':
                word.append(EMPTY)
                self._double_quoted()
            else:
                end = self._find("'")
                inner = text[self._place : end]
                word += [EMPTY, inner] if "\\" not in inner else [OPEN, "text with escapes", END]
                self._place = end + 1
        elif following in _DIGITS:
            word += [variable, following, END]
            self._place += 1
        elif following and following in "?$!#@*-":
            word += [OPEN, f"${following}", END]
            self._place += 1
        else:
            word.append("$")

    def _parameter(self, inner: str, variable: str) -> None:
        """Read the inside of ``${…}``."""
        name = _NAME.match(inner)
        if inner in _DIGITS or (name is not None and name.end() == len(inner)):
            self._word += [variable, inner, END]
            return
        self._tokens += [Token(NESTED, found) for found in _substitutions(inner)]
        self._word += [OPEN, f"${name.group()}" if name is not None else f"${{{ANY_MARK.sub('', inner)}}}", END]

    def _backquoted(self) -> None:
        start = self._place
        while True:
            end = self._find("`")
            self._place = end + 1
            if self._text[end - 1] != "\\" or end == start:
                break
        self._tokens.append(Token(NESTED, self._text[start:end].replace("\\`", "`")))
        self._word += [OPEN, _OF_OUTPUT, END]

    def _syntax(self, character: str) -> None:
        if character == "(" and not self._word:
            arithmetic = _ARITHMETIC.match(self._text, self._place)
            if arithmetic is not None:
                self._place = arithmetic.end()
                return
        operator = _OPERATOR.match(self._text, self._place)
        self._operator(character if operator is None else operator.group())

    def _operator(self, operator: str) -> None:
        word = "".join(self._word)
        if operator[0] in "<>" and word.isdigit():
            self._word = []
        self._end_word()
        self._place += len(operator)
        if operator in {"<(", ">("}:
            self._place -= 1
            end = _closing(self._text, self._place, "()")
            self._tokens.append(Token(NESTED, self._text[self._place + 1 : end]))
            self._place = end + 1
            self._word = ["/dev/fd/63"]
        elif operator in {"<<", "<<-"}:
            self._here_document(strips=operator == "<<-")
        elif operator in _REDIRECTIONS:
            self._tokens.append(Token(REDIRECTION, operator))
        else:
            self._tokens.append(Token(OPERATOR, operator))
            if operator == "\n":
                self._bodies()

    def _here_document(self, *, strips: bool) -> None:
        found = re.compile(r"[ \t]*((?:'[^'\n]*'|\"[^\"\n]*\"|\\.|[^\s'\"\\;&|<>()])+)").match(self._text, self._place)
        if found is None:
            raise Unreadable("a here-document has no end word")
        raw = found.group(1)
        self._place = found.end()
        self._waiting.append((re.sub(r"['\"\\]", "", raw), strips, raw.isidentifier()))

    def _bodies(self) -> None:
        """Read the here-documents that begin after this line."""
        for ending, strips, expands in self._waiting:
            lines: list[str] = []
            while self._place < len(self._text):
                newline = self._text.find("\n", self._place)
                stop = len(self._text) if newline < 0 else newline
                line = self._text[self._place : stop]
                self._place = stop + 1
                if strips:
                    line = line.lstrip("\t")
                if line == ending:
                    break
                lines.append(line)
            body = "\n".join(lines)
            if expands:
                self._tokens += [Token(NESTED, found) for found in _substitutions(body)]
            self._tokens.append(Token(BODY, body))
        self._waiting = []

    def _end_word(self) -> None:
        if self._word:
            word = "".join(self._word)
            self._word = []
            if word in _GROUPS:
                word = _GROUPS[word]
            self._tokens.append(Token(WORD, word))
            self._testing = word == "[[" or (self._testing and word != "]]")


def _closing(text: str, place: int, brackets: str) -> int:
    """Return the position of the bracket that closes the one at ``place``. Quotes and escapes hide brackets."""
    opening, closing = brackets[0], brackets[1]
    depth = 0
    while place < len(text):
        character = text[place]
        if character == "\\":
            place += 1
        elif character == "'" and opening == "(":
            place = text.find("'", place + 1)
            if place < 0:
                break
        elif character == opening:
            depth += 1
        elif character == closing:
            depth -= 1
            if not depth:
                return place
        place += 1
    raise Unreadable(f"a bracket ({opening}) does not end")


def _substitutions(text: str) -> list[str]:
    """Return the scripts in ``$(…)`` and backquotes of a text that is not itself a script."""
    found = []
    for start in _SUBSTITUTION.finditer(text):
        try:
            end = text.index("`", start.end()) if start.group() == "`" else _closing(text, start.end() - 1, "()")
        except ValueError:
            continue
        found.append(text[start.end() : end])
    return found
