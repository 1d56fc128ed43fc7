"""The compiler's process, behind its pipes."""

import json
import os
import subprocess
import sys
import time

import pytest

from asyncstate.extras.editor.compiler import Compiler
from asyncstate.process.ending import GRACE


@pytest.fixture
def compiler(tmp_path):
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt/top.sls").write_text("base: {'*': [web]}\n")
    (tmp_path / "salt/web.sls").write_text("a:\n  test.nop: []\n")
    environ = {key: value for key, value in os.environ.items() if not key.startswith("ASYNCSTATE_")}
    environ |= {"HOME": str(tmp_path), "ASYNCSTATE_CACHEDIR": str(tmp_path), "ASYNCSTATE_STATE_DIR": str(tmp_path)}
    argv = [sys.executable, "-m", "asyncstate", "lsp", "--compiler"]
    with subprocess.Popen(argv, env=environ, cwd=tmp_path, stdin=-1, stdout=-1, bufsize=0) as process:
        yield process
        process.stdin.close()
    assert process.returncode == 0


def jobs(tmp_path, *texts, first=1, **more):
    path = str(tmp_path / "salt/web.sls")
    options = {"file_root": [["base", str(tmp_path / "salt")]]}
    lines = ({"number": n, "options": options, "texts": {path: text}, **more} for n, text in enumerate(texts, first))
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def replies(process, number):
    """Return what is said until a job is done."""
    said = []
    for line in process.stdout:
        reply = json.loads(line)
        assert reply["number"] == number
        if reply["done"]:
            return said, reply["problem"]
        said.append(reply["answer"])
    raise AssertionError(said)


def shown(said):
    kinds = [(answer["type"], answer.get("whole")) for answer in said]
    return kinds, {(each["rule"], each["line"]) for answer in said for each in answer.get("findings", ())}


ALL = [("seen", None), ("found", False), ("compiled", None), ("found", True), ("fixes", None)]


def test_jobs_are_answered_one_after_the_other(compiler, tmp_path):
    for number, function, found in ((1, "nopp", {("unknown-function", 2)}), (2, "nop", set())):
        compiler.stdin.write(jobs(tmp_path, f"a:\n  test.{function}: []\n", first=number))
        said, problem = replies(compiler, number)
        assert (shown(said), problem) == ((ALL, found), "")


@pytest.mark.parametrize("pillar", ["base: {'*': [web]}\n", "base: ["])
def test_state_functions_come_before_the_look_at_the_whole(compiler, tmp_path, pillar):
    (tmp_path / "pillar").mkdir()
    (tmp_path / "pillar/top.sls").write_text(pillar)
    options = {
        name: [["base", str(tmp_path / folder)]] for name, folder in (("file_root", "salt"), ("pillar_root", "pillar"))
    }
    compiler.stdin.write(jobs(tmp_path, "a:\n  test.nop: []\n", catalog=True, options=options))
    said, problem = replies(compiler, 1)
    assert not problem
    kinds = [(answer["type"], answer.get("whole")) for answer in said]
    assert kinds.index(("catalog", None)) == kinds.index(("found", False)) + 1
    assert "test.nop" in next(answer["functions"] for answer in said if answer["type"] == "catalog")


def test_only_the_newest_job_is_answered(compiler, tmp_path):
    compiler.stdin.write(jobs(tmp_path, "a: [", "a:\n  test.nop: []\n", "a:\n  test.nopp: []\n"))
    said, _ = replies(compiler, 3)
    assert shown(said) == (ALL, {("unknown-function", 2)})


def test_a_new_job_ends_the_one_under_way(compiler, tmp_path):
    compiler.stdin.write(jobs(tmp_path, "a:\n  test.nop: []\n"))
    assert [json.loads(compiler.stdout.readline())["answer"]["type"] for _ in range(2)] == ["seen", "found"]
    compiler.stdin.write(jobs(tmp_path, "b:\n  test.nop: []\n", first=2))
    lines = []
    while not lines or lines[-1] != {"number": 2, "answer": None, "done": True, "problem": ""}:
        lines.append(json.loads(compiler.stdout.readline()))
    of_second = [line["answer"] for line in lines if line["number"] == 2 and line["answer"]]
    assert shown(of_second) == (ALL, set())


def test_settings_that_are_wrong_are_said_in_words(compiler, tmp_path):
    job = {"number": 7, "options": {"file_root": [["base", str(tmp_path / "nowhere")]]}, "texts": {}}
    compiler.stdin.write(json.dumps(job).encode() + b"\n")
    said, problem = replies(compiler, 7)
    assert said == []
    assert "nowhere" in problem


def test_a_compiler_that_waits_for_a_job_ends_at_once(tmp_path):
    waits = (
        "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: None)\n"
        "open(sys.argv[1], 'x').close(); sys.stdin.read()"
    )
    replies = []
    compiler = Compiler([sys.executable, "-c", waits, tmp_path / "ready"], replies.append)
    compiler.prepare()
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    begun = time.monotonic()
    compiler.stop()
    compiler.wait()
    assert time.monotonic() - begun < GRACE / 2
    assert replies == []
