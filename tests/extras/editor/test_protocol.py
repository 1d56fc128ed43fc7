"""Every request of an editor is answered, however malformed, and the server goes on."""

import asyncio
import copy
import json
import logging
import threading
from contextlib import asynccontextmanager

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pygls.io_ import run_async

from asyncstate.config import Settings
from asyncstate.extras.editor.server import make_server
from asyncstate.extras.editor.session import Program

WEB = "web:\n  file.managed:\n    - name: /tmp/x\n    - require:\n      - test: other\nother:\n  test.nop: []\n"
REFUSALS = {-32700, -32600, -32601, -32602, -32002, -32803}
"""Parse error, invalid request, unknown method, invalid parameters, not initialized, a refused rename."""


def session_of(uri):
    """Return the messages of a whole session, without its end."""
    at = {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 1}}
    versioned = {"uri": uri, "version": 2}
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
    messages = [
        ("initialize", {"processId": None, "rootUri": uri.rpartition("/")[0], "capabilities": {"workspace": {}}}),
        (None, "initialized", {}),
        (None, "textDocument/didOpen", {"textDocument": versioned | {"languageId": "sls", "text": WEB}}),
        (
            None,
            "textDocument/didChange",
            {"textDocument": versioned, "contentChanges": [{"range": place, "text": WEB}]},
        ),
        ("textDocument/completion", at),
        ("textDocument/hover", at),
        ("textDocument/definition", at),
        ("textDocument/references", at | {"context": {"includeDeclaration": True}}),
        ("textDocument/codeAction", {"textDocument": {"uri": uri}, "range": place, "context": {"diagnostics": []}}),
        ("textDocument/prepareRename", at),
        ("textDocument/rename", at | {"newName": "site"}),
        ("workspace/executeCommand", {"command": "nothing"}),
        ("nothing/known", {}),
        (None, "textDocument/didSave", {"textDocument": {"uri": uri}}),
        (None, "workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]}),
        (None, "workspace/didChangeConfiguration", {"settings": {}}),
        (None, "$/cancelRequest", {"id": 1}),
        (None, "$/setTrace", {"value": "off"}),
        (None, "textDocument/didClose", {"textDocument": {"uri": uri}}),
    ]
    made = []
    for number, words in enumerate(messages):
        *none, method, params = words
        made.append({"jsonrpc": "2.0", "method": method, "params": params} | ({} if none else {"id": f"good-{number}"}))
    return made


class Output:
    """What the server writes: answers by ID, in the order in which they come."""

    def __init__(self):
        self.answers = []
        self.came = asyncio.Event()

    def write(self, data):
        message = json.loads(data.partition(b"\r\n\r\n")[2])
        if "method" not in message:
            self.answers.append(message)
            self.came.set()

    async def answer(self, fits):
        async with asyncio.timeout(20):
            while not (found := [each for each in self.answers if fits(each)]):
                self.came.clear()
                await self.came.wait()
        return found[0]


@asynccontextmanager
async def served(folder):
    """A server behind a pipe; yield what sends to it, and what it writes."""
    config = Settings(file_roots={"base": [str(folder)]}, cachedir=str(folder / "cache"))
    server = make_server(Program({}, lambda _: config, ("cat",)))  # a reply that is its job has nothing to take
    reader, output = asyncio.StreamReader(), Output()
    server.protocol.set_writer(output)
    task = asyncio.create_task(
        run_async(
            threading.Event(), reader, server.protocol, logging.getLogger("pygls.server"), server.report_server_error
        )
    )

    def send(message):
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        reader.feed_data(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    try:
        yield send, output
        send({"jsonrpc": "2.0", "id": "end", "method": "shutdown", "params": None})
        assert (await output.answer(lambda each: each["id"] == "end"))["result"] is None
        send({"jsonrpc": "2.0", "id": "late", "method": "textDocument/hover", "params": {}})
        assert (await output.answer(lambda each: each["id"] == "late"))["error"]["code"] == -32600
    finally:
        reader.feed_eof()
        await task
        await server.session.end()


def paths(data, path=()):
    """Yield the way to each value in a message."""
    if path:
        yield path
    if isinstance(data, dict | list):
        for key in data if isinstance(data, dict) else range(len(data)):
            yield from paths(data[key], (*path, key))


ODD = st.sampled_from(
    [None, True, 0, -1, 2**40, 1.5, "", "x", "file://[", "file:///a%00b", "file:", "\ud800", [], {}, [None], {"a": [1]}]
)


@st.composite
def mutated(draw, messages):
    """A message of the session with another value, or none, in one or two places; or none at all."""
    if draw(st.integers(0, 9)) == 0:
        return draw(
            st.sampled_from([b"{", b"[]", b"1", b"null", b"\xff", b"[" * 100_000, b'{"jsonrpc": "2.0"}', b"{}"])
        )
    message = copy.deepcopy(draw(st.sampled_from(messages)))
    if "id" in message:
        message["id"] = "bad"
    for _ in range(draw(st.integers(1, 2))):
        *way, last = draw(st.sampled_from([*paths(message)] or [("jsonrpc",)]))
        inner = message
        for key in way:
            inner = inner[key]
        if draw(st.booleans()):
            inner[last] = draw(ODD)
        elif isinstance(inner, dict):
            del inner[last]
    return message


@given(data=st.data())
@settings(max_examples=25, phases=[Phase.generate], suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_session_with_malformed_messages_between_its_own(data, tmp_path, caplog):
    caplog.clear()
    (tmp_path / "web.sls").write_text(WEB)
    good = session_of((tmp_path / "web.sls").as_uri())
    between = [data.draw(st.lists(mutated(good), max_size=3)) for _ in good]

    async def run():
        async with served(tmp_path) as (send, output):
            asked = 0
            for bad, message in zip(between, good, strict=True):
                for each in bad:
                    if isinstance(each, dict) and each.get("id") == "bad":
                        each["id"] = f"bad-{asked}"
                    send(each)
                    asked += is_request(each)
                send(message)
            for message in good:
                if "id" in message:
                    await output.answer(lambda each, wanted=message["id"]: each["id"] == wanted)
            await output.answer(lambda _: len(refused(output)) == asked)
            return output.answers

    answers = asyncio.run(run())
    codes = {each["error"]["code"] for each in answers if "error" in each}
    assert codes <= REFUSALS
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


def refused(output):
    """The answers to messages that were put between those of the session."""
    return [each for each in output.answers if not str(each["id"]).startswith("good")]


def is_request(message):
    """Whether a message must be answered: it has an ID, or is neither a request nor a notification."""
    return not isinstance(message, dict) or "id" in message or not isinstance(message.get("method"), str)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "required field missing @ $.params.capabilities"),
        (None, "expected InitializeParams @ $.params"),
        ([3], "expected ClientCapabilities"),
        ({"capabilities": None}, "expected ClientCapabilities @ $.params.capabilities"),
        ({"capabilities": {"workspace": 3}}, "@ $.params.capabilities.workspace"),
        ({"capabilities": {}, "rootUri": "file://["}, "'file://[' is no address of a file"),
    ],
)
async def test_a_malformed_initialize_is_answered_and_the_next_one_counts(params, words, tmp_path, caplog):
    async with served(tmp_path) as (send, output):
        send({"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover", "params": {}})
        assert (await output.answer(lambda each: each["id"] == 1))["error"]["code"] == -32002
        send({"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": params})
        error = (await output.answer(lambda each: each["id"] == 2))["error"]
        assert error["code"] == -32602
        assert words in error["message"]
        send({"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": {"capabilities": {}, "processId": None}})
        assert "capabilities" in (await output.answer(lambda each: each["id"] == 3))["result"]
    assert "Traceback" not in caplog.text
