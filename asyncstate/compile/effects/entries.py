"""Single entries of files, ``path:/etc/hosts#web``: which ones conflict, and which states touch nothing else there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.compile.effects.resources import ENTRY, PATH

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.compile.effects.declared import Footprint


def compare_entries(known: list[Footprint], module_of: Callable[[int], str]) -> None:
    """Replace written entries of a file by the file, where states of several modules have named some.

    ``module_of(number)`` is the module that has named those of a footprint, "" for the state itself.
    Their names do not compare: what is a setting to one module is a line of a section to another.
    """
    named_by: dict[str, set[str]] = {}
    with_entries = []
    for number, footprint in enumerate(known):
        files = [_file_of(name) for name in (*footprint.reads, *footprint.writes) if _is_entry_of_file(name)]
        if files:
            with_entries.append(number)
            for file in files:
                named_by.setdefault(file, set()).add(module_of(number))
    mixed = {file for file, modules in named_by.items() if len(modules) > 1}
    for number in with_entries if mixed else ():
        writes = (_file_of(name) if _file_of(name) in mixed else name for name in known[number].writes)
        known[number] = known[number].replaced(writes=tuple(dict.fromkeys(writes)))


def only_entries(footprint: Footprint) -> tuple[str, ...]:
    """Return the paths of files in which a state touches single entries only."""
    names = (*footprint.reads, *footprint.writes)
    files = dict.fromkeys(_file_of(name) for name in names if _is_entry_of_file(name))
    return tuple(file.removeprefix(PATH) for file in files if file not in names) if files else ()


def _is_entry_of_file(name: str) -> bool:
    return ENTRY in name and name.startswith(PATH) and f"/{ENTRY}" not in name


def _file_of(name: str) -> str:
    return name.partition(ENTRY)[0]
