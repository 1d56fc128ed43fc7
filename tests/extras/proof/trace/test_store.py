"""The table of learned effects in the state directory."""

import os
import stat

import pytest

from asyncstate.errors import ConfigError
from asyncstate.extras.proof.trace import store
from asyncstate.extras.proof.trace.learned import Effects, Record


def record(key="k", **fields):
    return Record(
        **{"function": "cmd.run", "sls": "s", "id": "i", "text": "make", "effects": Effects(), "key": key, **fields}
    )


def test_what_is_saved_is_loaded_and_private(tmp_path):
    folder = str(tmp_path / "a" / "state")
    store.save(folder, [record(inputs={"/s": "1"}), record("odd", effects=Effects(reads=("path:/\udcff",)))])
    store.save(folder, [record("other")])
    assert set(store.load(folder).records) == {"k", "other"}
    assert store.load(folder).records["k"].inputs == {"/s": "1"}
    assert stat.S_IMODE(os.stat(store.path_in(folder)).st_mode) == 0o600
    assert os.listdir(folder) == ["footprints.json"]


def test_without_a_table_nothing_is_known(tmp_path):
    assert store.load(str(tmp_path)).records == {}


@pytest.mark.parametrize("text", [b"", b"[]", b'{"records": {"k": 1}}', b"\xff", b"[" * 100_000, b'{"version": 99}'])
def test_a_bad_table_is_named(tmp_path, text):
    (tmp_path / "footprints.json").write_bytes(text)
    with pytest.raises(ConfigError, match=r"footprints\.json.* Remove it, and run --trace-effects again"):
        store.load(str(tmp_path))


def test_digests_follow_the_content(tmp_path):
    path = tmp_path / "f"
    path.write_text("one")
    one = store.Digests()(str(path))
    path.write_text("two")
    assert store.Digests()(str(path)) not in ("", one)
    path.unlink()
    assert store.Digests()(str(path)) == ""
    path.mkdir()
    assert store.Digests()(str(path)) == ""
    big = tmp_path / "big"
    big.write_bytes(b"x" * (1 << 20) + b"y")
    assert store.Digests()(str(big)).startswith(f"{(1 << 20) + 1}-")
