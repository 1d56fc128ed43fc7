import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_footprints import access_of, is_conflict
from strategies import footprints as footprints_of_a_row
from trees import FakeStates, chunk_of, compiler, edges, ids, plan, warnings

from asyncstate.compile.effects.homes import Homes
from asyncstate.model.plan import NodeKind


def path_footprint(low):
    return {"reads": [], "writes": [f"path:{low['name']}"]}


def nothing_known(low):
    return {"reads": [], "writes": [], "unknown": True}


def broken(low):
    raise ValueError("no idea")


def leaves(low):
    raise SystemExit(3)


async def waits(low):
    return {}


class Odd(dict):
    def get(self, key, default=None):
        raise RuntimeError("not so")


class Endless(list):
    def __iter__(self):
        while True:
            yield "path:/x"


DECLARED = {
    "endless": lambda low: {"writes": Endless(["path:/x"])},
    "leaves": leaves,
    "waits": waits,
    "strange": lambda low: Odd(),
    "file": path_footprint,
    "pkg": lambda low: {"reads": [], "writes": ["pkgdb"]},
    "service": lambda low: {"writes": f"service:{low['name']}"},
    "cmd": nothing_known,
    "odd": broken,
    "none": lambda low: None,
    "test": path_footprint,
}


class Links(dict):
    """Links of a machine, each with the path it leads to."""

    def __call__(self, path):
        return self.get(path, path)

    def target(self, path):
        return self.get(path, "")


def footprints(tree, mode="footprint", *, bundled=True, **options):
    states = FakeStates("test.mod_watch", "pkg.mod_aggregate", footprints=DECLARED, bundled=bundled)
    return plan(tree, states=states, implicit_order=mode, **options)


def test_a_file_waits_for_its_directory_and_its_removal_for_the_file():
    tree = "d: {file.directory: [{name: /x}]}\nf: {file.managed: [{name: /x/f}]}\ng: {file.managed: [{name: /x/g}]}\nr: {file.absent: [{name: /x}]}\n"
    assert edges(footprints(tree)) == {("d", "f"), ("d", "g"), ("f", "r"), ("g", "r")}
    assert edges(footprints(tree, "none")) == set()


def test_packages_never_run_beside_each_other():
    tree = {"s": "include: [t]\na: pkg.installed\n", "t": "b: pkg.installed\n"}
    assert edges(footprints(tree)) == {("b", "a")}


def test_a_formula_keeps_packages_files_and_daemons_in_their_places():
    tree = {
        "nginx.pkg": "p: pkg.installed\n",
        "nginx.conf": "f: {file.managed: [{name: /etc/f}]}\ng: {file.managed: [{name: /etc/g}]}\nt: test.nop\n",
        "nginx.service": "s: service.running\n",
        "other": "o: {file.managed: [{name: /etc/o}]}\n",
    }
    compiled = footprints(tree, sls=["nginx.pkg", "nginx.conf", "other", "nginx.service"])
    assert edges(compiled) == {("p", "f"), ("p", "g"), ("f", "s"), ("g", "s"), ("p", "s")}


def test_custom_states_touch_only_what_they_declare():
    tree = "p: pkg.installed\nf: {file.managed: [{name: /etc/f}]}\ns: service.running\n"
    assert edges(footprints(tree, bundled=False)) == {("p", "s")}


def test_the_condition_of_a_custom_state_keeps_its_place_in_the_formula():
    tree = "p: pkg.installed\nf: {file.managed: [{name: /etc/f}, {onlyif: p --version}]}\ns: service.running\n"
    assert edges(footprints(tree, bundled=False)) == {("p", "f"), ("f", "s"), ("p", "s")}


def test_parallel_drops_a_footprint_and_footprint_replaces_it():
    tree = """
a: {file.managed: [{name: /x}]}
b: {file.managed: [{name: /x}, {parallel: true}]}
c: {file.managed: [{name: /x}, {footprint: {writes: ['path:/y']}}]}
d: {file.managed: [{name: /y}]}
e: {cmd.run: [{footprint: {reads: path:/y}}]}
"""
    compiled = footprints(tree)
    assert edges(compiled) == {("c", "d"), ("d", "e")}
    assert compiled.unknown == {}


def test_unknown_effects_are_counted_and_strict_orders_them():
    tree = "f: {file.managed: [{name: /f}]}\nc: cmd.run\nu: custom.thing\ng: {file.managed: [{name: /g}]}\n"
    compiled = footprints(tree)
    assert [ids(compiled)[index] for index in compiled.unknown] == ["c", "u"]
    assert edges(compiled) == set()
    strict = footprints(tree, "strict")
    assert strict.unknown == {}
    assert edges(strict) == {("f", "c"), ("c", "u"), ("u", "g")}


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (True, "its module says that it touches more than can be told beforehand"),
        ("it uses $X", "it uses $X"),
        (False, None),
        ("", None),
    ],
)
def test_the_plan_says_why_effects_are_unknown(said, reason):
    states = FakeStates(footprints={"own": lambda low: {"unknown": said}})
    compiled = plan("a: own.thing\n", states=states, implicit_order="footprint")
    assert compiled.unknown == ({0: reason} if reason else {})
    assert compiled.digest == plan("a: own.thing\n", implicit_order="none").digest


def test_no_edge_is_added_where_a_requisite_is():
    compiled = footprints("a: {file.managed: [{name: /x}]}\nb: {file.managed: [{name: /x}, {require: [a]}]}\n")
    assert edges(compiled, "footprint") == set()
    assert edges(compiled, "require") == {("a", "b")}


def test_a_check_only_reads():
    tree = "a: {file.managed: [{name: /x}]}\nb: {file.managed: [{name: /y}, {prereq: [c]}]}\nc: {file.managed: [{name: /x}]}\nd: {file.managed: [{name: /x}]}\n"
    compiled = footprints(tree)
    assert ("a", "?c") in edges(compiled, "footprint")
    assert ("?c", "a") not in edges(compiled)


def test_states_that_read_a_tree_are_joined_for_those_who_write_below_it():
    reading = "".join(f"r{i}: {{cmd.run: [{{footprint: {{reads: 'path:/srv/**'}}}}]}}\n" for i in range(30))
    writing = "".join(f"w{i}: {{file.managed: [{{name: /srv/{i}}}]}}\n" for i in range(30))
    compiled = footprints(reading + writing)
    assert len(list(compiled.dag.edges())) == 60
    assert ("r7", "footprint") in edges(compiled)
    assert ("footprint", "w9") in edges(compiled)


def test_a_group_looks_at_what_its_members_touch():
    tree = "a: pkg.installed\nb: pkg.installed\nc: {cmd.run: [{order: 1}, {footprint: {writes: [pkgdb]}}]}\n"
    compiled = footprints(tree, state_aggregate=True)
    assert ("c", "pkg x 2") in edges(compiled)


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("odd", "no idea"),
        ("leaves", "3"),
        ("waits", "it is an async function, and must be a plain one"),
        ("strange", "not so"),
        ("endless", "it names more than 100,000 resources"),
        ("none", None),
    ],
)
def test_a_footprint_that_is_none_is_unknown(module, why):
    tree = f"a: {module}.thing\n"
    compiled = footprints(tree)
    assert list(compiled.unknown) == [0]
    expected = [f"mod_footprint of {module}.thing failed: {why}"] if why else []
    assert [issue.message for issue in compiled.warnings] == expected


def test_low_data_given_to_a_module_is_its_own_copy():
    seen = []

    def spoil(low):
        seen.append(low)
        low["list"].append("spoilt")
        low["name"] = "spoilt"

    states = FakeStates(footprints={"file": spoil})
    compiled = plan("a: {file.managed: [{list: [x]}]}\n", states=states, implicit_order="footprint")
    assert chunk_of(compiled, "a").args == {"list": ["x"]}
    assert chunk_of(compiled, "a").name == "a"
    assert len(seen) == 1


def test_states_that_are_not_there_have_unknown_effects():
    class Bare:
        def has(self, name):
            return False

        def find(self, name):
            return None

        def refused(self, module_name):
            return None

    compiled = plan("a: cmd.run\nb: test.nop\n", states=Bare(), implicit_order="footprint")
    assert compiled.unknown == {0: "its module does not say what its states touch (mod_footprint)"}
    assert warnings("a: cmd.run\n", states=Bare(), implicit_order="footprint") == []


@pytest.mark.parametrize(
    "condition",
    [
        "onlyif: test -e /x/f",
        "unless: [test -f '/x/f']",
        "creates: /x/f",
        "check_cmd: [grep -q a /x/f]",
        "onlyif: [{fun: file.contains, path: /x/f}]",
        "unless: [{fun: file.contains, args: [/x/f, a]}]",
    ],
)
@pytest.mark.parametrize("function", ["file.managed", "test.nop", "own.thing"])
def test_what_a_condition_names_is_read(function, condition):
    tree = f"a: {{file.managed: [{{name: /x/f}}]}}\nb: {{{function}: [{{name: /other}}, {{{condition}}}]}}\nc: {{file.managed: [{{name: /x/f}}]}}\n"
    assert edges(footprints(tree)) >= {("a", "b"), ("b", "c")}


def test_a_condition_that_names_no_path_keeps_its_place_in_its_formula():
    tree = "p: pkg.installed\nt: {test.nop: [{onlyif: dpkg -s p > /dev/null}]}\nq: pkg.removed\n"
    assert edges(footprints(tree)) >= {("p", "t"), ("t", "q")}


def test_what_stands_between_the_members_of_a_group_waits_for_the_work_of_all():
    tree = {
        "one": "p: pkg.installed\n",
        "two.conf": "f: {file.managed: [{name: /etc/f}]}\n",
        "two.pkg": "q: pkg.installed\n",
    }
    compiled = footprints(tree, sls=["one", "two.conf", "two.pkg"], state_aggregate=True)
    assert ids(compiled) == ["p", "f", "q"]
    assert edges(compiled) >= {("p", "f"), ("f", "q")}


ROWS = {"t": lambda low: low["touches"]}


PLUGINS = [f"path:/memory/base/_{kind}/**" for kind in ("states", "modules", "grains", "utils", "renderers")]


def touched(compiled, node):
    """The footprint of a node: of a group or its members, what all of them touch.

    A state that is not bundled also reads the folders of plugins, and the environment where a state changes it: so does
    one that writes the home in which commands run.
    """
    what = compiled.nodes[node]
    chunks = [what.chunk] if what.chunk >= 0 else what.members
    group = next((one.members for one in compiled.nodes if one.kind is NodeKind.GROUP and chunks[0] in one.members), ())
    footprints = [compiled.chunks[chunk].args["touches"] for chunk in group or chunks]
    reads, writes, makes = ([name for one in footprints for name in one[how]] for how in ("reads", "writes", "makes"))
    reads += PLUGINS
    home = Homes().ours()
    if any(not home.isdisjoint(chunk.args["touches"]["writes"]) for chunk in compiled.chunks):
        reads += ["environ:process"]
    writes += ["environ:process"] if not home.isdisjoint(writes) else []
    return (reads, writes, makes) if what.kind is NodeKind.CHUNK else ([*reads, *writes, *makes], [], [])


def behind(compiled, node):
    """The nodes that a node of many joins, itself if it joins none."""
    if compiled.nodes[node].kind is not NodeKind.SET:
        return [node]
    return [each for before in compiled.dag.predecessors(node) for each in behind(compiled, before)]


@given(footprints_of_a_row(marks=("",)), st.data())
def test_every_edge_says_what_both_ends_touch_and_one_writes(row, data):
    """Groups and checks among them; whoever stands behind a node of many touches the same."""
    high = {}
    for number, (reads, writes, makes, _) in enumerate(row):
        arguments = [{"touches": {"reads": reads, "writes": writes, "makes": makes}}]
        if number and data.draw(st.integers(0, 3)) == 0:
            arguments.append({"prereq": [{"t": f"s{number - 1}"}]})
        if data.draw(st.booleans()):
            arguments.append({"aggregate": True})
        high[f"s{number}"] = {"t": ["x", {"order": 10000 + number}, *arguments], "__sls__": "s", "__env__": "base"}
    states = FakeStates("t.mod_aggregate", footprints=ROWS, bundled=False)
    compiled = compiler({}, states=states, implicit_order="footprint").plan_high(high)
    for edge in compiled.dag.edges():
        assert bool(edge.resources) == (edge.source == "footprint")
        if edge.source == "footprint" and compiled.nodes[edge.after].kind is not NodeKind.SET:
            for before in behind(compiled, edge.before):
                one, other = touched(compiled, before), touched(compiled, edge.after)
                for resource in edge.resources:
                    assert is_conflict(access_of(one, resource), access_of(other, resource))


def crowd(count, shape):
    """High data of so many states: ``shape(number)`` gives module, name, formula and further arguments."""
    high = {}
    for number in range(count):
        module, name, formula, *more = shape(number)
        arguments = ["managed", {"order": 10000 + number}, {"name": name}, *more]
        high[f"s{number}"] = {module: arguments, "__sls__": formula, "__env__": "base"}
    return high


CROWDS = {
    "files of one folder, which comes and goes": lambda n: ("file", "/d" if n % 1000 == 0 else f"/d/{n}", "s"),
    "files deep down": lambda n: ("file", f"/a/b/c/d/{n % 7}/{n % 100}", "s"),
    "one file": lambda n: ("file", "/x", "s"),
    "readers and writers of a tree": lambda n: ("file", f"/srv/{n}", "s", *([{"footprint": {"reads": ["path:/srv/**"]}}] if n % 2000 < 1000 else [])),
    "readers of a name, now and then a writer": lambda n: (
        "cmd",
        "x",
        "s",
        {"footprint": {"writes": ["db:x"]} if n % 100 == 0 else {"reads": ["db:x"]}},
    ),
    "packages, files, a daemon": lambda n: ("pkg" if n % 50 == 0 else "service" if n % 50 == 49 else "file", f"/etc/{n}", f"f{n // 500}"),
}  # fmt: skip


@pytest.mark.parametrize("crowd_of", CROWDS)
def test_thousands_of_states_have_a_few_edges_each_at_most(crowd_of):
    states = FakeStates("test.mod_watch", footprints=DECLARED)
    compiled = compiler({}, states=states, implicit_order="footprint").plan_high(crowd(5_000, CROWDS[crowd_of]))
    assert len(compiled.chunks) == 5_000
    assert 5_000 - 700 <= sum(1 for _ in compiled.dag.edges()) < 4 * 5_000


def test_an_entry_of_a_file_counts_under_the_names_of_all_links():
    names = {"a": "/etc/link#k", "b": "/etc/real#k", "c": "/etc/real#l", "d": "/etc/x#1", "e": "/etc/y"}
    links = {"/etc/link": "/etc/real", "/etc/x#1": "/etc/y"}
    tree = "".join(f"{id_}: {{file.managed: [{{name: '{name}'}}]}}\n" for id_, name in names.items())
    assert edges(footprints(tree, links=Links(links))) == {("a", "b"), ("d", "e")}


def test_entries_of_one_file_that_two_modules_name_are_not_compared():
    said = "{cmd.run: [{footprint: {writes: ['path:NAME']}}]}"
    tree = "".join(
        f"{id_}: {said.replace('NAME', name) if id_[0] == 'c' else f'{{file.managed: [{{name: {name!r}}}]}}'}\n"
        for id_, name in {
            "f1": "/etc/real#1", "f2": "/etc/alone#2", "f3": "/etc/alone#3", "f4": "/srv/#4/x",
            "c1": "/etc/link#5", "c2": "/etc/own#6", "c3": "/etc/own#7", "c4": "/srv/#8/x",
        }.items()
    )  # fmt: skip
    assert edges(footprints(tree, links=Links({"/etc/link": "/etc/real"}))) == {("f1", "c1")}
