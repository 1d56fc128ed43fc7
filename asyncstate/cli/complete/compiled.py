"""What a completion learns from a compilation: the IDs that only a template knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.cli.complete.tree import keep_computed_ids

if TYPE_CHECKING:
    from asyncstate.config import Settings
    from asyncstate.model.plan import Plan
    from asyncstate.redact.redactor import Redactor


def learn_from(plan: Plan, settings: Settings, redactor: Redactor) -> None:
    """Keep the IDs of a plan that the text of its SLS files does not show, without those that have a secret."""
    declared = [
        (chunk.file, chunk.id)
        for chunk in plan.chunks
        if chunk.file and chunk.env == plan.saltenv and redactor.text(chunk.id) == chunk.id
    ]
    keep_computed_ids(settings.file_roots, plan.saltenv, declared)
