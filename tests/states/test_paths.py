"""However a path is written, a state does what it does with the plain path, or says why not and leaves all as it was."""

from __future__ import annotations

import asyncio
import io
import os
import shutil
import tarfile
from contextlib import contextmanager
from functools import cache
from itertools import product

import pytest
from plugin_harness import snapshot

from asyncstate import Settings, StateRuntime

TEXT = "one = 1\n[s]\nkey = value\n"
PATCH = "--- a\n+++ b\n@@ -1,3 +1,3 @@\n-one = 1\n+one = 2\n [s]\n key = value\n"

# State, the argument that is the path, the other arguments. {root}: where the target is `t`; {archive}: a tar archive.
STATES = [
    ("file.absent", "name", {}),
    ("file.append", "name", {"text": "x"}),
    ("file.blockreplace", "name", {"content": "x", "append_if_not_found": True}),
    ("file.comment", "name", {"regex": "one"}),
    ("file.copy", "name", {"source": "{root}/src"}),
    ("file.copy", "name", {"source": "{root}/src", "force": True}),
    ("file.copy", "source", {"name": "{root}/new"}),
    ("file.decode", "name", {"encoded_data": "eA=="}),
    ("file.directory", "name", {}),
    ("file.directory", "name", {"clean": True, "recurse": ["mode"], "dir_mode": "0700"}),
    ("file.directory", "backupname", {"name": "{root}/src"}),
    ("file.exists", "name", {}),
    ("file.hardlink", "name", {"target": "{root}/src", "force": True}),
    ("file.hardlink", "target", {"name": "{root}/new"}),
    ("file.keyvalue", "name", {"key": "one", "value": "2"}),
    ("file.line", "name", {"content": "x", "mode": "ensure", "after": "one"}),
    ("file.managed", "name", {"contents": "x\n"}),
    ("file.managed", "name", {"contents": "x\n", "makedirs": True}),
    ("file.missing", "name", {}),
    ("file.mknod", "name", {"ntype": "p"}),
    ("file.prepend", "name", {"text": "x"}),
    ("file.pruned", "name", {}),
    ("file.recurse", "name", {"source": "salt://tree"}),
    ("file.recurse", "name", {"source": "salt://tree", "clean": True, "include_empty": True}),
    ("file.rename", "name", {"source": "{root}/src", "force": True}),
    ("file.rename", "source", {"name": "{root}/new"}),
    ("file.replace", "name", {"pattern": "one", "repl": "two"}),
    ("file.retention_schedule", "name", {"retain": {"most_recent": 1}}),
    ("file.serialize", "name", {"dataset": {"a": 1}}),
    ("file.symlink", "name", {"target": "{root}/src", "force": True}),
    ("file.symlink", "backupname", {"name": "{root}/src", "target": "/nowhere"}),
    ("file.tidied", "name", {"matches": [".*"]}),
    ("file.touch", "name", {}),
    ("file.uncomment", "name", {"regex": "two"}),
    ("archive.extracted", "name", {"source": "{archive}", "enforce_toplevel": False}),
    ("ini.options_present", "name", {"sections": {"s": {"k": "v"}}}),
    ("ini.options_absent", "name", {"sections": {"s": ["key"]}}),
    ("ini.sections_present", "name", {"sections": ["t"]}),
    ("ini.sections_absent", "name", {"sections": ["s"]}),
    ("x509.private_key_managed", "name", {"algo": "ed25519"}),
]
if shutil.which("patch"):
    STATES.append(("file.patch", "name", {"source": "salt://p.diff"}))
if shutil.which("git"):
    STATES.append(("git.present", "name", {}))
RANDOM = {"x509.private_key_managed", "git.present"}  # what they write is never the same twice

KINDS = ["nothing", "a file", "a folder"]
"""What stands at the path."""
SAME = [*product(["", "/"], ["/", "//", "/./", "/sub/../", "/.//"], KINDS)]
ENDS = [*product(["/", "//", "/.", "/./", "//."], KINDS)]
ELSEWHERE = [*product(["t", "./t", "", ".", "..", "../t", "~nobody-of-that-name/t", " /t"], KINDS)]


class Scene:
    """One runtime, and a folder that looks the same before every call."""

    def __init__(self, base):
        self.root = base / "scene" / "root"
        self.cwd = base / "cwd"
        self.archive = base / "a.tar"
        tree = base / "salt"
        (tree / "tree" / "sub").mkdir(parents=True)
        (tree / "tree" / "f").write_text("f\n")
        (tree / "tree" / "sub" / "g").write_text("g\n")
        (tree / "p.diff").write_text(PATCH)
        with tarfile.open(self.archive, "w") as archive:
            member = tarfile.TarInfo("in/x")
            member.size = 2
            archive.addfile(member, io.BytesIO(b"y\n"))
        self.settings = Settings(
            file_roots={"base": [str(tree)]}, cachedir=str(base / "cache"), state_dir=str(base / "state")
        )
        self.cwd.mkdir()

    @contextmanager
    def running(self):
        with asyncio.Runner() as loop:
            runtime = loop.run(StateRuntime(self.settings).__aenter__())
            before = os.getcwd()
            os.chdir(self.cwd)
            try:
                yield lambda *arguments, **options: loop.run(runtime.single(*arguments, **options))
            finally:
                os.chdir(before)
                loop.run(runtime.__aexit__(None, None, None))

    def prepare(self, there):
        """Make the folder anew; ``there`` is what stands at ``t``."""
        shutil.rmtree(self.root.parent, ignore_errors=True)
        (self.root / "sub").mkdir(parents=True)
        (self.root / "src").write_text("src\n")
        target = self.root / "t"
        if there == "a file":
            target.write_text(TEXT)
        elif there == "a folder":
            (target / "inner").mkdir(parents=True)
            (target / "old").write_text("old\n")

    def look(self, *, content=True):
        return {
            name: (mode, value if content else None) for name, (mode, _, _, value) in snapshot(self.root.parent).items()
        }


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return Scene(tmp_path_factory.mktemp("paths"))


def state_id(case):
    return case if isinstance(case, str) else "-".join(case)


@pytest.mark.parametrize("all_ways", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize(("function", "argument", "others"), STATES, ids=state_id)
def test_a_path_may_be_written_in_many_ways(scene, function, argument, others, all_ways):
    number = STATES.index((function, argument, others))

    def some(cases, step):
        """Return a share of them for each state, another than for the next one: together they take all."""
        return cases if all_ways else cases[number % step :: step]

    arguments = {
        key: value.format(root=scene.root, archive=scene.archive) if isinstance(value, str) else value
        for key, value in others.items()
    }
    content = function not in RANDOM
    with scene.running() as single:

        def outcome(path, there, *, test):
            scene.prepare(there)
            before = scene.look(content=content)
            report = single(function, {**arguments, argument: path}, test=test)
            row = next(iter(report.rows.values()))  # the state's own; files that it manages have rows, too
            after = scene.look(content=content)
            assert "Traceback" not in row["comment"], row["comment"]
            assert not test or after == before, "the dry run changed something"
            assert list(scene.cwd.iterdir()) == [], "something was made where the run began"
            return row["result"], bool(row["changes"]), after, before

        @cache
        def plain_outcome(there, *, test):
            return outcome(f"{scene.root}/t", there, test=test)

        for front, joint, there in some(SAME, 14):
            path = f"{front}{scene.root}{joint}t"
            for test in (True, False):
                assert outcome(path, there, test=test) == plain_outcome(there, test=test), (path, there)

        for end, there in some(ENDS, 8):
            for test in (True, False):
                result, changed, after, before = outcome(f"{scene.root}/t{end}", there, test=test)
                plain = plain_outcome(there, test=test)
                if (result, changed, after) != plain[:3]:
                    assert not changed, (end, there)
                    assert after == before, (end, there)

        for path, there in some(ELSEWHERE, 10) if argument == "name" else ():
            for test in (True, False):
                _, changed, after, before = outcome(path, there, test=test)
                assert not changed, (path, there)
                assert after == before, (path, there)


@pytest.mark.parametrize(("function", "argument", "others"), STATES, ids=state_id)
def test_what_is_in_the_way_is_told_in_words(scene, function, argument, others):
    arguments = {
        key: value.format(root=scene.root, archive=scene.archive) if isinstance(value, str) else value
        for key, value in others.items()
    }
    with scene.running() as single:
        names = ("t", "src/below", "src/far/below", "no/such", "long" * 100, "odd\nname")
        turn = STATES.index((function, argument, others)) % 2
        for name, there in (*((name, "nothing") for name in names[turn::2]), ("t", "a folder")):
            for test in (True, False):
                scene.prepare(there)
                report = single(function, {**arguments, argument: f"{scene.root}/{name}"}, test=test)
                comment = next(iter(report.rows.values()))["comment"]
                assert "Traceback" not in comment, (name, there, comment)


LONG = ("x" * 251, "\u6f22" * 83 + "xy")


def test_names_may_be_as_long_as_a_folder_takes(scene):
    """251 bytes: what a state adds for a backup that one can ask for, ``.bak``, has room."""
    with scene.running() as single:
        for function, argument, others in STATES:
            if function in RANDOM or function == "file.patch":  # patch(1) makes a name of its own that is too long
                continue
            arguments = {
                key: value.format(root=scene.root, archive=scene.archive) if isinstance(value, str) else value
                for key, value in others.items()
            }
            for there in ("nothing", "a file", "a folder"):
                outcomes = []
                for name in ("PLAIN", *LONG):
                    scene.prepare(there)
                    if (scene.root / "t").exists():
                        (scene.root / "t").rename(scene.root / name)
                    report = single(function, {**arguments, argument: f"{scene.root}/{name}"})
                    row = next(iter(report.rows.values()))
                    outcomes.append((row["result"], {path.replace(name, "PLAIN") for path in scene.look()}))
                assert outcomes == outcomes[:1] * 3, (function, there, row["comment"])
