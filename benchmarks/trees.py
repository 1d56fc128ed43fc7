"""State trees of known shapes, for the benchmarks: each shape has one thing that is many."""

from __future__ import annotations

import resource
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def wide(count: int) -> Iterator[str]:
    """States that have nothing to do with each other."""
    for i in range(count):
        yield f"s{i}:\n  test.nop: []\n"


def chain(count: int) -> Iterator[str]:
    """Each state requires the one before."""
    yield "s0:\n  test.nop: []\n"
    for i in range(1, count):
        yield f"s{i}:\n  test.nop:\n    - require:\n      - test: s{i - 1}\n"


def layered(count: int, width: int = 20) -> Iterator[str]:
    """Layers of twenty states; each requires three of the layer above."""
    for i in range(count):
        if i < width:
            yield f"s{i}:\n  test.nop: []\n"
            continue
        above = (i // width - 1) * width
        wanted = {above + (i * step + 1) % width for step in (1, 3, 7)}
        yield f"s{i}:\n  test.nop:\n    - require:\n" + "".join(f"      - test: s{j}\n" for j in sorted(wanted))


def fan_in(count: int) -> Iterator[str]:
    """One state that requires all others."""
    for i in range(1, count):
        yield f"s{i}:\n  test.nop: []\n"
    yield "s0:\n  test.nop:\n    - require:\n" + "".join(f"      - test: s{i}\n" for i in range(1, count))


def fan_out(count: int) -> Iterator[str]:
    """States that all require one."""
    yield "s0:\n  test.nop: []\n"
    for i in range(1, count):
        yield f"s{i}:\n  test.nop:\n    - require:\n      - test: s0\n"


def watch(count: int) -> Iterator[str]:
    """Pairs: one that changes, one that watches it."""
    for i in range(0, count, 2):
        yield f"c{i}:\n  test.succeed_with_changes: []\n"
        yield f"w{i}:\n  test.nop:\n    - watch:\n      - test: c{i}\n"


def jinja(count: int) -> Iterator[str]:
    """One loop of a template."""
    yield f"{{% for i in range({count}) %}}\ns{{{{ i }}}}:\n  test.nop: []\n{{% endfor %}}\n"


def files(count: int) -> Iterator[str]:
    """Small managed files, below the pillar value ``root``."""
    for i in range(count):
        yield f"f{i}:\n  file.managed:\n    - name: {{{{ pillar['root'] }}}}/f{i}\n    - contents: line {i}\n"


def sleep(count: int) -> Iterator[str]:
    """Commands that wait for a tenth of a second, independent of each other."""
    for i in range(count):
        yield f"w{i}:\n  cmd.run:\n    - name: sleep 0.1\n"


def commands(count: int) -> Iterator[str]:
    """Commands that do nothing."""
    for i in range(count):
        yield f"c{i}:\n  cmd.run:\n    - name: 'true'\n"


SHAPES: dict[str, Callable[[int], Iterator[str]]] = {
    shape.__name__: shape for shape in (wide, chain, layered, fan_in, fan_out, watch, jinja, files, sleep, commands)
}


def write(shape: str, count: int, folder: Path) -> Path:
    """Write the tree into ``folder/states`` as the SLS ``bench``; return that file root."""
    root = folder / "states"
    root.mkdir(parents=True, exist_ok=True)
    (root / "bench.sls").write_text("".join(SHAPES[shape](count)), encoding="utf-8")
    return root


class Clock:
    """Processor seconds (user and system, of children too) and wall seconds, from when it is made until `stop`."""

    def __init__(self) -> None:
        self.cpu = -_cpu_seconds()
        self.wall = -time.perf_counter()

    def stop(self) -> Clock:
        """Turn what was counted from into what was spent; children count once they have ended."""
        self.cpu += _cpu_seconds()
        self.wall += time.perf_counter()
        return self


def _cpu_seconds() -> float:
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
