"""Services as recorded from Salt, in every environment where its behaviour differs, and our own behaviour there."""

from __future__ import annotations

import json

import pytest
from record_services import ENVIRONMENTS, RECORDED, answers, root_of

BETTER = {"enabled": {"sun"}, "disabled": {"sun"}, "masked": {"sun", "moon", "star", "nova"}}
"""Whose rows in an image are not Salt's, by case: it does not know units without an init script there, and says that it
could not mask what it has masked."""


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_services_as_recorded(environment, checkout_root):
    ours = answers(environment, root_of(environment, checkout_root / "build"))
    recorded = json.loads((RECORDED / f"{environment}.json").read_text())
    better = BETTER if environment.startswith("offline") else {}
    assert {title: settled(title, case, better) for title, case in ours.items()} == {
        title: settled(title, case, better) for title, case in recorded.items()
    }


def settled(title, case, better):
    """Return what must be equal. Only the words of errors may differ, and warnings, of which Salt has fewer."""
    if title == "calls":
        found = [answer if isinstance(answer, bool) else "error" for answer in case["answers"]]
        return [None if better and index in {0, 18} else each for index, each in enumerate(found)]  # of sun
    rows = [
        {name: _words(row) for name, row in answer.items() if name not in better.get(title, ())}
        for answer in case["answers"]
    ]
    links = [link for link in case["links"] if not (better.get(title) and "sun" in link)]
    return rows, links, case["running"]


def _words(row):
    result, changes, comment, *_ = row
    return [result, changes, comment if "denied" not in comment and "Failed" not in comment else "refused"]
