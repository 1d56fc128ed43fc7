"""``asyncstate init``: a first tree, with comments that explain it."""

from __future__ import annotations

import json
import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import new_command
from asyncstate.cli.options import config_file_options
from asyncstate.filesystem import is_directory, lexists, listdir, mkdir, parent, remove, rmdir

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from asyncstate.cli.console import Console
    from asyncstate.config.settings import Settings

_STARTER = Path(__file__).resolve().parent / "starter_tree"
_FOLDER = "@FOLDER@"


@new_command(
    "init",
    examples=(
        ("asyncstate init", "The tree of this machine: /srv/salt and /srv/pillar."),
        ("asyncstate init ./first", "A tree to play with: ./first/salt and ./first/pillar."),
    ),
)
@click.argument("dir", required=False)
@config_file_options
def command(console: Console, /, dir: str | None, **options: Any) -> None:
    """Create a small tree with comments that explain it.

    SLS files go to DIR/salt, pillar to DIR/pillar. Without DIR, they go to the folders in which asyncstate looks
    on this machine: those of the configuration, else /srv/salt and /srv/pillar. Where one of the two has files
    already, nothing is written: no file is overwritten. If the disk is full, what was written is removed.
    """
    folders = _configured(console.settings(options)) if dir is None else _beneath(dir)
    _require_free(folders.values())
    made: list[str] = []
    try:
        written = _write(folders, made)
    except OSError as error:
        _undo(made)
        next_step = (
            "Name a folder that you may write to: asyncstate init DIR"
            if isinstance(error, PermissionError)
            else "Nothing of the tree was kept."
        )
        raise click.UsageError(f"{error.filename or folders['salt']}: {error.strerror}. {next_step}") from error
    console.lines(_next_steps(written, dir))


def _configured(settings: Settings) -> dict[str, str]:
    """Return the first file root and the first pillar root of an apply without options."""
    return {
        "salt": next(iter(settings.file_roots.values()))[0],
        "pillar": next(iter(settings.pillar_roots.values()))[0],
    }


def _beneath(named: str) -> dict[str, str]:
    """Return the folders for the parts of the starter tree, salt and pillar, below ``named``. Raises UsageError."""
    if not named.strip():
        raise click.UsageError("DIR is empty: name a folder, as in asyncstate init ./first")
    try:
        named.encode()
    except UnicodeEncodeError as error:
        raise click.UsageError(
            f"{named!r} is no UTF-8, and the files of a tree name the folder: choose another name"
        ) from error
    base = os.path.abspath(os.path.expanduser(named))
    return {part: os.path.join(base, part) for part in ("salt", "pillar")}


def _require_free(folders: Iterable[str]) -> None:
    """Raise UsageError if a folder is not empty, or is no folder."""
    for folder in folders:
        if lexists(folder) and (not is_directory(folder) or listdir(folder)):
            what = "is not empty" if is_directory(folder) else "is not a directory"
            raise click.UsageError(
                f"{folder} {what}: nothing was written. Name another folder for the tree: asyncstate init DIR"
            )


def _write(folders: Mapping[str, str], made: list[str]) -> list[str]:
    """Write the starter tree and return its files. Only the owner may read the pillar folder, for its secrets.

    ``made`` receives each created file and folder, in order.
    """
    for part, folder in folders.items():
        _make_folder(folder, 0o700 if part == "pillar" else 0o755, made)
    shown = os.path.join(os.path.dirname(folders["salt"]), "hello")
    quoted = json.dumps(shown).replace("{", r"\u007b")  # a name is data: its braces do not begin a template
    written = []
    for part, folder in folders.items():
        for source in sorted((_STARTER / part).rglob("*")):
            target = os.path.join(folder, source.relative_to(_STARTER / part))
            if source.is_dir():
                _make_folder(target, 0o755, made)
                continue
            text = source.read_text(encoding="utf-8").replace(_FOLDER, quoted)
            with parent(target) as place:
                descriptor = place.open(os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
                made.append(target)
                with open(descriptor, "w", encoding="utf-8") as file:
                    file.write(text)
            written.append(target)
    return written


def _make_folder(folder: str, mode: int, made: list[str]) -> None:
    """Make a folder, and its missing parents with ordinary rights."""
    if is_directory(folder):
        return
    above = os.path.dirname(folder)
    if above != folder:
        _make_folder(above, 0o755, made)
    mkdir(folder, mode)
    made.append(folder)


def _undo(made: Iterable[str]) -> None:
    """Remove the created files and folders, last first; a folder in which others have put files stays."""
    for path in reversed([*made]):
        with suppress(OSError):
            rmdir(path) if is_directory(path) else remove(path)


def _next_steps(written: Iterable[str], named: str | None) -> Iterator[str]:
    yield "Written:"
    yield from (f"  {path}" for path in written)
    yield "Next, read them, then:"
    if named is not None:
        yield f"  cd {shlex.quote(named)}"
    yield "  asyncstate plan"
    yield "  asyncstate apply"
