import json

import pytest
from fake_host import FakeHost, row
from plans import PlanBuilder

from asyncstate import Settings, StateRuntime
from asyncstate.errors import FunctionNotFound
from asyncstate.load.plugin import LoadedFunction, LoadedModule
from asyncstate.model.chunk import LowChunk
from asyncstate.run.aggregation import Aggregation
from asyncstate.run.engine import Engine, RunOptions


@pytest.fixture
def host():
    """A package-like module: the first member installs for all, and can say what was whose."""
    fake = FakeHost()
    fake.calls = []

    @fake.state("m.go")
    def go(name, items=None, fail=False):
        fake.calls.append(name)
        return row(name, result=not fail, changes=dict.fromkeys(items or [name], "new"))

    @fake.state("m.mod_aggregate")
    def mod_aggregate(low, chunks, running):
        low["items"] = [low["name"], *(chunk["name"] for chunk in chunks if not chunk.get("__agg__"))]
        for chunk in chunks:
            chunk["__agg__"] = True
        return low

    @fake.state("m.mod_aggregate_split")
    def mod_aggregate_split(low, chunks, ret):
        return {
            "_|-".join((chunk["state"], chunk["__id__"], chunk["name"], chunk["fun"])): {
                item: new for item, new in ret["changes"].items() if item == chunk["name"]
            }
            for chunk in chunks
        }

    async def nop(name):
        return row(name)

    async def mod_watch(name, **_kwargs):
        return row(name, comment="watched")

    fake.state("test.nop", nop)
    fake.state("test.mod_watch", mod_watch)
    return fake


async def apply(builder, host, **options):
    return await Engine(builder.build(), host, RunOptions(run_id="r", **options)).run()


def group(**args):
    builder = PlanBuilder().chunk("one", "m.go", args=args).chunk("two", "m.go").chunk("watcher", watch=["two"])
    return builder.group("one", "two")


async def test_each_member_gets_its_share_and_its_watchers_fire(host):
    report = await apply(group(), host)
    assert host.calls == ["one"]
    assert [r["changes"] for r in report.rows.values()] == [{"one": "new"}, {"two": "new"}, {}]
    assert [r["name"] for r in report.rows.values()] == ["one", "two", "watcher"]
    assert report.rows["test_|-watcher_|-watcher_|-nop"]["comment"] == "watched"


async def test_after_a_failed_common_call_members_run_for_themselves(host):
    report = await apply(group(fail=True), host)
    assert host.calls == ["one", "two"]
    assert [r["result"] for r in report.rows.values()] == [False, True, True]


@pytest.mark.parametrize("answer", [None, {"m_|-two_|-two_|-go": "text"}])
async def test_a_split_of_another_shape_is_a_notice(host, answer):
    host.state("m.mod_aggregate_split", lambda low, chunks, ret: answer)
    report = await apply(group(), host)
    assert host.calls == ["one", "two"]
    assert "must return the changes of each member" in report.notices[0]


async def test_a_split_that_raises_is_a_notice(host):
    @host.state("m.mod_aggregate_split")
    async def mod_aggregate_split(low, chunks, ret):
        raise ValueError("odd")

    report = await apply(group(), host)
    assert report.notices == ("m.mod_aggregate_split failed for s:one: odd",)
    assert report.ok


async def test_without_a_split_members_run_at_their_place(host):
    del host.loaders["states"].functions["m.mod_aggregate_split"]
    await apply(group(), host)
    assert host.calls == ["one", "two"]


async def test_without_mod_aggregate_nothing_is_folded(host):
    del host.loaders["states"].functions["m.mod_aggregate"]
    report = await apply(group(), host)
    assert host.calls == ["one", "two"]
    assert report.ok


class Hooks:
    """Calls the hooks of a module ``m`` in place, and keeps what they raised."""

    def __init__(self, **functions):
        module = LoadedModule("m", "m.py", None)
        self.functions = {f"m.{name}": LoadedFunction(f"m.{name}", func, module) for name, func in functions.items()}
        self.errors = []

    async def find(self, name):
        return self.functions.get(name) or FunctionNotFound(name, f"'{name}' is not available.")

    async def call_hook(self, function, args, chunk):
        return function.func(*args)

    def raised(self, error):
        self.errors.append(error)


def chunks(*names, **args):
    return [
        LowChunk(index, "m", "go", name, name, "s", "base", index, dict(args.get(name, {})))
        for index, name in enumerate(names)
    ]


def taking(pairs, seen):
    """A mod_aggregate in which a state takes in those that ``pairs`` gives it."""

    def mod_aggregate(low, lows, running):
        seen.append((low["name"], low["__agg__"], [each["name"] for each in lows], running))
        for each in lows:
            if each["name"] in pairs.get(low["name"], ()):
                each["__agg__"] = True
        return {**low, "items": [low["name"], *pairs.get(low["name"], ())]}

    return mod_aggregate


def share(low, lows, ret):
    return {f"m_|-{each['name']}_|-{each['name']}_|-go": {each["name"]: ret["comment"]} for each in lows}


async def test_each_state_not_yet_taken_in_is_asked_and_sees_what_ran():
    seen, running = [], {"tag": {"result": True}}
    aggregation = Aggregation(Hooks(mod_aggregate=taking({"a": "b", "c": "d"}, seen)))
    await aggregation.fold(chunks("a", "b", "c", "d"), running)
    everyone = ["a", "b", "c", "d"]
    assert seen == [("a", True, everyone, running), ("c", True, everyone, running)]
    assert seen[0][3] is not running
    assert [aggregation.lows[index].get("items") for index in range(4)] == [["a", "b"], None, ["c", "d"], None]
    assert aggregation.notices == []


async def test_a_share_comes_from_the_call_that_took_the_state_in_and_is_given_once():
    aggregation = Aggregation(Hooks(mod_aggregate=taking({"a": "b", "c": "d"}, []), mod_aggregate_split=share))
    a, b, c, d = members = chunks("a", "b", "c", "d")
    await aggregation.fold(members, {})
    for chunk in (a, c):
        own = row(chunk.name, comment=f"by {chunk.name}", changes={"all": "new"})
        await aggregation.split(chunk, own)
        assert own["changes"] == {chunk.name: f"by {chunk.name}"}
    assert aggregation.share(b) == {**row("b", comment="by a"), "changes": {"b": "by a"}}
    assert aggregation.share(d)["changes"] == {"d": "by c"}
    assert [aggregation.share(chunk) for chunk in members] == [None] * 4


async def test_who_is_left_out_of_a_split_changed_nothing():
    aggregation = Aggregation(Hooks(mod_aggregate=taking({"a": "b"}, []), mod_aggregate_split=lambda *args: {}))
    a, b = members = chunks("a", "b")
    await aggregation.fold(members, {})
    own = row("a", changes={"all": "new"})
    await aggregation.split(a, own)
    assert own["changes"] == {}
    assert aggregation.share(b)["changes"] == {}


async def test_a_group_of_nobody_is_no_call():
    hooks = Hooks(mod_aggregate=taking({}, []))
    await Aggregation(hooks).fold([], {})
    aggregation = Aggregation(Hooks())
    await aggregation.fold(chunks("a"), {})
    assert aggregation.lows == {}


async def test_one_member_alone_is_asked():
    seen = []
    await Aggregation(Hooks(mod_aggregate=taking({}, seen))).fold(chunks("a"), {})
    assert [name for name, *_ in seen] == ["a"]


@pytest.mark.parametrize(
    ("pkgs", "expected"),
    [
        (["x", "y"], ["own", "x", "y"]),
        (["x", "own"], ["x", "own"]),
        ([{"x": "1.0"}, {"own": "2.0"}], [{"x": "1.0"}, {"own": "2.0"}]),
        ([{"x": "own"}], ["own", {"x": "own"}]),
        ([], ["own"]),
        ("x", "x"),
        (None, None),
    ],
)
async def test_a_state_stays_among_the_packages_folded_into_it(pkgs, expected):
    aggregation = Aggregation(Hooks(mod_aggregate=lambda low, lows, running: {**low, "pkgs": pkgs}))
    await aggregation.fold(chunks("own"), {})
    assert aggregation.lows[0]["pkgs"] == expected


async def test_a_state_that_lists_packages_itself_does_not_mean_its_name():
    aggregation = Aggregation(Hooks(mod_aggregate=lambda low, lows, running: {**low, "pkgs": ["x", "y"]}))
    await aggregation.fold(chunks("own", own={"pkgs": ["x"]}), {})
    assert aggregation.lows[0]["pkgs"] == ["x", "y"]


async def test_low_data_of_another_shape_is_a_notice_and_the_state_runs_alone():
    aggregation = Aggregation(Hooks(mod_aggregate=lambda low, lows, running: ["odd"]))
    await aggregation.fold(chunks("a"), {})
    assert aggregation.notices == ["m.mod_aggregate failed for s:a: it returned list, not low data"]
    assert aggregation.lows[0]["name"] == "a"


async def test_what_a_module_raises_is_one_notice_and_told():
    error = TypeError("no such thing")

    def mod_aggregate(low, lows, running):
        raise error

    hooks = Hooks(mod_aggregate=mod_aggregate)
    aggregation = Aggregation(hooks)
    await aggregation.fold(chunks("a", "b"), {})
    assert aggregation.notices == [f"m.mod_aggregate failed for s:{name}: no such thing" for name in "ab"]
    assert hooks.errors == [error, error]


async def test_a_split_of_another_shape_says_what_it_must_be():
    aggregation = Aggregation(Hooks(mod_aggregate=taking({"a": "b"}, []), mod_aggregate_split=lambda *args: None))
    members = chunks("a", "b")
    await aggregation.fold(members, {})
    own = row("a", changes={"all": "new"})
    await aggregation.split(members[0], own)
    assert own["changes"] == {"all": "new"}
    said = "it must return the changes of each member by state tag"
    assert aggregation.notices == [f"m.mod_aggregate_split failed for s:a: {said}"]


PACKAGE_STORE = """
import json

def _store():
    with open(__grains__["store"]) as file:
        return json.load(file)


def list_pkgs(**kwargs):
    return dict.fromkeys(_store()["installed"], "1.0")


def version(*names, **kwargs):
    found = {name: "1.0" if name in _store()["installed"] else "" for name in names}
    return found[names[0]] if len(names) == 1 else found


def install(name=None, pkgs=None, **kwargs):
    store = _store()
    wanted = [next(iter(each)) if isinstance(each, dict) else each for each in pkgs or [name]]
    new = [each for each in wanted if each not in store["installed"]]
    store["calls"].append(sorted(wanted))
    store["installed"] += new
    with open(__grains__["store"], "w") as file:
        json.dump(store, file)
    return {each: {"old": "", "new": "1.0"} for each in new}
"""
PACKAGES = """
bad: test.fail_without_changes
one: pkg.installed
two: pkg.installed
three: {pkg.installed: [{require: [bad]}]}
four: {pkg.installed: [{onlyif: "false"}]}
there: pkg.installed
watcher: {test.nop: [{watch: [{pkg: two}]}]}
follower: {test.nop: [{onchanges: [{pkg: there}]}]}
"""


@pytest.mark.parametrize("concurrency", [1, 8])
async def test_bundled_packages_are_installed_in_one_call_and_each_watcher_sees_its_own(tmp_path, concurrency):
    (tmp_path / "salt/_modules").mkdir(parents=True)
    (tmp_path / "salt/_modules/pkg.py").write_text(PACKAGE_STORE)
    (tmp_path / "salt/t.sls").write_text(PACKAGES)
    store = tmp_path / "store"
    store.write_text(json.dumps({"installed": ["there"], "calls": []}))
    settings = Settings(
        file_roots={"base": [str(tmp_path / "salt")]},
        pillar_roots={},
        cachedir=str(tmp_path / "cache"),
        state_dir=str(tmp_path / "state"),
        grains={"store": str(store)},
        state_aggregate=True,
    )
    async with StateRuntime(settings) as runtime:
        report = await runtime.apply(["t"], concurrency=concurrency)
    rows = {tag.split("_|-")[1]: (row["result"], row["changes"]) for tag, row in report.rows.items()}
    new = {"old": "", "new": "1.0"}
    assert rows["one"] == (True, {"one": new})
    assert rows["two"] == (True, {"two": new})
    assert (rows["three"], rows["four"], rows["there"]) == ((False, {}), (True, {}), (True, {}))
    assert rows["watcher"][1], "what watches a member that another installed sees its change"
    assert rows["follower"] == (True, {}), "what was there already did not change, whoever else did"
    assert json.loads(store.read_text())["calls"] == [["one", "two"]]
