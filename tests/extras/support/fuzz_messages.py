"""What other programs say: valid messages, spoiled.

Words in them name what lies outside of the roots, as in `fuzz_records.outward`.
"""

from __future__ import annotations

import copy

from fuzz_records import OUTWARD, TREE, VALUES, places
from hypothesis import strategies as st

FILES = {**TREE, "salt/__env__/main.sls": "a: test.nop\n", "pillar/__env__/top.sls": "base: {}\n"}

_ODD = (*VALUES, 1 << 40, "open", "eval", "type", "/etc/passwd", [["../beside/file"]], b"\xff" * 9)
FURTHER = (
    "../../beside",
    "_modules/../../../../beside/bait.sls",
    "_modules/../../../../beside/new.py",
    "../../../beside/base/main.sls",
    "../home/tree",
)
"""What leads out of the folder in which a runner keeps the operator's tree."""


def spoiled_message(draw, value, most=3):
    """Return the message with a few values replaced or removed; half of the new texts lead out of the roots."""
    value = {"": copy.deepcopy(value)}
    for _ in range(draw(st.integers(0, most))):
        found = [place for place in places(value) if place] or [("",)]
        place = draw(st.sampled_from(found))
        place = place[: draw(st.integers(1, len(place)))] if draw(st.integers(0, 3)) == 0 else place
        inner = value
        for key in place[:-1]:
            inner = inner[key]
        if isinstance(inner, tuple):
            continue
        if draw(st.integers(0, 5)):
            inner[place[-1]] = copy.deepcopy(draw(st.sampled_from((*OUTWARD, *FURTHER)) | st.sampled_from(_ODD)))
        elif place != ("",):
            del inner[place[-1]]
    return value[""]
