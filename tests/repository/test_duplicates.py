"""No block of code stands twice: what is the same logic has one home.

Two blocks are the same if their lines are, token by token. Within functions they are the same as well if only names and
values differ. Imports, docstrings, ``__all__`` and signatures do not count: states and execution modules share Salt's, and
pass long lists of arguments on.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections import defaultdict
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pytest
from import_graph import parse, statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

LONGEST = 11
ROOTS = ("asyncstate", "modules", "states")


class Line(NamedTuple):
    number: int
    text: str


Block = list[Line]


def uncounted(tree: ast.Module) -> Iterator[int]:
    """Yield the numbers of the lines that may stand twice."""
    for node in statements(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) or (
            isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"
        ):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from range(node.lineno, node.body[0].lineno)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


TOKEN = re.compile(
    r"""
    [^\S\n]+|\#[^\n]*|\\\n
  | \n
  | (?i:[rbuf]{0,2})(?:
        \"{3}(?:[^\\]|\\.)*?\"{3} | '{3}(?:[^\\]|\\.)*?'{3} | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
  | \.?\d(?:[eE][+-]\d|[\w.])*
  | \w+
  | \*\*=|//=|>>=|<<=|\.\.\.|->|:=|[-+*/%&|^@=!<>]=|\*\*|//|<<|>>|.
    """,
    re.VERBOSE | re.DOTALL,
)
"""A token of Python: what the module `tokenize` finds takes it several times as long."""


def kind(token: str) -> str:
    """Return what a token is: a name, a value, or no word."""
    if token[-1] in "\"'" or token[0].isdigit() or (token[0] == "." and token[-1] != "."):
        return "value"
    return "name" if token[0] == "_" or token[0].isalpha() else ""


@cache
def lines_of(text: str) -> dict[int, list[str]]:
    """Return the tokens of each line that counts, by line number."""
    skipped = set(uncounted(parse(text)))
    lines, number = defaultdict(list), 1
    for token in TOKEN.findall(text):
        if token == "\n":
            number += 1
        elif token[0] not in " \t\f\r#\\":
            if number not in skipped:
                lines[number].append(token)
            number += token.count("\n")
        elif token == "\\\n":
            number += 1
    return lines


def as_written(text: str) -> list[Block]:
    """Return the code of a file as one block, without lines of punctuation."""
    return [[Line(number, " ".join(tokens)) for number, tokens in lines_of(text).items() if any(map(kind, tokens))]]


def by_shape(text: str) -> list[Block]:
    """Return the code of each outermost function with every name and value alike.

    Lines of a single word do not count, nor those that only pass an argument on: a long call is no logic.
    """
    tokens = lines_of(text)
    functions = [node for node in parse(text).body for node in outermost_functions(node)]
    return [
        [
            Line(number, " ".join(map(shape, tokens[number])))
            for number in range(function.lineno, (function.end_lineno or 0) + 1)
            if number in tokens and not is_thin(tokens[number])
        ]
        for function in functions
    ]


def outermost_functions(node: ast.stmt) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield node
    elif isinstance(node, ast.ClassDef):
        for inner in node.body:
            yield from outermost_functions(inner)


def shape(token: str) -> str:
    return token if keyword.iskeyword(token) else kind(token) or token


def is_thin(tokens: list[str]) -> bool:
    return sum(map(bool, map(kind, tokens))) < 2 or (tokens[-1] == "," and len(tokens) <= len("a=b,"))


def repeated(blocks: Iterable[tuple[str, Block]], longest: int = LONGEST) -> list[str]:
    """Return each pair of places that share more than ``longest`` lines."""
    windows = defaultdict(list)
    for name, block in blocks:
        for start in range(len(block) - longest):
            window = block[start : start + longest + 1]
            windows[tuple(line.text for line in window)].append((name, window[0].number, window[-1].number))
    pairs = [
        ((one, other), (begin, end), (again, close))
        for places in windows.values()
        for (one, begin, end), (other, again, close) in pairwise(places)
        if one != other or again > end
    ]
    found: dict[tuple[str, str], list[tuple[tuple[int, int], tuple[int, int]]]] = defaultdict(list)
    for files, first, second in sorted(pairs):
        runs = found[files]
        if runs and first[0] <= runs[-1][0][1] and second[0] <= runs[-1][1][1]:
            runs[-1] = ((runs[-1][0][0], first[1]), (runs[-1][1][0], second[1]))
        else:
            runs.append((first, second))
    return [
        f"{one}:{begin}-{end} ~ {other}:{again}-{close}"
        for (one, other), runs in found.items()
        for (begin, end), (again, close) in runs
    ]


@pytest.mark.parametrize("reading", [as_written, by_shape])
def test_no_block_of_12_lines_stands_twice(checkout: Path, reading):
    files = [file for root in ROOTS for file in sorted((checkout / root).rglob("*.py"))]
    assert len(files) > 300
    blocks = [(str(file.relative_to(checkout)), block) for file in files for block in reading(file.read_text())]
    assert repeated(blocks) == []


STEPS = "\n".join(f"    value{n} = step{n}(value{n - 1}, {n})" for n in range(1, 13))
FUNCTION = f'def work(value0):\n    """Do it."""\n{STEPS}\n    return value12\n'
OTHER_NAMES = FUNCTION.replace("value", "thing").replace("step", "part")
OTHER_STEPS = FUNCTION.replace("step6(value5, 6)", "step6(value5, 6) or 0")
SIGNATURE = "def work(\n" + "".join(f"    a{n}: int = {n},\n" for n in range(20)) + ") -> None:\n    {}\n"
CALL = "def work():\n    return {}(\n" + "".join(f"        a{n}=a{n},\n" for n in range(20)) + "    )\n"


@pytest.mark.parametrize(
    ("reading", "one", "other", "found"),
    [
        (as_written, FUNCTION, FUNCTION, True),
        (as_written, FUNCTION, f"# why\n{FUNCTION}".replace("(value0, 1)", "(value0, 1)  # first"), True),
        (as_written, FUNCTION, OTHER_NAMES, False),
        (as_written, FUNCTION, OTHER_STEPS, False),
        (as_written, SIGNATURE.format("one()"), SIGNATURE.format("other()"), False),
        (by_shape, FUNCTION, OTHER_NAMES, True),
        (by_shape, FUNCTION, f"class Worker:\n{FUNCTION.replace('def', ' def').replace('    ', '     ')}", True),
        (by_shape, FUNCTION, OTHER_STEPS, False),
        (by_shape, CALL.format("one"), CALL.format("other"), False),
    ],
)
def test_what_counts_as_the_same(reading, one, other, found):
    blocks = [(name, block) for name, text in (("one", one), ("other", other)) for block in reading(text)]
    assert bool(repeated(blocks)) is found


def test_a_pair_is_named_once_with_all_its_lines():
    blocks = [("one", *as_written(FUNCTION)), ("other", *as_written("x = 1\n" + FUNCTION))]
    assert repeated(blocks) == ["one:3-15 ~ other:4-16"]
    twice = FUNCTION + FUNCTION
    assert repeated([("one", *as_written(twice))]) == ["one:3-15 ~ one:18-30"]
