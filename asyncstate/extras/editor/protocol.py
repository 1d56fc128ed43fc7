"""The protocol of the language server: pygls', with an answer to each message that is malformed.

pygls logs a traceback and does not answer a request that it cannot read, so the editor would wait for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from cattrs import ClassValidationError, transform_error
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, lsp_method

from asyncstate.extras.editor.texts import changed_text
from asyncstate.logs import get_logger

if TYPE_CHECKING:
    import logging
    from collections.abc import Generator

log: logging.Logger = get_logger(__name__)

_BEFORE_INITIALIZE: Final = frozenset({types.INITIALIZE, types.EXIT})
_SHOWN: Final = 3
"""The number of mistakes of a message that its answer names."""


class Protocol(LanguageServerProtocol):
    """pygls' protocol with changes made as the editor makes them, and malformed messages answered."""

    is_to_shut_down: bool = False
    """Whether the editor has sent ``shutdown``; what ends then may not have ended."""

    def structure_message(self, data: Any) -> Any:
        """Leave each object of a message as it is: `handle_message` judges the whole."""
        return data

    def handle_message(self, message: Any) -> None:
        """Hand a message to its handler; answer with an error if it is malformed or comes at the wrong time."""
        try:
            self._judge(message)
        except JsonRpcException as error:
            self.refuse(message, error)
            return
        try:
            structured = super().structure_message(message)
        except JsonRpcException as error:
            self.refuse(message, JsonRpcInvalidParams(f"Invalid Params: {_mistakes(error.__cause__)}"))
        else:
            self.is_to_shut_down |= message.get("method") == types.SHUTDOWN
            super().handle_message(structured)

    def refuse(self, message: Any, error: JsonRpcException) -> None:
        """Answer a request with an error; a notification has no answer, and is logged only."""
        said = error.message
        given = message if isinstance(message, dict) else {}
        known = given.get("id") if _is_id(given.get("id")) else None
        log.warning("a message of the editor is refused: %s", said)
        if "method" not in given and known is not None and ("result" in given or "error" in given):
            self._handle_response(known, error=types.ResponseError(error.code, said))
        elif "id" in given or not isinstance(given.get("method"), str):
            answer = {"code": error.code, "message": said}
            self._send_data(
                {"jsonrpc": self.VERSION, "id": known, "error": answer}
            )  # pygls would leave out an ID of null

    def _judge(self, message: Any) -> None:
        """Raise JsonRpcException for a malformed message, and for one at the wrong time."""
        if not isinstance(message, dict) or message.get("jsonrpc") != self.VERSION:
            raise JsonRpcInvalidRequest("Invalid Request: a message is an object with jsonrpc: 2.0")
        if "id" in message and not _is_id(message["id"]):
            raise JsonRpcInvalidRequest("Invalid Request: an ID is a number or a text")
        if "method" not in message and "id" in message and ("result" in message or "error" in message):
            return
        method = message.get("method")
        if not isinstance(method, str):
            raise JsonRpcInvalidRequest("Invalid Request: expected a method")
        if self._shutdown and method != types.EXIT:
            raise JsonRpcInvalidRequest("Invalid Request: the server was shut down")
        if self._workspace is None and method not in _BEFORE_INITIALIZE:
            raise JsonRpcServerNotInitialized("the editor has not sent initialize")
        if self._workspace is not None and method == types.INITIALIZE:
            raise JsonRpcInvalidRequest("Invalid Request: the server is initialized already")
        if wrong := next(_wrong_addresses(message.get("params")), None):
            raise JsonRpcInvalidParams(f"Invalid Params: {wrong!r} is no address of a file")

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Generator[Any, Any, None]:
        """Take the changes of a text as one. Those of a text that is not open mean nothing."""
        if params.text_document.uri not in self.workspace.text_documents:
            log.warning("changes of %s, which the editor has not opened, are ignored", params.text_document.uri)
            return
        text = self.workspace.get_text_document(params.text_document.uri).source
        encoding = self.workspace.position_encoding or types.PositionEncodingKind.Utf16
        text = changed_text(text, params.content_changes, str(getattr(encoding, "value", encoding)))
        change = types.TextDocumentContentChangeWholeDocument(text)
        yield from super().lsp_text_document__did_change(
            types.DidChangeTextDocumentParams(params.text_document, [change])
        )


def parse_error(error: Exception) -> JsonRpcException | None:
    """Return the answer to a message that is not JSON; None for any other error."""
    if isinstance(error, (ValueError, RecursionError)):
        return JsonRpcParseError(f"Parse Error: {str(error) or type(error).__name__}")
    return None


def is_worth_a_line(record: logging.LogRecord) -> bool:
    """Return whether a line of pygls' log is more than an error that a message was answered with."""
    error = record.exc_info[1] if record.exc_info else None
    if record.msg == "Unable to handle message" and isinstance(error, Exception):
        return parse_error(error) is None
    refused = isinstance(error, JsonRpcException) and not isinstance(error, JsonRpcInternalError)
    return not refused and not str(record.msg).startswith("Unable to deserialize message")


def _mistakes(error: BaseException | None) -> str:
    """Return the mistakes in parameters: the expected type, and the place."""
    if isinstance(error, ClassValidationError):
        return "; ".join(transform_error(error)[:_SHOWN])
    return str(error)


def _is_id(value: Any) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _wrong_addresses(params: Any) -> Any:
    """Yield the URIs in parameters that no file can have."""
    if isinstance(params, dict):
        for key, value in params.items():
            if key.lower().endswith("uri") and isinstance(value, str):
                if not _is_address(value):
                    yield value
            else:
                yield from _wrong_addresses(value)
    elif isinstance(params, list):
        for each in params:
            yield from _wrong_addresses(each)


def _is_address(uri: str) -> bool:
    try:
        return "\0" not in unquote(urlsplit(uri).path) and bool(uri.encode())
    except ValueError:
        return False
