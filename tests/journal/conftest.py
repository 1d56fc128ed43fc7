"""A journal of a test's own."""

import errno
import os

import pytest

from asyncstate.config import Settings
from asyncstate.journal.store import Journal, tidy


@pytest.fixture
def settings(tmp_path):
    return Settings(state_dir=str(tmp_path / "state"), cachedir=str(tmp_path / "cache"), journal=True)


@pytest.fixture
def journal(settings):
    return lambda: Journal.open(settings.state_dir)


@pytest.fixture
def end_killed(settings):
    """Do what each run does at its end."""
    return lambda: tidy(settings.state_dir, 100, 1e9)


@pytest.fixture
def no_room():
    """What a function does on a disk that is full."""

    def full(*_given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return full
