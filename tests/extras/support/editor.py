"""An editor: the client of pygls, with `asyncstate lsp` behind a pipe."""

import asyncio
import os
import sys
from contextlib import asynccontextmanager

from lsprotocol import types
from pygls.lsp.client import LanguageClient


class Editor:
    """Opens files and asks; places are marked by ^ in the text that is looked for."""

    def __init__(self, client, folder):
        self.client = client
        self.folder = folder
        self.texts = {}
        self.said = asyncio.Queue()
        self.found = asyncio.Queue()
        self.asked = asyncio.Queue()
        client.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: self.asked.put_nowait(params))  # noqa: PLW0108 - as below
        client.feature(types.WINDOW_SHOW_MESSAGE)(lambda params: self.said.put_nowait(params.message))
        client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self.found.put_nowait(params))  # noqa: PLW0108 - pygls marks it

    def uri(self, name):
        return (self.folder / name).as_uri()

    def open(self, name, text=None):
        text = (self.folder / name).read_text() if text is None else text
        self.texts[name] = text
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(self.uri(name), "sls", 1, text))
        )

    def change(self, name, text):
        self.texts[name] = text
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(2, self.uri(name)),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    def insert(self, name, before, new):
        """Write ``new`` behind a part of the text, and tell the server just that."""
        text = self.texts[name]
        at = text.index(before) + len(before)
        start = text[:at].replace("\r\n", "\n")
        place = types.Position(start.count("\n"), len(start.rpartition("\n")[2].encode("utf-16-le")) // 2)
        self.texts[name] = text[:at] + new + text[at:]
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(2, self.uri(name)),
                [types.TextDocumentContentChangePartial(types.Range(place, place), new)],
            )
        )

    def at(self, name, marked):
        """Return where the caret of ``marked`` is, in UTF-16 units."""
        before, caret, after = marked.partition("^")
        assert caret
        assert before + after in self.texts[name]
        start = self.texts[name][: self.texts[name].index(before + after) + len(before)]
        column = len(start.rpartition("\n")[2].encode("utf-16-le")) // 2
        return {
            "text_document": types.TextDocumentIdentifier(self.uri(name)),
            "position": types.Position(start.count("\n"), column),
        }

    async def completions(self, name, marked):
        params = types.CompletionParams(**self.at(name, marked))
        return {item.label: item for item in (await self.client.text_document_completion_async(params)).items}

    async def hover(self, name, marked):
        found = await self.client.text_document_hover_async(types.HoverParams(**self.at(name, marked)))
        return found.contents.value if found else None

    async def definitions(self, name, marked):
        params = types.DefinitionParams(**self.at(name, marked))
        return [self.shown(each) for each in await self.client.text_document_definition_async(params)]

    async def references(self, name, marked):
        params = types.ReferenceParams(types.ReferenceContext(include_declaration=True), **self.at(name, marked))
        return sorted(self.shown(each) for each in await self.client.text_document_references_async(params))

    async def actions(self, name, marked):
        """Return the texts after each quick fix at a place, by title."""
        where = self.at(name, marked)["position"]
        context = types.CodeActionContext([])
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(self.uri(name)), types.Range(where, where), context
        )
        found = await self.client.text_document_code_action_async(params)
        return {each.title: self.changed(name, each.edit.changes[self.uri(name)]) for each in found}

    def changed(self, name, edits):
        lines = self.texts[name].split("\n")
        [edit] = edits
        start, end = edit.range.start, edit.range.end
        before = "\n".join([*lines[: start.line], lines[start.line][: start.character]])
        after = "\n".join([lines[end.line][end.character :], *lines[end.line + 1 :]])
        return before + edit.new_text + after

    async def rename(self, name, marked, new):
        params = types.RenameParams(new_name=new, **self.at(name, marked))
        return await self.client.text_document_rename_async(params)

    async def prepare_rename(self, name, marked):
        return await self.client.text_document_prepare_rename_async(types.PrepareRenameParams(**self.at(name, marked)))

    def shown(self, location):
        return f"{location.uri.removeprefix(self.folder.as_uri() + '/')}:{location.range.start.line + 1}"

    async def diagnostics(self, name, *, until=lambda found: True):
        """Return what is said of a file when it first fits."""
        while True:
            params = await self.found.get()
            if params.uri == self.uri(name) and until(params.diagnostics):
                return params.diagnostics


@asynccontextmanager
async def editor(folder, *words, state, program=(sys.executable, "-m", "asyncstate", "lsp"), can=None):
    """Start the server as an editor that has ``folder`` open; ``state`` is a folder for what it keeps.

    ``can`` are the capabilities of the editor.
    """
    client = LanguageClient("test", "1")
    environ = {key: value for key, value in os.environ.items() if not key.startswith("ASYNCSTATE_")}
    environ |= {
        "HOME": str(state),
        "ASYNCSTATE_CACHEDIR": str(state / "cache"),
        "ASYNCSTATE_STATE_DIR": str(state / "state"),
    }
    await client.start_io(*program, *words, env=environ, cwd=str(folder))
    try:
        it = Editor(client, folder)
        await client.initialize_async(
            types.InitializeParams(capabilities=can or types.ClientCapabilities(), root_uri=folder.as_uri())
        )
        client.initialized(types.InitializedParams())
        yield it
        await client.shutdown_async(None)
        client.exit(None)
        await asyncio.wait_for(client._server.wait(), 30)
    finally:
        if client._server.returncode is None:
            client._server.kill()
        await client.stop()
