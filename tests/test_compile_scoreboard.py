import pytest
from hypothesis import given
from strategies import accesses

from asyncstate.compile.scoreboard import Scoreboard


def waits(row):
    """For each access of a row, the numbers of all it waits for, joins followed and transitively."""
    joined = {}

    def join(nodes):
        joined[-2 - len(joined)] = list(nodes)
        return -1 - len(joined)

    board = Scoreboard(join)
    direct = [board.touch(number, reads, writes) for number, (reads, writes) in enumerate(row)]

    def members(node):
        return [inner for member in joined[node] for inner in members(member)] if node < 0 else [node]

    flat = [{member for node in nodes for member in members(node)} for nodes in direct]
    closed = []
    for nodes in flat:
        closed.append(nodes | {earlier for node in nodes for earlier in closed[node]})
    return flat, closed, direct, joined


def touches(row):
    reads, writes = row
    return [(name, False) for name in reads if name not in writes] + [(name, True) for name in writes]


def conflict(one, other):
    return any(
        (writes and _affects(name, against)) or (also and _affects(against, name))
        for name, writes in touches(one)
        for against, also in touches(other)
    )


def _affects(written, used):
    if not (written.startswith("path:") and used.startswith("path:")):
        return written == used
    path, target = (name[5:].removesuffix("/**") or "/" for name in (written, used))
    return _below(target, path) or (used.endswith("/**") and _below(path, target))


def _below(path, top):
    return path == top or path.startswith(top.rstrip("/") + "/")


@given(accesses())
def test_every_conflict_and_nothing_else_is_an_edge(row):
    flat, closed, _, _ = waits(row)
    for later in range(len(row)):
        for earlier in range(later):
            if conflict(row[earlier], row[later]):
                assert earlier in closed[later]
            if earlier in flat[later]:
                assert conflict(row[earlier], row[later])


@pytest.mark.parametrize(
    ("first", "second", "ordered"),
    [
        (([], ["path:/a"]), (["path:/a"], []), True),
        ((["path:/a"], []), ([], ["path:/a"]), True),
        ((["path:/a"], []), (["path:/a"], []), False),
        (([], ["path:/a"]), ([], ["path:/a/b"]), True),
        (([], ["path:/a/b"]), ([], ["path:/a"]), True),
        (([], ["path:/a/b"]), ([], ["path:/a/c"]), False),
        (([], ["path:/a/b"]), (["path:/a"], []), False),
        (([], ["path:/a/b"]), (["path:/a/**"], []), True),
        ((["path:/a/**"], []), ([], ["path:/a/b/c"]), True),
        ((["path:/a/**"], []), (["path:/a/b"], []), False),
        (([], ["path:/a/**"]), (["path:/a/b"], []), True),
        (([], ["path:/ab"]), (["path:/a/**"], []), False),
        (([], ["path:/a/../b/"]), (["path:/b"], []), True),
        (([], ["path:../b"]), (["path:/b"], []), True),
        (([], ["path:b"]), (["path:/b"], []), True),
        (([], ["user:a"]), (["user:a"], []), True),
        (([], ["user:a"]), (["group:a"], []), False),
    ],
)
def test_who_waits_for_whom(first, second, ordered):
    assert waits([first, second])[0][1] == ({0} if ordered else set())


def test_a_writer_waits_for_the_readers_not_for_the_writer_they_waited_for():
    row = [([], ["x:y"]), (["x:y"], []), (["x:y"], []), ([], ["x:y"])]
    assert waits(row)[2] == [[], [0], [0], [1, 2]]


def test_many_trees_and_many_below_them_stay_linear():
    count = 200
    readers = [(["path:/srv/**"], [])] * count
    writers = [([], [f"path:/srv/f{i}"]) for i in range(count)]
    for row in (readers + writers, writers + readers):
        _, closed, direct, joined = waits(row)
        assert sum(map(len, direct)) + sum(map(len, joined.values())) < 4 * count
        assert closed[-1] >= set(range(count))


@pytest.mark.parametrize(
    "row", [[(["path:/a/**"], []), ([], ["path:/a/b"])], [([], ["path:/a/b"]), (["path:/a/**"], [])]]
)
def test_one_alone_is_not_joined(row):
    _, _, direct, joined = waits(row)
    assert direct[1] == [0]
    assert joined == {}
