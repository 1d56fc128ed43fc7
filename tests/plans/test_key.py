import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.errors import PlanError
from asyncstate.plans.inputs import Key, canonical

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=6,
)


def same(left, right):
    """Whether two values are equal and have the same types: to Python, ``1 == True == 1.0``."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        pairs = {(type(key), key): item for key, item in right.items()}
        return len(left) == len(right) and all(
            (type(key), key) in pairs and same(item, pairs[type(key), key]) for key, item in left.items()
        )
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right and str(left) == str(right)


@given(PLAIN, PLAIN)
def test_only_equal_values_look_alike(left, right):
    assert (canonical(left) == canonical(right)) == same(left, right)


def test_the_order_of_keys_does_not_count():
    assert canonical({"a": 1, "b": 2}) == canonical({"b": 2, "a": 1})
    assert canonical({1: 1, 2: 2}) == canonical({2: 2, 1: 1})


def test_a_value_that_contains_itself_has_a_digest():
    loop = {}
    loop["x"] = loop
    assert canonical(loop) == canonical(loop)


def test_the_key_is_private_and_stays(tmp_path):
    folder = tmp_path / "state"
    first = Key.of(str(folder))
    path = folder / "plan.key"
    assert (path.stat().st_mode & 0o777, folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert Key.of(str(folder)).name == first.name
    assert Key.of(str(tmp_path / "other")).name != first.name
    assert os.listdir(folder) == ["plan.key"]


def test_programs_that_make_a_key_at_once_agree(tmp_path):
    together = threading.Barrier(8)

    def make(_number):
        together.wait()
        return Key.of(str(tmp_path / "state")).name

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(make, range(8)))) == 1


@pytest.mark.parametrize(
    ("content", "mode", "said"), [(b"short", 0o600, "no key"), (b"k" * 32, 0o644, "may read the file")]
)
def test_a_bad_key_is_named(tmp_path, content, mode, said):
    (path := tmp_path / "plan.key").write_bytes(content)
    path.chmod(mode)
    with pytest.raises(PlanError, match=said) as error:
        Key.of(str(tmp_path))
    assert str(path) in str(error.value)


def test_a_place_for_the_key_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(PlanError, match=r"plan\.key"):
        Key.of(str(tmp_path / "file"))
