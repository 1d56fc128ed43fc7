"""A throw-away Debian for every test."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from debian_machine import DebianMachine, missing

if TYPE_CHECKING:
    from pathlib import Path


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
