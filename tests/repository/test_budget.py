"""The budget of an apply: it fails when a count grows, names what grew, and a limit rises only with a reason."""

from __future__ import annotations

import sys

import pytest

NAME = "calls of Python functions, a state that does nothing"


@pytest.fixture
def budget(checkout, monkeypatch):
    monkeypatch.syspath_prepend(str(checkout / "benchmarks"))
    monkeypatch.delitem(sys.modules, "trees", raising=False)  # tests have a module of that name, too
    import budget

    yield budget
    for name in ("budget", "trees"):
        sys.modules.pop(name, None)


def measured(budget, *several, slack=0.0):
    """Return a count that gives these parts, one after the other."""
    turns = iter(several)
    return budget.Count(lambda: next(turns), slack, "see who calls them")


def limit(budget, most, because="", **parts):
    return budget.Limit(most, because, parts)


def test_every_count_has_a_limit(budget):
    python, limits = budget.read()
    assert limits.keys() == budget.COUNTS.keys()
    for name, count in budget.COUNTS.items():
        assert budget.over(name, count, limits[name], limits[name].parts) == []
    assert python


def test_a_count_over_its_limit_fails_and_says_what_grew(budget, capsys):
    parts = {"a.py": 3.0, "b.py": 9.0, "c.py": 2.0}
    counts = {"calls": measured(budget, parts, parts, parts)}
    assert budget.check({"calls": limit(budget, 9.5, **{"a.py": 3.0, "b.py": 6.5})}, counts, budget.PYTHON) == 1
    assert capsys.readouterr().out.splitlines()[3:] == [
        "over budget: calls: 14, and the limit is 9.5",
        "    +2.5  b.py",
        "    +2  c.py",
        "  see who calls them",
        "Make it cheaper. If it is worth it: nox -s budget -- --record --because 'why', and commit budget.json.",
    ]


def test_with_another_python_the_failure_says_so(budget, capsys):
    counts = {"calls": measured(budget, *[{"a.py": 3.0}] * 3)}
    assert budget.check({"calls": limit(budget, 2)}, counts, "3.8") == 1
    assert f"The limits are those of Python 3.8, and this is {budget.PYTHON}.\n" in capsys.readouterr().out


def test_of_many_suspects_the_largest_are_named(budget):
    parts = {f"{number:02}.py": 1.0 + number for number in range(20)}
    lines = budget.over("calls", measured(budget), limit(budget, 1), parts)
    assert lines[1:-1] == [f"    +{20 - n}  {19 - n}.py" for n in range(8)] + ["    and 12 more"]


@pytest.mark.parametrize(("number", "code"), [(9.0, 0), (10.0, 0), (10.5, 0), (10.6, 1)])
def test_only_the_slack_may_come_on_top(budget, number, code):
    counts = {"calls": measured(budget, *[{"a.py": number}] * 3, slack=0.5)}
    assert budget.check({"calls": limit(budget, 10)}, counts, budget.PYTHON) == code


def test_the_lowest_of_three_counts(budget):
    high, higher, low = ({"a.py": number} for number in (11.0, 12.0, 10.0))
    assert budget.least(measured(budget, high, higher, low), 10) == low
    assert budget.least(measured(budget, high, higher, high, low), 10) == high


def test_a_lower_count_says_how_to_keep_it(budget, capsys):
    assert budget.check({"calls": limit(budget, 10)}, {"calls": measured(budget, {"a.py": 9.0})}, budget.PYTHON) == 0
    assert "nox -s budget -- --record makes that the limit" in capsys.readouterr().out


def test_a_limit_rises_only_with_a_reason(budget):
    old = {"calls": limit(budget, 10, "a lock", **{"a.py": 10.0})}

    def recorded(number, because=""):
        counts = {"calls": measured(budget, *[{"a.py": number}] * 3, slack=1)}
        return dict(budget.recorded(old, counts, because))["calls"]

    with pytest.raises(SystemExit, match="over budget: calls: 12, and the limit is 10"):
        recorded(12.0)
    assert recorded(12.0, "a new lock") == limit(budget, 12, "a new lock", **{"a.py": 12.0})
    assert recorded(11.0) == limit(budget, 10, "a lock", **{"a.py": 11.0}), "the slack never adds up"
    assert recorded(9.0) == limit(budget, 9, "a lock", **{"a.py": 9.0})


def test_what_starting_takes_is_in_no_count_of_a_state(budget):
    assert budget.a_state({"a": 100, "b": 7, "c": 5}, {"a": 130, "b": 7, "d": 20}, 10) == {"a": 3, "c": -0.5, "d": 2}


@pytest.mark.parametrize(
    ("what", "part"), [("calls", "asyncstate/effects/footprint.py"), ("hops", "asyncstate/load/threads.py:")]
)
def test_states_that_do_more_are_over_the_budget_of_those_that_do_nothing(budget, what, part):
    name = {"calls": "calls of Python functions", "hops": "thread hops"}[what] + ", a state that does nothing"
    _, limits = budget.read()
    said = budget.over(name, budget.COUNTS[name], limits[name], budget.called(what, "files", 20))
    assert said[0].startswith(f"over budget: {name}: ")
    assert any(part in line for line in said)


def test_a_state_that_imports_more_is_over_the_budget(budget):
    name = "modules of asyncstate, imported for one state"
    _, limits = budget.read()
    parts = budget.imported("files", ours=True)
    new = sorted(parts.keys() - limits[name].parts.keys())
    said = budget.over(name, budget.COUNTS[name], limits[name], parts)
    assert said[1 : 1 + budget.SUSPECTS] == [f"    +1  {module}" for module in new[: budget.SUSPECTS]]
    assert len(new) > budget.SUSPECTS


def test_a_commit_is_compared_part_by_part(budget):
    counts = {"calls": measured(budget, {"a.py": 3.0, "c.py": 2.0, "same.py": 1.0})}
    assert list(budget.compare({"calls": {"a.py": 4.5, "b.py": 1.0, "same.py": 1.01}}, counts))[1:] == [
        f"{'calls':<56}{'6.51':>10}{'6':>10}",
        "    -1.5  a.py",
        "    -1  b.py",
        "    +2  c.py",
    ]
