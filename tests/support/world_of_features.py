"""The world of features whose effects can meet, and the environment of a process that runs them there."""

from __future__ import annotations

import pytest
from delayed_features import World


@pytest.fixture
def world(tmp_path, monkeypatch):
    made = World(tmp_path)
    made.make("file")
    monkeypatch.setenv("HOME", str(made.root / "d"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("SHAKEN", raising=False)
    return made
