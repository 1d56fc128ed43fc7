"""What states wait for, as the compiler has it."""

from __future__ import annotations

from asyncstate.config import Settings
from asyncstate.report.awaited import waits_in
from asyncstate.runtime import StateRuntime

TREE = {
    "web": """
a: test.nop
b:
  test.nop: [require: [test: a]]
c:
  test.nop: [require: [sls: more], watch: [test: b]]
d:
  test.nop: [prereq: [test: c]]
first:
  test.nop: [order: 1]
""",
    "more": "x: test.nop\ny: test.nop\n",
}


def test_all_that_a_state_waits_for_is_known_also_through_a_set_but_not_through_a_stage(tmp_path):
    for name, text in TREE.items():
        (tmp_path / f"{name}.sls").write_text(text)
    with StateRuntime(Settings(file_roots={"base": [str(tmp_path)]}, salt_python="off")).open_sync() as runtime:
        plan = runtime.compile_sync(["more", "web"])

    def short(node):
        return node[0].split("_|-")[1] + "?" * node[1]

    waits = {
        short(node): {short(each.node): set(each.because) for each in awaited}
        for node, awaited in waits_in(plan).items()
    }
    assert waits == {
        "b": {"a": {"require"}},
        "c?": {"x": {"require"}, "y": {"require"}, "b": {"watch"}},
        "c": {"x": {"require"}, "y": {"require"}, "b": {"watch"}, "d": {"prerequired"}},
        "d": {"c?": {"prereq"}},
    }
