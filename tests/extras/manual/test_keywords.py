from __future__ import annotations

from tables import rows

from asyncstate.extras.manual.entries import example_of
from asyncstate.extras.manual.values import keywords_of
from tests.compile.low.test_keywords import FUNCTIONS, PASSING_ON, found, loads, runtime  # noqa: F401 - fixtures


@rows("name", [name for name in FUNCTIONS if name.split(".")[0] not in PASSING_ON])
def test_a_documented_word_is_no_mistake(runtime, found, name):  # noqa: F811
    if not loads(runtime, name):
        return  # the module does not load here
    documented = [word for word in keywords_of(FUNCTIONS[name]) if word not in {"require_in", "watch_in", "prereq"}]
    assert found(name, **dict.fromkeys(documented, example_of(name, "x") or 1)) == []
