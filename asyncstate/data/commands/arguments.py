"""The words after the name of a program, sorted into operands, options, and values of options."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.data.commands.programs import Program


def sorted_words(program: Program, words: list[str]) -> tuple[list[str], list[tuple[str, str]], set[str]]:
    """Return the operands, the options with a value, as (kind, value), and the long flags."""
    operands: list[str] = []
    values: list[tuple[str, str]] = []
    flags: set[str] = set()
    options = program.options
    place, end = 0, len(words)
    while place < end:
        word = words[place]
        place += 1
        if word == "--":
            operands += words[place:]
            break
        if word[:1] != "-" or len(word) == 1:
            operands.append(word)
            continue
        option, equals, value = word.partition("=")
        kind = options.get(option)
        if kind is None and word[1] != "-":
            kind, value, equals = _in_cluster(word, options)
        if kind is None:
            flags.add(option)
            if equals and "/" in value:
                values.append(("w", value))
        elif kind in {"f", "i"}:
            if kind == "i" and value:
                values.append((kind, value))
        elif equals:
            values.append((kind, value))
        elif place < end:
            values.append((kind, words[place]))
            place += 1
    return operands, values, flags


def _in_cluster(word: str, options: Mapping[str, str]) -> tuple[str | None, str, str]:
    for place in range(1, len(word)):
        kind = options.get(f"-{word[place]}")
        if kind is not None:
            value = word[place + 1 :]
            return kind, value, "=" if value else ""
    return None, "", ""


def paired(kinds: list[str], operands: list[str]) -> list[tuple[str, str]]:
    """Return each operand with its kind."""
    star = next((place for place, kind in enumerate(kinds) if kind.endswith("*")), -1)
    if star < 0:
        return list(zip(kinds, operands, strict=False))
    after = len(kinds) - star - 1
    middle = max(len(operands) - after, star)
    return [
        *zip(kinds[:star], operands, strict=False),
        *((kinds[star][:-1], word) for word in operands[star:middle]),
        *zip(kinds[star + 1 :], operands[middle:], strict=False),
    ]


def has_flag(letter: str, long: str, words: list[str]) -> bool:
    """Return whether the words have a flag: short, possibly in a cluster, or long."""
    return long in words or any(letter in word for word in words if word[:1] == "-" != word[1:2])


def is_remote(word: str) -> bool:
    """Return whether a word is a path on another host, ``host:path``."""
    head, colon, _ = word.partition(":")
    return bool(colon) and "/" not in head
