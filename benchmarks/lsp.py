"""What an editor waits for: a real client, behind a pipe, in front of ``asyncstate lsp``.

``python benchmarks/lsp.py [SLS…]``: for trees of so many SLS files (500), four states each, a third of the files with
a loop of a template, and a pillar of PILLARS files. ``first`` is the first time, with which everything starts;
``median`` and ``p95`` are of ROUNDS times after it, in milliseconds. "key, its file" is the time from a keystroke until
the diagnostics of that file are there; "key, another" until those of a file that refers to it are; "key, pillar" is a
keystroke in a file of the pillar, until those of an SLS that looks at it are there. It ends if an answer is not the
right one.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

ROUNDS = 15
PILLARS = 50
PILLAR = "word: contents\nport: 80\n"
LOOP = """\
{{% for part in ['a', 'b'] %}}
loop-{number}-{{{{ part }}}}:
  file.managed:
    - name: /srv/{number}/{{{{ part }}}}
    - contents: {{{{ salt['pillar.get']('port', 80) }}}}
{{% endfor %}}
"""
STATES = """\
pkg-{number}:
  pkg.installed:
    - name: package{number}
conf-{number}:
  file.managed:
    - name: /etc/app{number}.conf
    - contents: a
    - require:
      - pkg: pkg-{before}
svc-{number}:
  service.running:
    - name: app{number}
    - watch:
      - file: conf-{number}
"""


def name_of(number: int) -> str:
    """Return the path of an SLS, below the root."""
    return f"app{number // 20}/part{number % 20}.sls"


def text_of(number: int) -> str:
    """Return an SLS whose second state requires one of the SLS before."""
    loop = LOOP.format(number=number) if number % 3 == 0 else ""
    states = STATES.format(number=number, before=max(0, number - 1))
    if number == 1:
        states = states.replace("contents", "{{ pillar.word }}")
    return f"include:\n  - app0.part0\n\n{loop}{states}"


def write_tree(root: Path, count: int) -> None:
    """Write ``count`` SLS files, twenty in a folder, and a top file that names all."""
    for number in range(count):
        path = root / name_of(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(number), encoding="utf-8")
    names = (f"    - {name_of(number).removesuffix('.sls').replace('/', '.')}\n" for number in range(count))
    (root / "top.sls").write_text("base:\n  '*':\n" + "".join(names), encoding="utf-8")
    pillar = root.parent / "pillar"
    pillar.mkdir()
    for number in range(PILLARS):
        text = "".join(f"key{number}-{key}: {{{{ grains.os }}}}\n" for key in range(20)) if number else PILLAR
        (pillar / f"part{number}.sls").write_text(text, encoding="utf-8")
    names = (f"    - part{number}\n" for number in range(PILLARS))
    (pillar / "top.sls").write_text("base:\n  '*':\n" + "".join(names), encoding="utf-8")


class Editor:
    """A client with one SLS open, ``number``, and a file of the pillar."""

    def __init__(self, client: LanguageClient, root: Path, number: int) -> None:
        self._client = client
        self._root = root
        self._pillar = (root.parent / "pillar/part0.sls").as_uri()
        self._version = 0
        self.number = number
        self.text = text_of(number)
        self._told: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(
            lambda params: self._told.put_nowait(params)  # noqa: PLW0108 - pygls marks it
        )

    def uri(self, number: int) -> str:
        """Return the address of an SLS."""
        return (self._root / name_of(number)).as_uri()

    def open(self) -> None:
        """Open the files."""
        for uri, text in ((self.uri(self.number), self.text), (self._pillar, PILLAR)):
            item = types.TextDocumentItem(uri, "sls", 0, text)
            self._client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def at(self, marked: str) -> dict[str, Any]:
        """Return the parameters for a place of the text, behind ``marked``."""
        before = self.text[: self.text.index(marked) + len(marked)]
        position = types.Position(before.count("\n"), len(before.rpartition("\n")[2]))
        return {"text_document": types.TextDocumentIdentifier(self.uri(self.number)), "position": position}

    async def complete(self) -> None:
        """Ask for the IDs that a requisite may name."""
        found = await self._client.text_document_completion_async(types.CompletionParams(**self.at("- pkg: pkg-")))
        items = found.items if isinstance(found, types.CompletionList) else []
        _require(f"pkg-{self.number}" in {item.label for item in items}, "completion")

    async def hover(self) -> None:
        """Ask for the ID under the pointer."""
        found = await self._client.text_document_hover_async(types.HoverParams(**self.at("- pkg: pkg-")))
        _require(found is not None and "pkg.installed" in str(found.contents), "hover")

    async def define(self) -> None:
        """Ask where it is declared."""
        found = await self._client.text_document_definition_async(types.DefinitionParams(**self.at("- pkg: pkg-")))
        places = [each.uri for each in found if isinstance(each, types.Location)] if isinstance(found, list) else []
        _require(places == [self.uri(self.number - 1)], "definition")

    async def type(self, text: str, number: int, *, wrong: bool, into: str = "") -> None:
        """Type, and wait until the SLS ``number`` has, or has not, an error or a warning of an argument."""
        while not self._told.empty():
            self._told.get_nowait()
        self._version += 1
        document = types.VersionedTextDocumentIdentifier(self._version, into or self.uri(self.number))
        change = types.TextDocumentContentChangeWholeDocument(text)
        self._client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
        while True:
            told = await self._told.get()
            mistaken = [each for each in told.diagnostics if each.code in {None, "probable-argument"}]
            if told.uri == self.uri(number) and bool(mistaken) == wrong:
                return

    async def mistake(self) -> None:
        """Type an argument wrong, see it, and put it right."""
        await self.type(self.text.replace("contents: a", "contentss: a"), self.number, wrong=True)

    async def mend(self) -> None:
        """Put it right."""
        await self.type(self.text, self.number, wrong=False)

    async def rename(self) -> None:
        """Give the ID that another file requires another name."""
        await self.type(self.text.replace(f"pkg-{self.number}:", "other:"), self.number + 1, wrong=True)

    async def rename_back(self) -> None:
        """Give it its name again."""
        await self.type(self.text, self.number + 1, wrong=False)

    async def mislead(self) -> None:
        """Give an argument a wrong name, in the pillar."""
        await self.type(PILLAR.replace("contents", "contentss"), 1, wrong=True, into=self._pillar)

    async def lead(self) -> None:
        """Give it its name again."""
        await self.type(PILLAR, 1, wrong=False, into=self._pillar)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"{what}: not the right answer")


@asynccontextmanager
async def editor(folder: Path, number: int) -> AsyncIterator[tuple[Editor, float]]:
    """Start the server in a new process; yield the editor and the seconds until it is initialized."""
    client = LanguageClient("benchmark", "1")
    environ = {key: value for key, value in os.environ.items() if not key.startswith("ASYNCSTATE_")}
    environ |= {
        "HOME": str(folder),
        "ASYNCSTATE_CACHEDIR": f"{folder}/cache",
        "ASYNCSTATE_STATE_DIR": f"{folder}/state",
    }
    began = time.perf_counter()
    await client.start_io(sys.executable, "-m", "asyncstate", "lsp", env=environ, cwd=str(folder))
    root = folder / "salt"
    await client.initialize_async(
        types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri=folder.as_uri())
    )
    took = time.perf_counter() - began
    client.initialized(types.InitializedParams())
    yield Editor(client, root, number), took
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()  # type: ignore[no-untyped-call]  # pygls


async def seconds(what: Callable[[], Awaitable[None]]) -> float:
    """Return how long something takes."""
    began = time.perf_counter()
    async with asyncio.timeout(60):
        await what()
    return time.perf_counter() - began


async def measure(count: int) -> None:
    """Print one line for each thing an editor waits for."""
    print(f"milliseconds, {count} SLS     first  median     p95")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tree(folder / "salt", count)
        starts = []
        for _ in range(3):
            async with editor(folder, count // 2) as (it, took):
                starts.append(took)
        _print("start, initialize", starts[0], starts[1:])
        async with editor(folder, count // 2) as (it, _took):
            it.open()
            for what, ask in (("completion", it.complete), ("hover", it.hover), ("definition", it.define)):
                _print(what, await seconds(ask), [await seconds(ask) for _ in range(ROUNDS)])
            pairs = (
                ("key, its file", it.mistake, it.mend),
                ("key, another", it.rename, it.rename_back),
                ("key, pillar", it.mislead, it.lead),
            )
            for what, forth, back in pairs:
                first = await seconds(forth)
                times = [await seconds(each) for _ in range(ROUNDS) for each in (back, forth)]
                await back()
                _print(what, first, times)


def _print(what: str, first: float, times: list[float]) -> None:
    p95 = statistics.quantiles(times, n=20, method="inclusive")[-1]
    figures = (first, statistics.median(times), p95)
    print(f"{what:<24}" + "".join(f"{1000 * figure:>8.1f}" for figure in figures), flush=True)


def main() -> None:
    """Measure each size of tree."""
    for count in [int(text) for text in sys.argv[1:]] or [500]:
        asyncio.run(measure(count))


if __name__ == "__main__":
    main()
