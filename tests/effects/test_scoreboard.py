import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_footprints import Joins, access_of, affects, is_conflict, keep_order
from strategies import accesses, footprints
from tables import beside, rows

from asyncstate.effects.resources import folder_and_marks
from asyncstate.effects.scoreboard import Scoreboard, Waiting

TABLES = beside(__file__)


def access(touched):
    """What a row of a table touches: reads, writes, makes."""
    return tuple(touched.get(how, []) for how in ("reads", "writes", "makes"))


def waits(row):
    """For each access of a row, the numbers of all it waits for, joins followed and transitively."""
    joined = Joins()
    board = Scoreboard(joined.join)
    direct = [list(board.touch(number, *touched).always) for number, touched in enumerate(row)]
    flat = [joined.members(*nodes) for nodes in direct]
    closed = []
    for nodes in flat:
        closed.append(nodes | {earlier for node in nodes for earlier in closed[node]})
    return flat, closed, direct, {node: nodes for node, (nodes, _) in joined.items()}


def touches(row):
    reads, writes = row
    return [(name, False) for name in reads if name not in writes] + [(name, True) for name in writes]


def conflict(one, other):
    return any(
        (writes and affects(name, against)) or (also and affects(against, name))
        for name, writes in touches(one)
        for against, also in touches(other)
    )


@given(accesses())
def test_every_conflict_and_nothing_else_is_an_edge(row):
    flat, closed, _, _ = waits(row)
    for later in range(len(row)):
        for earlier in range(later):
            if conflict(row[earlier], row[later]):
                assert earlier in closed[later]
            if earlier in flat[later]:
                assert conflict(row[earlier], row[later])


@rows(("first", "second", "ordered"), TABLES["who waits for whom"])
def test_who_waits_for_whom(first, second, ordered):
    row = [access(first)[:2], access(second)[:2]]
    assert waits(row)[0][1] == ({0} if ordered else set())


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


@pytest.mark.parametrize("file", ["path:/etc/hosts", "grains"])
def test_many_entries_and_many_who_read_the_whole_stay_linear(file):
    count = 200
    writers = [([], [f"{file}#{i}"]) for i in range(count)]
    readers = [([file], [])] * count
    for row in (readers + writers, writers + readers):
        _, closed, direct, joined = waits(row)
        assert sum(map(len, direct)) + sum(map(len, joined.values())) < 4 * count
        assert closed[-1] >= set(range(count))
    assert not any(waits(writers)[2])


@pytest.mark.parametrize(
    "row", [[(["path:/a/**"], []), ([], ["path:/a/b"])], [([], ["path:/a/b"]), (["path:/a/**"], [])]]
)
def test_one_alone_is_not_joined(row):
    _, _, direct, joined = waits(row)
    assert direct[1] == [0]
    assert joined == {}


@pytest.mark.parametrize(
    "row",
    [
        [(["path:/a/**"], [])] * 2 + [([], ["path:/a/b"])],
        [([], ["path:/a/b"]), ([], ["path:/a/c"]), (["path:/a/**"], [])],
    ],
)
def test_two_are_both_waited_for(row):
    flat, _, direct, joined = waits(row)
    assert flat[2] == {0, 1}
    assert direct[2] == list(joined)


def waits_of(row):
    """For each (reads, writes, makes) what it waits for, joins followed."""
    return waits(row)[0]


def making(path):
    """A file whose folder is made if it is missing."""
    return [], [f"path:{path}"], [f"path:{path.rpartition('/')[0]}"]


@pytest.mark.parametrize(("needs", "ordered"), TABLES["who needs a folder"])
def test_who_needs_a_folder_waits_for_those_who_made_it(needs, ordered):
    needs = access(needs)
    row = [making("/x/y/a"), making("/x/y/c"), needs]
    assert waits_of(row) == [set(), set(), {0, 1} if ordered else set()]
    row = [needs, making("/x/y/a"), making("/x/y/c")]
    assert waits_of(row) == [set(), {0}, {0}] if ordered else [set()] * 3


def test_a_folder_is_made_after_what_was_done_to_it_and_before_what_is_done_to_it_next():
    row = [
        ([], ["path:/x"]),
        making("/x/y/a"),
        making("/x/y/b"),
        ([], ["path:/x/**"]),
        making("/x/y/a"),
        ([], ["path:/x/c"]),
    ]
    assert waits_of(row) == [set(), {0}, {0}, {1, 2}, {1, 3}, {3, 4}]


def test_folders_that_are_always_there_are_made_by_nobody():
    assert waits_of([making("/etc/x/a"), ([], ["path:/etc/b"]), ([], ["path:/etc/x/b"])]) == [set(), set(), {0}]


@given(footprints())
def test_every_conflict_about_folders_and_nothing_else_is_an_edge(row):
    flat = waits_of([access[:3] for access in row])
    closed = []
    for later, nodes in enumerate(flat):
        closed.append(nodes | {earlier for node in nodes for earlier in closed[node]})
        for earlier in range(later):
            conflicts = keep_order(row[earlier], row[later])
            assert conflicts or earlier not in nodes
            assert not conflicts or earlier in closed[later]


MODES = ("", "?0700:root:root", "?0755:www:www")


def marked(folder, marks):
    return [], [], [f"path:{folder}{marks}"]


def made_by(maker):
    """{folder: marks} of all folders that somebody makes, those above included."""
    found = {}
    for name in maker[2]:
        folder, marks, rest = name.removeprefix("path:").partition("?")
        parts = folder.split("/")[1:]
        found |= {"/" + "/".join(parts[:end]): marks + rest for end in range(1, len(parts) + 1)}
    return found


@given(st.lists(st.builds(marked, st.sampled_from(("/a", "/a/b", "/a/b/c", "/e")), st.sampled_from(MODES)), max_size=8))
def test_only_those_who_make_a_folder_with_other_marks_keep_their_order(row):
    flat = waits_of(row)
    closed = []
    for nodes in flat:
        closed.append(nodes | {earlier for node in nodes for earlier in closed[node]})
    for later in range(len(row)):
        for earlier in range(later):
            one, other = made_by(row[earlier]), made_by(row[later])
            differs = any(one[folder] != other[folder] for folder in one.keys() & other.keys())
            assert (earlier in closed[later]) >= differs
            assert differs or earlier not in flat[later]


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("path:/a", ("path:/a", "")),
        ("path:/a?0700:u:g", ("path:/a", "?0700:u:g")),
        ("path:/a?b", ("path:/a?b", "")),
        ("path:/a?b?0700:u:g", ("path:/a?b", "?0700:u:g")),
        ("path:/a?x:y:z/b", ("path:/a?x:y:z/b", "")),
    ],
)
def test_marks_are_no_part_of_a_folder(name, split):
    assert folder_and_marks(name) == split


def test_what_stands_before_two_slashes_is_needed_not_made():
    home, below, beside = ([], ["path:/h/u"], []), ([], [], ["path:/h/u//.ssh/x"]), ([], ["path:/h/u/a"], [])
    assert waits_of([home, below, beside]) == [set(), {0}, {0}]
    makes_home = ([], [], ["path:/h/u"])
    assert waits_of([makes_home, below]) == [set(), {0}]
    assert waits_of([below, makes_home]) == [set(), {0}]
    assert waits_of([below, ([], ["path:/h/u/.ssh/k"])]) == [set(), {0}]
    above = ([], [], ["path:/h"])
    assert waits_of([above, below]) == waits_of([below, above]) == [set(), set()]
    assert waits_of([([], [], ["path:/h//u//x"]), ([], ["path:/h/u/k"])]) == [set(), {0}]
    two = ([], [], ["path:/h/u//x", "path:/k//x"])
    assert waits_of([makes_home, ([], [], ["path:/k"]), two]) == [set(), set(), {0, 1}]


@pytest.mark.parametrize(
    ("maker", "ordered"), [("/opt/d#1/sub", True), ("/opt/d#1", True), ("/opt/d", True), ("/opt/d#2", False)]
)
def test_a_folder_with_a_hash_in_its_name_is_needed_by_what_is_in_it(maker, ordered):
    makes, writes = ([], [], [f"path:{maker}"]), ([], ["path:/opt/d#1/f"])
    assert waits_of([makes, writes]) == waits_of([writes, makes]) == [set(), {0} if ordered else set()]


def test_the_folder_above_that_of_an_entry_is_not_needed():
    assert waits_of([([], [], ["path:/x/y"]), ([], ["path:/x/y/z/f#k"])]) == [set(), set()]


@pytest.mark.parametrize("top", ["/opt", "/x", "/x/y"])
def test_a_folder_made_in_a_tree_is_part_of_it(top):
    looks, makes = ([f"path:{top}/**"], [], []), ([], [], [f"path:{top}/a/b"])
    assert waits_of([looks, makes]) == waits_of([makes, looks]) == [set(), {0}]
    assert waits_of([looks, makes, makes, looks]) == [set(), {0}, {0}, {1, 2}]
    makes = [], [], [f"path:{top}/a"]
    assert waits_of([looks, makes]) == waits_of([makes, looks]) == [set(), {0}]


@rows(
    ("makes", "ordered"),
    [("/x", True), ("/x?0700:u:g", True), ("/x/y", True), ("/", False), ("/z", False)],
)
def test_a_tree_that_is_read_has_the_folder_that_its_reader_makes(makes, ordered):
    looks, maker = (["path:/x/**"], [], ["path:/x"]), ([], [], [f"path:{makes}"])
    assert waits_of([looks, maker]) == waits_of([maker, looks]) == [set(), {0} if ordered else set()]


def test_many_who_make_a_folder_and_many_who_need_it_stay_linear():
    for count in (50, 500):
        edges = []
        board = Scoreboard(lambda nodes, _, edges=edges: edges.extend(nodes) or 10_000 + len(edges))
        for number in range(count):
            edges += board.touch(2 * number, *making(f"/x/y/{number}")).always
            edges += board.touch(2 * number + 1, [], [f"path:/x/y/n{number}"]).always
        assert len(edges) <= 10 * count


@given(st.lists(st.booleans(), min_size=12, max_size=12), footprints())
def test_what_one_waits_for_is_a_resource_that_both_touch_and_one_writes(together, row):
    joined = Joins()
    board = Scoreboard(joined.join)
    for number, (access, joins) in enumerate(zip(row, together, strict=False)):
        others = (lambda waits, number=number: range(number // 2, number)) if joins else None
        waiting = board.touch(number, *access, together=others)
        assert all(node != proof for node, proof in waiting.contingent)
        for before, resources in [
            *waiting.always.items(),
            *((node, why) for (node, _), why in waiting.contingent.items()),
        ]:
            assert resources
            assert len(set(resources)) == len(resources)
            for resource in resources:
                for earlier in joined.members(before):
                    assert is_conflict(access_of(row[earlier], resource), access_of(access, resource))
    for node, (_, resource) in joined.items():
        assert all(access_of(row[member], resource) for member in joined.members(node))


@pytest.mark.parametrize(("first", "second", "resources"), TABLES["resources"])
def test_a_resource_is_named_as_who_waits_names_it_or_by_the_path_above_that_both_need(first, second, resources):
    board = Scoreboard(lambda nodes, resource: -1)
    assert board.touch(0, *access(first)).always == {}
    assert board.touch(1, *access(second)) == Waiting({0: tuple(resources)}, {})


@rows(("row", "name"), TABLES["joined"])
def test_nodes_are_joined_by_what_all_of_them_touch(row, name):
    joined = []
    board = Scoreboard(lambda nodes, resource: joined.append((nodes, resource)) or -1)
    for number, touched in enumerate(map(access, row)):
        together = (lambda before, number=number: range(number)) if touched[1] == ["pkgdb"] else None
        board.touch(number, *touched, together=together)
    assert joined == [([0, 1], name)]


PLAIN = st.tuples(st.lists(st.sampled_from("abcd"), max_size=3), st.lists(st.sampled_from("abc"), max_size=2))


@given(accesses(), st.lists(st.tuples(PLAIN, st.booleans()), max_size=10))
def test_states_that_work_together_wait_for_the_first_and_all_others_for_each_of_them(mixed, plain):
    """A state joins if what it waits for, but for the others, stands before the first of them."""
    row = [(access, False) for access in mixed[:2]] + plain + [(access, True) for access in mixed[2:]]
    joined, group = Joins(), []

    def together(before):
        waited = joined.members(*before) - set(group)
        return list(group) if group and max(waited, default=-1) < group[0] else []

    board = Scoreboard(joined.join)
    closed, together_with = [], {}
    for number, ((reads, writes), may_join) in enumerate(row):
        asked = []
        decide = (lambda before, asked=asked: asked.extend(together(before)) or asked) if may_join else None
        direct = joined.members(*board.touch(number, reads, writes, together=decide).always)
        if may_join:
            if not asked:
                group = []
            elif all(not name.startswith("path:") and "#" not in name for name in (*reads, *writes)):
                assert not direct & set(asked)
            direct |= set(asked[:1])
            group.append(number)
            together_with[number] = set(asked)
        closed.append(direct.union(*(closed[node] for node in direct)))
    # The group waits for all that any of its members waits for.
    for later in range(len(row)):
        for earlier in range(later):
            apart = earlier not in together_with.get(later, ())
            if apart and conflict(row[earlier][0], row[later][0]):
                of_group = closed[later].union(*(closed[n] for n in together_with if later in together_with[n]))
                of_first = min(together_with.get(later, ()), default=later)
                of_group |= {n for m, with_ in together_with.items() if of_first in with_ for n in closed[m]}
                assert earlier in closed[later] or (earlier < of_first and earlier in of_group)


def test_who_reads_beside_others_hides_nobody_from_the_next_reader():
    board = Scoreboard(lambda nodes, resource: -1)
    board.touch(0, [], ["a"], together=lambda before: [])
    board.touch(1, [], ["a"], together=lambda before: [0])
    board.touch(2, [], ["b"], together=lambda before: [])
    assert set(board.touch(3, ["a"], [], together=lambda before: [2]).always) == {0, 1}
    assert set(board.touch(4, ["a"], []).always) == {0, 1}


def test_who_reads_a_whole_beside_others_does_not_wait_for_the_entries_that_they_wrote():
    board = Scoreboard(lambda nodes, resource: -1)
    board.touch(0, [], ["pkgdb#a"], together=lambda before: [])
    board.touch(1, [], ["pkgdb#b"], together=lambda before: [0])
    assert not board.touch(2, ["pkgdb"], [], together=lambda before: [0, 1]).always
    assert set(board.touch(3, ["pkgdb"], []).always) == {-1}


def test_who_writes_beside_others_leaves_them_and_their_writers_to_the_next():
    board = Scoreboard(lambda nodes, resource: -1)
    board.touch(0, ["a"], [])
    board.touch(1, ["a"], [])
    assert set(board.touch(2, [], ["a"], together=lambda before: [1]).always) == {0}
    assert set(board.touch(3, [], ["a"]).always) == {1, 2}
    assert set(board.touch(4, [], ["a"], together=lambda before: [3]).always) == set()
    assert set(board.touch(5, ["a"], []).always) == {3, 4}


def test_who_touches_a_path_beside_others_waits_for_them_and_the_next_does_not():
    board = Scoreboard(lambda nodes, resource: -1)
    board.touch(0, [], ["path:/"])
    assert set(board.touch(1, ["path:/a"], [], together=lambda before: [0]).always) == {0}
    assert set(board.touch(2, [], ["path:/"]).always) == {1}


def test_many_who_read_a_plain_name_after_many_who_wrote_it_together_stay_linear():
    edges = []
    board = Scoreboard(lambda nodes, resource: edges.extend(nodes) or 10_000 + len(edges))
    for number in range(200):
        board.touch(number, [], ["pkgdb"], together=lambda before, number=number: range(number))
    for number in range(200, 400):
        edges += board.touch(number, ["pkgdb"], []).always
    assert len(edges) < 4 * 400


def test_whether_a_state_joins_others_depends_on_all_it_waits_for():
    asked = []
    board = Scoreboard(lambda nodes, resource: -1)
    board.touch(0, [], ["path:/x/d"], leaves=["path:/x/d"])
    board.touch(1, [], [], ["path:/x/d"])
    board.touch(2, [], ["a", "path:/b"])
    waiting = board.touch(
        3, ["a", "path:/x/d/f", "path:/b"], ["path:/x/d/g"], together=lambda before: asked.extend(before) or ()
    )
    assert waiting.contingent == {(1, 0): ("path:/x/d",)}
    assert set(asked) == {0, 1, 2}


def test_a_wait_until_a_proof_succeeds_names_all_folders():
    board = Scoreboard(lambda nodes, resource: -1)
    board.touch(0, [], ["path:/d/e"], leaves=["path:/d/e"])
    board.touch(1, [], [], ["path:/d/e"])
    waiting = board.touch(2, [], ["path:/d/x", "path:/d/e/y"])
    assert waiting == Waiting({0: ("path:/d/e",)}, {(1, 0): ("path:/d", "path:/d/e")})


def test_who_needs_a_folder_does_not_trust_a_proof_from_before_it_was_removed():
    board = Scoreboard(lambda nodes, resource: -1)
    board.touch(0, [], ["path:/d"], leaves=["path:/d"])
    board.touch(1, [], ["path:/d"])
    board.touch(2, [], [], ["path:/d"])
    assert board.touch(3, [], ["path:/d/f"]) == Waiting({1: ("path:/d",), 2: ("path:/d",)}, {})


def test_who_makes_a_folder_waits_for_makers_with_other_marks_until_its_proof_succeeds():
    board = Scoreboard(lambda nodes, resource: -1)
    board.touch(0, [], [], ["path:/d?0700::"], leaves=["path:/d"])
    board.touch(1, [], [], ["path:/d?0750::"])
    waiting = board.touch(2, [], [], ["path:/d?0755::"])
    assert waiting == Waiting({0: ("path:/d",)}, {(1, 0): ("path:/d",)})
