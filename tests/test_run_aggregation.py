import pytest
from fake_host import FakeHost, row
from plans import PlanBuilder

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
