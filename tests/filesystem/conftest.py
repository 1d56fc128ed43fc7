"""What several tests of the file system stand on."""

import errno
import os

import pytest

from asyncstate.filesystem import change


@pytest.fixture
def another_file_system(monkeypatch):
    """Let no name be moved: each new one is as if on another file system."""

    def rename(_source, _target):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(change, "rename", rename)
