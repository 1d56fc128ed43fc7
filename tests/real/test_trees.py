"""What root makes of a Debian: each case of the tables beside this file is a list of steps in a throw-away one.

``prove``    applies a tree: a dry run changes nothing and foretells what a real run changes, a second run has nothing to
             do. ``unforetold`` are IDs that may change what the dry run could not see, as a state that depends on a
             package that is not installed yet.
``apply``    applies a tree once; ``fails`` has the states that fail, and what their comments say.
             Both take ``changes`` by ID, ``pillar``, and ``hides``: a text that is in no row.
``see``      gives commands for a shell, which must succeed, and what they print.
``do``, ``until``, ``write``, ``package``   prepare the machine: a command, one that succeeds some time, files, a package
             in its only repository.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from asyncstate.data.formats import yaml_data

CASES = {
    f"{path.stem}: {title}": steps
    for path in sorted(Path(__file__).parent.glob("*.yaml"))
    for title, steps in yaml_data(path.read_text(encoding="utf-8")).items()
}


@pytest.mark.parametrize("title", CASES)
def test_the_machine_becomes_what_the_tree_says(title, machine):
    machine.play(CASES[title])


@pytest.fixture
def machine(debian):
    return Machine(debian)


class Machine:
    """Plays steps in a Debian."""

    def __init__(self, debian):
        self.debian = debian
        self.shell("rm -rf /etc/apt/sources.list* /srv/apt; mkdir -p /srv/apt /etc/apt/sources.list.d")
        self.write({"/etc/apt/sources.list": "deb [trusted=yes] file:/srv/apt ./\n"})

    def play(self, steps):
        for step in steps:
            if isinstance(step, list):
                self.play(step)
                continue
            (kind, what), *said = step.items()
            getattr(self, kind)(what, **dict(said))

    def shell(self, command):
        return self.debian.run("sh", "-ec", command)

    do = shell

    def until(self, command):
        self.debian.until("sh", "-c", command)

    def see(self, answers):
        found = {command: self.shell(command).strip() for command in answers}
        assert found == answers

    def write(self, files, below=""):
        for path, text in files.items():
            self.debian.write(below + path, text, 0o755 if "/bin/" in path or "/init.d/" in path else 0o644)

    def package(self, name, version="1.0", *, files=None, scripts=None, depends="", conffiles=()):
        """Make a package with dpkg-deb, and index the repository with apt-ftparchive."""
        tree = f"/tmp/{name}-{version}"
        control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: Nobody <nobody@example.com>\n"
        control += f"Depends: {depends}\n" if depends else ""
        self.write({"/DEBIAN/control": f"{control}Description: a package for tests\n", **(files or {})}, tree)
        for script, text in (scripts or {}).items():
            self.debian.write(f"{tree}/DEBIAN/{script}", text, 0o755)
        if conffiles:
            self.write({"/DEBIAN/conffiles": "".join(f"{path}\n" for path in conffiles)}, tree)
        self.shell(f"dpkg-deb --build --root-owner-group {tree} /srv/apt/{name}_{version}_all.deb")
        self.shell("cd /srv/apt; apt-ftparchive packages . > Packages; apt-ftparchive release . > Release")

    def prove(self, tree, *, unforetold=(), **said):
        before = self.debian.changed_files()
        dry = self.applied(tree, test=True, **said)
        assert self.debian.changed_files() == before, "the dry run changed files"
        real = self.applied(tree, **said)
        assert real.returncode == 0
        assert ids(dry, dry.predicted) - {*unforetold} == ids(real, real.changed) - {*unforetold}
        again = self.applied(tree, **{**said, "changes": None})
        assert again.changed == set(), [again.rows[tag] for tag in again.changed]

    def apply(self, tree, **said):
        self.applied(tree, **said)

    def applied(self, tree, *, test=False, fails=None, changes=None, pillar=None, hides=None):
        """Apply a tree, which is a text or data; compare the failures, and in a real run the changes."""
        text = tree if isinstance(tree, str) else json.dumps(tree)
        done = self.debian.apply(text, test=test, arguments=("--pillar", json.dumps(pillar or {})))
        failed = {": ".join(tag.split("_|-")[:2]): comment for tag, comment in done.failed.items()}
        assert failed.keys() == (fails or {}).keys(), failed
        assert all(text in failed[state] for state, text in (fails or {}).items()), failed
        if changes is not None and not test:
            of_ids = {row["__id__"]: row["changes"] for row in done.rows.values() if row["changes"]}
            assert {name: of_ids[name] for name in changes} == changes if changes else of_ids == {}
        assert hides is None or hides not in str(done.rows)
        return done


def ids(done, tags):
    return {done.rows[tag]["__id__"] for tag in tags}
