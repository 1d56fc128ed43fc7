"""Fixtures of tests of tracing: strace if this machine permits it, and a call under observation."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from asyncstate.dunders.context import observer
from asyncstate.errors import ConfigError
from asyncstate.extras.proof.trace.following import Strace
from asyncstate.extras.proof.trace.witness import Witness, install


def strace_or_skip():
    """Return strace; skip where it is missing, or may not follow programs."""
    try:
        return Strace()
    except ConfigError as error:
        pytest.skip(str(error))


@contextmanager
def observed(strace, is_shared=lambda path: True):
    """Observe the calls in the block; yields the witness."""
    install()
    witness = Witness(strace, is_shared)
    before = observer.set(witness)
    try:
        yield witness
    finally:
        observer.reset(before)
