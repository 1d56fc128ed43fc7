"""``asyncstate footprints``: the accesses of states, recorded by ``apply --trace-effects``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from asyncstate.cli.framework import Family
from asyncstate.cli.options import config_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.cli.console import Console
    from asyncstate.extras.proof.trace.learned import Record
    from asyncstate.report.terminal import Palette

_SHOWN = 8
"""The number of names of each kind in human output."""


@click.group("footprints", cls=Family)
def command(console: Console, /) -> None:
    """Show what states were seen to touch."""
    console.answers_with_data = True


@command.command(
    "show",
    forms=("human", "json", "yaml"),
    examples=(
        ("asyncstate footprints show", "Every state function, and its command lines or names."),
        ("asyncstate footprints show make", "Those with 'make' in the function, the ID or the command line."),
    ),
)
@click.argument("word", nargs=-1)
@config_options
def show(console: Console, /, word: tuple[str, ...], **options: Any) -> None:
    """Show what observed states read, wrote and created, by state function and command line or name.

    The records come from runs with 'apply --trace-effects'. WORDs select records that have one of them in the function,
    the ID or the command line.
    """
    records = _records(console, word, options)
    console.answer(partial(_lines, records), lambda: [_data(record) for record in records])


@command.command(
    "export",
    forms=("yaml", "json"),
    examples=(
        ("asyncstate footprints export", "The argument 'footprint' of each state, to be written into the tree."),
        ("asyncstate footprints export build --out json", "The same of some states, for a program."),
    ),
)
@click.argument("word", nargs=-1)
@config_options
def export(console: Console, /, word: tuple[str, ...], **options: Any) -> None:
    """Print the argument 'footprint' of observed states, by SLS and ID.

    WORDs select records as in 'footprints show'.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for record in _records(console, word, options):
        if record.whole:
            names = {kind: names for kind, names in _data(record)["footprint"].items() if names}
            found.setdefault(record.sls, {}).setdefault(record.id, {})[record.function] = [{"footprint": names}]
    console.data(found)


def _records(console: Console, words: tuple[str, ...], options: dict[str, Any]) -> list[Record]:
    """Return the records that the words select, sorted by function. Raises ConfigError for an unreadable table."""
    from asyncstate.extras.proof.trace import store

    state_dir = console.settings(options).state_dir
    records = store.load(state_dir).records.values()
    if not records:
        console.say(f"nothing is known yet: there are no records in {state_dir}. See: asyncstate apply --trace-effects")
    chosen = [
        record
        for record in records
        if not words or any(word in text for word in words for text in (record.function, record.id, record.text))
    ]
    return sorted(chosen, key=lambda record: (record.function, record.text, record.sls, record.id))


def _data(record: Record) -> dict[str, Any]:
    effects = record.effects
    return {
        "function": record.function,
        "text": record.text,
        "sls": record.sls,
        "id": record.id,
        "whole": record.whole,
        "runs": record.runs,
        "seen": record.seen,
        "inputs": sorted(record.inputs),
        "footprint": {"reads": [*effects.reads], "writes": [*effects.writes], "makes": [*effects.makes]},
    }


def _lines(records: list[Record], palette: Palette) -> Iterator[str]:
    from asyncstate.report.terminal import clean

    function = ""
    for record in records:
        if record.function != function:
            function = record.function
            yield palette.paint(palette.bold, function)
        times = "once" if record.runs == 1 else f"{record.runs} times"
        part = "" if record.whole else ", not at its work"
        first = clean(record.text).splitlines() or [""]
        yield f"  {first[0]}  ({record.sls}:{clean(record.id)}, seen {times}{part})"
        for kind, names in _data(record)["footprint"].items():
            for number, name in enumerate(names[:_SHOWN]):
                yield f"    {kind if not number else '':<7}{clean(name)}"
            if len(names) > _SHOWN:
                yield f"    {'':<7}and {len(names) - _SHOWN} more"
