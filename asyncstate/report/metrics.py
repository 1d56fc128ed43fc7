"""A run as metrics of Prometheus, for the textfile collector of its node exporter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.model.result import STATE_RAN, changes_something

if TYPE_CHECKING:
    from collections.abc import Iterator

    from asyncstate.model.result import RunReport


def metrics_text(report: RunReport | None, exit_code: int, ended: float, *, success: bool) -> str:
    """Return the metrics of a run that ended at ``ended`` (seconds since 1970) with ``exit_code``.

    ``success`` says whether that code is one of success. ``report`` is None if the run did not begin: the tree did not
    compile, or another run held the lock.
    """
    lines = [
        *_metric("exit_code", "Exit code of the last run.", exit_code),
        *_metric("success", "Whether the last run succeeded (1) or not (0).", int(success)),
        *_metric("end_timestamp_seconds", "When the last run ended, in seconds since 1970.", f"{ended:.3f}"),
    ]
    if report is not None:
        lines += _counts(report)
    return "\n".join(lines) + "\n"


def _counts(report: RunReport) -> Iterator[str]:
    held = {tag for tag in report.failed if report.rows[tag].get(STATE_RAN) is False}
    changed = {tag for tag, row in report.rows.items() if changes_something(row, test=report.test)}
    failed = set(report.failed)
    states = {
        "unchanged": len(report.rows.keys() - changed - failed),
        "changed": len(changed - failed),
        "failed": len(failed - held),
        "held_back": len(held),
        "not_started": len(report.not_started),
    }
    yield "# HELP asyncstate_states States of the last run, by what became of them."
    yield "# TYPE asyncstate_states gauge"
    yield from (f'asyncstate_states{{outcome="{outcome}"}} {number}' for outcome, number in states.items())
    yield from _metric("test", "Whether the last run was a dry run (1).", int(report.test))
    yield from _metric("duration_seconds", "Duration of the last run.", f"{report.wall_ms / 1000:.3f}")


def _metric(name: str, text: str, value: object) -> Iterator[str]:
    yield f"# HELP asyncstate_{name} {text}"
    yield f"# TYPE asyncstate_{name} gauge"
    yield f"asyncstate_{name} {value}"
