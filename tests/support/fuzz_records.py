"""Hypothesis strategies for what the program itself wrote and reads again: journals and plan files, spoiled."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import zlib
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

TREE = {
    "salt/main.sls": "a: test.nop\nb: {test.succeed_with_changes: [{watch: [a]}]}\nc: {test.fail_without_changes: []}\n"
    "d: {test.nop: [{require: [c]}, {text: é}]}\n",
    "pillar/top.sls": "base: {'*': [data]}\n",
    "pillar/data.sls": "a: {b: 1}\n",
}
ROOTS = ("--file-root", "salt", "--pillar-root", "pillar")
STATE = "../home/state"


@cache
def records():
    """Return what a run of the tree leaves, by name: ``plan``, ``key``, ``database``, ``log``."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        for name, text in TREE.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        keep = f"cd {root}; cp ../home/state/journal/*.log log"
        (root / "salt/keep.sls").write_text(
            f"include: [main]\nkeep: {{cmd.run: [{{name: {keep}}}, {{order: last}}]}}\n"
        )
        home = f"{folder}/home"
        environ = {"HOME": home, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        environ |= {"ASYNCSTATE_CACHEDIR": f"{home}/cache", "ASYNCSTATE_STATE_DIR": f"{home}/state"}
        program = Path(sys.executable).with_name("asyncstate")
        for words in (("main", "--test", "--plan-out", "plan"), ("main",), ("keep",)):
            done = subprocess.run(
                [program, "apply", *words, *ROOTS], cwd=root, env=environ, capture_output=True, text=True, check=False
            )
            assert done.returncode == 2, done.stderr
        state = Path(home, "state")
        return {
            "plan": (root / "plan").read_bytes(),
            "log": (root / "log").read_bytes(),
            "key": (state / "plan.key").read_bytes(),
            "database": (state / "journal.db").read_bytes(),
        }


def as_file(data):
    """Return bytes as the content of a file of a case."""
    return {"deflated": base64.b64encode(zlib.compress(data)).decode()}


@st.composite
def torn(draw, data):
    """Bytes with a few places of them spoiled, or their end missing."""
    data = bytearray(data)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        kind = draw(st.integers(0, 4))
        if kind == 0:
            del data[at:]
        elif kind == 1:
            data[at : at + draw(st.integers(1, 200))] = draw(st.binary(max_size=8))
        elif kind == 2:
            data[at:at] = draw(
                st.sampled_from(
                    (b"\0", b"\n", b"{}\n", b"null\n", b"\xff", b'{"type":"chunk_finished"}\n', b"[" * 5000)
                )
            )
        elif kind == 3:
            data[at : at + 1] = bytes([draw(st.integers(0, 255))])
        else:
            lines = bytes(data).splitlines(keepends=True)
            if lines:
                lines.insert(draw(st.integers(0, len(lines))), lines.pop(draw(st.integers(0, len(lines) - 1))))
                data = bytearray(b"".join(lines))
    return bytes(data)


_VALUES = (None, True, 0, -1, 2**70, 1.5, "", "x", "\udcff", [], {}, [[]], {"a": None}, "9" * 5000)


@st.composite
def changed(draw, text):
    """A JSON text with a few of its values replaced, removed, or of another type."""
    data = json.loads(text)
    for _ in range(draw(st.integers(0, 3))):
        inner, key = {"": data}, ""
        while isinstance(inner[key], (dict, list)) and inner[key] and draw(st.integers(0, 5)):
            inner = inner[key]
            key = (
                draw(st.sampled_from(sorted(inner)))
                if isinstance(inner, dict)
                else draw(st.integers(0, len(inner) - 1))
            )
        if key == "":
            continue
        if draw(st.integers(0, 3)):
            inner[key] = draw(st.sampled_from(_VALUES))
        else:
            del inner[key]
    return json.dumps(data).encode()


_READERS = (
    ("runs", "list"),
    ("runs", "list", "--out", "json"),
    ("runs", "show"),
    ("runs", "show", "--out", "yaml"),
    ("runs", "prune", "--keep-runs", "1"),
    ("replay",),
    ("replay", "--out", "json"),
    ("replay", "--out", "jsonl"),
    ("replay", "--report", "r.html", "--junit", "j.xml", "--profile", "--explain"),
    ("what-if",),
    ("what-if", "-j", "1", "--svg", "w.svg"),
    ("apply", "--resume", *ROOTS),
    ("apply", "--resume", "--force", *ROOTS),
    ("apply", "--only-failed", *ROOTS),
    ("apply", "main", "--journal", "required", *ROOTS),
    ("apply", "main", *ROOTS),
)


@st.composite
def journals(draw):
    """A spoiled database of runs, and spoiled logs of runs that died."""
    kept = records()
    files = dict(TREE)
    if draw(st.integers(0, 3)):
        files[f"{STATE}/journal.db"] = as_file(draw(torn(kept["database"])))
    if draw(st.integers(0, 2)):
        files[f"{STATE}/journal/0011223344556677.log"] = as_file(draw(torn(kept["log"])))
    if draw(st.integers(0, 9)) == 0:
        name = draw(
            st.sampled_from(
                ("journal.db", "journal.db-wal", "journal.db-shm", "journal/x.log", "journal/.log", "journal/a\nb.log")
            )
        )
        odd = draw(
            st.sampled_from(({"fifo": 1}, {"folder": 1}, {"link": "/dev/zero"}, {"link": "gone"}, "", "\x00" * 40))
        )
        files[f"{STATE}/{name}"] = odd
    words = draw(st.sampled_from(_READERS))
    if draw(st.integers(0, 4)) == 0 and words[:2] in (("runs", "show"), ("replay",), ("what-if",)):
        words = (*words, draw(st.sampled_from(("0", "x", "", "00", "0011223344556677"))))
    return {"files": files, "words": list(words)}


@st.composite
def plans(draw):
    """Spoiled plan files, and keys."""
    kept = records()
    files = {
        **TREE,
        f"{STATE}/plan.key": as_file(draw(torn(kept["key"])) if draw(st.integers(0, 3)) == 0 else kept["key"]),
    }
    for name in ("p", "q"):
        files[name] = as_file(draw(torn(kept["plan"]) | changed(kept["plan"]) | changed(kept["plan"])))
    readers = (
        ("apply", "--plan", "p", *ROOTS),
        ("apply", "--plan", "p", "--test", *ROOTS),
        ("show", "diff", "p", *ROOTS),
        ("show", "diff", "p", "q"),
        ("show", "diff", "p", "q", "--out", "json"),
        ("show", "diff", "p", "q", "--out", "mermaid"),
    )
    return {"files": files, "words": list(draw(st.sampled_from(readers)))}
