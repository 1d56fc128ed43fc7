import json
import subprocess
import sys

from plans import PlanBuilder
from reached import node_of_check

from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import Dag
from asyncstate.model.plan import Node, NodeKind, plan_digest


def digest(args=None, *, edges=((0, 1),), order=10000, file="", kind=NodeKind.SET):
    chunks = tuple(
        LowChunk(index, "test", "nop", f"s{index}", f"s{index}", "s", "base", order, args or {}, file=file)
        for index in range(2)
    )
    dag = Dag(3)
    for before, after in edges:
        dag.add(before, after, "require")
    return plan_digest(chunks, (*(Node(NodeKind.CHUNK, index) for index in range(2)), Node(kind, members=(0,))), dag)


def test_the_digest_changes_with_whatever_decides_a_run():
    digests = {
        digest(),
        digest({"x": 1}),
        digest({"x": True}),
        digest({"x": "1"}),
        digest(edges=()),
        digest(edges=((1, 0),)),
        digest(order=1),
        digest(kind=NodeKind.STAGE),
        digest({1: 2}),
        digest({"1": 2}),
    }
    assert len(digests) == 10


def test_the_digest_does_not_depend_on_places_or_the_order_of_keys():
    assert digest(file="/a") == digest(file="/b")
    assert digest({"a": 1, "b": [{"c": 2, "d": 3}]}) == digest({"b": [{"d": 3, "c": 2}], "a": 1})


def test_the_digest_takes_whatever_yaml_or_python_gives():
    odd = {
        True: 1,
        None: [2],
        3.5: "x",
        ("t", 1): b"bytes",
        "lone": "\ud800",
        "big": 2**80,
        "set": {1},
        "nan": float("nan"),
    }
    assert digest({"args": odd}) == digest({"args": dict(reversed(odd.items()))})
    assert len(digest({"args": odd})) == 64


def test_the_digest_is_the_same_in_another_process():
    program = "import test_plan as t; print(t.digest({'args': {True: 1, 'b': [{'c', 'd'}]}}))"
    environ = {"PYTHONPATH": ":".join(path for path in [*sys.path, __file__.rpartition("/")[0]] if path)}
    found = {
        subprocess.run(
            [sys.executable, "-c", program], env={**environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1


def test_lowstate_is_json_in_serial_order():
    plan = PlanBuilder().chunk("a").chunk("b", prereq=["c"]).chunk("c").build()
    lowstate = json.loads(json.dumps(plan.lowstate()))
    assert [low["__id__"] for low in lowstate] == ["a", "b", "c", "c"]
    assert [low["__id__"] for low in lowstate if low.get("__prerequiring__")] == ["b"]
    assert node_of_check(plan, 2) == 3
    assert node_of_check(plan, 0) is None
