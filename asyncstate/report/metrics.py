"""A run as metrics of Prometheus, for the textfile collector of its node exporter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.model.result import changes_something, was_held_back

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from asyncstate.model.result import HostResult, RunReport


def metrics_text(results: Sequence[HostResult], exit_code: int, ended: float, *, success: bool) -> str:
    """Return the metrics of a run that ended at ``ended`` (seconds since 1970) with ``exit_code``.

    ``success`` says whether that code means success. There are no ``results`` if the run did not begin: the tree did
    not compile, or another run held the lock. The metrics of one host of many have its name as a label.
    """
    lines = [
        *_metric("exit_code", "Exit code of the last run.", exit_code),
        *_metric("success", "Whether the last run succeeded (1) or not (0).", int(success)),
        *_metric("end_timestamp_seconds", "When the last run ended, in seconds since 1970.", f"{ended:.3f}"),
    ]
    if results:
        lines += _counts(results)
    return "\n".join(lines) + "\n"


def _counts(results: Sequence[HostResult]) -> Iterator[str]:
    yield from _head("states", "States of the last run, by what became of them.")
    for result in results:
        for outcome, number in _outcomes(result.report).items():
            yield f"asyncstate_states{_labels(result.host, outcome=outcome)} {number}"
    yield from _each("test", "Whether the last run was a dry run (1).", results, lambda each: int(each.report.test))
    yield from _each("duration_seconds", "Duration of the last run.", results, _seconds)
    if any(result.host for result in results):
        yield from _each("host_success", "Whether the last run succeeded on this host (1).", results, _success)


def _outcomes(report: RunReport) -> dict[str, int]:
    held = {tag for tag in report.failed if was_held_back(report.rows[tag])}
    changed = {tag for tag, row in report.rows.items() if changes_something(row, test=report.test)}
    failed = set(report.failed)
    return {
        "unchanged": len(report.rows.keys() - changed - failed),
        "changed": len(changed - failed),
        "failed": len(failed - held),
        "held_back": len(held),
        "not_started": len(report.not_started),
    }


def _seconds(result: HostResult) -> str:
    return f"{result.report.wall_ms / 1000:.3f}"


def _success(result: HostResult) -> int:
    return int(result.ok)


def _each(name: str, text: str, results: Sequence[HostResult], value: Callable[[HostResult], object]) -> Iterator[str]:
    yield from _head(name, text)
    yield from (f"asyncstate_{name}{_labels(result.host)} {value(result)}" for result in results)


def _labels(host: str, **labels: str) -> str:
    given = {"host": host, **labels} if host else labels
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in given.items()) + "}" if given else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _metric(name: str, text: str, value: object) -> Iterator[str]:
    yield from _head(name, text)
    yield f"asyncstate_{name} {value}"


def _head(name: str, text: str) -> Iterator[str]:
    yield f"# HELP asyncstate_{name} {text}"
    yield f"# TYPE asyncstate_{name} gauge"
