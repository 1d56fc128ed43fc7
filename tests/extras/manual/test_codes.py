"""Every mistake of a tree that is reported has a code, and every code has a page whose example has that mistake."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from code_examples import found, issues_of
from tables import rows

import asyncstate
from asyncstate.extras.manual.codes import code_lines, codes, files_of
from asyncstate.model.rules import CODES, RULES
from docs.page_texts import codes_page

PACKAGE = Path(asyncstate.__file__).parent
TESTS = Path(__file__).parents[2]
RAISING = ("compile", "sources", "planner.py", "extras/fleet/join", "extras/fleet/ssh/roster.py")
"""Where the mistakes of trees are found."""


def modules(*places):
    for place in places:
        path = PACKAGE / place
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            yield file, ast.parse(file.read_text(encoding="utf-8"))


def in_the_code():
    return {
        node.value
        for _, tree in modules("compile", "sources", "planner.py", "extras", "analyse", "model")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[EW]\d{3}", node.value)
    }


def test_every_code_that_is_given_has_a_page_and_no_page_is_left_over():
    assert in_the_code() == set(codes())


def test_every_rule_has_a_code():
    assert set(CODES.values()) == RULES.keys()


def test_every_mistake_that_is_reported_has_a_code():
    without = [
        str(file.relative_to(PACKAGE))
        for file, tree in modules(*RAISING)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Issue"
        and not any(keyword.arg == "code" for keyword in node.keywords)
        and file.name != "findings.py"
    ]
    assert without == []


@rows("code", [code for code, entry in codes().items() if entry.wrong])
def test_the_example_of_a_code_has_its_mistake(code, tmp_path):
    given, _ = found(codes()[code], codes()[code].wrong, tmp_path / code)
    assert code in given


@rows("code", [code for code, entry in codes().items() if entry.right])
def test_the_example_without_the_mistake_compiles(code, tmp_path):
    given, problem = found(codes()[code], codes()[code].right, tmp_path / code)
    assert not problem, given
    assert code not in given


SPELLED_OUT = {
    **{f"example of {code}": (code, codes()[code].wrong) for code in ("E104", "E427", "W113")},
    "not included": (
        "E305",
        {"a.sls": "web: {test.nop: [require: [{test: db}]]}\n", "b.sls": "db: {test.nop: []}\n"},
    ),
    "of another module": ("E305", "db: {test.nop: []}\nweb:\n  test.nop:\n    - require:\n      - file: db\n"),
}
"""Trees whose messages say what to write."""
STEPS = {
    r"the line is indented with a tab": lambda text: text.replace("\t", "    "),
    r"write '(.+)' instead of '(.+)'": lambda text, new, old: text.replace(f"{old}:", f"{new}:"),
    r"write a dash before '(.+)', too": lambda text, key: re.sub(
        rf"^( +)  {key}:", rf"\1- {key}:", text, flags=re.MULTILINE
    ),
    r"SLS '(.+)' declares .* is not included: include it": lambda text, sls: f"include: [{sls}]\n{text}",
    r"is there, but as .*: write '- (.+: .+)'": lambda text, item: re.sub(
        r"- \w+: db$", f"- {item}", text, flags=re.MULTILINE
    ),
}
"""How to take each step, by the words that say it."""


@rows("what", SPELLED_OUT)
def test_the_step_that_a_message_spells_out_ends_the_mistake(what, tmp_path):
    code, example = SPELLED_OUT[what]
    issues, _ = issues_of(codes()[code], example, tmp_path / what)
    issue = next(each for each in issues if each.code == code)
    [(step, said)] = [(step, told) for words, step in STEPS.items() if (told := re.search(words, issue.hint))]
    files = files_of(example)
    files["a.sls"] = step(files["a.sls"], *said.groups())
    given, problem = found(codes()[code], files, tmp_path / f"{what}, mended")
    assert not problem
    assert code not in given


def test_a_code_without_an_example_has_a_test():
    files = [*TESTS.rglob("test_*.py"), *TESTS.rglob("*.yaml")]
    named = {code for file in files for code in re.findall(r"\b[EW]\d{3}\b", file.read_text("utf-8"))}
    assert {code for code, entry in codes().items() if not entry.wrong} <= named


@rows("code", codes())
def test_a_page_says_what_is_meant_and_what_to_do(code):
    entry = codes()[code]
    assert entry.title[0].isupper()
    assert not entry.title.endswith(".")
    assert entry.means.strip().endswith(".")
    assert entry.mend.strip().endswith((".", "`"))
    page = "\n".join(code_lines(code, entry))
    assert page.startswith(f"{code}: {entry.title}\n")
    assert f"## {code}: {entry.title}\n" in codes_page()
