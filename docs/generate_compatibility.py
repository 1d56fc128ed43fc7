"""Write the generated pages: what is promised, the tests that prove it, and the commands with their options.

``python docs/generate_compatibility.py`` writes the pages; a test fails when one is not up to date. Nothing is run: a
test names its features by ``@pytest.mark.feature("F071")``, and that is read from its source; options are those of the
commands.
"""
# ruff: noqa: INP001 - a script beside the pages it writes

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import jinja2
import yaml

from asyncstate.cli.framework import SECTIONS
from asyncstate.cli.root import root
from asyncstate.model.requisite import Requisite, RequisiteKind
from asyncstate.model.result import Outcome
from asyncstate.run.gate import NOT_RUN, Verdict, target_marks, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = ("compatibility", "guarantees", "commands", "evidence/features", "evidence/guarantees", "evidence/fleet-sizing")
"""The generated pages; each has a template, whose name ends with ``.md.j2``, in docs/templates."""
KINDS = ("require", "watch", "onchanges", "onfail", "prereq")
RESULTS = (
    ("true, no changes", Outcome(result=True, changed=False)),
    ("true, changes", Outcome(result=True, changed=True)),
    ("false, no changes", Outcome(result=False, changed=False)),
    ("false, changes", Outcome(result=False, changed=True)),
    ("null, no changes", Outcome(result=None, changed=False)),
    ("null, changes", Outcome(result=None, changed=True)),
    ("true, changes, `skip_req`", Outcome(result=True, changed=True, skip_req=True)),
    ("held back by a requisite, true", Outcome(result=True, changed=False, ran=False)),
    ("held back by a requisite, false", Outcome(result=False, changed=False, ran=False)),
)
_WORDS = {
    Verdict.MET: "runs",
    Verdict.CHANGE: "runs, then `mod_watch`",
    Verdict.SKIP_WATCH: "runs, no `mod_watch`",
    Verdict.FAIL: "**fails**",
}


def load_features() -> dict[str, Any]:
    """Return the content of features.yaml."""
    return _data("features")


def _data(name: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((DOCS / f"{name}.yaml").read_text(encoding="utf-8"))
    return data


def rows_of(data: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return every feature by ID, whatever section it stands in."""
    return {number: feature for section in data["features"].values() for number, feature in section.items()}


def marked_tests() -> dict[str, list[str]]:
    """Return the tests that name each ID, in the order of files and lines: ``file::test``, and ``file`` of a table."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = path.relative_to(ROOT / "tests").as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        of_module = [number for node in tree.body for number in _module_marks(node)]
        for test in _tests(tree):
            for number in dict.fromkeys([*of_module, *(n for mark in test.decorator_list for n in _numbers(mark))]):
                found.setdefault(number, []).append(f"{name}::{test.name}")
    for path in sorted((ROOT / "tests").glob("features/rows/*.yaml")):
        cases = yaml.safe_load(path.read_text(encoding="utf-8")).values()
        for number in dict.fromkeys(each for case in cases for each in case["features"]):
            found.setdefault(number, []).append(path.relative_to(ROOT / "tests").as_posix())
    return found


def _tests(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
            yield node


def _module_marks(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "pytestmark" for to in node.targets):
        marks = node.value.elts if isinstance(node.value, (ast.List, ast.Tuple)) else [node.value]
        for mark in marks:
            yield from _numbers(mark)


def _numbers(mark: ast.expr) -> Iterator[str]:
    """Yield the arguments of ``pytest.mark.feature(…)``; nothing for other marks."""
    if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.feature":
        yield from (argument.value for argument in mark.args if isinstance(argument, ast.Constant))


def truth_table() -> list[tuple[str, list[str]]]:
    """Return what a state with one requisite does, for each result of its target: asked of the gate itself."""
    return [(words, [_cell(kind, outcome) for kind in KINDS]) for words, outcome in RESULTS]


def _cell(kind: str, outcome: Outcome) -> str:
    requisite = Requisite(RequisiteKind(kind), 0)
    decided = verdict([requisite], lambda _node, family: target_marks(family, outcome))
    return _WORDS.get(decided, "is skipped")


def _headline(title: str) -> str:
    """Return what stands before the first colon outside of code, to go on in a sentence."""
    head = re.sub(r"`[^`]*`", lambda code: code[0].replace(": ", ":\0"), title).partition(": ")[0]
    return head[0].lower() + head[1:].replace("\0", " ")


# --- commands and options


def commands(group: click.Group = root, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command that has no sub-commands, by its words."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        elif command is not None:
            yield (*path, name), command


_HELP = click.Option(root.context_settings["help_option_names"], is_flag=True, help="Show this message and exit.")
"""The option that click adds to each command, with the names of whichever context asked first."""


def options_of() -> list[tuple[tuple[str, ...], str, str, str]]:
    """Return each option of each command: the words of the command, its section in the help, its names, its meaning.

    `salt-call` has the options of Salt, and a page of its own.
    """
    return [
        (path, getattr(option, "section", "General"), _names(command, option), _gist(option.help or ""))
        for path, command in commands()
        if path != ("salt-call",)
        for option in (*command.params, _HELP)
        if isinstance(option, click.Option)
    ]


def shared_options() -> dict[str, dict[str, str]]:
    """Return the options that several commands have with one meaning, by their section in the help."""
    used = Counter((names, means) for _, _, names, means in options_of())
    shared: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    listed = set()
    for _, section, names, means in options_of():
        flag = names.split()[0]
        if used[names, means] > 1 and flag not in listed:
            listed.add(flag)
            shared[section][names] = means
    return shared


def _names(command: click.Command, option: click.Option) -> str:
    names = [f"`{name}`" for name in (*option.opts, *option.secondary_opts)]
    if not option.is_flag and not option.count:
        names[-1] = f"{names[-1][:-1]} {option.make_metavar(click.Context(command))}`"
    return ", ".join(names)


def _gist(text: str) -> str:
    """Return the first clause of a help text, or its first sentence where that clause says too little."""
    sentence = " ".join(re.split(r"(?<=\.)\s|\n\n", text.strip(), maxsplit=1)[0].split())
    clause = re.split(r"[;:] ", sentence, maxsplit=1)[0]
    says_enough = len(clause.split()) >= 3 and "(" not in clause
    return re.sub(r" \([^()]*\)$", "", (clause if says_enough else sentence).rstrip("."))


def usage(path: tuple[str, ...], command: click.Command) -> str:
    """Return the words of a command and its arguments."""
    context = click.Context(command)
    arguments = [each.make_metavar(context) for each in command.params if isinstance(each, click.Argument)]
    return " ".join([*path, *arguments])


def described(path: tuple[str, ...], command: click.Command) -> tuple[str, str, list[tuple[str, str]]]:
    """Return the usage of a command, what it does, and the options that mean something only there."""
    used = Counter((names, means) for _, _, names, means in options_of())
    own = [(names, means) for of, _, names, means in options_of() if of == path and used[names, means] == 1]
    return usage(path, command), _gist(command.help or ""), own


# --- the pages


def pages() -> dict[Path, str]:
    """Return the text of every generated page."""
    data, tests, promises = load_features(), marked_tests(), _data("guarantees")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DOCS / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown
    )
    environment.filters["with_tests"] = lambda number: tests.get(number, [])
    environment.filters["headline"] = _headline
    environment.filters["code"] = lambda text: f"`{text}`"
    environment.filters["tests"] = lambda names: "<br>".join(f"`{test}`" for test in names)
    environment.filters["cell"] = lambda text: str(text).replace("|", "\\|")
    environment.filters["up"] = lambda text: re.sub(r"\]\((?=[a-z/-]+\.md)", "](../", text)
    values = {
        "sections": data["features"],
        "rows": rows_of(data),
        "better": data["better"],
        "promised": data["promised"],
        "kinds": KINDS,
        "truth": truth_table(),
        "not_run": {verdict.value: text for verdict, text in NOT_RUN.items()},
        "promises": promises["promises"],
        "figures": promises["figures"],
        "commands": [described(*each) for each in commands()],
        "shared": shared_options(),
        "sizing": _data("fleet_sizing"),
    }
    return {DOCS / f"{name}.md": environment.get_template(f"{name}.md.j2").render(values) for name in PAGES}


if __name__ == "__main__":
    for page, text in pages().items():
        page.parent.mkdir(exist_ok=True)
        page.write_text(text, encoding="utf-8")
