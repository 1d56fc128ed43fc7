"""The basis of the benchmark of real applies: its mirror, and its comparison of two applies."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

URL = "http://archive.test/debian/x.deb"
KEPT = "Sun, 22 Nov 2026 10:00:00 GMT"


@pytest.fixture
def throwaway(checkout, monkeypatch):
    monkeypatch.syspath_prepend(str(checkout / "benchmarks"))
    yield
    for name in [name for name in sys.modules if name.startswith("throwaway")]:
        del sys.modules[name]


@pytest.fixture
def mirror(throwaway, tmp_path, monkeypatch):
    from throwaway import mirror

    upstream = {URL: mirror.Answer(200, KEPT, b"archive" * 100)}
    monkeypatch.setattr(mirror, "_fetch", lambda url: upstream.pop(url, mirror.Answer(502, "", b"")))
    with contextlib.closing(mirror.Mirror(tmp_path, rate=1e9, delay=0)) as made:
        yield made


@pytest.fixture
def ask(mirror):
    """Return a function that asks the mirror for a URL, with headers, and returns status and body."""
    listener = socket.create_server(("127.0.0.1", 0))
    proxy = urllib.request.ProxyHandler({"http": f"http://127.0.0.1:{listener.getsockname()[1]}"})
    opener = urllib.request.build_opener(proxy)

    def get(url, **headers):
        wanted = urllib.request.Request(url, headers={name.replace("_", "-"): text for name, text in headers.items()})
        try:
            with opener.open(wanted, timeout=5) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as error:
            return error.code, b""

    with mirror.listening(listener):
        yield get


def test_the_mirror_fetches_what_it_lacks_once(mirror, ask):
    assert ask(URL) == ask(URL) == (200, b"archive" * 100)
    assert (mirror.fetched, mirror.requests, mirror.sent) == ([URL], 2, 1400)


def test_the_mirror_sends_what_is_asked_for(ask):
    ask(URL)
    assert ask(URL, If_Modified_Since=KEPT) == (304, b"")
    assert ask(URL, If_Modified_Since="Sat, 21 Nov 2026 10:00:00 GMT") == (200, b"archive" * 100)
    assert ask(URL, Range="bytes=693-") == (206, b"archive")
    assert ask(URL, Range="bytes=693-", If_Range="Sat, 21 Nov 2026 10:00:00 GMT") == (200, b"archive" * 100)


def test_the_mirror_asks_again_for_what_failed(mirror, ask):
    gone = "http://gone.test/x"
    assert ask(gone) == ask(gone) == (502, b"")
    assert mirror.fetched == [gone, gone]


def test_the_mirror_shares_its_rate(throwaway, tmp_path, monkeypatch):
    import time

    from throwaway import mirror

    monkeypatch.setattr(mirror, "_fetch", lambda url: mirror.Answer(200, KEPT, b"x" * 50_000))
    listener = socket.create_server(("127.0.0.1", 0))
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({"http": f"http://127.0.0.1:{listener.getsockname()[1]}"})
    )
    with contextlib.closing(mirror.Mirror(tmp_path, rate=500_000, delay=0.01)) as made, made.listening(listener):
        began = time.monotonic()
        for number in range(2):
            opener.open(f"http://archive.test/{number}", timeout=5).read()
        assert time.monotonic() - began >= 0.2


def run_of(**parts):
    from throwaway.runs import Run

    row = {"result": True, "changes": {"retcode": 0, "pid": 1}, "comment": "done"}
    whole = {
        "wall": 1.0,
        "cpu": 1.0,
        "fetched": [],
        "rows": {"t": row},
        "packages": {"a": "ii 1"},
        "texts": {},
        "paths": {},
    }
    return Run(**{**whole, "code": 0, "errors": "", **parts})


def test_applies_that_end_alike_have_no_difference(throwaway):
    from throwaway.compare import compare

    other = {"result": True, "changes": {"retcode": 0, "pid": 2}, "comment": "made"}
    found = compare(run_of(), run_of(rows={"t": other}, paths={"/var/log/x": None}), whole_changes=True)
    assert (found.lines, found.same_comments, found.states) == ([], 0, 1)


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        ({"rows": {}}, "t: only the first has this row"),
        ({"packages": {}}, "package a: ii 1, not changed"),
        ({"paths": {"/etc/x": None}}, "/etc/x: not changed, absent"),
        (
            {"rows": {"t": {"result": True, "changes": {"new": 1}, "comment": "done"}}},
            "t: changes ['retcode'], ['new']",
        ),
    ],
)
def test_every_difference_is_a_line(throwaway, parts, line):
    from throwaway.compare import compare

    assert compare(run_of(), run_of(**parts), whole_changes=False).lines == [line]


def test_lines_of_accounts_in_another_order_are_no_difference(throwaway):
    from throwaway.compare import compare

    runs = [run_of(texts={"/etc/group": text}, paths={"/etc/group": None}) for text in ("a\nb\n", "b\na\n", "a\nc\n")]
    moved, other = (compare(runs[0], run, whole_changes=True) for run in runs[1:])
    assert (moved.lines, moved.orders) == ([], ["/etc/group"])
    assert other.lines == ["line of /etc/group: - b", "line of /etc/group: + c"]


def test_the_benchmark_of_real_applies_says_what_it_needs(checkout):
    command = [sys.executable, "benchmarks/highstates.py", "--help"]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    assert "apt-get install mmdebstrap" in done.stdout
