"""States of Salt in a run: everything that a bundled state can do."""

from __future__ import annotations

import textwrap

import pytest

from asyncstate import Settings, StateRuntime

STATE = """
import os, time

def mod_init(low):
    __context__["initialised"] = __context__.get("initialised", 0) + 1
    return True

def present(name, changes=False, file=None, **kwargs):
    ret = {"name": name, "changes": {}, "result": True, "comment": "there"}
    if changes:
        ret["changes"] = {"new": name}
        ret["result"] = None if __opts__["test"] else True
        if not __opts__["test"] and file:
            with open(file, "a") as out: out.write(name)
    if name == "initialised": ret["comment"] = str(__context__["initialised"])
    return ret

def mod_watch(name, sfun=None, __reqs__=None, **kwargs):
    return {"name": name, "changes": {"watched": sfun}, "result": True, "comment": ""}

def fails(name, until):
    with open(until, "a") as out: out.write(".")
    done = os.path.getsize(until) >= 3
    return {"name": name, "changes": {}, "result": done, "comment": f"{__pillar__['password']}"}

def dies(name): os._exit(3)
def hangs(name): time.sleep(1000)
def raises(name): raise KeyError(__pillar__["password"])
def malformed(name): return ["no row"]
"""


@pytest.fixture
def runtime(salt, tmp_path):
    salt.state("theirs", STATE)
    (tmp_path / "tree").mkdir()

    def make(sls, **options):
        (tmp_path / "tree" / "a.sls").write_text(textwrap.dedent(sls))
        roots = {"base": [str(tmp_path / "tree")]}
        cache = str(tmp_path / "cache")
        return StateRuntime(Settings(file_roots=roots, cachedir=cache, salt_python=str(salt.python), **options))

    return make


async def apply(runtime, **options):
    async with runtime:
        return {row["__id__"]: row for row in (await runtime.apply(["a"], **options)).rows.values()}


async def test_rows_changes_watch_init_and_conditions(runtime, tmp_path):
    rows = await apply(
        runtime(f"""
        changed:
          theirs.present: [{{changes: True}}, {{file: {tmp_path}/out}}]
        watching:
          theirs.present: [{{watch: [theirs: changed]}}]
        skipped:
          theirs.present: [{{unless: "true"}}, {{changes: True}}]
        initialised:
          theirs.present: []
        unknown:
          theirs.nothing: []
        """)
    )
    assert (tmp_path / "out").read_text() == "changed"
    assert rows["changed"]["changes"] == {"new": "changed"}
    assert rows["watching"]["changes"] == {"watched": "present"}
    assert rows["skipped"]["changes"] == {}
    assert rows["initialised"]["comment"] == "1"
    assert rows[None]["result"] is False


async def test_a_dry_run_changes_nothing(runtime, tmp_path):
    sls = f"changed:\n  theirs.present: [{{changes: True}}, {{file: {tmp_path}/out}}]\n"
    rows = await apply(runtime(sls), test=True)
    assert rows["changed"]["result"] is None
    assert not (tmp_path / "out").exists()


async def test_retry_and_secrets(runtime, tmp_path):
    rows = await apply(
        runtime(
            f"""
            again:
              theirs.fails: [{{until: {tmp_path}/dots}}, {{retry: {{attempts: 5, interval: 0}}}}]
            secret:
              theirs.raises: [no_log: True]
            """,
            pillar={"password": "hunter2hunter2"},
        )
    )
    assert rows["again"]["result"] is True
    assert "Attempt 2" in rows["again"]["comment"]
    assert rows["secret"]["result"] is False
    assert "hunter2" not in str(rows["secret"])


async def test_a_crash_a_hang_and_a_malformed_row_are_one_failed_row_each(runtime):
    rows = await apply(
        runtime("""
        dead:
          theirs.dies: []
        hung:
          theirs.hangs: [timeout: 1]
        odd:
          theirs.malformed: []
        after:
          theirs.present: []
        """)
    )
    assert {id_: row["result"] for id_, row in rows.items()} == {
        "dead": False,
        "hung": False,
        "odd": False,
        "after": True,
    }
    assert "theirs.dies of Salt did not return" in rows["dead"]["comment"]
    assert "status 3" in rows["dead"]["comment"]
    assert "did not end within 1 seconds" in rows["hung"]["comment"]


async def test_states_of_one_module_take_turns(runtime, salt):
    salt.state(
        "turns",
        """
        import os, time
        def take(name, file):
            os.mkdir(file)
            time.sleep(0.05)
            os.rmdir(file)
            return {"name": name, "changes": {}, "result": True, "comment": ""}
        """,
    )
    states = "\n".join(f"s{number}:\n  turns.take: [file: {salt.root}/turn]" for number in range(6))
    rows = await apply(runtime(states), concurrency=6)
    assert all(row["result"] for row in rows.values())


async def test_templates_borrow_too(runtime, salt):
    salt.module("theirs", "def name(): return 'from_salt'\n")
    rows = await apply(runtime("{{ salt['theirs.name']() }}:\n  test.nop: []\n"))
    assert list(rows) == ["from_salt"]


async def test_the_borrowed_module_aggregates(runtime, salt):
    salt.state(
        "many",
        """
        def present(name, names=(), **kwargs):
            return {"name": name, "changes": {"did": list(names)} if names else {}, "result": True, "comment": ""}
        def mod_aggregate(low, chunks, running):
            mine = [chunk for chunk in chunks if chunk["state"] == "many" and not chunk.get("__agg__")]
            for chunk in mine: chunk["__agg__"] = True
            low["names"] = [low["name"], *(chunk["name"] for chunk in mine)]
            assert any(chunk is low for chunk in chunks)
            return low
        """,
    )
    rows = await apply(runtime("a:\n  many.present: []\nb:\n  many.present: []\n", state_aggregate=True))
    assert rows["a"]["changes"] == {"did": ["a", "b"]}
