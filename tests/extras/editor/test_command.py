"""``asyncstate lsp`` where it cannot serve; the other tests in tests/extras/editor have its answers."""

import json
import os
import subprocess
import sys

import pytest

WITHOUT_PYGLS = """
import sys
sys.modules["pygls"] = sys.modules["lsprotocol"] = None
sys.argv[1:] = ["lsp"]
from asyncstate.cli import main
sys.exit(main())
"""


def test_without_pygls_the_extra_is_named(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYGLS], env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert "pip install 'pygls>=2.0'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("digits", [10, 20, 5000])
def test_what_is_too_long_to_be_a_message_ends_it_with_a_message(tmp_path, digits):
    said = b"Content-Length: " + b"9" * digits + b"\r\n\r\n{}"
    command = [sys.executable, "-m", "asyncstate", "lsp"]
    done = subprocess.run(command, input=said, env={"HOME": str(tmp_path)}, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"the editor announces what is too long to be a message: 'Content-Length: 9999" in done.stderr
    assert b"Traceback" not in done.stderr


def request(method, number=None, **params):
    body = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
    text = json.dumps(body).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(text), text)


SAID = {
    "initialize": request("initialize", 1, processId=None, rootUri=None, capabilities={}),
    "open": request(
        "textDocument/didOpen",
        textDocument={
            "uri": "file:///nowhere/a.sls",
            "languageId": "sls",
            "version": 1,
            "text": "{% for i in range(10**9) %}{% endfor %}",
        },
    ),
    "shutdown": request("shutdown", 9),
    "exit": request("exit"),
}


def full():
    return os.open("/dev/full", os.O_WRONLY)


def closed():
    read, write = os.pipe()
    os.close(read)
    return write


@pytest.mark.parametrize(("answers", "code", "says"), [(full, 74, "No space left on device"), (closed, 0, "")])
def test_a_server_whose_answers_nobody_can_have_ends_at_once(tmp_path, answers, code, says):
    """Although its input stays open."""
    with (
        os.fdopen(answers(), "wb") as output,
        subprocess.Popen(
            [sys.executable, "-m", "asyncstate", "lsp"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.PIPE,
            env={"HOME": str(tmp_path)},
        ) as server,
    ):
        server.stdin.write(SAID["initialize"])
        server.stdin.flush()
        try:
            assert server.wait(60) == code
        finally:
            server.kill()
        errors = server.stderr.read().decode()
    assert "Traceback" not in errors
    assert (says in errors, len(errors.splitlines())) == (True, 1 if says else 0)


@pytest.mark.parametrize(
    "said",
    [
        ("initialize", "shutdown", "exit"),
        ("initialize", "open", "shutdown", "exit"),
        ("initialize", "open", "shutdown"),
        ("initialize", "open", "exit"),
        ("initialize", "open"),
        ("initialize",),
        ("exit",),
        (),
    ],
)
def test_an_editor_that_waits_for_nothing_gets_its_answers_and_no_traceback(tmp_path, said):
    command = [sys.executable, "-m", "asyncstate", "lsp"]
    done = subprocess.run(
        command,
        input=b"".join(SAID[each] for each in said),
        env={
            "HOME": str(tmp_path),
            "ASYNCSTATE_CACHEDIR": str(tmp_path / "cache"),
            "ASYNCSTATE_STATE_DIR": str(tmp_path / "state"),
        },
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert (b'"id": 9' in done.stdout) == ("shutdown" in said)
