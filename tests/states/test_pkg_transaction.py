"""Package states that install together have the rows, and leave the system, of a run one by one."""

import copy
import json
from itertools import permutations

import asyncstate.states.pkg as states
import pytest
from apt_root import AptRoot, needs_apt
from asyncstate.modules.aptpkg._foresight import Offer, System, foreseen
from asyncstate.modules.aptpkg._foresight import Shop as Offers
from hypothesis import example, given, settings
from hypothesis import strategies as st
from plugin_harness import PluginHarness
from tables import beside

from asyncstate import Settings, StateRuntime
from asyncstate.errors import CommandExecutionError

TABLES = beside(__file__)


def low(name, **arguments):
    return {"state": "pkg", "fun": "installed", "name": name, "__id__": name, "__env__": "base", **arguments}


class Shop:
    """A package manager: ``offers`` has version, dependencies (alternatives), conflicts and scripts that fail."""

    def __init__(self, offers, installed):
        self.offers = offers
        self.installed = {name: offers[name]["version"] for name in installed if name in offers}
        self.asked = set(installed)
        self.half = set()
        self.calls = []
        self.refused = 0

    def list_pkgs(self, versions_as_list=False, purge_desired=False, **_):
        found = {} if purge_desired else {name: v for name, v in self.installed.items() if name not in self.half}
        return {name: [version] for name, version in found.items()} if versions_as_list else found

    def resolved(self, names):
        """What is installed afterwards, as apt decides: what is asked for first, then what each of those needs."""
        if any(name not in self.offers for name in names):
            return None
        after = dict(self.installed) | {name: self.offers[name]["version"] for name in names}
        waiting = list(names)
        while waiting:
            offer = self.offers[waiting.pop(0)]
            for alternatives in offer["depends"]:
                if not any(other in after for other in alternatives):
                    choice = next((other for other in alternatives if other in self.offers), None)
                    if choice is None:
                        return None
                    after[choice] = self.offers[choice]["version"]
                    waiting.insert(0, choice)
        for name in [name for name in after if name not in self.installed]:
            for enemy in self.offers[name]["conflicts"]:
                if enemy in after and (enemy in names or enemy not in self.installed):
                    return None
                after.pop(enemy, None)
        needs_gone = any(
            not any(other in after for other in alternatives)
            for name in after
            for alternatives in self.offers[name]["depends"]
        )
        return None if needs_gone else after

    def offered(self, names):
        return {
            name: {
                "Package": name,
                "Version": self.offers[name]["version"],
                "Depends": ", ".join(" | ".join(f"{n} (>= 0)" for n in each) for each in self.offers[name]["depends"]),
            }
            for name in names
            if name in self.offers
        }

    def foresee(self, orders, **_):
        shop = Offers(lambda names: Offer(self.offered(names), {}))
        system = System(self.installed, (), recommends=False, shop=shop)
        return foreseen([{name: v for each in order for name, v in each.items()} for order in orders], system)

    def install_foreseen(self, expected, pkgs=None, **_):
        after = self.resolved([next(iter(each)) for each in pkgs])
        if self.half or after is None or self.changes(dict(self.installed), after) != expected:
            self.refused += 1
            return None
        return self.install(pkgs)

    def changes(self, old, new):
        names = sorted({*old, *new})
        return {n: {"old": old.get(n, ""), "new": new.get(n, "")} for n in names if old.get(n) != new.get(n)}

    def install(self, pkgs=None, **_):
        names = [next(iter(each)) for each in pkgs]
        self.calls.append(names)
        old = self.list_pkgs()
        after = self.resolved(names)
        errors = ["E: Unable to correct problems"] if after is None else []
        if after is not None:
            self.half |= {name for name in after if name not in self.installed and self.offers[name]["moody"]}
            self.installed = after
            self.asked.update(names)
            self.half &= set(after)
            self.half |= {
                name
                for name in after
                if name not in old and any(not set(needs) - self.half for needs in self.offers[name]["depends"])
            }
            errors = [f"dpkg: {name}" for name in sorted(self.half)]
        done = self.changes(old, self.list_pkgs())
        if errors:
            raise CommandExecutionError(
                "Problem encountered installing package(s)", {"errors": errors, "changes": done}
            )
        return done


def run(tmp_path, shop, lows, *, joined):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "pkg_resource")
    for name in ("list_pkgs", "install", "install_foreseen", "foresee"):
        harness.salt[f"pkg.{name}"] = getattr(shop, name)
    harness.salt["pkg.version_cmp"] = lambda one, two, **_: (one > two) - (one < two)
    rows, kept = [], {}
    for place, each in enumerate(lows, 1):
        told = {"__transaction__": {"id": "x", "later": lows[place:], "kept": kept}} if joined else {}
        arguments = {key: value for key, value in each.items() if not key.startswith("__")}
        del arguments["state"], arguments["fun"]
        rows.append(harness.state(states.installed, low={**each, **told}, **copy.deepcopy(arguments)))
    return rows


NAMES = ["a", "b", "c", "d", "e", "f"]
OFFER = st.fixed_dictionaries(
    {
        "version": st.sampled_from(["1", "2"]),
        "depends": st.lists(st.lists(st.sampled_from([*NAMES, "lost"]), min_size=1, max_size=2), max_size=2),
        "conflicts": st.lists(st.sampled_from(NAMES), max_size=1),
        "moody": st.sampled_from([False, False, False, True]),
    }
)
WANTED = st.one_of(
    st.fixed_dictionaries({"name": st.sampled_from([*NAMES, "unknown"])}),
    st.fixed_dictionaries({"name": st.sampled_from(NAMES), "version": st.sampled_from(["1", "2"])}),
    st.fixed_dictionaries({"name": st.just("x"), "pkgs": st.lists(st.sampled_from(NAMES), unique=True, max_size=3)}),
)


def offer(*depends, conflicts=(), moody=False):
    return {"version": "1", "depends": [list(each) for each in depends], "conflicts": list(conflicts), "moody": moody}


@given(
    st.dictionaries(st.sampled_from(NAMES), OFFER, min_size=2),
    st.lists(WANTED, min_size=2, max_size=5, unique_by=lambda each: each["name"]),
)
@example({"a": offer("cb"), "b": offer(), "c": offer()}, [{"name": "a"}, {"name": "b"}])
@example({"a": offer("b"), "b": offer(moody=True), "c": offer()}, [{"name": "c"}, {"name": "a"}, {"name": "b"}])
@example({"a": offer(), "b": offer(moody=True), "c": offer()}, [{"name": "a"}, {"name": "b"}, {"name": "c"}])
@example({"a": offer(), "b": offer(conflicts="a"), "c": offer()}, [{"name": "a"}, {"name": "b"}, {"name": "c"}])
@settings(max_examples=150)
def test_rows_and_system_are_those_of_a_run_one_by_one(tmp_path_factory, offers, wanted):
    tmp_path = tmp_path_factory.getbasetemp()
    for entry in offers.values():  # only what is on offer can be in the system
        entry["conflicts"] = [name for name in entry["conflicts"] if offers.get(name) is not entry]
    lows = [low(**each) for each in wanted]
    alone, together = Shop(offers, ()), Shop(offers, ())
    assert run(tmp_path, together, lows, joined=True) == run(tmp_path, alone, lows, joined=False)
    assert (together.installed, together.half, together.asked) == (alone.installed, alone.half, alone.asked)


def test_one_call_and_each_dependency_with_the_first_that_needed_it(tmp_path):
    shop = Shop({"a": offer("d"), "b": offer("d", "e"), "c": offer(), "d": offer(), "e": offer()}, ["c"])
    rows = run(tmp_path, shop, [low("a"), low("c"), low("b")], joined=True)
    assert shop.calls == [["a", "b"]]
    assert [sorted(row["changes"]) for row in rows] == [["a", "d"], [], ["b", "e"]]
    assert rows[2]["comment"] == "The following packages were installed/updated: b"


def test_a_package_that_no_source_has_ends_the_common_call(tmp_path):
    shop = Shop({"a": offer("d"), "b": offer(), "c": offer(), "d": offer()}, ())
    rows = run(tmp_path, shop, [low("a"), low("b"), low("gone"), low("c")], joined=True)
    assert [row["result"] for row in rows] == [True, True, False, True]
    assert shop.calls == [["a", "b"], ["gone"], ["c"]]
    assert shop.refused == 0


def test_one_that_fails_is_settled_alone(tmp_path):
    shop = Shop({"a": offer(), "b": offer(moody=True), "c": offer()}, ())
    rows = run(tmp_path, shop, [low("a"), low("b"), low("c")], joined=True)
    assert shop.calls == [["a", "b", "c"], ["b"], ["c"]]
    assert [(row["result"], sorted(row["changes"])) for row in rows] == [(True, ["a"]), (False, []), (False, ["c"])]


@pytest.mark.parametrize(("arguments", "said"), TABLES["which states install with others"])
def test_which_states_install_with_others(tmp_path, arguments, said):
    harness = PluginHarness(tmp_path)
    harness.salt["pkg.foresee"] = harness.salt["pkg.install_foreseen"] = None
    with harness.calling():
        assert states.mod_transaction({**low("a"), **arguments}, True) == said
        assert states.mod_transaction({**low("a"), **arguments}, False) == said


def test_what_a_state_says_of_refreshing(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.salt["pkg.foresee"] = harness.salt["pkg.install_foreseen"] = None
    with harness.calling():
        assert states.mod_transaction(low("a", refresh=True), True) == ""
        assert states.mod_transaction(low("a", refresh=True), False) == "its refresh comes after the states before it"
        assert states.mod_transaction(low("a", refresh=False), False) == ""
        assert states.mod_transaction(low("a", refresh=False), True).startswith("its refresh is false")


def test_a_package_manager_that_cannot_foresee(tmp_path):
    with PluginHarness(tmp_path).calling():
        assert "cannot say beforehand" in states.mod_transaction(low("a"), True)


@needs_apt
@pytest.mark.parametrize(
    ("more", "calls", "changes"),
    [
        ([], [2, 3], []),
        ([low("mars")], [5, 4], [["mars", "tree"]]),
        ([low("pluto", version="latest"), low("x", pkgs=[{"sky": "latest"}, "star"])], [2, 5], [["pluto"], ["sky"]]),
    ],
    ids=["all", "two that exclude each other", "the latest of some"],
)
def test_apt_installs_them_in_one_call(tmp_path, more, calls, changes):
    seen, counts = [], []
    for joined in (True, False):
        (tmp_path / str(joined)).mkdir()
        apt = AptRoot(tmp_path / str(joined))
        apt.package("sun", Depends="star | moon")
        apt.package("star")
        apt.package("earth", Depends="sun, water (>= 1.0)", Recommends="tree")
        apt.package("water")
        apt.package("tree")
        apt.package("mars", Conflicts="tree")
        apt.package("pluto")
        apt.package("sky")
        apt.package("moody", postinst="exit 3")
        lows = [low("sun"), low("earth"), low("star"), low("tree"), *more, low("moody"), low("water")]
        rows, kept = [], {}
        with apt.harness.calling():
            states.mod_init(lows[0])
        for place, each in enumerate(lows, 1):
            told = {"__transaction__": {"id": "x", "later": lows[place:], "kept": kept}} if joined else {}
            arguments = {key: each[key] for key in ("version", "pkgs") if key in each}
            rows.append(apt.harness.state("pkg.installed", low={**each, **told}, name=each["name"], **arguments))
        auto = apt.run_all(["apt-mark", "showauto"])["stdout"]
        seen.append((rows, apt.installed(), auto))
        counts.append(len(apt.commands("install")))
    assert seen[0] == seen[1]
    assert counts == calls
    assert [sorted(row["changes"]) for row in seen[0][0]] == [
        ["star", "sun"],
        ["earth", "tree", "water"],
        [],
        [],
        *changes,
        [],
        [],
    ]


@needs_apt
@pytest.mark.parametrize("first", [low("water"), low("water", version="1.0"), low("water", version="latest")])
def test_the_latest_version_is_that_of_fresh_lists(tmp_path, first):
    seen, refreshes = [], []
    for joined in (True, False):
        (tmp_path / str(joined)).mkdir()
        apt = AptRoot(tmp_path / str(joined))
        apt.package("water")
        apt.package("sun")
        apt.harness.call("pkg.refresh_db")
        apt.package("sun", version="2.0")
        lows = [first, low("sun", version="latest"), low("water", version="latest")]
        rows, kept = [], {}
        with apt.harness.calling():
            states.mod_init(lows[0])
        for place, each in enumerate(lows, 1):
            told = {"__transaction__": {"id": "x", "later": lows[place:], "kept": kept}} if joined else {}
            version = {"version": each["version"]} if "version" in each else {}
            rows.append(apt.harness.state("pkg.installed", low={**each, **told}, name=each["name"], **version))
        seen.append((rows, apt.installed()))
        refreshes.append(apt.refreshes())
    assert seen[0] == seen[1]
    assert seen[0][0][1]["changes"] == {"sun": {"old": "", "new": "2.0"}}
    assert refreshes[0] == refreshes[1]


FAKE = """
def __virtual__():
    return "pkg"

def _path():
    return __opts__["cachedir"] + "/installed"

def list_pkgs(versions_as_list=False, purge_desired=False, **kwargs):
    try:
        names = open(_path()).read().split()
    except FileNotFoundError:
        names = []
    return {} if purge_desired else {name: ["1"] if versions_as_list else "1" for name in names}

def _new(pkgs):
    return {name: {"old": "", "new": "1"} for each in pkgs for name in each if name not in list_pkgs()}

def foresee(orders, **kwargs):
    found, known = [], set()
    for order in orders:
        found.append({name: change for name, change in _new(order).items() if name not in known})
        known.update(found[-1])
    return found

def install(name=None, pkgs=None, **kwargs):
    changes = _new(pkgs)
    with open(_path(), "a") as file:
        file.write(" ".join(changes) + "\\n")
    return changes

def install_foreseen(expected, pkgs, **kwargs):
    return install(pkgs=pkgs) if _new(pkgs) == expected else None
"""

TREE = """
a: pkg.installed
between: {test.nop: [{onchanges: [{pkg: a}]}]}
b: pkg.installed
skipped: {pkg.installed: [{onchanges: [{test: quiet}]}]}
quiet: {test.nop: [{order: 0}]}
c: {pkg.installed: [{pkgs: [c, a]}]}
of-c: {test.nop: [{onchanges: [{pkg: c}]}]}
"""


@pytest.mark.feature("F104", "F106")
def test_a_run_joins_them_unless_told_otherwise(run_here, tmp_path):
    (tmp_path / "_modules").mkdir()
    (tmp_path / "_modules" / "fakepkg.py").write_text(FAKE)
    (tmp_path / "tree.sls").write_text(TREE)
    (tmp_path / "cache").mkdir()
    seen = []
    for aggregated, calls in (("null", ["a b c"]), ("false", ["a", "b", "c"])):
        installed = tmp_path / "cache" / "installed"
        installed.write_text("")
        (tmp_path / "config.yaml").write_text(f"state_aggregate: {aggregated}\n")
        options = ("--config", tmp_path / "config.yaml", "--file-root", tmp_path, "--out", "json")
        done = run_here("apply", "tree", *options)
        assert done.returncode == 0, done.stdout + done.stderr
        rows = json.loads(done.stdout)
        for row in rows.values():
            del row["start_time"], row["duration"]
        seen.append(rows)
        assert installed.read_text().split("\n")[:-1] == calls
    assert seen[0] == seen[1]
    assert seen[0]["pkg_|-c_|-c_|-installed"]["changes"] == {"c": {"old": "", "new": "1"}}


SHOP = """
import json

NEEDS = {"b": ["x"], "c": ["y"], "d": ["x"], "e": []}
FAILS = __FAILS__

def __virtual__():
    return "pkg"

def _read():
    with open(__opts__["cachedir"] + "/shop") as file:
        return json.load(file)

def _write(shop):
    with open(__opts__["cachedir"] + "/shop", "w") as file:
        json.dump(shop, file)

def list_pkgs(versions_as_list=False, purge_desired=False, **kwargs):
    names = [] if purge_desired else _read()["installed"]
    return {name: ["1"] if versions_as_list else "1" for name in names}

def _new(names):
    installed, found = _read()["installed"], {}
    for name in names:
        for each in (name, *NEEDS.get(name, ())):
            if each not in installed:
                found[each] = {"old": "", "new": "1"}
    return found

def foresee(orders, **kwargs):
    found, known = [], set()
    for order in orders:
        new = _new([name for each in order for name in each])
        found.append({name: change for name, change in new.items() if name not in known})
        known.update(new)
    return found

def install_foreseen(expected, pkgs, **kwargs):
    return install(pkgs=pkgs)

def install(name=None, pkgs=None, **kwargs):
    shop, names = _read(), [name for each in pkgs for name in each]
    changes = {name: change for name, change in _new(names).items() if name not in FAILS}
    shop["installed"] += changes
    shop["calls"].append(names)
    _write(shop)
    if not FAILS.isdisjoint(names):
        from asyncstate.errors import CommandExecutionError
        raise CommandExecutionError("Problem encountered installing package(s)", {"errors": ["no"], "changes": changes})
    return changes
"""

IN_SHOP = {
    "early": {"test.succeed_with_changes": []},
    "a": {"pkg.installed": []},
    "b": {"pkg.installed": []},
    "c": {"pkg.installed": [{"onchanges": [{"test": "early"}]}]},
    "d": {"pkg.installed": [{"watch": [{"test": "early"}]}]},
    "of-b": {"test.nop": [{"onchanges": [{"pkg": "b"}]}]},
    "of-d": {"test.nop": [{"onchanges": [{"pkg": "d"}]}, {"require": [{"pkg": "c"}]}]},
}


@pytest.mark.parametrize(
    ("installed", "fails", "calls"),
    [
        ([], set(), [["a", "b", "c", "d"]]),
        (["a"], set(), [["b", "c", "d"]]),
        (["a", "c"], set(), [["b", "d"]]),
        ([], {"b"}, [["a", "b", "c", "d"], ["b"], ["c"], ["d"]]),
        ([], {"a"}, [["a", "b", "c", "d"], ["a"], ["b"], ["c"], ["d"]]),
        (["a"], {"c"}, [["b", "c", "d"], ["c"], ["d"]]),
    ],
)
async def test_members_delayed_in_any_order_give_the_rows_of_a_serial_run(tmp_path, installed, fails, calls):
    (tmp_path / "_modules").mkdir()
    (tmp_path / "_modules" / "shoppkg.py").write_text(SHOP.replace("__FAILS__", repr(fails or set())))
    shop = tmp_path / "cache" / "shop"
    shop.parent.mkdir()

    async def outcome(runtime, plan, **options):
        shop.write_text(json.dumps({"installed": installed, "calls": []}))
        assert await runtime.call("pkg.list_pkgs") == dict.fromkeys(installed, "1"), (
            "no package manager of this machine"
        )
        async with runtime.run(plan, lock=False, **options) as run:
            pass
        rows = {tag: {**row, "start_time": 0, "duration": 0} for tag, row in run.report.rows.items()}
        return rows, json.loads(shop.read_text())

    def settings(**options):
        return Settings(
            file_roots={"base": [str(tmp_path)]}, cachedir=str(shop.parent), state_dir=str(tmp_path), **options
        )

    async with StateRuntime(settings(state_aggregate=False)) as runtime:
        alone = await outcome(runtime, await runtime.compile_data(IN_SHOP), concurrency=1)
    async with StateRuntime(settings()) as runtime:
        plan = await runtime.compile_data(IN_SHOP)
        [members] = plan.turns
        assert [plan.chunks[member].id for member in members] == ["a", "b", "c", "d"]
        for number, order in enumerate(permutations(members[1:])):
            priority = list(plan.rank)
            for place, member in enumerate(order):
                priority[member] = len(plan.nodes) + place
            rows, done = await outcome(runtime, plan, concurrency=(1, 16)[number % 2], priority=priority)
            assert rows == alone[0]
            assert done["installed"] == alone[1]["installed"]
            assert done["calls"] == calls
