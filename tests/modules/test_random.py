from __future__ import annotations

import random
import string

import pytest
from plugin_harness import PluginHarness


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


def test_numbers(plugins):
    assert 1 <= plugins.call("random.rand_int") <= 10
    assert sorted(plugins.call("random.shuffle", [1, 2, 3])) == [1, 2, 3]


def test_pythons_own_generator_is_left_alone(plugins):
    random.seed(1)
    expected = random.random()
    random.seed(1)
    plugins.call("random.rand_int", seed=7)
    plugins.call("random.seed", 10)
    assert random.random() == expected
