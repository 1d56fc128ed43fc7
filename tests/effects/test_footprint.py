import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from messages import said
from naive_footprints import access_of, is_conflict
from strategies import footprints as footprints_of_a_row
from tables import beside, rows
from trees import FakeStates, chunk_of, compiler, declared, edges, ids, plan, warnings, wired

from asyncstate.compile.findings import Findings
from asyncstate.compile.graph.assemble import PlanBuilder
from asyncstate.compile.graph.implicit import add_footprints
from asyncstate.effects.calls import CallsRead, slots_read
from asyncstate.effects.declared import Footprint
from asyncstate.effects.footprint import Footprints, only_entries
from asyncstate.effects.formula import Held, Touching
from asyncstate.effects.homes import Homes
from asyncstate.errors import Issue
from asyncstate.model.chunk import SCRIPT, LowChunk
from asyncstate.model.dag import Edge
from asyncstate.model.plan import ContingentEdge, NodeKind

TABLES = beside(__file__)


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


def silent(low):
    raise ValueError


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
    "forgets": lambda low: [waits(low), waits(low)],
    "silent": silent,
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


@pytest.mark.parametrize("case", TABLES["trees"].values(), ids=TABLES["trees"])
def test_what_states_touch_orders_them(case):
    tree, settings = case["tree"], {"implicit_order": "footprint"} | case.get("settings", {})
    states = FakeStates("pkg.mod_aggregate", footprints=DECLARED, bundled=case.get("bundled", True))
    names = list(tree) if isinstance(tree, dict) and "s" not in tree else ["s"]
    compiled = plan(tree, names, states=states, links=Links(case["links"]) if "links" in case else None, **settings)
    found = edges(compiled)
    assert tuple(case["edge"]) in found if "edge" in case else found == set(map(tuple, case["edges"]))
    if "unknown" in case:
        assert [ids(compiled)[index] for index in compiled.unknown] == case["unknown"]
    if "entries" in case:
        assert {index: list(files) for index, files in compiled.entries.items()} == case["entries"]
    if "of footprints" in case:
        assert edges(compiled, "footprint") == set(map(tuple, case["of footprints"]))


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (True, said("told-more")),
        ("it uses $X", "it uses $X"),
        (False, None),
        ("", None),
    ],
)
def test_the_plan_says_why_effects_are_unknown(told, reason):
    states = FakeStates(footprints={"own": lambda low: {"unknown": told}})
    compiled = plan("a: own.thing\n", states=states, implicit_order="footprint")
    assert compiled.unknown == ({0: reason} if reason else {})
    assert compiled.digest == plan("a: own.thing\n", implicit_order="none").digest


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
    assert ("r7", "footprint") in edges(compiled, "footprint")
    assert ("footprint", "w9") in edges(compiled, "footprint")
    [joined] = [node for node in compiled.nodes if node.kind is NodeKind.SET]
    assert joined.members == tuple(range(30))


def test_a_check_is_joined_with_others_and_is_no_member():
    reads = "{footprint: {reads: 'path:/srv/**'}}"
    tree = f"""
a: {{cmd.run: [{reads}]}}
asks: {{test.nop: [{{prereq: [c]}}]}}
c: {{cmd.run: [{reads}]}}
w: {{file.managed: [{{name: /srv/x}}]}}
"""
    compiled = footprints(tree)
    [joined] = [node for node in compiled.nodes if node.kind is NodeKind.SET]
    assert joined.members == (0, 2)
    assert {before for before, after in edges(compiled, "footprint") if after == "footprint"} == {"a", "?c", "c"}


def test_what_one_member_of_a_group_makes_is_there_behind_all_of_them():
    footprint = {"pkg": lambda low: {"makes": ["path:/srv/x"] if low["name"] == "b" else []}}
    states = FakeStates("pkg.mod_aggregate", footprints={**DECLARED, **footprint})
    tree = "a: pkg.installed\nb: pkg.installed\nf: {file.managed: [{name: /srv/x/f}]}\n"
    compiled = plan(tree, states=states, implicit_order="footprint", state_aggregate=[*footprint])
    assert edges(compiled, "footprint") >= {("a", "footprint"), ("b", "footprint"), ("footprint", "f")}


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("odd", "no idea"),
        ("leaves", "3"),
        ("waits", said("async-hook")),
        ("forgets", "it forgot to await waits, waits"),
        ("silent", "ValueError"),
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
    assert [re.sub(r" \(/\S+\)", "", issue.message) for issue in compiled.warnings] == expected


def test_the_warning_of_a_footprint_that_fails_has_the_place_of_the_state():
    [issue] = footprints("\na:\n  odd.thing: []\n").warnings
    message = "mod_footprint of odd.thing failed: no idea"
    assert issue == Issue(message, "/memory/base/s.sls", 3, code="W208")


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
    assert compiled.unknown == {0: said("no-footprint")}
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


@pytest.mark.no_cover
@pytest.mark.parametrize("crowd_of", CROWDS)
def test_thousands_of_states_have_a_few_edges_each_at_most(crowd_of):
    states = FakeStates("test.mod_watch", footprints=DECLARED)
    compiled = compiler({}, states=states, implicit_order="footprint").plan_high(crowd(5_000, CROWDS[crowd_of]))
    assert len(compiled.chunks) == 5_000
    assert 5_000 - 700 <= sum(1 for _ in compiled.dag.edges()) < 4 * 5_000


class Formula:
    """A rule of formulas that keeps the states it is given, and lets each hold the same."""

    def __init__(self, held=None):
        self.states, self.held = [], held or Held()

    def holds(self, chunk, *, unknown):
        return False

    def of_all(self, states):
        self.states = states
        return [self.held] * len(states)


class Around:
    """Surroundings that changed, which every state reads. They keep what they are asked."""

    bringers = ("bringer",)

    def __init__(self):
        self.written, self.asked = None, {}

    def changed_by(self, written):
        self.written = written
        return "changed"

    def reads(self, chunk, changed, *, declared):
        self.asked[chunk.state] = (changed, declared)
        return [f"around:{chunk.state}"]

    def reloads(self, args):
        return (f"{len(args)} read",), ("pillar",)


class Refused:
    """A source of state modules that do not load yet, with what each declares; None: it does not say."""

    def __init__(self, modules, *, bundled=True):
        self._modules = {
            name: SimpleNamespace(
                functions={} if said is None else {"mod_footprint": SimpleNamespace(func=lambda low, said=said: said)},
                bundled=bundled,
            )
            for name, said in modules.items()
        }

    def find(self, name):
        return None

    def refused(self, name):
        return self._modules.get(name)


def footprints_of(states, said, *, source=None, **parts):
    """The footprints of states, each a function and its arguments, and why some are unknown; modules declare ``said``."""
    chunks = [
        LowChunk(number, *module.split("."), f"s{number}", f"/n{number}", "formula", "base", number, args)
        for number, (module, args) in enumerate(states)
    ]
    modules = {name: each if callable(each) else (lambda low, each=each: each) for name, each in said.items()}
    source = source or FakeStates(footprints=modules, bundled=parts.pop("bundled", True))
    formula = parts.pop("formula", None) or Formula()
    made = Footprints(source, formula, Findings().warn_at, **parts)
    return made.of_all(chunks, range(len(chunks))), made.unknown


@rows(("args", "expected"), TABLES["what the tree says"])
def test_what_the_tree_says_of_a_state_stands_for_what_its_module_says(args, expected):
    [found], _ = footprints_of([("cmd.run", args)], {"cmd": {"writes": ["own"], "unknown": "why"}})
    assert found == Footprint.of(expected)


TESTED = "in its onlyif, what own.thing reads is not known"


@rows(
    ("said", "condition", "unknown"),
    [
        ({"unknown": "why"}, {"onlyif": [{"fun": "own.thing"}]}, f"why; {TESTED}"),
        ({}, {"onlyif": [{"fun": "own.thing"}]}, TESTED),
        ({"unknown": "why"}, {"creates": "/x"}, "why"),
        ({}, {"creates": "/x"}, ""),
    ],
)
def test_conditions_may_touch_more_too(said, condition, unknown):
    [found], unknowns = footprints_of([("cmd.run", condition)], {"cmd": said})
    assert found.unknown == unknown
    assert unknowns == ({0: unknown} if unknown else {})


def test_a_state_with_a_condition_leaves_nothing_for_certain():
    said = {"file": {"leaves": ["path:/x"]}}
    found, _ = footprints_of([("file.directory", {}), ("file.directory", {"creates": "/y"})], said)
    assert [each.leaves for each in found] == [("path:/x",), ()]


def test_test_states_touch_what_their_conditions_read_and_their_module_is_not_asked():
    found, _ = footprints_of([("test.nop", {}), ("test.nop", {"creates": "/y"})], {"test": {"writes": ["own"]}})
    assert found == [Footprint(), Footprint(reads=("path:/y/**",))]


def test_the_formula_is_told_what_a_state_itself_touches_and_runs():
    formula = Formula(Held(("in formula",), ("of formula",)))
    said = {"reads": ["r"], "writes": ["w"], "programs": ["p"]}
    states = [("cmd.run", {}), ("file.managed", {"onlyif": "grep x y"}), ("own.do", {}), ("pkg.installed", {})]
    found, _ = footprints_of(states, {"cmd": said, "file": {}, "own": {}, "pkg": None}, formula=formula)
    seen = [
        (each.chunk.index, each.reads, each.writes, each.programs, each.tested, each.unknown) for each in formula.states
    ]
    assert seen[0] == (0, ("r",), ("w",), ("p",), (), False)
    assert seen[1][4] == ("grep",)
    assert seen[3] == (3, (), (), None, (), True)
    assert isinstance(formula.states[0], Touching)
    assert (found[0].reads, found[0].writes) == (("r", "in formula"), ("w", "of formula"))


def test_the_rule_of_formulas_is_about_bundled_states_packages_and_conditions():
    formula = Formula()
    states = [("cmd.run", {}), ("own.do", {"creates": "/x"}), ("pkg.installed", {}), ("own.do", {})]
    footprints_of(states, {"cmd": {}, "own": {}, "pkg": {}}, formula=formula, bundled=False)
    assert [each.chunk.index for each in formula.states] == [1, 2]


def test_a_guess_is_replaced_by_what_was_seen_and_a_declaration_is_not():
    seen = SimpleNamespace(reads=("path:/r",), writes=("path:/w",), makes=("path:/m",), programs=())
    said = {"reads": ["path:/guess", "name"], "writes": ["path:/guess"], "makes": ["path:/guess"], "unknown": "why"}
    states = [("cmd.run", {}), ("file.managed", {}), ("module.run", {})]
    found, unknown = footprints_of(states, {"cmd": said, "file": said, "module": {}}, learned=lambda chunk: seen)
    assert found[0] == Footprint(("name", "path:/r"), ("path:/w",), ("path:/m",))
    assert found[1] == Footprint.of(said)
    assert found[2] == Footprint(("path:/r",), ("path:/w",), ("path:/m",))
    assert unknown == {1: "why"}


@rows("bundled", [True, False])
def test_what_surrounds_a_state_is_read_unless_the_tree_says_what_it_touches(bundled):
    around = Around()
    states = [("file.managed", {}), ("cmd.run", {}), ("test.nop", {}), ("own.do", {"footprint": {"writes": ["db"]}})]
    said = {"file": {"writes": ["w"]}, "cmd": {"unknown": True}, "own": {}}
    found, _ = footprints_of(states, said, surroundings=around, bundled=bundled)
    assert around.written == {"w", "db"}
    assert around.asked == {"file": ("changed", bundled), "cmd": ("changed", False), "test": ("changed", True)}
    assert [each.reads for each in found] == [("around:file",), ("around:cmd",), ("around:test",), ()]


def test_a_state_reads_what_it_has_loaded_again_where_surroundings_are_known():
    states, said = [("cmd.run", {"reload_pillar": True, "x": 1}), ("cmd.run", {"x": 1})], {"cmd": {"writes": ["w"]}}
    around = Around()
    around.changed_by = lambda written: None
    found, _ = footprints_of(states, said, surroundings=around)
    assert found == [Footprint(("2 read",), ("w", "pillar")), Footprint(writes=("w",))]
    assert footprints_of(states, said)[0] == [Footprint(writes=("w",))] * 2


def test_calls_of_slots_and_templates_are_read():
    args = {"contents": "__slot__:salt:pkg.version(x)"}
    slots = slots_read(args)
    assert slots.reads or slots.unknown
    said = {"file": {"reads": ["r"], "writes": ["path:/x#k"]}}
    asked = []

    def read(chunk):
        asked.append(chunk.args)
        return CallsRead(("called",), "a template calls own.thing")

    templates = SimpleNamespace(read=read)
    states = [("file.managed", args), ("file.managed", {"template": "jinja"})]
    found, _ = footprints_of(states, said, templates=templates)
    assert found == [
        Footprint(("r", *slots.reads), ("path:/x#k", "path:/x"), unknown=slots.unknown),
        Footprint(("r", "called"), ("path:/x#k",), unknown="a template calls own.thing"),
    ]
    assert asked == [states[1][1]]


def test_who_stops_the_program_while_a_module_declares_stops_it():
    def stopped(low):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        footprints_of([("cmd.run", {})], {"cmd": stopped})


def test_a_link_that_a_state_makes_is_no_way_to_what_it_leads_to():
    said = {key: ["path:/l"] for key in ("reads", "writes", "makes")}
    [found, other], _ = footprints_of(
        [("file.symlink", {}), ("cmd.run", {})], {"file": {**said, "links": {"/l": "/t"}}, "cmd": said}
    )
    assert (found.reads, found.writes, found.makes) == (("path:/l",),) * 3
    assert (other.reads, other.writes, other.makes) == (("path:/l", "path:/t"),) * 3


@rows("key", ["reads", "writes", "makes"])
def test_each_path_counts_under_all_its_names(key):
    others = {"unknown": "why", "links": {"/own": "/there"}, "leaves": ["path:/left"]}
    said = {"file": {"links": {"/l": "/t"}}, "cmd": {key: ["path:/l/x"], **others}}
    found, _ = footprints_of([("file.symlink", {}), ("cmd.run", {})], said)
    assert found[1] == Footprint.of({key: ["path:/l/x", "path:/t/x"], **others})


def test_a_link_goes_along_with_what_is_copied():
    said = {"file": {"links": {"/a/l": "/t"}}, "own": {"copies": {"/b": "/a"}}, "cmd": {"reads": ["path:/b/l/x"]}}
    found, _ = footprints_of([("file.symlink", {}), ("own.copy", {}), ("cmd.run", {})], said)
    assert found[2] == Footprint(reads=("path:/b/l/x", "path:/t/x"))


def test_a_module_declares_though_it_has_no_such_function():
    source = FakeStates(hooks={"own.mod_footprint": lambda low: {"writes": ["w"]}})
    assert footprints_of([("own.gone", {})], {}, source=source)[0] == [Footprint(writes=("w",))]


def test_what_is_made_under_too_many_names_may_be_any_folder():
    said = {"file": {"links": {"/l": "/l/deeper"}}, "cmd": {"writes": ["db"], "makes": ["path:/l/x"]}}
    found, _ = footprints_of([("file.symlink", {}), ("cmd.run", {})], said)
    assert found[1] == Footprint(writes=("db", "path:/**"), makes=("path:/l/x",))


def test_without_templates_an_argument_of_that_name_says_nothing():
    assert footprints_of([("cmd.run", {"template": "jinja"})], {"cmd": {"writes": ["w"]}})[0] == [
        Footprint(writes=("w",))
    ]


@rows("bundled", [True, False])
def test_a_module_that_says_nothing_is_looked_for_once_and_is_there(bundled):
    source = FakeStates(hooks={"own.do": None}, bundled=bundled)
    around, formula = Around(), Formula()
    found, _ = footprints_of([("own.do", {})] * 2, {}, source=source, surroundings=around, formula=formula)
    assert found == [Footprint(("around:own",), unknown=said("no-footprint"))] * 2
    assert source.asked == ["own.mod_footprint", "own.do"]
    assert len(formula.states) == (2 if bundled else 0)


@rows("bundled", [True, False])
def test_a_module_that_does_not_load_yet_declares_and_waits_for_what_brings_it(bundled):
    around = Around()
    source = Refused({"own": {"writes": ["w"]}, "odd": None}, bundled=bundled)
    formula = Formula()
    states = [("own.do", {}), ("odd.do", {}), ("gone.do", {}), ("test.nop", {"creates": "/x"})]
    found, unknown = footprints_of(states, {}, source=source, surroundings=around, formula=formula)
    assert found[0] == Footprint(("bringer", "around:own"), ("w",))
    assert [each.reads for each in found[1:3]] == [("bringer", "around:odd"), ("bringer", "around:gone")]
    assert found[3].reads == ("path:/x/**", "around:test")
    assert list(unknown) == [1, 2]
    assert around.asked["own"] == ("changed", bundled)
    assert [each.chunk.index for each in formula.states] == ([0, 1, 3] if bundled else [3])
    assert footprints_of(states[:1], {}, source=source)[0] == [Footprint(writes=("w",))]


@rows(
    ("path", "written", "known"),
    [
        ("/t/s.sh", "path:/other", True),
        ("/t/s.sh", "path:/t/s.sh", False),
        ("/t/s.sh", "path:/t/**", False),
        ("", "db", False),
    ],
)
def test_a_script_is_read_unless_another_state_writes_it(path, written, known):
    states = [("file.managed", {}), ("cmd.script", {}), ("cmd.script", {})]
    said = {"file": {"writes": [written]}, "cmd": lambda low: {"unknown": low.get(SCRIPT, "no script")}}
    asked = []

    def script_of(chunk):
        asked.append(chunk.index)
        return path, f"text {chunk.index}"

    found, unknown = footprints_of(states, said, script_of=script_of)
    expected = {1: "text 1", 2: "text 2"} if known else dict.fromkeys((1, 2), "no script")
    assert unknown == expected
    assert asked == [1, 2]
    assert [each.unknown for each in found] == ["", *expected.values()]


def test_scripts_are_not_known_where_nobody_reads_them_and_reasons_stay_in_order():
    states = [("cmd.script", {}), ("cmd.run", {})]
    _, unknown = footprints_of(states, {"cmd": lambda low: {"unknown": low.get(SCRIPT, f"none in {low['fun']}")}})
    assert list(unknown.items()) == [(0, "none in script"), (1, "none in run")]


def test_a_script_may_write_the_next_one():
    said = {"cmd": lambda low: {"writes": ["path:/t/s.sh"], "unknown": low.get(SCRIPT, "no script")}}
    _, unknown = footprints_of([("cmd.script", {})] * 2, said, script_of=lambda chunk: ("/t/s.sh", "text"))
    assert unknown == {0: "text", 1: "no script"}


def test_paths_below_a_home_are_named_where_the_home_is():
    said = {
        "reads": ["path:~/r"],
        "writes": ["path:~u/w"],
        "makes": ["path:~/m"],
        "links": {"~/link": "/to"},
        "copies": {"~u/copy": "/from"},
        "leaves": ["path:~/l", "path:/l"],
        "programs": ["p"],
    }
    homes = Homes((), lambda user: f"/h/{user or 'me'}")
    [found], _ = footprints_of([("file.managed", {})], {"file": said}, homes=homes)
    assert found.reads == ("path:/h/me/r",)
    assert found.writes == ("path:/h/u/w",)
    assert found.makes == ("path:/h/me/m",)
    assert found.links == (("/h/me/link", "/to"),)
    assert found.leaves == ("path:/l",)
    [found], _ = footprints_of([("file.managed", {"footprint": {"writes": ["path:~/w"]}})], {}, homes=homes)
    assert found.writes == ("path:/h/me/w",)


@rows(("said", "expected"), TABLES["below a home"])
def test_each_name_below_a_home_is_replaced_alone(said, expected):
    [found], _ = footprints_of([("file.managed", {})], {"file": said}, homes=Homes((), lambda user: "/h"))
    assert found == Footprint.of(expected)


def test_who_writes_our_home_changes_where_commands_run():
    homes = Homes((), lambda user: "/h")
    [found, other], _ = footprints_of(
        [("file.a", {}), ("cmd.b", {})], {"file": {"writes": ["path:/h"]}, "cmd": {}}, homes=homes
    )
    assert found.writes == ("path:/h", "environ:process")
    assert other == Footprint()


def built(states):
    """A builder of a plan of states that say what they touch."""
    high = {id_: [{"order": 10_000 + place}, *own] for place, (id_, own) in enumerate(states.items())}
    graph, order, serial = wired(declared(high))
    return PlanBuilder(graph, serial, order)


def told(**what):
    return {"footprint": what}


def of_the_tree():
    """Footprints that know only what the tree says."""
    return Footprints(FakeStates(), Formula(), Findings().warn_at)


def test_the_footprints_of_states_are_returned_and_a_state_that_only_makes_is_waited_for():
    builder = built({"a": [told(makes=["path:/srv/x"])], "b": [told(writes=["path:/srv/x/f"])], "c": []})
    found = add_footprints(builder, of_the_tree())
    assert found == [Footprint(makes=("path:/srv/x",)), Footprint(writes=("path:/srv/x/f",)), Footprint()]
    assert list(builder.dag.edges()) == [Edge(0, 1, "footprint", ("path:/srv/x",))]


def test_a_wait_that_a_proof_ends_is_contingent_unless_a_requisite_says_it():
    states = {
        "a": [told(makes=["path:/srv/x"])],
        "p": [told(reads=["path:/srv/x"], leaves=["path:/srv/x"])],
        "b": [told(writes=["path:/srv/x/f"])],
    }
    builder = built(states)
    add_footprints(builder, of_the_tree())
    assert builder.contingent == [ContingentEdge(0, 2, 1, ("path:/srv/x",))]
    states["b"].append({"require": [{"test": "a"}]})
    builder = built(states)
    add_footprints(builder, of_the_tree())
    assert builder.contingent == []


def test_a_transaction_is_asked_of_every_chunk_and_no_check():
    asked = []

    class Transactions:
        def of(self, node):
            return None if node == 2 else lambda waits: asked.append((node, tuple(waits))) or (0,)

    builder = built(
        {
            "a": [told(writes=["db"])],
            "b": [told(writes=["db"])],
            "c": [told(writes=["db"]), {"prereq": [{"test": "d"}]}],
            "d": [],
        }
    )
    add_footprints(builder, of_the_tree(), Transactions())
    assert asked == [(0, ()), (1, (0,)), (3, ())]
    assert {(edge.before, edge.after) for edge in builder.dag.edges() if edge.source == "footprint"} == {(0, 2), (1, 2)}


def test_a_check_waits_for_many_as_one():
    states = {
        "e1": [told(writes=["db#1"])],
        "e2": [told(writes=["db#2"])],
        "asks": [{"prereq": [{"test": "c"}]}],
        "c": [told(reads=["db"])],
    }
    builder = built(states)
    add_footprints(builder, of_the_tree())
    [joined] = [number for number, node in enumerate(builder.nodes) if node.kind is NodeKind.SET]
    before = {(edge.before, edge.after) for edge in builder.dag.edges() if edge.source == "footprint"}
    assert before == {(0, joined), (1, joined), (joined, 3), (joined, 4)}


@pytest.mark.parametrize(("touched", "files"), TABLES["files that count by their entries"])
def test_a_file_counts_by_its_entries_if_nothing_touches_the_whole(touched, files):
    assert list(only_entries(Footprint.of(touched))) == files
