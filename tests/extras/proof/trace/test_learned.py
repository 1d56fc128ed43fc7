"""Records of learned effects: their names, their keys, and their validity."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from asyncstate.effects.observed import key_of_work
from asyncstate.extras.proof.trace.learned import (
    MOST_NAMES,
    MOST_RECORDS,
    Effects,
    LearnedEffects,
    Record,
    Table,
)
from asyncstate.extras.proof.trace.touched import ABSENT, ENSURED, LISTED, LOOKED, MADE, NAMED, REMOVED, WRITTEN
from asyncstate.model.chunk import LowChunk


def chunk(name="make", **args):
    return LowChunk(0, "cmd", "run", "i", name, "s", "base", 10000, args)


def record(**fields):
    key = fields.pop("key", key_of_work(chunk()))
    effects = Effects(reads=("path:/r",), writes=("path:/w",))
    return Record(
        **{
            "function": "cmd.run",
            "sls": "s",
            "id": "i",
            "text": "make",
            "effects": effects,
            "whole": True,
            "key": key,
            **fields,
        }
    )


def test_flags_become_names():
    touched = {
        "/read": LOOKED,
        "/missing": ABSENT,
        "/written": WRITTEN | LOOKED,
        "/made": MADE | WRITTEN,
        "/removed": REMOVED,
        "/folder": MADE | ENSURED,
        "/there": ENSURED | LOOKED,
        "/listed": LISTED | LOOKED,
        "/maybe": WRITTEN | NAMED,
        "/srv/#odd#/x": LOOKED,
    }
    effects = Effects.of(touched)
    assert effects.reads == ("path:/listed/**", "path:/missing", "path:/read", "path:/srv/**")
    assert effects.writes == ("path:/made", "path:/maybe", "path:/removed", "path:/written")
    assert effects.makes == ("path:/folder", "path:/there")


def test_many_names_become_trees():
    effects = Effects.of({f"/srv/app/{n % 10}/{n}": WRITTEN for n in range(MOST_NAMES * 3)} | {"/etc/x": WRITTEN})
    assert effects.writes == ("path:/etc/x", *sorted(f"path:/srv/app/{n}/**" for n in range(10)))
    assert Effects.of({f"/{n}": WRITTEN for n in range(MOST_NAMES + 1)}) is None


def covers(name, path):
    return name == f"path:{path}" or (name.endswith("/**") and f"path:{path}/".startswith(name.removesuffix("**")))


@given(
    st.sets(
        st.lists(st.sampled_from("abcdefgh"), min_size=3, max_size=6).map(lambda parts: "/" + "/".join(parts)),
        max_size=900,
    )
)
def test_no_name_is_lost(paths):
    effects = Effects.of(dict.fromkeys(paths, WRITTEN))
    if effects is not None:
        assert len(effects.writes) <= MOST_NAMES
        assert all(any(covers(name, path) for name in effects.writes) for path in paths)


def test_the_key_is_what_a_state_does_not_when():
    assert key_of_work(chunk()) == key_of_work(chunk(require=[{"cmd": "x"}], order=1, lane="x", watch_in=[]))
    assert key_of_work(chunk()) != key_of_work(chunk(cwd="/srv"))
    assert key_of_work(chunk()) != key_of_work(chunk("make install"))
    assert key_of_work(chunk(env={"\ud800": object})) == key_of_work(chunk(env={"\ud800": object}))


def test_runs_add_up_while_the_inputs_are_the_same():
    first = record(inputs={"/s": "1"}, effects=Effects(reads=("path:/a", "path:/b")), whole=False)
    second = record(inputs={"/s": "1"}, effects=Effects(writes=("path:/a",)))
    both = second.after(first)
    assert (both.effects, both.whole, both.runs) == (Effects(reads=("path:/b",), writes=("path:/a",)), True, 2)
    assert replace(second, inputs={"/s": "2"}).after(first).runs == 1


def test_a_table_drops_the_oldest():
    table = Table()
    table.add(record(key=str(n), seen=float(n)) for n in range(MOST_RECORDS + 5))
    assert len(table.records) == MOST_RECORDS
    assert "4" not in table.records
    assert "5" in table.records


def test_a_record_holds_while_text_and_inputs_are_unchanged():
    now = {"/s": "1"}
    table = Table(records={key_of_work(chunk()): record(inputs={"/s": "1"})})
    learned = LearnedEffects(table, lambda path: now.get(path, ""))
    assert learned.of(key_of_work(chunk(require=[{"cmd": "x"}]))) is not None
    assert learned.of(key_of_work(chunk("other"))) is None
    now["/s"] = "2"
    assert learned.of(key_of_work(chunk())) is None
    now.clear()
    assert learned.of(key_of_work(chunk())) is None


def test_a_state_that_was_not_seen_at_its_work_is_not_known():
    table = Table(records={key_of_work(chunk()): record(whole=False)})
    assert LearnedEffects(table, str).of(key_of_work(chunk())) is None
