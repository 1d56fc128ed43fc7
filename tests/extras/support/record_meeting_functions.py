"""Record which functions of bundled states meet in one place in public formulas.

``python tests/extras/support/record_meeting_functions.py FOLDER`` takes a folder with checkouts named ``owner+name-formula`` and
writes tests/recorded/meeting_functions.json: for each kind of place the pairs of functions, in serial order, with the
number of formulas in which two states touch the same place, or one below the other, and one of them writes it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from asyncstate import Settings, StateRuntime
from asyncstate.errors import AsyncStateError

RECORDED = Path(__file__).parents[2] / "recorded" / "meeting_functions.json"
_KINDS = ("path", "user", "group", "service", "pkgdb")


def meetings(plan, touched):
    """(kind of place, earlier function, later function) of each two states of a plan that meet."""
    for first, second in itertools.combinations(plan.chunks, 2):
        one, other = (touched.by_all[chunk.index] for chunk in (first, second))
        written = {*_places(one.writes), *_places(one.makes)}, {*_places(other.writes), *_places(other.makes)}
        everything = {*written[0], *_places(one.reads)}, {*written[1], *_places(other.reads)}
        for wrote, met in ((written[0], everything[1]), (written[1], everything[0])):
            for kind in {kind for kind, place in wrote for what, there in met if what == kind and _meet(place, there)}:
                yield kind, first.function, second.function


def _places(names):
    for name in names:
        kind, _, place = name.partition(":")
        if kind in _KINDS:
            yield kind, place.partition("#")[0].removesuffix("/**")


def _meet(one, other):
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


async def compiled(folder, sls):
    """The plan of a formula with its example pillar, or without, and what it touches; None if it compiles in no way."""
    examples = [folder / "pillar.example", folder / "test/salt/pillar/default.sls"]
    for example in [*(each for each in examples if each.exists()), None]:
        with tempfile.TemporaryDirectory() as scratch:
            pillar = Path(scratch) / "pillar"
            pillar.mkdir()
            if example is not None:
                (pillar / "example.sls").write_bytes(example.read_bytes())
                (pillar / "top.sls").write_text("base:\n  '*': [example]\n")
            settings = Settings(
                file_roots={"base": [str(folder)]},
                pillar_roots={"base": [str(pillar)]},
                cachedir=f"{scratch}/cache",
                journal="off",
            )
            try:
                async with StateRuntime(settings) as runtime:
                    plan = await runtime.compile([sls])
                    return plan, runtime.planner.touched(plan)
            except AsyncStateError as error:
                sys.stderr.write(f"{folder.name}: {str(error).splitlines()[0]}\n")
    return None


async def main(folders):
    found, taken = Counter(), []
    for folder in folders:
        name = folder.name.partition("+")[2].removesuffix("-formula")
        sls = next((each for each in (name, name.replace("-", "_")) if (folder / each / "init.sls").exists()), None)
        made = await compiled(folder, sls) if sls else None
        if made is not None and made[0].chunks:
            taken.append(folder.name.replace("+", "/"))
            found.update(set(meetings(*made)))
    pairs = {}
    for (kind, first, second), number in sorted(found.items()):
        pairs.setdefault(kind, []).append([first, second, number])
    RECORDED.write_text(json.dumps({"formulas": taken, "pairs": pairs}, indent=1) + "\n")


if __name__ == "__main__":
    asyncio.run(main(sorted(Path(sys.argv[1]).glob("*formula"))))
