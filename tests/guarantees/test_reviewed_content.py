"""apply --plan uses what was reviewed: content that changes while the run is under way is not applied."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
from io import BytesIO

import pytest
import yaml
from recording import filled
from tables import beside

MAP = "{% macro text() %}reviewed{% endmacro %}"
PLUGIN = """
def there(name):
    from asyncstate import filesystem
    filesystem.replace_content(name, {text!r}.encode())
    return {{"name": name, "result": True, "comment": "", "changes": {{"new": name}}}}
"""
CALL = """
def fetched(name):
    from asyncstate import filesystem
    filesystem.replace_content(name, __salt__["cp.get_file_str"]("salt://fil" + "e").encode())
    return {"name": name, "result": True, "comment": "", "changes": {"new": name}}

def called(name):
    from asyncstate import filesystem
    if not __opts__["test"]:
        filesystem.replace_content(name, __salt__["late.text"]().encode())
    return {"name": name, "result": True, "comment": "", "changes": {"new": name}}
"""


def _archive(text):
    stream = BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        member = tarfile.TarInfo("out")
        member.size = len(text)
        archive.addfile(member, BytesIO(text.encode()))
    return stream.getvalue()


WAYS = beside(__file__)["ways"]
WAYS["large"] |= {"reviewed": "reviewed" * (1 << 18), "evil": "e" * (1 << 21)}
WAYS["archive"] |= {text: _archive(text) for text in ("reviewed", "evil")}
WAYS["plugin"] |= {text: PLUGIN.format(text=text) for text in ("reviewed", "evil")}
if not shutil.which("patch"):
    del WAYS["patch"]


def _way(name):
    """The state of a way, the file that it uses, its reviewed content, and what takes the place of that."""
    return tuple(
        {"reviewed": "reviewed", "evil": "evil", **WAYS[name]}[key] for key in ("state", "file", "reviewed", "evil")
    )


@pytest.fixture
def tree(tmp_path):
    """The roots, below a link ``roots`` to ``first``."""
    for name, text in {
        "tree/outer": "{% import 'map' as map %}{{ map.text() }}",
        "tree/computed": "{% import 'ma' ~ 'p' as map %}{{ map.text() }}",
        "tree/file": "reviewed",
        "tree/map": MAP,
        "tree/folder/first": "",
        "tree/_states/own.py": CALL,
        "over/x": "",
        "pillar/top.sls": "base: {'*': [data]}\n",
        "pillar/data.sls": "a: reviewed\n",
        "../out/patched": "old\n",
        "../out/block": "",
    }.items():
        (tmp_path / "first" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "first" / name).write_text(text)
    (tmp_path / "roots").symlink_to("first")
    return tmp_path


def _write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name("new~")
    new.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.utime(new, (1, 1))
    new.replace(path)


def _sls(tree, state, before):
    ((function, arguments),) = state.items()
    states = {
        "change": {"cmd.run": [{"name": before}, {"shell": "/bin/sh"}]},
        "use": {function: [*filled(arguments, {"OUT": tree / "out"}), {"require": [{"cmd": "change"}]}]},
        "order": {"test.nop": [{"order": "last"}]},
    }
    (tree / "roots/tree/main.sls").write_text(yaml.safe_dump(states, sort_keys=False, width=10_000))


def _words(tree):
    roots = tree / "roots"
    return ("--file-root", roots / "over", "--file-root", roots / "tree", "--pillar-root", roots / "pillar")


def _content(tree):
    return "".join(path.read_text() for path in sorted((tree / "out").rglob("*")) if path.is_file())


def _new_file(tree, target, evil):
    _write(tree / "late", evil)
    return target


def _older_file(tree, target, evil):
    """Let a link lead to another file, which is older than the comparison."""
    if target.exists():
        target.rename(tree / "was")
        target.symlink_to(tree / "was")
    _write(tree / "evil", evil)
    (tree / "late").symlink_to(tree / "evil")
    return target


def _other_file(tree, target, evil):
    """Let a link lead to another file of the tree, of the same size and time if it can have them."""
    stores = tree / "roots/tree/store"
    stores.mkdir()
    if target.exists():
        target.rename(stores / "was")
        target.symlink_to(stores / "was")
    _write(stores / "evil", evil)
    (tree / "late").symlink_to(stores / "evil")
    return target


def _older_folder(tree, target, evil):
    """Let a link to all roots lead to others, in which all is older than the comparison."""
    shutil.copytree(tree / "first", tree / "second")
    _write(tree / "second" / target.relative_to(tree / "roots"), evil)
    (tree / "late").symlink_to("second")
    return tree / "roots"


def _renamed_folder(tree, target, evil):
    """Move a folder in which all is older than the comparison into the place of the roots."""
    _older_folder(tree, target, evil)
    (tree / "late").unlink()
    (tree / "second").rename(tree / "late")
    (tree / "roots").unlink()
    (tree / "first").rename(tree / "roots")
    return tree / "roots"


SWITCHES = {
    "new file": _new_file,
    "older file": _older_file,
    "other file of the tree": _other_file,
    "older folder": _older_folder,
    "renamed folder": _renamed_folder,
}
CHANGE = """
import os
if os.path.exists({go!r}):
    os.makedirs(os.path.dirname({target!r}), exist_ok=True)
    if os.path.isdir({target!r}) and not os.path.islink({target!r}):
        os.rename({target!r}, {target!r} + "~")
    os.replace({late!r}, {target!r})
"""


EVERY_SWITCH = ("of several", "cp")
"""Ways by which a file is used that the comparison did not see: of them, all tests take each switch."""


def _cells():
    for way in WAYS:
        for switch in SWITCHES:
            is_fast = switch == "older file" or way in EVERY_SWITCH
            yield pytest.param(way, switch, id=f"{way}-{switch}", marks=() if is_fast else pytest.mark.slow)


@pytest.mark.parametrize(("way", "switch"), [*_cells()])
def test_what_changes_during_the_run_is_not_applied(way, switch, run_here, tree):
    state, name, reviewed, evil = _way(way)
    path = tree / "roots" / os.path.normpath(f"tree/{name}")
    if reviewed is not None:
        _write(path, reviewed)
    target = SWITCHES[switch](tree, path, evil)
    go, late = tree / "go", tree / "late"
    (tree / "change.py").write_text(CHANGE.format(go=str(go), late=str(late), target=str(target)))
    _sls(tree, state, f"{sys.executable} {tree}/change.py")
    plan = tree / "main.plan"
    done = run_here("plan", "main", "--plan-out", plan, *_words(tree))
    assert done.returncode == 0, done.stderr + done.stdout
    go.touch()
    done = run_here("apply", "--plan", plan, "--out", "json", *_words(tree))
    assert not os.path.lexists(late), done.stderr + done.stdout
    assert "evil" not in _content(tree)
    assert "eeee" not in _content(tree)
    (row,) = (row for tag, row in json.loads(done.stdout).items() if "_|-use_|-" in tag)
    if way in ("pillar", "late plugin") or not row["result"]:
        assert not row["result"]
        assert done.returncode == 2
        assert "changed after the tree" in str(row["comment"])
    assert not list((tree / "cache").rglob("held-*"))


@pytest.mark.parametrize("way", WAYS)
def test_without_a_change_all_is_applied(way, run_here, tree):
    state, name, reviewed, _ = _way(way)
    if reviewed is not None:
        _write(tree / "roots/tree" / name, reviewed)
    _sls(tree, state, "true")
    plan = tree / "main.plan"
    assert run_here("plan", "main", "--plan-out", plan, *_words(tree)).returncode == 0
    done = run_here("apply", "--plan", plan, *_words(tree))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("way", ["computed import", "contents", "fetched by a plugin", "large"])
def test_what_only_the_dry_run_has_seen_is_compared_too(way, run_here, tree):
    state, name, reviewed, evil = _way(way)
    _write(tree / "roots/tree" / name, reviewed)
    _sls(tree, state, "true")
    plan = tree / "main.plan"
    assert run_here("plan", "main", "--plan-out", plan, *_words(tree)).returncode == 0
    _write(tree / "roots/tree" / name, evil[: len(reviewed)].ljust(len(reviewed)))
    done = run_here("apply", "--plan", plan, *_words(tree))
    assert done.returncode == 1, done.stdout
    assert f"file salt://{name} changed" in done.stderr
    assert "evil" not in _content(tree)
