from __future__ import annotations

import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from asyncstate.modules import _downloads
from fake_host import FakeHost
from plugin_harness import PluginHarness
from web_server import web_server

from asyncstate.dunders.context import CancelToken
from asyncstate.errors import CommandExecutionError, RunCancelled


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "http")
    return harness


@pytest.fixture
def web():
    with web_server() as server:
        yield server


def test_the_encoding_of_an_answer(plugins, web):
    web.pages["/latin"] = (200, {"Content-Type": "text/plain; charset=latin-1"}, b"\xe9")
    assert plugins.call("http.query", f"{web.url}/latin", text=True) == {"body": "é", "text": "é"}


def test_wait_for_successful_query(plugins, web):
    answers = [(503, {}, b""), (200, {}, b"up")]

    class Changing(dict):
        def get(self, path, default=None):
            return answers.pop(0)

    web.pages = Changing()
    assert plugins.call("http.wait_for_successful_query", f"{web.url}/x", request_interval=0.01) == {"body": "up"}


def test_a_silent_server_does_not_outlast_the_wait(plugins):
    with socket.create_server(("127.0.0.1", 0)) as server:
        began = time.monotonic()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        assert "timed out" in plugins.call("http.wait_for_successful_query", url, wait_for=0.5)["error"]
        assert time.monotonic() - began < 10


def test_another_server_gets_no_password(plugins, web):
    with web_server() as other:
        other.pages["/there"] = (200, {}, b"hello")
        web.pages["/here"] = (302, {"Location": f"{other.url}/there"}, b"")
        web.pages["/same"] = (302, {"Location": f"{web.url}/there"}, b"")
        web.pages["/there"] = (200, {}, b"hello")
        sent = {"username": "me", "password": "secret", "header_dict": {"X-Token": "secret"}}
        assert plugins.call("http.query", f"{web.url}/here", **sent)["body"] == "hello"
        assert {"authorization", "x-token"} <= {name.lower() for name in web.requests[0][2]}
        assert not {"authorization", "x-token"} & {name.lower() for name in other.requests[0][2]}
        plugins.call("http.query", f"{web.url}/same", **sent)
        assert "authorization" in {name.lower() for name in web.requests[-1][2]}


@pytest.mark.parametrize(("kind", "body"), [("json", b"[" * 200_000), ("yaml", b"[" * 20_000)])
def test_an_answer_that_is_no_data_is_said_in_words(plugins, web, kind, body):
    web.pages["/data"] = (200, {"Content-Type": f"text/{kind}; charset=made-up"}, body)
    with pytest.raises(CommandExecutionError, match=f"The answer is no valid {kind}"):
        plugins.call("http.query", f"{web.url}/data", decode=True)


@pytest.mark.parametrize("length", ["Content-Length: 100\r\n", ""], ids=["of a known length", "until the end"])
def test_a_cancelled_download_does_not_wait_for_a_silent_server(tmp_path, length):
    token, path = CancelToken(), tmp_path / "file"

    def load():
        with FakeHost(http_connect_timeout=600).enter(cancel=token):
            _downloads.download(f"http://127.0.0.1:{server.getsockname()[1]}/", str(path))

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as thread:
        loading = thread.submit(load)
        line, _ = server.accept()
        with line:
            line.recv(1 << 16)
            line.sendall(f"HTTP/1.0 200 OK\r\n{length}\r\nhalf".encode())
            while not token._callbacks:
                time.sleep(0.01)
            token.cancel("enough")
            with pytest.raises(RunCancelled, match="enough"):
                loading.result(60)
    assert not path.exists()


LENGTH = "HTTP/1.0 200 OK\r\nContent-Length: "
CHUNKS = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SLOW, LONG = {"http_request_timeout": 0.3}, {"http_max_body": 1000}
LATE, MORE = "longer than the 0.3 seconds of the option http_request_timeout", "1000 bytes of the option http_max_body"


@pytest.mark.parametrize(
    ("head", "more", "options", "said"),
    [
        ("HTTP/1.0 200", "O", SLOW, LATE),
        ("HTTP/1.0 200 OK\r\n", "A: b\r\n", SLOW, LATE),
        ("HTTP/1.0 200 OK\r\n\r\n", "x", SLOW, LATE),
        (f"{LENGTH}9999\r\n\r\n", "x", SLOW, LATE),
        (CHUNKS, "1\r\nx\r\n", SLOW, LATE),
        (CHUNKS, "40000\r\n" + "x" * 0x40000 + "\r\n", LONG, MORE),
        (f"HTTP/1.0 200 OK\r\n\r\n{'x' * 1001}", "", LONG, MORE),
        (f"{LENGTH}1001\r\n\r\n", "x", LONG, MORE),
        (f"{LENGTH}{1 << 62}\r\n\r\n", "x", {"http_max_body": 1 << 63}, "bytes that the disk of .* has room for"),
        (f"{LENGTH}9\r\n\r\nx", "", {}, "cut off: 8 bytes are missing"),
        (CHUNKS, "", {}, "cut off"),
    ],
)
def test_a_download_has_an_end(tmp_path, head, more, options, said):
    def serve():
        line, _ = server.accept()
        with line, suppress(OSError):
            line.recv(1 << 16)
            line.sendall(head.encode())
            while more:
                line.sendall(more.encode())
                time.sleep(0.02)

    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as thread:
        thread.submit(serve)
        with FakeHost(**options).enter(), pytest.raises(CommandExecutionError, match=said):
            _downloads.download(f"http://127.0.0.1:{server.getsockname()[1]}/", str(tmp_path / "file"))
    assert list(tmp_path.iterdir()) == []
