"""What ``--trace-effects`` costs: a tree of small commands, with and without, in turns.

``python benchmarks/tracing.py [COUNT]``. Needs strace. Beside it the same commands under bare strace, without us. The
figures are ratios of the fastest of three: they mean something on a busy machine too.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from asyncstate.extras.proof.trace.following import Strace

TURNS = 3
MOST = 4.0
"""The tree may take this many times as long under observation."""


def best(*commands: list[list[str]]) -> list[float]:
    """Run lists of commands in turns; return the shortest seconds of each list."""
    seconds = [float("inf")] * len(commands)
    for _ in range(TURNS):
        for number, several in enumerate(commands):
            began = time.perf_counter()
            for command in several:
                subprocess.run(command, check=True, capture_output=True)
            seconds[number] = min(seconds[number], time.perf_counter() - began)
    return seconds


def main(count: int) -> None:
    """Print the ratios. Ends with an error if tracing costs more than it may."""
    strace = Strace()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shell = [f"echo {i} > {folder}/f{i}; cat {folder}/f{i}" for i in range(count)]
        states = [f"c{i}:\n  cmd.run:\n    - name: {text}\n" for i, text in enumerate(shell)]
        (folder / "many.sls").write_text("".join(states), encoding="utf-8")
        (folder / "config").write_text(f"cachedir: {folder}/cache\nstate_dir: {folder}/state\n", encoding="utf-8")
        bare = [["sh", "-c", text] for text in shell]
        traced = [strace.command(str(folder / "trace"), argv) for argv in bare]
        without, below = best(bare, traced)
        print(
            f"{count} commands, bare          {without:6.2f} s   under strace {below:6.2f} s   {below / without:5.2f} x"
        )
        for width in (1, 4):
            words = ["apply", "many", "--file-root", name, "--config", f"{folder}/config", "-j", str(width)]
            apply = [sys.executable, "-m", "asyncstate", *words, "--out", "json"]
            plain, watched = best([apply], [[*apply, "--trace-effects"]])
            ratio = watched / plain
            print(
                f"{count} states, -j {width}            {plain:6.2f} s   traced       {watched:6.2f} s   {ratio:5.2f} x"
            )
            if ratio > MOST:
                raise SystemExit(f"tracing costs {ratio:.2f} x, more than {MOST} x")


if __name__ == "__main__":
    if shutil.which("strace") is None:
        raise SystemExit("there is no strace here")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
