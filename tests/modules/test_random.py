from __future__ import annotations

import hashlib
import random
import string

import pytest
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError, InvocationError


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "random")
    harness.load("modules", "cmd")
    return harness


@pytest.mark.parametrize(
    ("options", "alphabet"),
    [
        ({}, string.ascii_letters + string.digits + string.punctuation),
        ({"punctuation": False}, string.ascii_letters + string.digits),
        ({"lowercase": False, "uppercase": False, "punctuation": False}, string.digits),
        ({"chars": "ab"}, "ab"),
        ({"printable": True}, string.printable),
    ],
)
def test_get_str(plugins, options, alphabet):
    made = plugins.call("random.get_str", 200, **options)
    assert len(made) == 200
    assert set(made) <= set(alphabet)
    assert made != plugins.call("random.get_str", 200, **options)


def test_get_str_needs_characters(plugins):
    with pytest.raises(CommandExecutionError):
        plugins.call("random.get_str", lowercase=False, uppercase=False, digits=False, punctuation=False)


def test_hash(plugins):
    assert plugins.call("random.hash", "x") == hashlib.sha512(b"x").hexdigest()
    assert plugins.call("random.hash", "x", "md5") == hashlib.md5(b"x").hexdigest()
    with pytest.raises(InvocationError):
        plugins.call("random.hash", "x", "nonsense")


def test_str_encode(plugins):
    assert plugins.call("random.str_encode", "x") == "eA=="
    assert plugins.call("random.str_encode", "é", "latin-1") == b"\xe9"
    with pytest.raises(InvocationError):
        plugins.call("random.str_encode", "x", "nonsense")
    with pytest.raises(InvocationError):
        plugins.call("random.str_encode", b"x", "latin-1")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("saltsalt", "pw", "sha512"), "$6$saltsalt$"),
        (("saltsalt", "pw", "sha256"), "$5$saltsalt$"),
        (("saltsalt", "pw", "md5"), "$1$saltsalt$"),
        (("saltsalt",), "$6$saltsalt$"),
    ],
)
def test_shadow_hash(plugins, arguments, expected):
    assert plugins.call("random.shadow_hash", *arguments).startswith(expected)


def test_shadow_hash_is_that_of_the_password(plugins):
    first, again, other = (plugins.call("random.shadow_hash", "saltsalt", word) for word in ("a\\nb", "a\\nb", "c"))
    assert first == again != other


def test_shadow_hash_bad_algorithm(plugins):
    with pytest.raises(InvocationError, match="Cannot hash using 'rot13'"):
        plugins.call("random.shadow_hash", password="x", algorithm="rot13")


def test_numbers(plugins):
    assert 1 <= plugins.call("random.rand_int") <= 10
    assert plugins.call("random.rand_int", 1, 1000, seed=3) == plugins.call("random.rand_int", 1, 1000, seed=3)
    assert plugins.call("random.seed", 100) == plugins.call("random.seed", 100, hash="minion")
    assert plugins.call("random.sample", [1, 2, 3], 2, seed="s") == plugins.call(
        "random.sample", [1, 2, 3], 2, seed="s"
    )
    assert sorted(plugins.call("random.shuffle", [1, 2, 3])) == [1, 2, 3]


def test_pythons_own_generator_is_left_alone(plugins):
    random.seed(1)
    expected = random.random()
    random.seed(1)
    plugins.call("random.rand_int", seed=7)
    plugins.call("random.seed", 10)
    assert random.random() == expected
