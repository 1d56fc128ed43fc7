"""Searches for input that the program does not take: ``nox -s fuzz -- MINUTES [FAMILY …]``.

Until the time is over each family of cases is drawn anew, with other random numbers. What is found is made as small as
it goes and kept in ``tests/fuzz/cases``, where every run of the tests replays it. ``tests/fuzz/tried.json`` counts the
cases that were drawn. The exit code is 1 if something was found.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from fuzz_process import fuzz_process
from fuzz_trees import FAMILIES as OF_THE_ENGINE
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis.errors import Flaky

sys.path.append(str(Path(__file__).parents[1] / "extras" / "support"))
try:
    from fuzz_fleet import FAMILIES as OF_FLEETS
    from fuzz_salt import FAMILIES as OF_SALT
except ModuleNotFoundError:
    OF_FLEETS = OF_SALT = {}
FAMILIES = {**OF_THE_ENGINE, **OF_FLEETS, **OF_SALT}
CASES = Path(__file__).parents[1] / "fuzz" / "cases"
TRIED = CASES.with_name("tried.json")
_ROUND = 200
_SMALLER = 5
"""How often a case that hangs is made smaller: each attempt takes as long as the hang."""


class Found(AssertionError):
    """A case has a finding."""


class Over(BaseException):
    """The time is over. No Exception: Hypothesis does not look for a smaller case of it."""


class Search:
    """One search: what it has tried, by family, and the places of what it has found."""

    def __init__(self, run, until: float):
        self._run = run
        self._until = until
        self.known = set()
        self.tried = Counter()

    def replay(self):
        """Run the cases that are kept; yield what is still wrong."""
        for path in sorted(CASES.glob("*.json")):
            finding = self._run(json.loads(path.read_text()))
            if finding is not None:
                self.known.add(finding[:2])
                yield path, finding

    def is_over(self):
        return time.monotonic() > self._until

    def round(self, family):
        """Draw a round of cases; return the smallest with the first finding at a new place, and the finding; or None."""
        found = []

        @seed(random.getrandbits(64))
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
            if self.is_over() and not found:
                raise Over
            if len(found) > _SMALLER and found[-1][1].kind == "hang":
                return
            self.tried[family] += 1
            finding = self._run(case)
            if finding is None or finding[:2] in self.known or (found and finding[:2] != found[-1][1][:2]):
                return
            found.append((case, finding))
            raise Found(finding)

        with suppress(Found, Flaky, BaseExceptionGroup, Over):
            one()
        if not found:
            return None
        self.known.add(found[-1][1][:2])
        return found[-1]


def keep(case, finding):
    """Write a case to a file and return its path."""
    text = json.dumps({"finding": [finding.kind, finding.place], **case}, indent=1, sort_keys=True)
    path = CASES / f"{finding.kind.replace(' ', '-')}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    CASES.mkdir(exist_ok=True)
    path.write_text(text + "\n")
    return path


def count(tried):
    """Add the cases of a search, by family, to those of the searches before."""
    before = Counter(json.loads(TRIED.read_text())) if TRIED.exists() else Counter()
    TRIED.write_text(json.dumps(before + tried, indent=1, sort_keys=True) + "\n")


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(minutes="60", *families):
    """Search for some minutes; return the exit code."""
    with tempfile.TemporaryDirectory() as folder, fuzz_process(Path(folder) / "case") as run:
        search = Search(run, time.monotonic() + float(minutes) * 60)
        for path, finding in search.replay():
            say(f"still {finding.kind}: {finding.place}\n    {path}")
        try:
            while not search.is_over():
                for family in families or FAMILIES:
                    found = None if search.is_over() else search.round(family)
                    if found is not None:
                        case, finding = found
                        say(f"{finding.kind}: {finding.place}\n    {keep(case, finding)}")
        finally:
            count(search.tried)
    say(f"{search.tried.total():,} cases: " + ", ".join(f"{name} {number:,}" for name, number in search.tried.items()))
    return 1 if search.known else 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
