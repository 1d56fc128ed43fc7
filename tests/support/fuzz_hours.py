"""Searches for input that the program does not take: ``nox -s fuzz -- MINUTES``.

Until the time is over each family of cases is drawn anew, with other random numbers. What is found is made as small as
it goes and kept in ``tests/fuzz/cases``, where every run of the tests replays it. The exit code is 1 if something was
found.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

from fuzz_process import fuzz_process
from fuzz_trees import FAMILIES
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import Flaky

CASES = Path(__file__).parents[1] / "fuzz" / "cases"
_ROUND = 200


class Found(AssertionError):
    """A case has a finding."""


def search(family, run, known, number, until, tried):
    """Draw a round of cases; return the smallest case of the first finding whose place is not known, and the finding."""
    smallest = []

    @seed(number)
    @settings(
        max_examples=_ROUND,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
    )
    @given(FAMILIES[family]())
    def one(case):
        if time.monotonic() > until and not smallest:
            return
        tried[family] += 1
        finding = run(case)
        if finding is None or finding[:2] in known:
            return
        if smallest and finding[:2] != smallest[-1][1][:2]:
            return
        if finding.kind == "hang" and len(smallest) > 5:
            return  # each attempt to make it smaller takes as long
        smallest.append((case, finding))
        raise Found(finding)

    try:
        one()
    except (Found, Flaky, BaseExceptionGroup):
        pass
    return smallest[-1] if smallest else None


def keep(case, finding):
    """Write a case to a file."""
    text = json.dumps({"finding": [finding.kind, finding.place], **case}, indent=1, sort_keys=True)
    name = f"{finding.kind.replace(' ', '-')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    CASES.mkdir(exist_ok=True)
    (CASES / name).write_text(text + "\n")
    return CASES / name


def main(minutes=60.0, *families):
    """Search for some minutes; return the exit code."""
    until = time.monotonic() + float(minutes) * 60
    known, tried = set(), Counter()
    with tempfile.TemporaryDirectory() as folder, fuzz_process(Path(folder) / "case") as run:
        for path in sorted(CASES.glob("*.json")):
            finding = run(json.loads(path.read_text()))
            if finding is not None:
                known.add(finding[:2])
                print(f"still {finding.kind}: {finding.place}\n    {path}", flush=True)
        while time.monotonic() < until:
            for family in families or FAMILIES:
                found = search(family, run, known, random.getrandbits(64), until, tried)
                if found is not None:
                    case, finding = found
                    known.add(finding[:2])
                    path = keep(case, finding)
                    print(f"{finding.kind}: {finding.place}\n    {path}", flush=True)
    print(f"{sum(tried.values()):,} cases ({', '.join(f'{name}: {number:,}' for name, number in tried.items())}); {len(known)} findings")
    return 1 if known else 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
