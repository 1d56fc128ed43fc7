"""The sentences of tests/messages.yaml: the words of the program, each in one place.

A case of ``trees`` has the SLS files of a tree, by name, or the text of one called ``s``; ``says`` is all that compiling
it says: one line for a mistake or warning, with its code (- for none), file and line, and an indented one for its hint.
Then come the states that are in no common call, and the rows that a plan already has. The lines of a template that a
message quotes are left out. Of its ``options``, ``functions: true`` looks at what bundled states take; the others are
settings, or arguments of `trees.plan`. With ``pillar``, it is what compiling these pillar files says.

A case of ``commands`` has the ``files`` of a folder {here}, whose ``salt`` and ``pillar`` are the default roots, commands
that come ``before``, the ``command`` itself, its exit ``code`` (0 if left out) and the whole of ``stdout`` and ``stderr``.
Instead of what differs between runs there stand {run} and {time}.

``sentences`` are those that need more than a tree: a test gets one with `said`, and shows when it is said.
"""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

import yaml
from memory_files import MemoryFileClient
from plugin_trees import Roots
from trees import WATCHING, FakeStates, compiler, plan, rendering

from asyncstate.cli import main
from asyncstate.errors import CompileError, PillarError
from asyncstate.load.host import PluginHost
from asyncstate.sources.pillar import compile_pillar

PATH = Path(__file__).parent.parent / "messages.yaml"


@cache
def catalogue():
    """The parts of tests/messages.yaml."""
    return yaml.load(PATH.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def said(name, /, **values):
    """Return the sentence of this name, with these values for its ``{words}``."""
    return catalogue()["sentences"][name].format(**values).rstrip("\n")


def match(name, /, **values):
    """Return a pattern for ``pytest.raises`` that matches the sentence of this name alone."""
    return f"^{re.escape(said(name, **values))}$"


def compiled(tree, *, functions=False, **options):
    """Return all that compiling a tree says. A check says the same of what it looks at."""
    hooks = {"pkg.mod_transaction": lambda low, first: ""} if "implicit_order" in options else {}
    footprints = {"pkg": lambda low: {"writes": ["pkgdb"]}}
    options["states"] = FakeStates(
        *WATCHING, "pkg.mod_aggregate", "gem.mod_aggregate", hooks=hooks, footprints=footprints
    )
    options["functions"] = bundled() if functions else None
    more = []
    try:
        made = plan(tree, **options)
        issues = made.warnings
        more += [f"{made.chunks[at].id} is in no common call: {why}\n" for at, why in made.not_aggregated.items()]
        more += [f"{tag}: {row['comment']}\n" for tag, row in made.rows.items()]
    except CompileError as error:
        issues = error.issues
    if not options.keys() & {"exclude", "only_ids", "implicit_order", "state_aggregate"}:
        assert _checked(tree, **options) == issues
    return "".join([*map(_line, issues), *more])


@cache
def bundled():
    """The bundled states."""
    return PluginHost({"id": "host", "test": False}, file_client=Roots()).loaders["states"]


def _checked(tree, sls=("s",), saltenv=None, **options):
    try:
        return compiler(tree, **options).check(None if sls is None else list(sls), saltenv=saltenv)
    except CompileError as error:
        return error.issues


def compiled_pillar(files, **options):
    """Return all that compiling pillar files says."""
    client = MemoryFileClient({"base": files})
    try:
        compile_pillar({"id": "host", **options}, {}, client, rendering(client, **options))
    except PillarError as error:
        return "".join(map(_line, error.issues))
    return ""


def _line(issue):
    place = f"{issue.file.rpartition('/')[2]}:{issue.line}"
    hint = "".join(f"  {line}\n" for line in issue.hint.splitlines())
    message, _, _ = issue.message.partition("\n\n---\n")
    return f"{issue.code or '-'} {place} {message.rstrip()}\n{hint}"


VARIABLE = (
    (re.compile(r"\b\d\d:\d\d:\d\d\.\d+"), "{time}"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "{run}"),
    (re.compile(r"( ?) *\b\d+(\.\d+)? m?s\b"), r"\1{time}"),
)
"""What differs between two runs of a command, and what stands for it."""
OF_EXTRAS = re.compile(
    r"^What a code means: .*\n| \(asyncstate lint names them\)"
    r"|\. More commands .*? is installed",
    re.MULTILINE,
)
"""What only a program with extras says, or one without; tests/test_extend.py has both."""


def ran(case, here, output):
    """Run the commands of a case in a folder; return the exit code of the last one and what it wrote, by name."""
    for name, text in case.get("files", {}).items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(text.replace("{here}", str(here)))
    for command in (*case.get("before", ()), case["command"]):
        output()
        code = main(shlex.split(command.replace("{here}", str(here))))
    return {"code": code, **dict(zip(("stdout", "stderr"), (_stable(text, here) for text in output()), strict=True))}


def _stable(text, here):
    text = re.sub(r" +$", "", OF_EXTRAS.sub("", text).replace(str(here), "{here}"), flags=re.MULTILINE)
    for pattern, word in VARIABLE:
        text = pattern.sub(word, text)
    return text
