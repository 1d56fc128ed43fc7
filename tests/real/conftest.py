"""A throw-away Debian for every test, and what a state has to show on it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from debian_machine import DebianMachine, missing

if TYPE_CHECKING:
    from pathlib import Path

    from debian_machine import Applied

_CONTROL = """Package: {name}
Version: {version}
Architecture: all
Maintainer: Nobody <nobody@example.com>
Depends: {depends}
Description: a package for tests
"""


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/real/" in item.nodeid:
            item.add_marker(pytest.mark.real)
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session")
def debian_root(checkout_root) -> Path:
    """Build the root, or take the one that is there."""
    reason = missing()
    if reason:
        pytest.skip(f"a throw-away Debian {reason}")
    base = checkout_root / "build/debian"
    subprocess.run([checkout_root / ".ci/debian-root", base], check=True, cwd=checkout_root)
    return base


@pytest.fixture(scope="session")
def checkout_root(request) -> Path:
    return request.config.rootpath


@pytest.fixture
def debian(debian_root, checkout_root, tmp_path):
    """A machine that runs, and ends with the test."""
    with DebianMachine(debian_root, tmp_path / "machine", checkout_root) as machine:
        yield machine


@pytest.fixture
def prove(debian):
    """``prove(sls)``: a dry run changes nothing and foretells what a real run changes; a second run has nothing to do.

    Returns the rows of the real run by state ID. An ID in ``unforetold`` may change what the dry run could not see, as
    a state that depends on a package that is not installed yet.
    """

    def run(sls: str, *, unforetold: frozenset[str] = frozenset()) -> dict[str, dict]:
        before = debian.changed_files()
        dry = debian.apply(sls, test=True)
        assert not dry.failed, dry.failed
        assert debian.changed_files() == before, "the dry run changed files"
        real = debian.apply(sls)
        assert not real.failed, real.failed
        assert real.returncode == 0
        assert by_id(dry, dry.predicted) - unforetold == by_id(real, real.changed) - unforetold
        again = debian.apply(sls)
        assert (again.failed, again.changed) == ({}, set()), [again.rows[tag] for tag in again.changed]
        return {row["__id__"]: row for row in real.rows.values()}

    return run


def by_id(applied: Applied, tags: set[str]) -> set[str]:
    return {applied.rows[tag]["__id__"] for tag in tags}


@pytest.fixture
def repository(debian):
    """A local repository, and the only one: ``repository.add(name, version, files, scripts)``; then apt knows it."""
    return Repository(debian)


class Repository:
    """``file:/srv/apt`` in the machine. Packages are made there, by dpkg-deb, and indexed by apt-ftparchive."""

    def __init__(self, machine: DebianMachine) -> None:
        self.machine = machine
        machine.run("rm", "-rf", "/etc/apt/sources.list", "/etc/apt/sources.list.d", "/srv/apt")
        machine.run("mkdir", "-p", "/srv/apt", "/etc/apt/sources.list.d")
        machine.write("/etc/apt/sources.list", "deb [trusted=yes] file:/srv/apt ./\n")

    def add(self, name, version="1.0", *, files=None, scripts=None, depends="", conffiles=()):
        """Add a package: files by path, maintainer scripts by name."""
        tree = f"/tmp/{name}-{version}"
        control = _CONTROL.format(name=name, version=version, depends=depends).replace("Depends: \n", "")
        self.machine.write(f"{tree}/DEBIAN/control", control)
        for path, text in (files or {}).items():
            self.machine.write(tree + path, text, 0o755 if "/bin/" in path or "/init.d/" in path else 0o644)
        for script, text in (scripts or {}).items():
            self.machine.write(f"{tree}/DEBIAN/{script}", text, 0o755)
        if conffiles:
            self.machine.write(f"{tree}/DEBIAN/conffiles", "".join(f"{path}\n" for path in conffiles))
        self.machine.run("dpkg-deb", "--build", "--root-owner-group", tree, f"/srv/apt/{name}_{version}_all.deb")
        self.machine.run(
            "sh", "-c", "cd /srv/apt && apt-ftparchive packages . > Packages && apt-ftparchive release . > Release"
        )
        return self

    def version_of(self, name):
        """What dpkg says is installed; empty if nothing."""
        shown = self.machine.run("dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", name, check=False)
        return shown.removeprefix("installed ") if shown.startswith("installed") else ""
