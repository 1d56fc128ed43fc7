"""Runs whose plans the journal keeps."""

from __future__ import annotations

import os

from asyncstate.journal.entry import Header
from asyncstate.journal.keeper import keeper_of
from asyncstate.plans.document import encode
from asyncstate.runtime import StateRuntime


def keep_runs(monkeypatch):
    """Let each run keep the record of its plan, where runs do not do so by themselves."""
    if not hasattr(StateRuntime, "_keep"):
        return

    def keep(self, options, about, engine):
        if self.settings.journaled == "off":
            return None, []
        record = self.record(engine.plan)
        key = "k" + record.digest

        def header():
            return Header(run=options.run_id, host=options.host, pid=os.getpid(), plan=key, about=dict(about or {}))

        return keeper_of(self.settings, header, lambda: (key, encode(record)))

    monkeypatch.setattr(StateRuntime, "_keep", keep)
