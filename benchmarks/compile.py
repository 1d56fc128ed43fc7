"""Compiling alone: from SLS text to a plan, in one process, by shape and by size.

``python benchmarks/compile.py [COUNT…]``. With two sizes, the last column says how the time grew: 2.0 for twice the
size is linear.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import trees

from asyncstate import Settings, StateRuntime


async def measure(shape: str, count: int) -> float:
    """Return the processor seconds of one compilation, the runtime's own start not counted."""
    with tempfile.TemporaryDirectory() as folder:
        root = trees.write(shape, count, Path(folder))
        settings = Settings(
            file_roots={"base": [str(root)]}, pillar={"root": folder}, cachedir=folder, state_dir=folder
        )
        async with StateRuntime(settings) as runtime:
            clock = trees.Clock()
            plan = await runtime.compile(["bench"])
            spent = clock.stop().cpu
    if len(plan.chunks) != count:
        raise SystemExit(f"{shape}: {len(plan.chunks)} states in place of {count}")
    return spent


def main() -> None:
    """Print one line a shape."""
    counts = [int(text) for text in sys.argv[1:]] or [2000, 4000]
    print("CPU seconds a compilation, µs a state at the largest size, growth")
    for shape in trees.SHAPES:
        spent = [asyncio.run(measure(shape, count)) for count in counts]
        growth = f"{spent[-1] / spent[0]:>8.2f}x" if len(spent) > 1 else ""
        columns = "".join(f"{seconds:>10.3f}" for seconds in spent)
        print(f"{shape:<10}{columns}{spent[-1] / counts[-1] * 1e6:>10.0f}{growth}")


if __name__ == "__main__":
    main()
