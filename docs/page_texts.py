"""The texts of generated pages of the site: one for each bundled module, from its docstrings, and one of all codes."""
# ruff: noqa: INP001 - a script beside the pages it makes

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.extras.manual.codes import codes, files_of
from asyncstate.extras.manual.described import described
from asyncstate.extras.manual.function import TITLES, Function, call_lines, markdown, platforms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from docs.bundled import ProviderFile


def page(kind: str, name: str, providers: Iterable[ProviderFile]) -> str:
    """Return the page of a module in Markdown; a function of several providers appears once, as in the first."""
    providers = list(providers)
    lines = [f"# {name}", "", f"{TITLES[kind]}. {providers[0].doc.partition(chr(10))[0]}", ""]
    if len(providers) > 1:
        lines += ["Which of these provides it depends on the machine:", "", "| file | platforms |", "| --- | --- |"]
        lines += [f"| `{_short(each.file)}` | {platforms(each.file)} |" for each in providers]
    else:
        lines += [f"Platforms: {platforms(providers[0].file)}"]
    told: set[str] = set()
    for provider in providers:
        for function, func in provider.functions.items():
            if function not in told:
                told.add(function)
                lines += ["", *_function_lines(Function(kind, f"{name}.{function}", func))]
    return "\n".join([*lines, ""])


def _function_lines(function: Function) -> Iterator[str]:
    yield f"## {function.name}"
    yield ""
    yield from ("```python", *call_lines(function.name, function.signature), "```", "")
    yield markdown(function.doc)
    if function.kind == "states" and (arguments := described(function.name, function.func)):
        yield from ("", "| argument | type | default | meaning | example |", "| --- | --- | --- | --- | --- |")
        yield from (
            f"| `{one.name}` | `{_cell(one.type)}` | {f'`{_cell(one.default)}`' if one.default else 'required'} "
            f"| {_cell(one.meaning)} | {'<br>'.join(f'`{_cell(line)}`' for line in one.example)} |"
            for one in arguments
        )
    if function.example:
        yield from ("", "```yaml" if function.kind == "states" else "```shell", function.example, "```")


def _cell(text: str) -> str:
    """Return a text that stays in its cell of a Markdown table."""
    return text.replace("|", "\\|")


def _short(file: str) -> str:
    """Return the last part of a plugin's path that identifies it."""
    parts = file.rsplit("/", 2)
    return "/".join(parts[-2:]) if parts[-1] == "__init__.py" else parts[-1]


def codes_page() -> str:
    """Return the page of the site with all codes, in Markdown."""
    lines = [
        "# Codes of mistakes",
        "",
        "`asyncstate explain E305` prints the same. `E` is an error, or a mistake that makes `check` fail; `W` is a",
        "warning or a finding of `lint`. `# asyncstate: ignore[W203]` in a line of an SLS file, or above it, silences",
        "a warning there.",
    ]
    for code, entry in codes().items():
        lines += ["", f"## {code}: {entry.title}", "", entry.means.strip()]
        if entry.wrong:
            lines += _fenced(entry.wrong)
        lines += ["", entry.mend.strip()]
        if entry.right:
            lines += _fenced(entry.right)
    return "\n".join(lines) + "\n"


def _fenced(example: str | Mapping[str, str]) -> Iterator[str]:
    for path, text in files_of(example).items():
        yield from ("", f'```yaml title="{path}"', *text.splitlines(), "```")
