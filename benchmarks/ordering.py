"""What deciding the order costs beyond requisites: stages, footprints and aggregation, each as a ratio.

``python benchmarks/ordering.py [COUNT]``. High data to plan, in one process: the same tree without and with the one
thing, the least of several rounds. The last columns are edges a state and how the time grows when the states double.
"""

from __future__ import annotations

import gc
import random
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from trees import Clock

from asyncstate.compile.compiler import Compiler
from asyncstate.compile.ordering import Given
from asyncstate.load.plugin import LoadedFunction, LoadedModule
from asyncstate.render import Rendered
from asyncstate.sources.fileclient import LocalFileClient
from asyncstate.sources.matchers import Matcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from asyncstate.model.plan import Plan

ROUNDS = 5
High = dict[str, dict[str, Any]]


class States:
    """State modules as far as a compiler asks: packages can be aggregated, and all say what they touch."""

    def __init__(self) -> None:
        footprints = {
            "pkg": lambda _low: {"writes": ["pkgdb"]},
            "file": lambda low: {"reads": ["path:/etc"], "writes": [f"path:{low['name']}"]},
            "service": lambda low: {"writes": [f"service:{low['name']}"]},
        }
        self._found = {
            f"{name}.mod_footprint": LoadedFunction(name, declare, LoadedModule(name, "", None, bundled=True))
            for name, declare in footprints.items()
        }

    def has(self, name: str, /) -> bool:
        """Whether there is such a function."""
        return name in {"pkg.mod_aggregate", "service.mod_watch"}

    def find(self, name: str, /) -> LoadedFunction | None:
        """Return a loaded function."""
        return self._found.get(name)

    def module(self, _name: str, /) -> None:
        """Return a module: none is asked for in vain."""

    def refused(self, _name: str, /) -> None:
        """Return a module that does not load: none is asked for."""

    def reason(self, name: str, /) -> str:
        """Say why there is no such function."""
        return f"there is no {name}"


def high(count: int, shape: Callable[[int], tuple[str, str, list[Any]]]) -> High:
    """Make high data; ``shape(number)`` gives module, formula and arguments."""
    data: High = {}
    for number in range(count):
        module, formula, arguments = shape(number)
        data[f"s{number}"] = {
            module: ["run", {"order": 10_000 + number}, {"name": f"/x/{number}"}, *arguments],
            "__sls__": formula,
            "__env__": "base",
        }
    return data


def require(module: str, numbers: list[int]) -> list[Any]:
    """Return the arguments that make a state require others of a module."""
    return [{"require": [{module: f"s{number}"} for number in numbers]}] if numbers else []


def packages_with_requisites(number: int) -> tuple[str, str, list[Any]]:
    """Packages, each of which requires ten of the two hundred before it."""
    chosen = random.Random(number).sample(range(max(0, number - 200), number), min(number, 10))
    return "pkg", f"f{number // 50}", require("pkg", chosen)


def chain_of_packages(number: int) -> tuple[str, str, list[Any]]:
    """Packages, each of which requires the one before."""
    return "pkg", "s", require("pkg", [number - 1] if number else [])


def package_file_service(number: int) -> tuple[str, str, list[Any]]:
    """Formulas of a package, files and a daemon."""
    return "pkg" if number % 10 == 0 else "service" if number % 10 == 9 else "file", f"f{number // 10}", []


def ordered(number: int) -> tuple[str, str, list[Any]]:
    """Files in a hundred explicit orders."""
    return "file", "s", [{"order": number % 100 + 1}]


class Case(NamedTuple):
    """One tree, planned without and with something."""

    shape: Callable[[int], tuple[str, str, list[Any]]]
    without: dict[str, Any]
    having: dict[str, Any]


NOTHING = {"implicit_order": "none"}
CASES = {
    "stages": Case(ordered, {**NOTHING, "unordered": True}, NOTHING),
    "footprints": Case(package_file_service, NOTHING, {"implicit_order": "footprint"}),
    "aggregation, requisites": Case(packages_with_requisites, NOTHING, {**NOTHING, "state_aggregate": True}),
    "aggregation, chain": Case(chain_of_packages, NOTHING, {**NOTHING, "state_aggregate": True}),
    "both, formulas": Case(package_file_service, NOTHING, {"implicit_order": "footprint", "state_aggregate": True}),
}


def planned(data: High, options: dict[str, Any]) -> tuple[float, Plan]:
    """Compile high data; return the processor seconds and the plan."""
    options = {"state_auto_order": True, "file_client": "local", **options}
    given = Given(options, {}, LocalFileClient({}), States())
    compiler = Compiler(given, lambda _file, _extra: Rendered({}), lambda: Matcher(options, {}, {}))
    gc.collect()
    clock = Clock()
    plan = compiler.plan_high(data)
    return clock.stop().cpu, plan


def least(case: Case, count: int, options: dict[str, Any]) -> tuple[float, Plan]:
    """Return the least time of several rounds, and the plan."""
    data = high(count, case.shape)
    if options.get("unordered"):
        for number, body in enumerate(data.values()):
            body["file"][-1] = {"order": 10_000 + number}
    rounds = [planned(data, options) for _ in range(ROUNDS)]
    return min(seconds for seconds, _ in rounds), rounds[0][1]


def main() -> None:
    """Print one line a case."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 3500
    print(f"{count} states, least of {ROUNDS}, CPU seconds")
    print(f"{'what':<26}{'without':>9}{'with':>9}{'ratio':>8}{'edges':>9}{'growth':>9}")
    for name, case in CASES.items():
        without, _ = least(case, count, case.without)
        having, plan = least(case, count, case.having)
        half, _ = least(case, count // 2, case.having)
        if len(plan.chunks) != count:
            raise SystemExit(f"{name}: {len(plan.chunks)} states in place of {count}")
        edges = sum(1 for _ in plan.dag.edges()) / count
        print(f"{name:<26}{without:>9.3f}{having:>9.3f}{having / without:>8.2f}{edges:>9.1f}{having / half:>8.1f}x")


if __name__ == "__main__":
    main()
