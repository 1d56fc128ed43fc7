"""Edges that only a failure makes binding: states on folders run in any order that the machine allows."""

import random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from validating_machine import ValidatingMachine

from asyncstate.effects.scoreboard import Scoreboard
from asyncstate.model.chunk import LowChunk
from asyncstate.model.dag import FOOTPRINT, Dag
from asyncstate.model.plan import ContingentEdge, Node, NodeKind, Plan
from asyncstate.model.result import Outcome


class Act(NamedTuple):
    """What a state does with a folder, and how it ends.

    It needs it, makes it, settles it (makes it in one that is there), removes it. One that ``promises`` nothing may
    have succeeded without the folder.
    """

    kind: str
    folder: str
    marks: str = "0755:root:root"
    ends: str = "well"
    promises: bool = True

    def footprint(self, number):
        """Its reads, writes, makes, and what it leaves."""
        above = self.folder.rpartition("/")[0] or "/"
        file = f"path:{self.folder}/{number}"
        name = f"path:{self.folder}"
        left = [name] if self.promises else []
        match self.kind:
            case "need":
                return [name], [file], [], left
            case "make":
                return [], [file], [f"{name}?{self.marks}"], left
            case "settle":
                return [f"path:{above}"], [name], [], left
        return [f"path:{above}"], [name, f"{name}/**"], [], []

    def run(self, folders):
        """Change the folders as the state does; return its result, whether it ran, and what it found."""
        if self.ends == "skipped":
            return True, False, ""
        above = self.folder.rpartition("/")[0]
        there = self.folder in folders
        good = self.ends == "well"
        if self.ends == "at once":
            return False, True, ""
        if self.kind == "need":
            return good and (there or not self.promises), True, there
        if self.kind == "make":
            parts = self.folder.split("/")
            for depth in range(2, len(parts) + 1):
                folders.setdefault("/".join(parts[:depth]), self.marks)
            return good, True, ""
        if self.kind == "settle":
            if above and above not in folders:
                return False, True, "no folder"
            folders.setdefault(self.folder, "settled")
            return good, True, there
        for path in [path for path in folders if f"{path}/".startswith(f"{self.folder}/")]:
            del folders[path]
        return good, True, there


def plan_of(acts):
    """The plan of acts, with the edges of the scoreboard."""
    nodes = [Node(NodeKind.CHUNK, number) for number in range(len(acts))]
    dag = Dag(len(acts))
    contingent = []

    def join(members, _resource):
        nodes.append(Node(NodeKind.SET, members=tuple(members)))
        joined = dag.add_node()
        for member in members:
            dag.add(member, joined, FOOTPRINT)
        return joined

    board = Scoreboard(join)
    for number, act in enumerate(acts):
        waiting = board.touch(number, *act.footprint(number))
        for before in waiting.always:
            dag.add(before, number, FOOTPRINT)
        contingent += [ContingentEdge(before, number, proof) for before, proof in waiting.contingent]
    chunks = tuple(LowChunk(n, "s", "f", str(n), str(n), "s", "base", n, {}) for n in range(len(acts)))
    rank = (*range(len(acts)), *[0] * (len(nodes) - len(acts)))
    return Plan(chunks, tuple(nodes), ((),) * len(acts), rank, dag, contingent=tuple(contingent))


def run(acts, plan, priority, there=()):
    """The results by state, the folders at the end, and the order in which the states ran."""
    folders = dict.fromkeys(there, "before")
    machine = ValidatingMachine(plan, priority=priority)
    results = {}
    while (work := machine.take()) is not None:
        result, ran, found = acts[work.node].run(folders)
        results[work.node] = result, found
        machine.done(work.node, Outcome(result=result, changed=False, ran=ran))
    assert len(results) == len(acts)
    return dict(sorted(results.items())), folders, list(results)


FOLDERS = st.sampled_from(["/d", "/d/e", "/d/e/f", "/d/g"])
ACTS = st.builds(
    Act,
    st.sampled_from(["need", "need", "make", "make", "make", "settle", "remove"]),
    FOLDERS,
    st.sampled_from(["0755:root:root", "0700:u:g"]),
    st.sampled_from(["well"] * 6 + ["badly", "at once", "skipped"]),
    st.sampled_from([True, True, False]),
)


@given(st.lists(ACTS, min_size=2, max_size=9), st.sets(FOLDERS), st.randoms(use_true_random=False))
def test_every_order_does_what_the_serial_one_does(acts, there, chance):
    there = [path for path in there if all(path[:end] in there for end, c in enumerate(path) if c == "/" and end)]
    plan = plan_of(acts)
    serial = run(acts, plan, None, there)
    assert serial[2] == list(range(len(acts)))
    for _ in range(4):
        priority = [chance.random() for _ in plan.nodes]
        assert run(acts, plan, priority, there)[:2] == serial[:2]


def orders(acts, there=()):
    plan = plan_of(acts)
    return {tuple(run(acts, plan, [random.random() for _ in plan.nodes], there)[2]) for _ in range(60)}


NEED, MAKE = Act("need", "/d"), Act("make", "/d")
PROOFS = {
    "a folder": Act("settle", "/d"),
    "a file in it": NEED,
    "a folder made": MAKE,
    "a folder below": Act("make", "/d/e"),
}
NO_PROOFS = {
    "a failure": Act("settle", "/d", ends="badly"),
    "a skipped state": Act("settle", "/d", ends="skipped"),
    "another folder": Act("make", "/x"),
}


@pytest.mark.parametrize("proof", PROOFS)
def test_behind_a_proof_nobody_waits(proof):
    found = orders([PROOFS[proof], NEED, MAKE, NEED, Act("make", "/d", "0700:u:g")], there=["/d"])
    assert {order.index(2) < order.index(1) for order in found} == {True, False}
    assert {order.index(4) < order.index(3) for order in found} == {True, False}


@pytest.mark.parametrize("proof", NO_PROOFS)
def test_without_a_proof_they_keep_their_order(proof):
    acts = [NO_PROOFS[proof], NEED._replace(ends="badly"), MAKE._replace(ends="badly"), NEED, MAKE]
    assert all(order.index(1) < order.index(2) < order.index(3) < order.index(4) for order in orders(acts))


def test_a_proof_ends_where_the_folder_is_written():
    look = NEED._replace(promises=False)
    assert orders([Act("settle", "/d"), Act("remove", "/d"), look, MAKE, look]) == {(0, 1, 2, 3, 4)}
    assert len(orders([Act("settle", "/d"), look, MAKE, look])) > 1


def test_the_first_maker_decides_the_mode():
    assert orders([MAKE, Act("make", "/d", "0700:u:g")]) == {(0, 1)}
    assert len(orders([MAKE, MAKE])) == 2
