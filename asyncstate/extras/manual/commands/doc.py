"""``asyncstate doc``: the documentation of the states and execution modules that are loaded on this machine."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from asyncstate.cli.console import columns
from asyncstate.cli.framework import completes, new_command, selection_option
from asyncstate.cli.options import config_options
from asyncstate.extras.manual.described import Argument
from asyncstate.extras.manual.function import TITLES, call_lines
from asyncstate.extras.manual.language import TOPICS, page_of
from asyncstate.extras.manual.lookup import (
    borrowed_names,
    documentation,
    missing_libraries,
    refusals,
    why_not,
)
from asyncstate.extras.manual.prose import filled
from asyncstate.nearest import nearest
from asyncstate.report.origins import BORROWED
from asyncstate.report.terminal import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from asyncstate.cli.console import Console
    from asyncstate.extras.manual.language import Page
    from asyncstate.load.loader import LazyLoader
    from asyncstate.report.terminal import Palette


@new_command(
    "doc",
    forms=("human", "json", "yaml"),
    examples=(
        ("asyncstate doc", "All modules."),
        ("asyncstate doc file", "The functions of a module, one per line."),
        ("asyncstate doc file.managed", "Arguments and documentation of a function."),
        ("asyncstate doc require", "A word of the SLS language, with an example."),
        ("asyncstate doc --why pkg", "Which files could provide pkg, and why they were not loaded."),
    ),
)
@click.argument("name", required=False, shell_complete=completes("documented"))
@selection_option(
    "--kind",
    type=click.Choice(list(TITLES)),
    help="Only state modules, or only execution modules. Default: both.",
)
@selection_option(
    "--why",
    is_flag=True,
    help="Show which plugin files were not loaded and why; with NAME, only files that could provide it.",
)
@config_options
def command(console: Console, /, name: str | None, kind: str | None, why: bool, **options: Any) -> None:
    """Read the documentation of states and execution modules.

    NAME is a word of the language (require, onlyif, order …), a module (file) or a function (file.managed), including
    your own in _states and _modules, and those that are borrowed from Salt where Salt is installed. Without NAME, all
    modules are listed, also those that only lack an extra of asyncstate, and the words of the language.
    """
    console.answers_with_data = True
    settings = console.settings(options)
    page = page_of(name) if name and kind is None and not why else None
    from asyncstate.runtime import StateRuntime

    kinds = [kind] if kind else list(TITLES)
    with StateRuntime(settings, secrets=console.secrets).open_sync() as runtime:
        loaders: dict[str, LazyLoader] = {each: runtime.host.loaders[each] for each in kinds}
        if why:
            found: dict[str, Any] = {each: refusals(loader, name) for each, loader in loaders.items()}
        else:
            found = {each: known for each, loader in loaders.items() if (known := documentation(loader, name))}
            if not found and page is None:
                raise _not_found(loaders, name or "")
        borrowed = {each: borrowed_names(loader) for each, loader in loaders.items() if name is None and not why}
        libraries = {each: missing_libraries(loader) for each, loader in loaders.items() if name is None and not why}
    if console.out == "human":
        look = _Look(console.palette(), min(columns(console.stdout) or _WIDEST, _WIDEST))
        console.lines(_page_text(page, look))
        console.lines(_refusal_text(found) if why else _text(found, name, look))
        console.lines(_borrowed_text(borrowed, look))
        console.lines(_libraries_text(libraries, console.palette()))
        console.lines(_topic_list(look) if libraries else ())
    else:
        console.data(found if page is None else {"language": {page.topic: f"{page.title}\n{page.text}"}} | found)


class _Look(NamedTuple):
    """The colours of a page, and how many columns it has."""

    palette: Palette
    width: int


_WIDEST = 100
"""Columns of text that the eye can follow."""


def _not_found(loaders: dict[str, LazyLoader], name: str) -> click.UsageError:
    if not name:
        return click.UsageError("no plugins were found")
    if page_of(name):
        return click.UsageError(f"{name} is a word of the language: asyncstate doc {name}, without --kind")
    known = [each for loader in loaders.values() for each in loader.names()]
    refused = why_not(loaders, name.partition(".")[0])
    if refused:
        return click.UsageError(f"{name} is not available here: {'; '.join(refused)}")
    if "." not in name:
        known = [each.partition(".")[0] for each in known]
    near = nearest(name, sorted({*known, *TOPICS}))
    hint = f" Did you mean {near}?" if near else f" asyncstate doc --why {name.partition('.')[0]} may say why."
    return click.UsageError(f"there is no module, function or topic {name!r}.{hint}")


def _text(found: dict[str, dict[str, Any]], name: str | None, look: _Look) -> Iterator[str]:
    for kind, entries in found.items():
        if name is None:
            yield from _module_list(TITLES[kind], entries, look.palette)
        elif "." in name:
            yield from _function_page(TITLES[kind], name, entries[name], look)
        else:
            yield from _function_list(TITLES[kind], name, entries, look)


def _module_list(title: str, entries: dict[str, Any], palette: Palette) -> Iterator[str]:
    modules: dict[str, int] = {}
    for function in entries:
        module = function.partition(".")[0]
        modules[module] = modules.get(module, 0) + 1
    yield palette.paint(palette.bold, f"{title}s")
    width = max(map(len, modules))
    for module, number in modules.items():
        yield f"  {module:<{width}}  {number:>3} function{'s' if number > 1 else ''}"
    yield ""


def _borrowed_text(borrowed: dict[str, list[str]], look: _Look) -> Iterator[str]:
    for kind, names in borrowed.items():
        if names:
            yield look.palette.paint(look.palette.bold, f"{TITLES[kind]}s borrowed from Salt, where they load")
            yield from _names(names, look.width)
            yield ""


def _names(names: Iterable[str], width: int) -> list[str]:
    return textwrap.wrap(
        "  ".join(names),
        max(width, 40),
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _page_text(page: Page | None, look: _Look) -> Iterator[str]:
    if page is not None:
        yield look.palette.paint(look.palette.bold, page.title)
        yield from (*filled(page.text, look.width), "")


def _topic_list(look: _Look) -> Iterator[str]:
    yield look.palette.paint(look.palette.bold, "The language: asyncstate doc TOPIC")
    yield from _names(TOPICS, look.width)


def _libraries_text(libraries: dict[str, dict[str, str]], palette: Palette) -> Iterator[str]:
    for kind, modules in libraries.items():
        if modules:
            yield palette.paint(palette.bold, f"{TITLES[kind]}s whose library is not installed")
            width = max(map(len, modules))
            yield from (f"  {module:<{width}}  pip install {library}" for module, library in modules.items())
            yield ""


def _function_list(title: str, name: str, entries: dict[str, Any], look: _Look) -> Iterator[str]:
    first_entry = next(iter(entries.values()))
    yield look.palette.paint(look.palette.bold, f"{title} {name}") + f"  ({_place(first_entry)})"
    width = max(map(len, entries))
    for function, entry in entries.items():
        first = one_line(entry["doc"].strip().partition("\n")[0], 1000)
        yield from (f"  {line}" for line in filled(f"{function:<{width}}  {first}".rstrip(), look.width - 2))
    yield ""


def _function_page(title: str, name: str, entry: dict[str, Any], look: _Look) -> Iterator[str]:
    yield look.palette.paint(look.palette.bold, f"{title} {name}") + f"  ({_place(entry)})"
    yield from (f"  {line}" for line in call_lines(name, entry["signature"], look.width - 2))
    yield ""
    yield from (f"    {line}".rstrip() for line in filled(entry["doc"] or "(no documentation)", look.width - 4))
    if entry["arguments"]:
        yield from ("", "  Arguments")
        yield from _argument_lines(entry["arguments"], look.width)
    if entry["example"]:
        yield from ("", "  Example", *(f"    {line}" for line in entry["example"].splitlines()))
    if entry["platforms"]:
        yield from ("", *(f"  {line}" for line in filled(f"Platforms: {entry['platforms']}", look.width - 2)))
    yield ""


def _argument_lines(arguments: list[dict[str, Any]], width: int) -> Iterator[str]:
    for each in arguments:
        argument = Argument(**each)
        yield f"    {argument.line}"
        yield from (f"        {line}" for line in filled(argument.meaning, width - 8))
        yield from (f"          {line}" for line in argument.example)


def _place(entry: dict[str, Any]) -> str:
    return f"borrowed from Salt: {entry['file']}" if entry["origin"] == BORROWED else str(entry["file"])


def _refusal_text(found: dict[str, dict[str, str]]) -> Iterator[str]:
    if not any(found.values()):
        yield "Every plugin file was loaded."
    for kind, refused in found.items():
        for file, reason in refused.items():
            yield f"{TITLES[kind]} {file}"
            yield f"    {reason}"
