import asyncio
import json

import pytest
from fake_host import FakeHost, local_engine, row
from hypothesis import assume, given
from hypothesis import strategies as st
from messages import said as said_of
from plans import PlanBuilder

from asyncstate import Settings, StateRuntime
from asyncstate.load.plugin import LoadedFunction, LoadedModule
from asyncstate.model.chunk import LowChunk
from asyncstate.run.chunk.aggregation import Aggregation
from asyncstate.run.engine import RunOptions


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
    return await local_engine(builder.build(), host, RunOptions(run_id="r", **options)).run()


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
    assert host.calls == ["one", "one", "two"]
    assert [r["result"] for r in report.rows.values()] == [False, True, True]


@pytest.mark.parametrize("answer", [None, {"m_|-two_|-two_|-go": "text"}])
async def test_a_split_of_another_shape_is_a_notice(host, answer):
    host.state("m.mod_aggregate_split", lambda low, chunks, ret: answer)
    report = await apply(group(), host)
    assert host.calls == ["one", "two"]
    assert report.notices == (failed("m.mod_aggregate_split", "s:one", said_of("split-no-mapping")),)


async def test_a_split_that_raises_is_a_notice(host):
    @host.state("m.mod_aggregate_split")
    async def mod_aggregate_split(low, chunks, ret):
        raise ValueError("odd")

    report = await apply(group(), host)
    assert report.notices == (failed("m.mod_aggregate_split", "s:one", "ValueError: odd"),)
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


def failed(hook, state, why):
    """The notice of a hook that failed."""
    return said_of("aggregate-failed", hook=hook, state=state, why=why)


class Hooks:
    """Calls the hooks of a module ``m`` in place, and keeps what they raised."""

    def __init__(self, **functions):
        module = LoadedModule("m", "m.py", None)
        self.functions = {f"m.{name}": LoadedFunction(f"m.{name}", func, module) for name, func in functions.items()}
        self.errors = []

    async def find(self, name):
        return self.functions.get(name)

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


class Looked(dict):
    """Rows that may be looked up, not copied as a whole: each group would take as long as all states before it."""

    def __iter__(self):
        raise AssertionError

    keys = items = values = __iter__


async def test_a_module_may_look_up_and_replace_rows_without_an_effect_on_them():
    seen, running = [], Looked({"m_|-x_|-x_|-go": {"result": True}})

    def mod_aggregate(low, lows, running):
        seen.append((running["m_|-x_|-x_|-go"], running.get("other"), "other" in running))
        running["other"] = {}
        return low

    aggregation = Aggregation(Hooks(mod_aggregate=mod_aggregate))
    await aggregation.fold(chunks("a", "b"), running)
    assert seen == [({"result": True}, None, False)] * 2
    assert "other" not in running
    assert aggregation.notices == []


async def test_each_state_not_yet_taken_in_is_asked_and_sees_what_ran():
    seen, running = [], {"tag": {"result": True}}
    aggregation = Aggregation(Hooks(mod_aggregate=taking({"a": "b", "c": "d"}, seen)))
    await aggregation.fold(chunks("a", "b", "c", "d"), running)
    assert seen == [("a", True, ["a", "b", "c", "d"], running), ("c", True, ["b", "c", "d"], running)]
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


def endless(low):
    low["self"] = low
    return low


async def late():
    return {}


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda low: ["odd"], said_of("aggregate-no-low", type="list")),
        (lambda low: None, said_of("aggregate-no-low", type="NoneType")),
        (lambda low: late(), said_of("aggregate-no-low", type="coroutine")),
        (lambda low: {}, said_of("aggregate-empty")),
        (
            lambda low: {key: value for key, value in low.items() if key != "name"},
            said_of("aggregate-took", key="name"),
        ),
        (lambda low: {**low, "state": "other"}, said_of("aggregate-changed", key="state")),
        (lambda low: {**low, "__id__": "other"}, said_of("aggregate-changed", key="__id__")),
        (lambda low: {**low, "fun": None}, said_of("aggregate-changed", key="fun")),
        (lambda low: {**low, "pkgs": "x"}, said_of("aggregate-no-packages", type="str")),
        (lambda low: {**low, "pkgs": [["x"]]}, said_of("aggregate-no-packages", type="list")),
        (endless, said_of("aggregate-endless")),
    ],
)
async def test_low_data_of_another_shape_is_one_notice_and_the_states_run_alone(spoil, said):
    def mod_aggregate(low, lows, running):
        for each in lows:
            each["__agg__"] = True
            each["items"] = ["spoilt"]
        return spoil(low)

    aggregation = Aggregation(Hooks(mod_aggregate=mod_aggregate))
    members = chunks("a", "b")
    await aggregation.fold(members, {})
    assert aggregation.notices == [failed("m.mod_aggregate", "s:a", said)]
    assert [aggregation.lows[chunk.index] for chunk in members] == [chunk.as_low() for chunk in members]
    assert not any(aggregation.is_common(chunk) for chunk in members)


@pytest.mark.parametrize(("args", "change"), [({}, {"name": "other"}), ({"pkgs": "x"}, {}), ({"pkgs": [["x"]]}, {})])
async def test_a_module_may_choose_another_name_and_the_tree_has_its_own_packages(args, change):
    aggregation = Aggregation(Hooks(mod_aggregate=lambda low, lows, running: {**low, **change}))
    await aggregation.fold(chunks("a", a=args), {})
    assert aggregation.notices == []
    assert aggregation.lows[0].items() >= {**args, **change}.items()


async def test_a_later_call_cannot_spoil_the_low_data_of_an_earlier_one():
    take = taking({"a": "b"}, [])

    def mod_aggregate(low, lows, running):
        if low["name"] == "c":
            del lows[0]["name"]
            return low
        return take(low, lows, running)

    aggregation = Aggregation(Hooks(mod_aggregate=mod_aggregate))
    a, b, _ = members = chunks("a", "b", "c")
    await aggregation.fold(members, {})
    assert aggregation.notices == [failed("m.mod_aggregate", "s:b", said_of("aggregate-took", key="name"))]
    assert aggregation.is_common(a)
    assert aggregation.lows[0]["items"] == ["a", "b"]
    assert aggregation.lows[1] == b.as_low()


async def test_a_module_that_spoils_the_low_data_of_another_member_spoils_no_row():
    def mod_aggregate(low, lows, running):
        for each in lows[1:]:
            each["__agg__"] = True
            del each["name"]
        return low

    aggregation = Aggregation(Hooks(mod_aggregate=mod_aggregate))
    _, b = members = chunks("a", "b")
    await aggregation.fold(members, {})
    assert aggregation.lows[b.index] == b.as_low()
    assert said_of("aggregate-took", key="name") in aggregation.notices[0]


async def test_a_module_that_spoils_what_it_returned_before_does_the_work_of_nobody_else():
    take, returned = taking({"a": "b"}, []), []

    def mod_aggregate(low, lows, running):
        for each in returned:
            each.pop("name", None)
        returned.append(take(low, lows, running))
        return returned[-1]

    aggregation = Aggregation(Hooks(mod_aggregate=mod_aggregate))
    a, *_ = members = chunks("a", "b", "c")
    await aggregation.fold(members, {})
    assert aggregation.lows[a.index] == a.as_low()
    assert not aggregation.is_common(a)


class Wordless(Exception):
    def __str__(self):
        raise ValueError("no words")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TypeError("no such thing"), "TypeError: no such thing"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt: "),
        (Wordless(), "Wordless"),
    ],
    ids=["TypeError", "SystemExit", "KeyboardInterrupt", "Wordless"],
)
async def test_what_a_module_raises_is_one_notice_and_told(error, said):
    def mod_aggregate(low, lows, running):
        raise error

    hooks = Hooks(mod_aggregate=mod_aggregate)
    aggregation = Aggregation(hooks)
    await aggregation.fold(chunks("a", "b"), {})
    assert aggregation.notices == [failed("m.mod_aggregate", "s:a", said)]
    assert hooks.errors == [error]


async def test_what_is_abandoned_does_the_work_of_nobody_else():
    aggregation = Aggregation(Hooks(mod_aggregate=taking({"a": "b"}, [])))
    a, b = members = chunks("a", "b")
    await aggregation.fold(members, {})
    assert aggregation.is_common(a)
    aggregation.abandon(members)
    assert not aggregation.is_common(a)
    assert aggregation.share(b) is None
    assert aggregation.lows == {}


async def common_call(result, changes, *, test=False, skip_watch=False, split=None, args=None):
    """What is left of a call of ``a`` for itself, ``b`` and ``c``: who runs by itself, and every row in the end."""
    hooks = {} if split is None else {"mod_aggregate_split": lambda *_args: split}
    aggregation = Aggregation(Hooks(mod_aggregate=taking({"a": "bc"}, []), **hooks))
    members = chunks("a", "b", "c", **(args or {}))
    await aggregation.fold(members, {})
    common = row("a", result=result, changes=changes, **({"skip_watch": True} if skip_watch else {}))
    stands = (
        await aggregation.split(members[0], common, test=test) if test else await aggregation.split(members[0], common)
    )
    ended = {"a": common} if stands else {}
    for member in members[1:]:
        share = aggregation.share(member)
        if share is not None:
            ended[member.name] = share
    alone = [member.name for member in members if member.name not in ended]
    if result is False:
        assert [aggregation.lows[member.index] for member in members] == [member.as_low() for member in members]
    pending = aggregation.take_news()[1]
    assert aggregation.take_news() == ({}, {})
    for member in members:
        if member.name in alone:
            assert "items" not in aggregation.lows[member.index]
            ended[member.name] = row(member.name)
            aggregation.settle(member, ended[member.name])
    assert {name for name, each in ended.items() if name in alone and each["changes"]} == {
        tag.split("_|-")[1] for tag in pending
    }
    return alone, {name: each["changes"] for name, each in ended.items()}


NAMED = {"b": {"pkgs": ["bp", {"bq": "1"}, 7], "require": ["r"], "mode": "xy"}}


@pytest.mark.parametrize("test", [False, True])
async def test_the_changes_of_a_failed_call_are_those_of_whom_they_are_named_after(test):
    changes = {"b": 1, "bp": 2, "bq": 3, "7": 4, "r": 5, "x": 6, "c": 7}
    alone, ended = await common_call(False, changes, test=test, args=NAMED)
    assert alone == ["a", "b", "c"]
    if test:
        assert ended == {"a": {}, "b": {}, "c": {}}, "nothing was changed"
    else:
        assert ended == {"a": {"r": 5, "x": 6}, "b": {"b": 1, "bp": 2, "bq": 3, "7": 4}, "c": {"c": 7}}


TAGS = {name: f"m_|-{name}_|-{name}_|-go" for name in "abc"}


@pytest.mark.parametrize(
    ("result", "changed", "skip_watch", "alone"),
    [
        (True, "", False, ""),
        (True, "ab", False, ""),
        (True, "ab", True, ""),
        (True, "", True, "abc"),
        (None, "", False, "abc"),
        (None, "ab", False, "c"),
        (None, "b", False, "ac"),
        (False, "a", False, "abc"),
    ],
)
async def test_who_runs_alone_after_a_common_call(result, changed, skip_watch, alone):
    """Those for whom it failed, did not happen, or in a dry run would have changed nothing."""
    split = {TAGS[name]: {name: "new"} for name in changed}
    changes = dict.fromkeys(changed, "new")
    found, ended = await common_call(result, changes, skip_watch=skip_watch, split=split)
    assert "".join(found) == alone
    assert ended == {name: {name: "new"} if name in changed else {} for name in "abc"}


async def test_of_two_changes_of_one_kind_the_later_stands_whatever_its_shape():
    aggregation = Aggregation(Hooks())
    (a,) = chunks("a")
    aggregation.restore({a.tag: 0}, {}, {a.tag: ({"x": {"old": 1, "new": 2}, "y": "text"}, "said")})
    own = row("a", changes={"x": "text", "y": {"old": 1, "new": 2}})
    aggregation.settle(a, own)
    assert own["changes"] == {"x": "text", "y": {"old": 1, "new": 2}}
    assert own["comment"] == "done\nsaid"


async def test_what_an_earlier_run_did_for_others_is_taken_over_for_those_that_are_still_there():
    aggregation = Aggregation(Hooks())
    a, b = chunks("a", "b")
    shares, pending = {b.tag: row("b"), "gone": row("gone")}, {a.tag: ({"a": 1}, "said"), "gone": ({"gone": 1}, "")}
    aggregation.restore({a.tag: 0, b.tag: 1}, shares, pending)
    assert (aggregation.share(a), aggregation.share(b)) == (None, row("b"))
    own = row("a", comment="")
    aggregation.settle(a, own)
    assert (own["changes"], own["comment"]) == ({"a": 1}, "said")


async def test_who_is_in_no_group_is_abandoned_without_a_word():
    aggregation = Aggregation(Hooks())
    aggregation.abandon(chunks("a"))
    assert aggregation.lows == {}


class Tool:
    """A package tool and the state module on top of it, as an author of either would write them.

    ``whole``: one unknown package fails the call before it changes anything, as apt does; else it does what it can.
    """

    def __init__(self, *, there, whole, splits, raises):
        self.store = set(there)
        self.host = FakeHost()
        self.whole, self.raises = whole, raises
        self.host.state("m.go", self.go)
        self.host.state("m.mod_aggregate", self.mod_aggregate)
        if splits:
            self.host.state("m.mod_aggregate_split", self.mod_aggregate_split)

        async def nop(name):
            return row(name, changes={"ran": name})

        self.host.state("test.nop", nop)

    def go(self, name, pkgs=None):
        wanted = [each for each in pkgs or [name] if each not in self.store]
        unknown = [each for each in wanted if each.startswith("bad")]
        new = [] if unknown and self.whole else [each for each in wanted if each not in unknown]
        self.store.update(new)
        if unknown and self.whole and self.raises:
            raise OSError(f"unknown: {unknown}")
        return row(name, result=not unknown, changes={each: {"old": "", "new": "1"} for each in dict.fromkeys(new)})

    @staticmethod
    def mod_aggregate(low, chunks, running):
        pkgs = list(low.get("pkgs") or [low["name"]])
        for chunk in chunks:
            if not chunk.get("__agg__"):
                pkgs += chunk.get("pkgs") or [chunk["name"]]
                chunk["__agg__"] = True
        return {**low, "pkgs": pkgs}

    @staticmethod
    def mod_aggregate_split(low, chunks, ret):
        changes, shares = dict(ret["changes"]), {}
        for chunk in chunks[1:]:
            names = chunk.get("pkgs") or [chunk["name"]]
            shares[_tag(chunk)] = {name: changes.pop(name) for name in names if name in changes}
        return {**shares, _tag(low): changes}


def _tag(low):
    return "_|-".join((low["state"], low["__id__"], low["name"], low["fun"]))


UNKNOWN, THERE, NEW = range(3)


@given(
    members=st.lists(st.lists(st.sampled_from([UNKNOWN, THERE, NEW]), min_size=1, max_size=3), min_size=2, max_size=5),
    whole=st.booleans(),
    splits=st.booleans(),
    raises=st.booleans(),
)
def test_members_have_the_rows_of_a_run_without_aggregation(members, whole, splits, raises):
    """Whatever the group, the tool and the module: result and changes, and what follows from them.

    But for a module that cannot split a call that succeeded: then the first has all changes.
    """
    assume(splits or any(UNKNOWN in kinds for kinds in members))
    packages = [
        [f"{'bad' if kind == UNKNOWN else 'p'}{number}{place}" for place, kind in enumerate(kinds)]
        for number, kinds in enumerate(members)
    ]
    there = [
        name
        for names, kinds in zip(packages, members, strict=True)
        for name, kind in zip(names, kinds, strict=True)
        if kind == THERE
    ]
    ids = [pkgs[0] for pkgs in packages]

    def rows(*, aggregated):
        tool = Tool(there=there, whole=whole, splits=splits, raises=raises)
        builder = PlanBuilder()
        for id_, pkgs in zip(ids, packages, strict=True):
            builder.chunk(id_, "m.go", args={"pkgs": pkgs} if len(pkgs) > 1 else {})
        for id_ in ids:
            builder.chunk(f"changed-{id_}", onchanges=[id_]).chunk(f"good-{id_}", require=[id_])
        if aggregated:
            builder.group(*ids)
        report = asyncio.run(apply(builder, tool.host, concurrency=1))
        assert report.notices == ()
        return {tag: (each["result"], each["changes"]) for tag, each in report.rows.items()}, tool.store

    assert rows(aggregated=True) == rows(aggregated=False)


async def test_the_row_of_a_member_says_where_its_changes_come_from():
    tool = Tool(there=(), whole=False, splits=True, raises=False)
    builder = PlanBuilder().chunk("a", "m.go").chunk("bad", "m.go").chunk("c", "m.go").group("a", "bad", "c")
    rows = list((await apply(builder, tool.host)).rows.values())
    together = "done\n" + said_of("made-together", number=3)
    assert [each["comment"] for each in rows] == [together, "done", together]


async def test_a_failed_common_call_is_not_tried_again_but_its_members_are():
    tool = Tool(there=(), whole=True, splits=True, raises=False)
    calls = []

    def go(name, pkgs=None):
        calls.append(pkgs or [name])
        return tool.go(name, pkgs)

    tool.host.state("m.go", go)
    again = {"retry": {"attempts": 3, "interval": 0}}
    builder = PlanBuilder().chunk("a", "m.go", args=again).chunk("bad", "m.go", args=again).group("a", "bad")
    await apply(builder, tool.host)
    assert calls == [["a", "bad"], ["a"], ["bad"], ["bad"], ["bad"]]


async def test_a_members_own_check_decides_about_its_row_and_its_changes_stay():
    tool = Tool(there=(), whole=False, splits=True, raises=False)
    tool.host.salt["cmd.run_all"] = lambda *args, **kwargs: {"retcode": 1, "stdout": "", "stderr": ""}
    tool.host.salt["cmd.retcode"] = lambda *args, **kwargs: 1
    checked = {"check_cmd": ["false"]}
    builder = PlanBuilder().chunk("a", "m.go").chunk("b", "m.go", args=checked).group("a", "b")
    rows = list((await apply(builder, tool.host)).rows.values())
    assert [(each["result"], list(each["changes"])) for each in rows] == [(True, ["a"]), (False, ["b"])]


async def test_in_a_dry_run_a_member_without_a_share_says_what_holds_for_itself():
    tool = Tool(there=["b"], whole=False, splits=True, raises=False)

    def go(name, pkgs=None):
        new = [each for each in pkgs or [name] if each not in tool.store]
        return row(name, result=None if new else True, changes=dict.fromkeys(new, "would"))

    tool.host.state("m.go", go)
    builder = PlanBuilder().chunk("a", "m.go").chunk("b", "m.go").chunk("c", "m.go").group("a", "b", "c")
    rows = list((await apply(builder, tool.host, test=True)).rows.values())
    assert [(each["result"], list(each["changes"])) for each in rows] == [(None, ["a"]), (True, []), (None, ["c"])]


@pytest.mark.parametrize("keys", [("old", "new"), ("installed",)])
async def test_what_two_calls_changed_in_turn_is_one_change(keys):
    calls = iter([False, True, True])

    def go(name, pkgs=None):
        result = next(calls)
        change = {"old": "1" if not result else "2", "new": "2" if not result else "3"}
        return row(name, result=result, changes={name: change if keys[0] == "old" else {keys[0]: change}})

    tool = Tool(there=(), whole=False, splits=False, raises=False)
    tool.host.state("m.go", go)
    report = await apply(PlanBuilder().chunk("a", "m.go").chunk("b", "m.go").group("a", "b"), tool.host)
    united = {"old": "1", "new": "3"}
    assert next(iter(report.rows.values()))["changes"] == {"a": united if keys[0] == "old" else {keys[0]: united}}


PACKAGE_STORE = """
import json

def _store():
    with open(__grains__["store"]) as file:
        return json.load(file)


def list_pkgs(purge_desired=False, **kwargs):
    return {} if purge_desired else dict.fromkeys(_store()["installed"], "1.0")


def refresh_db(**kwargs):
    return {}


def latest_version(*names, **kwargs):
    found = {name: "" if name in _store()["installed"] else "1.0" for name in names}
    return found[names[0]] if len(names) == 1 else found


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


async def installed(path, module, tree, *, aggregate=True, grains=None, **options):
    """Apply a tree with a ``pkg`` module of its own; return the report and what is in the module's store."""
    (path / "salt/_modules").mkdir(parents=True, exist_ok=True)
    (path / "salt/_modules/pkg.py").write_text(module)
    (path / "salt/t.sls").write_text(tree)
    store = path / "store"
    store.write_text(json.dumps({"installed": ["there"], "calls": []}))
    settings = Settings(
        file_roots={"base": [str(path / "salt")]},
        pillar_roots={},
        cachedir=str(path / "cache"),
        state_dir=str(path / "state"),
        grains={"store": str(store), **(grains or {})},
        state_aggregate=aggregate,
    )
    async with StateRuntime(settings) as runtime:
        report = await runtime.apply(["t"], **options)
    return report, json.loads(store.read_text())


@pytest.mark.parametrize("concurrency", [1, 8])
async def test_bundled_packages_are_installed_in_one_call_and_each_watcher_sees_its_own(tmp_path, concurrency):
    report, store = await installed(tmp_path, PACKAGE_STORE, PACKAGES, concurrency=concurrency)
    rows = {tag.split("_|-")[1]: (row["result"], row["changes"]) for tag, row in report.rows.items()}
    new = {"old": "", "new": "1.0"}
    assert rows["one"] == (True, {"one": new})
    assert rows["two"] == (True, {"two": new})
    assert (rows["three"], rows["four"], rows["there"]) == ((False, {}), (True, {}), (True, {}))
    assert rows["watcher"][1], "what watches a member that another installed sees its change"
    assert rows["follower"] == (True, {}), "what was there already did not change, whoever else did"
    assert store["calls"] == [["one", "two"]]


FAILING_STORE = """
from asyncstate.errors import CommandExecutionError


def _install(name=None, pkgs=None, **kwargs):
    names = [next(iter(each)) if isinstance(each, dict) else each for each in pkgs or [name]]
    unknown = [each for each in names if each.startswith("bad")]
    known = [] if unknown and __grains__["whole"] else [each for each in names if each not in unknown]
    changes = _known(pkgs=known) if known else {}
    if unknown:
        raise CommandExecutionError("Problem encountered", info={"errors": unknown, "changes": changes})
    return changes


_known, install = install, _install
"""
SOME_FAIL = """
a: pkg.installed
bad: pkg.installed
c: pkg.installed
several: {pkg.installed: [{pkgs: [d, bad2, e]}]}
there: pkg.installed
needs: {test.nop: [{require: [{pkg: a}]}]}
needs-bad: {test.nop: [{require: [{pkg: bad}]}]}
follows: {test.succeed_with_changes: [{onchanges: [{pkg: c}]}]}
"""


@pytest.mark.feature("F105")
@pytest.mark.parametrize("test", [False, True])
@pytest.mark.parametrize("whole", [False, True])
async def test_of_bundled_package_states_only_those_fail_whose_package_does(tmp_path, whole, test):
    found = {}
    for aggregate in (True, False):
        options = {"grains": {"whole": whole}, "aggregate": aggregate, "test": test}
        report, store = await installed(tmp_path, PACKAGE_STORE + FAILING_STORE, SOME_FAIL, **options)
        rows = {row["__id__"]: (row["result"], row["changes"]) for row in report.rows.values()}
        found[aggregate] = rows, sorted(store["installed"]), report.notices
    assert found[True] == found[False]
    if not test:
        rows = found[True][0]
        assert (rows["a"][0], rows["bad"][0], rows["c"][0]) == (True, False, True)
        assert rows["follows"][1]
        assert rows["needs"][0] is True


async def test_a_module_that_marks_nothing_cannot_change_what_an_earlier_member_will_do():
    """It merges all that it sees into the low data that it was called for, and clears the others."""
    fake = FakeHost()
    fake.calls, seen = [], []

    @fake.state("m.go")
    def go(name, items=None):
        fake.calls.append((name, items))
        return row(name)

    @fake.state("m.mod_aggregate")
    def mod_aggregate(low, chunks, running):
        seen.append((low["name"], [chunk["name"] for chunk in chunks]))
        low["items"] = [chunk["name"] for chunk in chunks]
        for chunk in chunks:
            if chunk is not low:
                chunk["items"] = []
        return low

    builder = PlanBuilder().chunk("one", "m.go").chunk("two", "m.go").chunk("three", "m.go")
    await local_engine(builder.group("one", "two", "three").build(), fake, RunOptions(run_id="r")).run()
    assert seen == [("one", ["one", "two", "three"]), ("two", ["two", "three"]), ("three", ["three"])]
    assert fake.calls == [("one", ["one", "two", "three"]), ("two", ["two", "three"]), ("three", ["three"])]
