"""Events on their way: one numbering, every observer in turn, none of them able to stop a run."""

import pytest
from fake_host import FakeHost, row, run
from messages import said
from plans import PlanBuilder

from asyncstate.model.event import RunFinished


@pytest.fixture
def host():
    fake = FakeHost()
    fake.state("test.nop", lambda name: row(name))  # noqa: PLW0108 - has its own signature
    return fake


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")

    __repr__ = __str__


@pytest.mark.parametrize(
    "error", [ValueError("full"), SystemExit(1), KeyboardInterrupt(), GeneratorExit(), Unspeakable()]
)
def test_an_observer_that_raises_is_detached_and_the_run_goes_on(host, error):
    seen, told = [], []

    def broken(event):
        seen.append(event)
        if len(seen) == 3:
            raise error

    plan = PlanBuilder().chunk("a").chunk("b", require=["a"]).build()
    report, _ = run(plan, host, observers=[broken, told.append], concurrency=2)
    assert report.ok
    assert len(report.rows) == 2
    assert len(seen) == 3
    assert [event.seq for event in told] == list(range(len(told)))
    (notice,) = report.notices
    assert notice.startswith(
        said(
            "observer-detached",
            name="test_an_observer_that_raises_is_detached_and_the_run_goes_on.<locals>.broken",
            error=type(error).__name__,
            number=2,
            event="ChunkFinished",
        )
    )
    assert isinstance(told[-1], RunFinished)
    assert notice in told[-1].warnings


def test_observers_that_are_equal_are_told_apart(host):
    class Same:
        def __init__(self, fails):
            self.fails, self.seen = fails, 0

        def __eq__(self, other):
            return True

        __hash__ = None

        def __call__(self, event):
            self.seen += 1
            if self.fails:
                raise ValueError

    good, bad = Same(fails=False), Same(fails=True)
    report, _ = run(PlanBuilder().chunk("a").build(), host, observers=[good, bad])
    assert bad.seen == 1
    assert good.seen == 4
    assert "The observer" in report.notices[0]
    assert "Same raised ValueError" in report.notices[0]
