"""High data that a program has as dicts, compiled as an SLS of the tree would be."""

import copy
import json
from collections import OrderedDict
from types import MappingProxyType

import pytest
from odd_values import in_itself

from asyncstate import CompileError, Settings, StateRuntime
from asyncstate.errors import ArgumentError


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "salt").mkdir()
    (tmp_path / "salt" / "base.sls").write_text("packages: test.nop\nmotd:\n  test.succeed_with_changes: []\n")
    return Settings(file_roots={"base": [str(tmp_path / "salt")]}, cachedir=str(tmp_path / "cache"))


@pytest.fixture
async def runtime(settings):
    async with StateRuntime(settings) as runtime:
        yield runtime


def ids(plan):
    return [chunk.id for chunk in plan.chunks]


async def messages(runtime, data, **options):
    with pytest.raises(CompileError) as caught:
        await runtime.compile_data(data, **options)
    return [issue.message for issue in caught.value.issues]


async def test_data_compiles_and_applies_like_an_sls(runtime, tmp_path):
    target = tmp_path / "motd"
    plan = await runtime.compile_data(
        {
            "later": {"test.nop": [{"require": [{"file": "motd"}]}]},
            "motd": {"file.managed": [{"name": str(target)}, {"contents": "hello"}]},
            "short": "test.nop",
        },
        sls="web.motd",
    )
    assert ids(plan) == ["motd", "later", "short"]
    assert {chunk.sls for chunk in plan.chunks} == {"web.motd"}
    async with runtime.run(plan) as run:
        pass
    assert run.report.ok, run.report.rows
    assert target.read_text() == "hello\n"
    assert {row["__sls__"] for row in run.report.rows.values()} == {"web.motd"}


async def test_the_plan_is_that_of_the_same_sls_in_a_file(runtime, tmp_path):
    data = {
        "a": {"test.nop": [{"names": ["x", "y"]}, {"onlyif": "true"}]},
        "b": {"test": ["nop", {"watch_in": [{"test": "a"}]}], "require": [{"sls": "base"}]},
        "include": ["base"],
        "extend": {"motd": {"test": [{"order": 1}]}},
        "exclude": [{"id": "packages"}],
    }
    (tmp_path / "salt" / "site.sls").write_text("#!json\n" + json.dumps(data))
    from_file = await runtime.compile(["site"])
    assert (await runtime.compile_data(data, sls="site")).digest == from_file.digest
    assert ids(from_file) == ["motd", "b", "a", "a"]


async def test_an_sls_of_the_tree_can_be_included_and_one_of_the_same_name_is_not_looked_at(runtime):
    assert ids(await runtime.compile_data({"include": ["base"], "own": "test.nop"})) == ["packages", "motd", "own"]
    assert ids(await runtime.compile_data({"own": "test.nop"}, sls="base")) == ["own"]


async def test_states_can_be_left_out_or_chosen_as_in_compile(runtime):
    data = {"a": {"test.nop": [{"require": [{"test": "b"}]}]}, "b": "test.nop", "c": "test.nop"}
    assert ids(await runtime.compile_data(data, ids=["a"])) == ["b", "a"]
    assert ids(await runtime.compile_data({"include": ["base"], **data}, exclude=["base"])) == ["b", "a", "c"]


async def test_what_is_given_stays_as_it_is_and_may_be_of_any_mapping(runtime):
    data = {"a": {"test.nop": [{"names": ["x"]}], "require": [{"test": "b"}]}, "b": "test.nop", "extend": {}}
    before = copy.deepcopy(data)
    first = await runtime.compile_data(data)
    assert data == before
    frozen = MappingProxyType({"a": OrderedDict({"test.nop": ({"names": ("x",)},), "require": ({"test": "b"},)})})
    assert (await runtime.compile_data({**frozen, "b": "test.nop"})).digest == first.digest


async def test_every_mistake_names_its_id_and_the_sls(runtime):
    found = await messages(runtime, {"a": {"test.nop": "text"}, "b": ["no"], "include": ["nowhere"]}, sls="mine")
    assert any("'a'" in message and "'mine'" in message for message in found)
    assert any("ID b in SLS mine" in message for message in found)
    assert any("nowhere" in message for message in found)
    (cycle, *_) = await messages(
        runtime,
        {"a": {"test.nop": [{"require": [{"test": "b"}]}]}, "b": {"test.nop": [{"require": [{"test": "a"}]}]}},
    )
    assert "ecursive requisite" in cycle


@pytest.mark.parametrize("name", ["", "a*", "a/b", ".a", "a b", "a."])
async def test_an_sls_name_is_one_that_a_requisite_can_name(runtime, name):
    with pytest.raises(CompileError) as caught:
        await runtime.compile_data({"a": "test.nop"}, sls=name)
    assert [(issue.message, issue.code) for issue in caught.value.issues] == [(f"{name!r} cannot name an SLS", "E119")]


async def test_mistakes_are_warned_of_before_the_run(runtime):
    source = [{"name": "/x"}, {"source": "salt://none"}]
    plan = await runtime.compile_data({"a": {"test.nopp": []}, "b": {"file.managed": source}})
    assert [(issue.mistake, issue.rule) for issue in plan.warnings] == [
        (True, "unknown-function"),
        (True, "missing-source"),
    ]


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def doubled(levels):
    value = ["a"]
    for _ in range(levels):
        value = [value, value]
    return value


class Incomparable:
    __hash__ = object.__hash__

    def __eq__(self, other):
        raise TypeError("no such comparison")


BEYOND_LIMITS = {
    "a list in itself": (lambda: in_itself(list), "data that contains itself"),
    "a dict in itself": (lambda: in_itself(dict), "data that contains itself"),
    "deep": (lambda: nested(200), "nested deeper than 100 levels"),
    "deeper than Python's stack": (lambda: nested(50_000), "nested deeper than 100 levels"),
    "a thousand million of one": (lambda: doubled(30), "is repeated too often"),
    "a number that cannot be written": (lambda: 10**5000, "more than 4,300 digits"),
}
UNREADABLE = {"what cannot be compared": (Incomparable, "TypeError: no such comparison")}
PLACES = {
    "argument": lambda value: {"x": {"test.nop": [{"a": value}]}},
    "arguments": lambda value: {"x": {"test.nop": value}},
    "state": lambda value: {"x": value},
    "requisite": lambda value: {"x": {"test.nop": [{"require": value}]}},
    "include": lambda value: {"include": value},
    "extend": lambda value: {"extend": {"x": value}},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", BEYOND_LIMITS | UNREADABLE)
async def test_data_has_the_limits_of_an_sls(runtime, kind, place):
    make, said = (BEYOND_LIMITS | UNREADABLE)[kind]
    [message] = await messages(runtime, PLACES[place](make()))
    assert message.startswith("Rendering SLS 'base:data' failed: ")
    assert said in message


@pytest.mark.parametrize("kind", BEYOND_LIMITS)
async def test_arguments_of_a_single_state_have_the_limits_of_an_sls(runtime, kind):
    make, said = BEYOND_LIMITS[kind]
    with pytest.raises(ArgumentError, match=f"the arguments of test.nop cannot be used: .*{said}"):
        await runtime.single("test.nop", {"name": "x", "a": make()})


async def test_data_may_stand_in_several_places(runtime):
    shared = [{"name": "here"}]
    data = {"a": {"test.nop": shared}, "b": {"test.nop": shared}}
    assert [chunk.name for chunk in (await runtime.compile_data(data)).chunks] == ["here", "here"]


def test_data_needs_no_event_loop_and_no_tree(tmp_path):
    with StateRuntime(Settings(cachedir=str(tmp_path / "cache"))).open_sync() as runtime:
        assert ids(runtime.compile_data_sync({"a": "test.nop"})) == ["a"]


@pytest.mark.parametrize("name", [False, 0, 0.0, None, "", [], {}])
async def test_the_name_of_a_single_state_may_be_false(runtime, name):
    report = await runtime.single("test.nop", {"name": name})
    [(tag, row)] = report.rows.items()
    assert tag == f"test_|-{name}_|-{name}_|-nop"
    assert (row["name"], row["result"]) == (name, True)
