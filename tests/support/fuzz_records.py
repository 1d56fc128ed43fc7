"""Hypothesis strategies for what the program itself wrote and reads again: journals and plan files, spoiled."""

from __future__ import annotations

import base64
import copy
import json
import os
import subprocess
import sys
import tempfile
import zlib
from functools import cache
from pathlib import Path

from fuzz_process import OUTSIDE
from fuzz_sls import pick, typed
from hypothesis import strategies as st

TREE = {
    "salt/main.sls": "a: test.nop\nb: {test.succeed_with_changes: [{watch: [a]}]}\nc: {test.fail_without_changes: []}\n"
    "d: {test.nop: [{require: [c]}, {text: é}]}\n",
    "pillar/top.sls": "base: {'*': [data]}\n",
    "pillar/data.sls": "a: {b: 1}\n",
}
ROOTS = ("--file-root", "salt", "--pillar-root", "pillar")
STATE = "../home/state"
_JOURNAL = f"{STATE}/journal"
_ENDED, _KILLED = "8899aabbccddeeff", "0011223344556677"


_FOOTPRINTS = json.dumps(
    {
        "version": 1,
        "records": {
            key: {
                "function": "cmd.run",
                "key": key,
                "sls": "main",
                "id": "a",
                "text": "make x",
                "effects": {"reads": ["/etc/x"], "writes": ["/srv/x/**"], "makes": ["/srv"]},
                "inputs": {"/usr/bin/make": "0" * 64},
                "programs": ["/usr/bin/make"],
                "whole": True,
                "seen": 1.7e9,
                "runs": 2,
            }
            for key in ("0" * 64, "1" * 64)
        },
    }
).encode()
"""What ``--trace-effects`` keeps of two states."""


@cache
def records():
    """Return what a run of the tree leaves, by name: ``plan``, ``key``, ``ended``, ``log``, ``kept``, ``footprints``.

    ``kept`` is the record of the plan that belongs to ``ended``.
    """
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
        ended = next(path for path in state.glob("journal/*.ended") if b'"test":false' in path.read_bytes())
        return {
            "plan": (root / "plan").read_bytes(),
            "log": (root / "log").read_bytes(),
            "key": (state / "plan.key").read_bytes(),
            "ended": ended.read_bytes(),
            "kept": ended.with_suffix(".plan").read_bytes(),
            "footprints": _FOOTPRINTS,
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


VALUES = (None, True, 0, -1, 2**70, 1.5, "", "x", "\udcff", [], {}, [[]], {"a": None}, "9" * 5000)


@st.composite
def changed(draw, text):
    """A JSON text with a few of its values replaced, removed, or of another type."""
    data = json.loads(text)
    for _ in range(draw(st.integers(0, 3))):
        inner, key = {"": data}, ""
        while isinstance(inner[key], (dict, list)) and inner[key] and draw(st.integers(0, 5)):
            inner = inner[key]
            key = pick(draw, sorted(inner)) if isinstance(inner, dict) else draw(st.integers(0, len(inner) - 1))
        if key == "":
            continue
        if draw(st.integers(0, 3)):
            inner[key] = copy.deepcopy(pick(draw, VALUES))
        else:
            del inner[key]
    return json.dumps(data).encode()


@st.composite
def _torn_lines(draw, log):
    """The log of a run in which a line has other values: often its first, or that of its plan."""
    lines = log.split(b"\n")
    at = draw(st.sampled_from((0, 1, 1)) | st.integers(0, len(lines) - 2))
    lines[at] = draw(_changed_if_json(lines[at]))
    return b"\n".join(lines)


_READERS = typed("commands about journals")


@st.composite
def journals(draw):
    """Spoiled logs of runs that ended and of runs that died, and spoiled records of their plans."""
    kept = records()
    files = dict(TREE)
    if draw(st.integers(0, 3)):
        files[f"{_JOURNAL}/{_ENDED}.ended"] = as_file(draw(torn(kept["ended"]) | _torn_lines(kept["ended"])))
        files[f"{_JOURNAL}/{_ENDED}.plan"] = as_file(draw(torn(kept["kept"])))
    if draw(st.integers(0, 2)):
        files[f"{_JOURNAL}/{_KILLED}.log"] = as_file(draw(torn(kept["log"]) | _torn_lines(kept["log"])))
        files["salt/keep.sls"] = "include: [main]\n"
    if draw(st.booleans()):
        files[f"{STATE}/plan.key"] = as_file(kept["key"])
    if draw(st.integers(0, 9)) == 0:
        name = draw(
            st.sampled_from(
                ("journal", f"{_ENDED}.plan", "journal/x.ended", "journal/x.log", "journal/.log", "journal/a\nb.log")
            )
        )
        odd = draw(
            st.sampled_from(({"fifo": 1}, {"folder": 1}, {"link": "/dev/zero"}, {"link": "gone"}, "", "\x00" * 40))
        )
        files[f"{STATE}/{name}"] = odd
    words = pick(draw, _READERS)
    if draw(st.integers(0, 4)) == 0 and words[:2] in (("runs", "show"), ("replay",), ("what-if",)):
        words = (*words, pick(draw, ("0", "x", "", "00", "0011223344556677")))
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
    readers = typed("commands about plans")
    return {"files": files, "words": list(pick(draw, readers))}


OUTWARD = (
    "../beside/bait.sls",
    "../../beside/base",
    "../beside",
    "salt://../../beside/bait.sls",
    "..beside.bait",
    "beside.bait",
    f"/proc/self/fd/{OUTSIDE}/beside/bait.sls",
    f"file:///proc/self/fd/{OUTSIDE}/beside/bait.sls",
    f"/proc/self/fd/{OUTSIDE}/beside",
)
"""Names that lead from the folder of a case, or from its roots, to what somebody else put beside it."""


def places(value, place=()):
    """Yield the place of each value that is a text or a list of texts, or may be one."""
    if place and not isinstance(value, dict):
        yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*place, key))


def _aimed(draw, data, selecting):
    """Return JSON data in which words name what lies outside of the roots: in ``selecting``, and anywhere else."""
    for name in draw(st.lists(st.sampled_from(_SELECTION), max_size=2)):
        selection = data.setdefault(selecting, {})
        outward = pick(draw, OUTWARD)
        selection[name] = outward if name in ("file", "saltenv") else [outward]
    for _ in range(draw(st.integers(0, 2))):
        *above, last = pick(draw, [*places(data)])
        inner = data
        for key in above:
            inner = inner[key]
        inner[last] = pick(draw, OUTWARD)
    return json.dumps(data, separators=(",", ":")).encode()


_SELECTION = ("file", "file", "sls", "saltenv", "saltenv", "ids", "exclude")


@st.composite
def outward(draw):
    """Plans and journals that name what lies outside of the roots that the command line names."""
    kept = records()
    files = {**TREE, "salt/keep.sls": "include: [main]\n", f"{STATE}/plan.key": as_file(kept["key"])}
    files["salt/__env__/main.sls"] = "a: test.nop\n"
    roots = pick(draw, (ROOTS, ("--file-root", "salt", "--file-root", "__env__=salt/__env__", *ROOTS[2:])))
    if draw(st.booleans()):
        files["p"] = as_file(_aimed(draw, json.loads(kept["plan"]), "selection"))
        words = pick(draw, (("apply", "--plan", "p"), ("plan", "--plan", "p"), ("show", "diff", "p")))
        return {"files": files, "words": [*words, *roots]}
    header, *lines = kept["log"].split(b"\n")
    header = _aimed(draw, json.loads(header), "about")
    plan = _aimed(draw, json.loads(kept["kept"]), "selection") if draw(st.booleans()) else kept["kept"]
    files[f"{_JOURNAL}/{_KILLED}.log"] = as_file(b"\n".join((header, *lines)))
    files[f"{_JOURNAL}/{_KILLED}.plan"] = as_file(plan)
    readers = typed("commands about outward plans and journals")
    return {"files": files, "words": [*pick(draw, readers), *roots]}


@st.composite
def footprints(draw):
    """A spoiled table of what states were seen to touch."""
    kept = records()["footprints"]
    files = {**TREE, f"{STATE}/footprints.json": as_file(draw(changed(kept) | changed(kept) | torn(kept)))}
    readers = typed("commands about footprints")
    return {"files": files, "words": list(pick(draw, readers))}


@st.composite
def journal_parts(draw):
    """A sound log of a run that ended and its plan, with spoiled parts: fields of its lines and of the plan."""
    kept = records()
    lines = kept["ended"].splitlines()
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.sampled_from((0, -1)) | st.integers(0, len(lines) - 1))
        lines[at] = draw(_changed_if_json(lines[at]))
    plan = kept["kept"]
    if draw(st.booleans()):
        plan = draw(_changed_if_json(plan))
    files = {
        **TREE,
        f"{_JOURNAL}/{_ENDED}.ended": as_file(b"".join(line + b"\n" for line in lines)),
        f"{_JOURNAL}/{_ENDED}.plan": as_file(plan),
    }
    words = [*pick(draw, _READERS)]
    if "apply" in words and draw(st.booleans()):
        files[f"{STATE}/plan.key"] = as_file(records()["key"])
    return {"files": files, "words": words}


@st.composite
def _changed_if_json(draw, text):
    try:
        json.loads(text)
    except ValueError:
        return draw(torn(text))
    return draw(changed(text))
