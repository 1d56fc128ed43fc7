"""For tests of the log."""

from weakref import WeakValueDictionary

import pytest


@pytest.fixture(autouse=True)
def _nobody_else(monkeypatch):
    """Let no runtime of another test be in this process."""
    monkeypatch.setattr("asyncstate.redact._all", WeakValueDictionary())
