"""What a press of TAB takes: whole processes, from the start of bash's program to its answer.

``python benchmarks/completion.py [SLS…]``: for trees of so many SLS files (500 and 5,000), five states each, and for
each kind of word. ``cold`` is the first press in a new tree; ``wall``, ``p95`` and ``max`` are of RUNS presses after
it, ``cpu`` is the median of processor seconds, which a busy machine does not stretch as much. It ends if nothing is
offered. Python keeps its bytecode, as in an installed package.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 40
LINES = (
    ("a command", "asyncstate ch"),
    ("SLS names", "asyncstate apply "),
    ("IDs of all SLS", "asyncstate explain unit-7"),
    ("IDs of one SLS", "asyncstate apply app1.part2 --id "),
    ("functions", "asyncstate single file."),
    ("modules", "asyncstate call "),
    ("arguments", "asyncstate single file.managed name=/x mo"),
    ("a path", "asyncstate single file.managed source=salt://app1/"),
    ("salt-call", "asyncstate salt-call --local state.sls_id unit-1"),
)


def write_tree(root: Path, count: int) -> None:
    """Write ``count`` SLS files, twenty in a folder."""
    for number in range(count):
        path = root / f"app{number // 20}" / f"part{number % 20}.sls"
        path.parent.mkdir(parents=True, exist_ok=True)
        states = (f"unit-{number}-{each}:\n  file.managed:\n    - name: /etc/{each}\n" for each in range(5))
        path.write_text("include:\n  - app0.part0\n\n" + "\n".join(states))


def press(line: str, environ: dict[str, str]) -> tuple[float, float]:
    """Return wall and processor seconds of one answer."""
    program = os.path.join(os.path.dirname(sys.executable), "asyncstate")
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([program], env={**environ, "COMP_LINE": line}, capture_output=True, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if len(done.stdout.splitlines()) < 2:
        raise SystemExit(f"{line!r}: nothing was offered: {done.stderr.decode()}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print one line a kind of word and size of tree."""
    with tempfile.TemporaryDirectory() as bytecode:
        _measure_all(bytecode)


def _measure_all(bytecode: str) -> None:
    print("seconds a press        SLS    cold    wall     p95     max     cpu")
    for count in [int(text) for text in sys.argv[1:]] or [500, 5000]:
        for name, line in LINES:
            with tempfile.TemporaryDirectory() as folder:
                write_tree(Path(folder, "salt"), count)
                environ = {
                    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
                    "PYTHONPYCACHEPREFIX": bytecode,
                    "_ASYNCSTATE_COMPLETE": "bash",
                    "HOME": folder,
                    "ASYNCSTATE_CACHEDIR": f"{folder}/cache",
                    "ASYNCSTATE_FILE_ROOTS": f"{{base: [{folder}/salt]}}",
                }
                press("asyncstate ch", environ)
                cold, _ = press(line, environ)
                for _ in range(count // 1000):  # until every file was read once
                    press(line, environ)
                walls, cpus = zip(*(press(line, environ) for _ in range(RUNS)), strict=True)
            p95 = statistics.quantiles(walls, n=20)[-1]
            figures = (cold, statistics.median(walls), p95, max(walls), statistics.median(cpus))
            print(f"{name:<20}{count:>6}" + "".join(f"{figure:>8.3f}" for figure in figures), flush=True)


if __name__ == "__main__":
    main()
