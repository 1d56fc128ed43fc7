"""``asyncstate init``: a first tree, with comments that explain it."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from asyncstate.cli.framework import Command
from asyncstate.config import roots
from asyncstate.filesystem import is_directory, lexists, listdir, makedirs, mkdir, parent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from asyncstate.cli.console import Console

_STARTER = Path(__file__).resolve().parent.parent / "reference" / "starter_tree"
_FOLDER = "@FOLDER@"


@click.command(
    "init",
    cls=Command,
    examples=(
        ("asyncstate init", "The tree of this machine: /srv/salt and /srv/pillar."),
        ("asyncstate init ./first", "A tree to play with: ./first/salt and ./first/pillar."),
    ),
)
@click.argument("dir", required=False)
@click.pass_obj
def command(console: Console, /, dir: str | None) -> int:
    """Write a first tree, with comments that explain it.

    SLS files go to DIR/salt, pillar to DIR/pillar. Without DIR, they go to the folders in which asyncstate looks
    if nothing names others: /srv/salt and /srv/pillar. Where one of the two has files already, nothing is written: no
    file is overwritten.
    """
    folders = _folders(dir)
    _require_free(folders.values())
    try:
        written = _write(folders)
    except PermissionError as error:
        raise click.UsageError(
            f"{error.filename}: {error.strerror}. Name a folder that you may write to: asyncstate init DIR"
        ) from error
    console.lines(_next_steps(folders, written, named=dir is not None))
    return 0


def _folders(named: str | None) -> dict[str, str]:
    """Return where the parts of the tree go, by their names in the starter tree."""
    if named is None:
        return {"salt": roots.DEFAULT_ROOTS["file_roots"], "pillar": roots.DEFAULT_ROOTS["pillar_roots"]}
    base = os.path.abspath(os.path.expanduser(named))
    return {part: os.path.join(base, part) for part in ("salt", "pillar")}


def _require_free(folders: Iterable[str]) -> None:
    """Raise UsageError if a folder has an entry, or is no folder."""
    for folder in folders:
        if lexists(folder) and (not is_directory(folder) or listdir(folder)):
            what = "is not empty" if is_directory(folder) else "is not a directory"
            raise click.UsageError(
                f"{folder} {what}: nothing was written. Name another folder for the tree: asyncstate init DIR"
            )


def _write(folders: Mapping[str, str]) -> list[str]:
    """Write the starter tree and return its files. Pillar often has secrets: its folder is for the owner only."""
    for part, folder in folders.items():
        makedirs(os.path.dirname(folder), 0o755)
        if not is_directory(folder):
            mkdir(folder, 0o700 if part == "pillar" else 0o755)
    shown = os.path.join(os.path.dirname(folders["salt"]), "hello")
    quoted = json.dumps(shown).replace("{", r"\u007b")  # a name is data: no brace of it begins a template
    written = []
    for part, folder in folders.items():
        for source in sorted((_STARTER / part).rglob("*")):
            target = os.path.join(folder, source.relative_to(_STARTER / part))
            if source.is_dir():
                mkdir(target, 0o755)
                continue
            with parent(target) as place, open(place.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644), "w") as file:
                file.write(source.read_text(encoding="utf-8").replace(_FOLDER, quoted))
            written.append(target)
    return written


def _next_steps(folders: Mapping[str, str], written: Iterable[str], *, named: bool) -> Iterator[str]:
    options = f" --file-root {shlex.quote(folders['salt'])} --pillar-root {shlex.quote(folders['pillar'])}"
    yield "Written:"
    yield from (f"  {path}" for path in written)
    yield "Next, read them, then:"
    yield f"  asyncstate apply --test{options if named else ''}"
    yield f"  asyncstate apply{options if named else ''}"
