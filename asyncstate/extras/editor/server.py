"""The language server: answers the editor's requests from a `Session`, on the asyncio loop of pygls."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path

from asyncstate._version import __version__
from asyncstate.errors import AsyncStateError
from asyncstate.extras.editor.actions import actions
from asyncstate.extras.editor.completion import complete
from asyncstate.extras.editor.navigation import definitions, references
from asyncstate.extras.editor.protocol import Protocol, is_worth_a_line, parse_error
from asyncstate.extras.editor.publishing import Publisher
from asyncstate.extras.editor.session import Program, Session
from asyncstate.extras.editor.texts import whole
from asyncstate.extras.editor.tree import changed
from asyncstate.extras.editor.units import from_units, to_units
from asyncstate.extras.editor.watching import concerns, registration
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from asyncstate.extras.editor.actions import Action
    from asyncstate.extras.editor.completion import Item
    from asyncstate.extras.editor.knowledge import Knowledge
    from asyncstate.extras.editor.outline import Place
    from asyncstate.extras.editor.renaming import Edit, Renaming
    from asyncstate.extras.editor.tree import At, File

log: logging.Logger = get_logger(__name__)

_KINDS = {
    "function": types.CompletionItemKind.Function,
    "argument": types.CompletionItemKind.Field,
    "keyword": types.CompletionItemKind.Keyword,
    "value": types.CompletionItemKind.Value,
    "module": types.CompletionItemKind.Module,
    "id": types.CompletionItemKind.Reference,
    "file": types.CompletionItemKind.File,
    "folder": types.CompletionItemKind.Folder,
    "key": types.CompletionItemKind.Property,
}
_TRIGGERS = [".", ":", "/", "'", '"', "-", "["]


_Found = TypeVar("_Found")
_SOON = 0.05
"""Seconds that a completion waits for the texts of the tree: until then, the editor's texts answer."""
_LONGEST = 1 << 28
"""Bytes of a message of an editor."""
_LONGEST_LINE = 4096
"""Bytes of a line of its header."""
_SHOWN = 60
_MOST_UNSEEN = 3
"""The number of unknowable places that are named."""


class Refused(JsonRpcException):
    """The answer to a request that cannot be fulfilled: an editor shows its text."""

    CODE = types.LSPErrorCodes.RequestFailed.value


class Server(LanguageServer):
    """pygls' server with the session of its editor."""

    def __init__(self, program: Program) -> None:
        super().__init__("asyncstate", __version__, protocol_cls=Protocol)
        self._program = program
        self._session: Session | None = None
        self.publisher: Publisher = Publisher(
            self.text_document_publish_diagnostics, self._range_in, self.locations, uri_of
        )

    @property
    def session(self) -> Session:
        """The session; it belongs to the event loop that is running."""
        if self._session is None:
            publisher = self.publisher
            session = Session(self._program, self.tell, lambda answer: publisher.take(answer, session.knowledge.tree))
            self._session = session
        return self._session

    def end_from_thread(self) -> None:
        """End the session, if there is one, and wait for its end: in another thread than the loop's."""
        if self._session is not None:
            self._session.end_from_thread()

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Answer a message that is not JSON; show the user any other error that no answer reports."""
        refused = parse_error(error) if source is JsonRpcException else None
        if refused is not None and isinstance(self.protocol, Protocol):
            self.protocol.refuse(None, refused)
        else:
            super().report_server_error(error, source)

    def tell(self, text: str) -> None:
        """Show the user an error without a place in a file."""
        log.warning("%s", text)
        self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"asyncstate: {text}"))

    async def watch(self) -> None:
        """Ask the editor to report changes in the tree, or watch the tree if it cannot."""
        wanted = registration(self.client_capabilities, self.session.knowledge.tree.roots, uri_of)
        try:
            if wanted is not None:
                await self.client_register_capability_async(wanted)
                return
        except JsonRpcException as error:
            log.debug("the editor does not watch files: %s", error)
        self.session.watch()

    @property
    def encoding(self) -> str:
        """The encoding in which the editor counts columns."""
        agreed = self.server_capabilities.position_encoding or types.PositionEncodingKind.Utf16
        return agreed.value if isinstance(agreed, types.PositionEncodingKind) else agreed

    async def file(self, uri: str) -> File | None:
        """Return a file of the session, once the tree is known; None if it is not a file of this machine."""
        path = path_of(uri)
        await self.session.ready.wait()
        return self.session.knowledge.tree.file(path) if path else None

    def cursor(self, file: File, position: types.Position) -> tuple[int, int]:
        """Return line and column in characters."""
        lines = file.text.split("\n")
        line = max(0, min(position.line, len(lines) - 1))
        return line, from_units(lines[line], position.character, self.encoding)

    def range(self, text: str, place: Place) -> types.Range:
        """Return a place of a text as the editor counts."""
        lines = text.split("\n")
        line = lines[place.line] if 0 <= place.line < len(lines) else ""
        start, end = (to_units(line, column, self.encoding) for column in (place.start, place.end))
        return types.Range(types.Position(max(0, place.line), start), types.Position(max(0, place.line), end))

    def action(self, file: File, action: Action) -> types.CodeAction:
        """Return a change as the editor applies it."""
        lines = file.text.split("\n")
        start, end = (
            types.Position(line, to_units(lines[line], column, self.encoding))
            for line, column in (action.start, action.end)
        )
        edit = types.TextEdit(types.Range(start, end), action.text)
        return types.CodeAction(
            title=action.title,
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[self.publisher.shown(file.path, action.diagnostic)],
            is_preferred=True,
            edit=types.WorkspaceEdit(changes={uri_of(file.path): [edit]}),
        )

    async def renaming(self, find: Callable[[Knowledge], _Found]) -> _Found:
        """Return the result of ``find`` on the present texts, found outside of the event loop. Raises Refused."""
        from asyncstate.extras.editor.renaming import RenameRefused

        knowledge = self.session.knowledge
        tree = knowledge.tree
        frozen = replace(knowledge, tree=tree._replace(files=dict(tree.files), pillar=dict(tree.pillar)))
        if path := await asyncio.to_thread(changed, frozen.tree):
            self.session.look()
            raise Refused(f"{path} has changed on the disk; it is read again: try once more")
        try:
            return await asyncio.to_thread(find, frozen)
        except RenameRefused as refused:
            raise Refused(str(refused)) from None

    def workspace_edit(self, edits: Iterable[Edit]) -> types.WorkspaceEdit:
        """Return edits as the editor takes them: with the versions of its texts if it compares them."""
        by_path: dict[str, list[types.TextEdit]] = {}
        for edit in edits:
            by_path.setdefault(edit.path, []).append(types.TextEdit(self._range_in(edit.path, edit.place), edit.text))
        workspace = self.client_capabilities.workspace
        if workspace is None or workspace.workspace_edit is None or not workspace.workspace_edit.document_changes:
            return types.WorkspaceEdit(changes={uri_of(path): found for path, found in by_path.items()})
        opened = {path_of(uri): text for uri, text in self.workspace.text_documents.items()}
        changes: list[types.TextDocumentEdit] = []
        for path, found in by_path.items():
            text = opened.get(path)
            uri, version = (text.uri, text.version) if text is not None else (uri_of(path), None)
            document = types.OptionalVersionedTextDocumentIdentifier(uri, version)
            changes.append(types.TextDocumentEdit(document, list(found)))
        return types.WorkspaceEdit(document_changes=[*changes])

    def _range_in(self, path: str, place: Place) -> types.Range:
        file = self.session.knowledge.tree.file(path)
        return self.range("" if file is None else file.text, place)

    def locations(self, places: Iterable[At]) -> list[types.Location]:
        """Return places as the editor names them."""
        found = []
        for path, place in places:
            found.append(types.Location(uri_of(path), self._range_in(path, place)))
        return found


def path_of(uri: str) -> str:
    """Return the path of a URI; "" for a URI of no file, such as an unnamed text."""
    parts = urlsplit(uri)
    return os.path.normpath(unquote(parts.path)) if parts.scheme == "file" and parts.path else ""


def uri_of(path: str) -> str:
    """Return the URI of a file."""
    return from_fs_path(path) or f"file://{path}"


def make_server(program: Program) -> Server:
    """Return a server that answers all that it announces."""
    server = Server(program)

    @server.feature(types.INITIALIZE)
    def _initialize(_params: types.InitializeParams) -> None:
        server.session.open_folder(server.workspace.root_path or "")

    @server.feature(types.INITIALIZED)
    async def _initialized(_params: types.InitializedParams) -> None:
        await server.session.ready.wait()
        await server.watch()

    _texts(server)
    _answers(server)
    _renames(server)
    for name in ("pygls.protocol.json_rpc", "pygls.server"):
        logging.getLogger(name).addFilter(is_worth_a_line)
    return server


def serve(program: Program, stdin: BinaryIO, stdout: BinaryIO, lost: Callable[[OSError], None]) -> None:
    """Serve an editor until it goes. Raises AsyncStateError if it announces a message that is too long.

    ``lost`` ends the process when no answer can be written: a thread waits for the editor, who may never say more.
    """
    server = make_server(program)
    server.start_io(cast("BinaryIO", _Incoming(stdin, server)), cast("BinaryIO", _Outgoing(stdout, lost)))


class _Outgoing:
    """The output to an editor. pygls would report each failure to the editor, which fails again."""

    def __init__(self, stdout: BinaryIO, lost: Callable[[OSError], None]) -> None:
        self._stdout = stdout
        self._lost = lost
        self.close = stdout.close

    def write(self, data: bytes) -> None:
        try:
            self._stdout.write(data)
            self._stdout.flush()
        except OSError as error:
            self._lost(error)
            raise

    def flush(self) -> None:
        """Do nothing: each message is flushed."""


class _Incoming:
    """The input from an editor. pygls would allocate memory for a message of any length, or fail at its length.

    At ``exit``, and at the end of the input, pygls cancels what it is doing, the answer to ``shutdown``, too. So the
    session has ended before either is read.
    """

    def __init__(self, stdin: BinaryIO, server: Server) -> None:
        self._stdin = stdin
        self._server = server
        self.read = stdin.read

    def readline(self) -> bytes:
        """Return the next line of a header, b"" at the end."""
        protocol = self._server.protocol
        if isinstance(protocol, Protocol) and protocol.is_to_shut_down:
            self._server.end_from_thread()
        line = self._stdin.readline(_LONGEST_LINE)
        if not line:
            self._server.end_from_thread()
        announced = re.fullmatch(rb"Content-Length: (\d+)\s*", line)
        if len(line) == _LONGEST_LINE or (announced and int(announced[1]) > _LONGEST):
            shown = line[:_SHOWN].decode("ascii", "backslashreplace").strip()
            raise AsyncStateError(f"the editor announces what is too long to be a message: {shown!r}")
        return line


def _texts(server: Server) -> None:
    """Register the notifications of texts, files on disk and the configuration, and the shutdown."""

    def take(uri: str) -> None:
        if path := path_of(uri):
            server.session.edit(path, whole(server.workspace.get_text_document(uri).source))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def _opened(params: types.DidOpenTextDocumentParams) -> None:
        take(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def _changed(params: types.DidChangeTextDocumentParams) -> None:
        take(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def _saved(_params: types.DidSaveTextDocumentParams) -> None:
        server.session.look()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def _closed(params: types.DidCloseTextDocumentParams) -> None:
        if path := path_of(params.text_document.uri):
            server.session.close(path)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def _files_changed(params: types.DidChangeWatchedFilesParams) -> None:
        paths = [path_of(change.uri) for change in params.changes]
        if concerns(server.session.knowledge.tree.roots, paths):
            server.session.look()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def _configured(_params: types.DidChangeConfigurationParams) -> None:
        server.session.look(anew=True)

    @server.feature(types.SHUTDOWN)
    async def _shut_down(_params: None) -> None:
        await server.session.end()


def _answers(server: Server) -> None:
    """Answer requests."""

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=_TRIGGERS, resolve_provider=False)
    )
    async def _complete(params: types.CompletionParams) -> types.CompletionList:
        known = await server.session.is_ready(_SOON)
        path = path_of(params.text_document.uri)
        file = server.session.knowledge.tree.file(path) if path else None
        if file is None:
            return types.CompletionList(is_incomplete=not known, items=[])
        offer = complete(server.session.knowledge, file, *server.cursor(file, params.position))
        place = server.range(file.text, offer.place)
        return types.CompletionList(
            is_incomplete=not (known and offer.complete), items=[_item(item, place) for item in offer.items]
        )

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def _hover(params: types.HoverParams) -> types.Hover | None:
        from asyncstate.extras.editor.hover import hover

        file = await server.file(params.text_document.uri)
        said = hover(server.session.knowledge, file, *server.cursor(file, params.position)) if file else None
        if said is None or file is None:
            return None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, said[0]), server.range(file.text, said[1]))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def _define(params: types.DefinitionParams) -> list[types.Location]:
        file = await server.file(params.text_document.uri)
        if file is None:
            return []
        return server.locations(definitions(server.session.knowledge, file, *server.cursor(file, params.position)))

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    async def _act(params: types.CodeActionParams) -> list[types.CodeAction]:
        file = await server.file(params.text_document.uri)
        if file is None:
            return []
        lines = range(params.range.start.line, params.range.end.line + 1)
        told = server.publisher.told(file.path)
        return [server.action(file, each) for each in actions(file.path, file.text, told, server.session.fixes, lines)]

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def _refer(params: types.ReferenceParams) -> list[types.Location]:
        file = await server.file(params.text_document.uri)
        if file is None:
            return []
        declaration = params.context.include_declaration
        cursor = server.cursor(file, params.position)
        return server.locations(references(server.session.knowledge, file, *cursor, declaration=declaration))


def _renames(server: Server) -> None:
    """Rename IDs."""

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    async def _prepare(params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
        file = await server.file(params.text_document.uri)
        if file is None:
            return None
        from asyncstate.extras.editor.renaming import prepare

        cursor = server.cursor(file, params.position)
        word = await server.renaming(lambda knowledge: prepare(knowledge, file, *cursor))
        return types.PrepareRenamePlaceholder(server.range(file.text, word.place), word.text) if word else None

    @server.feature(types.TEXT_DOCUMENT_RENAME)
    async def _rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        file = await server.file(params.text_document.uri)
        if file is None:
            return None
        from asyncstate.extras.editor.renaming import rename

        cursor = server.cursor(file, params.position)

        def find(knowledge: Knowledge) -> tuple[Renaming, list[File | None]]:
            found = rename(knowledge, file, *cursor, params.new_name)
            return found, [knowledge.tree.file(edit.path) for edit in found.edits]

        found, texts = await server.renaming(find)
        if any(server.session.knowledge.tree.file(each.path) != each for each in texts if each is not None):
            raise Refused("the text has changed meanwhile: try once more")
        if found.unseen:
            places = ", ".join(found.unseen[:_MOST_UNSEEN])
            more = f" and {len(found.unseen) - _MOST_UNSEEN} more" if len(found.unseen) > _MOST_UNSEEN else ""
            server.tell(f"a template that this machine does not render may name the ID too: {places}{more}")
        return server.workspace_edit(found.edits)


def _item(item: Item, place: types.Range) -> types.CompletionItem:
    return types.CompletionItem(
        label=item.label,
        kind=_KINDS[item.kind],
        detail=item.detail or None,
        documentation=types.MarkupContent(types.MarkupKind.Markdown, item.doc) if item.doc else None,
        sort_text=f"{item.order}{item.label}",
        filter_text=item.label,
        text_edit=types.TextEdit(place, item.text),
    )
