"""The sentences of tests/messages.yaml: the words of the program, each in one place.

A case of ``trees`` has the SLS files of a tree, by name, or the text of one called ``s``; ``says`` is all that compiling
it says: one line for a mistake or warning, with its code (- for none), file and line, and an indented one for its hint.
The lines of a template that a message quotes are left out. With ``pillar``, it is what compiling these pillar files says.

``sentences`` are those that need more than a tree: a test gets one with `said`, and shows when it is said.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import yaml
from memory_files import MemoryFileClient
from trees import plan, rendering

from asyncstate.errors import CompileError, PillarError
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


def compiled(tree=None, *, pillar=None, **options):
    """Return all that compiling a tree, or a pillar, says."""
    try:
        issues = _pillar(pillar, options) if pillar else plan(tree, **options).warnings
    except (CompileError, PillarError) as error:
        issues = error.issues
    return "".join(map(_line, issues))


def _pillar(files, options):
    client = MemoryFileClient({"base": files})
    compile_pillar({"id": "host", **options}, {}, client, rendering(client, **options))
    return ()


def _line(issue):
    place = f"{issue.file.rpartition('/')[2]}:{issue.line}"
    hint = "".join(f"  {line}\n" for line in issue.hint.splitlines())
    message, _, _ = issue.message.partition("\n\n---\n")
    return f"{issue.code or '-'} {place} {message.rstrip()}\n{hint}"
