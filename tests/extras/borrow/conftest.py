"""A Salt in miniature, and workers that use it."""

from __future__ import annotations

import threading

import pytest
from fake_salt import FakeSalt

from asyncstate.extras.borrow.workers import SaltWorkers


@pytest.fixture(autouse=True)
def no_worker_is_left():
    """Let no worker, which ends beside what follows, live on in the next test."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith(("end-", "salt-")):
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def salt(tmp_path):
    """An interpreter with a Salt of the test's own."""
    return FakeSalt(tmp_path / "environment")


@pytest.fixture
def options():
    """What workers get as ``__opts__``."""
    return {"id": "m", "grains": {"os": "Debian"}, "pillar": {"key": "value"}, "test": False, "log_level": "debug"}


@pytest.fixture
def workers(salt, options):
    """Workers of that interpreter, ended after the test."""
    made = SaltWorkers(str(salt.python), lambda: options, dict)
    yield made
    made.close()
