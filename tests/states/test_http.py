"""The http states on the real execution module and a web server on this machine."""

from __future__ import annotations

import pytest
from asyncstate.modules import http as http_module
from plugin_harness import PluginHarness
from tables import beside
from web_server import web_server

TABLES = beside(__file__)


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "http")
    harness.load("states", "http")
    return harness


@pytest.fixture
def server():
    with web_server() as served:
        served.pages["/"] = (200, {"Content-Type": "text/plain"}, b"all is well")
        yield served


@pytest.mark.parametrize(("path", "arguments", "verdict"), TABLES["query"])
def test_query(plugins, server, path, arguments, verdict):
    row = plugins.state("http.query", name=server.url + path, **arguments)
    assert ([row["result"], row["comment"]], row["changes"]) == (verdict, {})


def test_the_answer_is_in_the_row(plugins, server):
    row = plugins.state("http.query", name=server.url, status=200)
    assert row["data"] == {"body": "all is well", "text": "all is well", "status": 200}


def test_arguments_of_the_request(plugins, server):
    arguments = {"method": "POST", "data": "x", "header_dict": {"X-A": "1"}, "agent": "me"}
    assert plugins.state("http.query", name=server.url, status=200, **arguments)["result"] is True
    method, _, headers, body = server.requests[-1]
    assert (method, body, headers["X-A"], headers["User-Agent"]) == ("POST", b"x", "1", "me")


@pytest.mark.feature("F196")
def test_a_dry_run_sends_nothing(plugins, server):
    row = plugins.state("http.query", name=server.url, status=200, test=True)
    assert (row["result"], row["comment"]) == (None, "Status 200 was not found. (TEST MODE)")
    row = plugins.state("http.wait_for_successful_query", name=server.url, status=200, test=True)
    assert row["result"] is None
    assert server.requests == []
    row = plugins.state("http.query", name="http://nowhere.invalid", status=200, test_url=server.url, test=True)
    assert row["comment"] == f"Status 200 was found. (TEST MODE, TEST URL WAS: {server.url})"


def test_nobody_answers(plugins):
    with web_server() as served:
        gone = served.url.replace("http://", "http://me:secret@")
    row = plugins.state("http.query", name=gone, status=200)
    assert (row["result"], row["comment"], row["data"]["status"]) == (False, "Status 200 was not found.", 0)
    assert "secret" not in str(row)
    assert plugins.state("http.query", name="gopher://x", status=200)["result"] is False


def test_waiting_for_an_answer(plugins, server, monkeypatch):
    pauses = []

    def appear(seconds):
        pauses.append(seconds)
        server.pages["/late"] = (200, {}, b"ready" if len(pauses) > 1 else b"starting")

    monkeypatch.setattr(http_module, "_pause", appear)
    arguments = {"name": f"{server.url}/late", "match": "ready", "status": 200, "request_interval": 3}
    row = plugins.state("http.wait_for_successful_query", **arguments)
    assert (row["result"], pauses) == (True, [3.0, 3.0])
    assert [path for _, path, _, _ in server.requests] == ["/late"] * 3


def test_waiting_in_vain(plugins, server, monkeypatch):
    monkeypatch.setattr(http_module, "_pause", lambda seconds: None)
    row = plugins.state("http.wait_for_successful_query", name=f"{server.url}/none", status=200, wait_for=-1)
    assert (row["result"], row["comment"]) == (False, "Status 200 was not found.")
    row = plugins.state("http.query", name=f"{server.url}/none", status=200, wait_for=-1)
    assert row["result"] is False
    assert plugins.state("http.wait_for_successful_query", name=server.url)["result"] is False
