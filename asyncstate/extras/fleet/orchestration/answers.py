"""Answers of one run's hosts, in the shape of Salt's local client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.errors import Issue
from asyncstate.extras.fleet.controller.event_stream import Relay
from asyncstate.report.recorded import RecordedReport

if TYPE_CHECKING:
    from collections.abc import Collection

    from asyncstate.extras.fleet.controller.event_stream import HostEnd, Observer
    from asyncstate.extras.fleet.protocol import HostPlan
    from asyncstate.model.event import AnyEvent


class Answers(Relay):
    """Gathers the results of a run's hosts, and forwards to another observer. ``call``: the run calls a function.

    An answer is ``{"ret": rows, "retcode": status, "out": "highstate", "jid": run}``. For a function, ``ret`` is its
    return value; for a tree that does not compile, a list of errors. With ``failed: True`` the host could not answer,
    and ``ret`` is the reason; there is no ``ret`` if the host was silent.
    """

    def __init__(self, run: str, inner: Observer, *, call: bool) -> None:
        super().__init__(inner)
        self._run = run
        self._call = call
        self._answered: dict[str, HostPlan] = {}
        self._reports: dict[str, RecordedReport] = {}

    def planned(self, host: str, plan: HostPlan) -> None:
        """Note that a host has sent its plan."""
        self._answered[host] = plan
        super().planned(host, plan)

    def begun(self, host: str, attempt: int) -> None:
        """Start the report of a host again."""
        self._reports[host] = RecordedReport()
        super().begun(host, attempt)

    def event(self, host: str, event: AnyEvent) -> None:
        """Take an event of a host."""
        self._reports[host].on_event(event)
        super().event(host, event)

    def answers(
        self, ends: dict[str, HostEnd], issues: tuple[Issue, ...], *, expected: Collection[str]
    ) -> dict[str, dict[str, Any]]:
        """Return the answer of each host; silent hosts are left out unless they are expected.

        Hosts that did not begin because others had failed are left out, as in Salt.
        """
        return {
            host: {**self._answer(host, end, issues), "jid": self._run}
            for host, end in ends.items()
            if (host in self._answered or host in expected) and not end.passed_over
        }

    def _answer(self, host: str, end: HostEnd, issues: tuple[Issue, ...]) -> dict[str, Any]:
        if host not in self._answered:
            return {"failed": True, "out": "highstate"}
        mistakes = [
            str(Issue(each.message, each.file, each.line, each.hint)) for each in self._answered[host].mistakes
        ] or [str(issue) for issue in issues]
        if mistakes:
            return {"ret": "\n".join(mistakes) if self._call else mistakes, "retcode": 1, "out": "highstate"}
        if end.why:
            return {"ret": end.why, "failed": True, "out": "highstate"}
        rows = self._reports[host].report().rows if host in self._reports else {}
        if not self._call:
            return {"ret": rows, "retcode": end.exit_code, "out": "highstate"}
        row: dict[str, Any] = next(iter(rows.values()), {"changes": {}, "comment": ""})
        changes = row["changes"]
        # An answer that was too large to be sent is only a message.
        return {"ret": changes.get("ret", row["comment"]), "retcode": changes.get("retcode", end.exit_code)}
