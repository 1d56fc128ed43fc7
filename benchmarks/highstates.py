"""Real applies: highstates of public formulas in a throw-away Debian, with a mirror that is some way off.

``python benchmarks/highstates.py FORMULAS --dir DIR [--baseline CHECKOUT]``, as root. FORMULAS has checkouts of
github.com/saltstack-formulas. DIR is made once, in some minutes, and kept: a minimal Debian (mmdebstrap, from
``apt-get install mmdebstrap``), Salt from PyPI, and all archives that the highstates need, for the next times. The
machine itself is not touched: each apply has namespaces and a copy of the root of its own, no network but the mirror,
which sends 10 MB/s after 20 ms, and a systemctl that only notes what should run.

Each highstate is applied by Salt, by the baseline at ``-j 1``, and by this checkout at ``-j 1`` and as it is, in turn;
then apt installs the packages that it brought, in one call and with nothing else: no tool can be faster.
An apply that needed something which the mirror did not have does not count; it is made again. The table has wall and
processor seconds, and each wall as a multiple of that of this checkout; beneath is in what rows, packages and files
differ, and where the time of the concurrent apply went. Exit code 1: serial and concurrent differ.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
import shlex
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from throwaway.compare import compare
from throwaway.formulas import OWN, SETS, highstate_of
from throwaway.mirror import DELAY, RATE, Mirror
from throwaway.runs import Runner
from throwaway.system import Tree, make_root, make_tree, needed

from asyncstate.report.summary import describe_tag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from throwaway.compare import Likeness
    from throwaway.formulas import Highstate
    from throwaway.runs import Run

    from asyncstate.extras.analyse.profile import Profile

CHECKOUT = Path(__file__).parent.parent
ATTEMPTS = 4
SHOWN = 6
"""Differences of one kind, and states of a critical path, that are shown."""


def measured(apply: Callable[[], Run]) -> Run:
    """Apply until the mirror has everything, and return the last run."""
    for _ in range(ATTEMPTS):
        run = apply()
        if not run.fetched:
            return run
    raise SystemExit(f"the mirror never has everything; the last it fetched is {run.fetched[-1]}")


def tools(
    runner: Runner, highstate: Highstate, trees: list[Tree], *, salt: bool
) -> Iterator[tuple[str, Callable[[], Run]]]:
    """Yield what applies the highstate, by name; ``now`` comes last."""
    if salt:
        yield "salt", lambda: runner.salt(highstate)
    for tree in trees:
        yield f"{tree.name} -j 1", functools.partial(runner.asyncstate, highstate, tree, "-j", "1")
    yield "now", lambda: runner.asyncstate(highstate, trees[-1])


def print_walls(highstate: Highstate, runs: dict[str, list[Run]]) -> dict[str, float]:
    """Print a line for each tool; return its wall seconds as a multiple of ours, the median of the rounds."""
    ratios = {}
    for tool, of_tool in runs.items():
        pairs = list(zip(of_tool, runs["now"], strict=True))
        ratios[tool] = statistics.median(run.wall / ours.wall for run, ours in pairs)
        wall, cpu = (statistics.median(getattr(run, key) for run in of_tool) for key in ("wall", "cpu"))
        cpu_ratio = statistics.median(run.cpu / ours.cpu for run, ours in pairs)
        failed = sum(1 for row in of_tool[-1].rows.values() if row["result"] is False)
        counts = f"{len(of_tool[-1].rows):>5}{failed:>8}"
        print(
            f"{highstate.name:<11}{tool:<14}{counts}{wall:>8.1f}{cpu:>8.1f}{ratios[tool]:>7.2f}{cpu_ratio:>7.2f}",
            flush=True,
        )
    return ratios


def print_differences(what: str, found: Likeness, *, verbose: bool) -> None:
    """Print in what two applies differ."""
    print(f"  {what}: {found}")
    for lines in (found.rows, found.packages, found.paths):
        for line in lines if verbose else lines[:SHOWN]:
            print(f"    {line if verbose else line[:300]}")


def print_profile(profile: Profile, wall: float) -> None:
    """Print where the time of a run went: outside the run, by state module, and along the critical path."""
    by_module: dict[str, float] = {}
    for timing in profile.finished:
        module = timing.tag.partition("_|-")[0]
        by_module[module] = by_module.get(module, 0.0) + timing.seconds
    most = sorted(by_module.items(), key=lambda each: -each[1])[:SHOWN]
    parts = ", ".join(f"{module} {seconds:.1f}" for module, seconds in most)
    around = wall - profile.wall
    print(f"  seconds: before and after the run {around:.1f}, run {profile.wall:.1f}; in states: {parts}")
    path = profile.critical_path()
    for timing in sorted(path, key=lambda each: -each.seconds)[:SHOWN]:
        after = f", after {describe_tag(timing.after)}" if timing.after else ""
        why = f" ({', '.join((*timing.because, *timing.resources[:3]))})" if timing.because else ""
        print(f"    on the critical path {timing.seconds:.1f}: {describe_tag(timing.tag)}{after}{why}")


def run_one(
    runner: Runner, highstate: Highstate, trees: list[Tree], options: argparse.Namespace
) -> tuple[dict[str, float], bool]:
    """Measure and compare one highstate; return the ratios, and whether serial and concurrent are the same."""
    runs: dict[str, list[Run]] = {}
    by_tool = dict(tools(runner, highstate, trees, salt=not options.no_salt))
    with ThreadPoolExecutor(len(by_tool) if options.together else 1) as pool:
        for _ in range(options.rounds):
            for tool, run in zip(by_tool, pool.map(measured, by_tool.values()), strict=True):
                runs.setdefault(tool, []).append(run)
            new = runner.new_packages(runs["now"][-1])
            runs.setdefault("apt alone", []).append(measured(functools.partial(runner.apt, highstate, new)))
    ratios = print_walls(highstate, runs)
    ours = runs["now"][-1]
    found = compare(runs["now -j 1"][-1], ours, whole_changes=True)
    print_differences("-j 1 and concurrent", found, verbose=options.verbose)
    if "salt" in runs:
        beside = compare(runs["salt"][-1], ours, whole_changes=False)
        print_differences("salt and concurrent", beside, verbose=options.verbose)
    if ours.profile is not None:
        print_profile(ours.profile, ours.wall)
    return ratios, not found.lines


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("formulas", type=Path, help="folder with checkouts, named OWNER+NAME-formula or NAME-formula")
    parser.add_argument(
        "--dir", type=Path, required=True, help="folder for the Debian, the tools and the archives; kept"
    )
    parser.add_argument(
        "--work", type=Path, help="folder for the copies of the root (default: in --dir); a tmpfs is quieter"
    )
    parser.add_argument("--baseline", type=Path, help="checkout of an older asyncstate, to be run at -j 1")
    parser.add_argument(
        "--only", action="append", choices=sorted({*SETS, *OWN}), help="this highstate; repeatable (default: all)"
    )
    parser.add_argument("--rounds", type=int, default=1, help="applies by each tool, in turn (1)")
    parser.add_argument(
        "--together",
        action="store_true",
        help="the tools apply a highstate at the same time, not in turn: fairer where the load of the machine changes",
    )
    parser.add_argument("--no-salt", action="store_true", help="do not run Salt")
    parser.add_argument(
        "--suite", default="bookworm", help="release of Debian (bookworm); its Python must be that which runs this"
    )
    parser.add_argument("--rate", type=float, default=RATE, help="bytes a second of the mirror (10 MB)")
    parser.add_argument("--delay", type=float, default=DELAY, help="seconds before each answer of the mirror (0.02)")
    parser.add_argument(
        "--shake",
        nargs="?",
        const="",
        metavar="OPTIONS",
        help="do not measure: run `asyncstate shake`, with more options of it if there are any ('--only ID -j 4')",
    )
    parser.add_argument(
        "--docker", action="store_true", help="configure apt as the images of Debian do, without caches (docker-clean)"
    )
    parser.add_argument("--verbose", action="store_true", help="show every difference")
    return parser.parse_args()


def shake(runner: Runner, chosen: list[Highstate], options: list[str]) -> int:
    """Run the delayed-state check of every highstate; return the greatest of its exit codes."""
    codes = []
    for highstate in chosen:
        print(f"{highstate.name}: {', '.join(highstate.sls)}", flush=True)
        codes.append(runner.shake(highstate, options))
    return max(codes)


def main() -> None:
    """Make what is needed, measure, and print."""
    options = arguments()
    reason = needed()
    if reason:
        raise SystemExit(f"highstates.py: {reason}")
    folder = options.dir.resolve()
    work = (options.work or folder / "work").resolve()
    for each in (folder, work):
        each.mkdir(parents=True, exist_ok=True)
    archives = folder / "mirror"
    with contextlib.closing(Mirror(archives, rate=math.inf, delay=0)) as mirror:
        root = make_root(folder, mirror, ("baseline", "now"), options.suite)
    formulas = options.formulas.resolve()
    chosen = [highstate_of(name, formulas) for name in options.only or [*SETS, *OWN]]
    slow = functools.partial(Mirror, archives, rate=options.rate, delay=options.delay)
    runner = Runner(root, slow, formulas, work, in_image=options.docker)
    if options.shake is not None:
        sys.exit(shake(runner, chosen, shlex.split(options.shake)))
    checkouts = {"baseline": options.baseline, "now": CHECKOUT}
    trees = [make_tree(folder, name, path.resolve(), root) for name, path in checkouts.items() if path is not None]
    sys.exit(measure(runner, chosen, trees, options))


def measure(runner: Runner, chosen: list[Highstate], trees: list[Tree], options: argparse.Namespace) -> int:
    """Measure all highstates; return the exit code."""
    print(f"{'highstate':<11}{'tool':<14}{'rows':>5}{'failed':>8}{'wall s':>8}{'CPU s':>8}{'wall/':>7}{'CPU/':>7}")
    ratios: dict[str, list[float]] = {}
    same = True
    for highstate in chosen:
        of_one, alike = run_one(runner, highstate, trees, options)
        same = same and alike
        for tool, ratio in of_one.items():
            ratios.setdefault(tool, []).append(ratio)
    for tool, of_tool in ratios.items():
        if tool != "now":
            print(f"{tool}: wall is {statistics.median(of_tool):.2f} times ours (median), {min(of_tool):.2f} at least")
    return 0 if same else 1


if __name__ == "__main__":
    main()
