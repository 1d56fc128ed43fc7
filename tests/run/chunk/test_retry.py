import pytest

from asyncstate.run.chunk.retry import RetryPolicy


@pytest.mark.parametrize(
    ("value", "expected", "warned"),
    [
        (True, RetryPolicy(), 0),
        (False, RetryPolicy(attempts=0), 0),
        ({"attempts": 5, "interval": 1}, RetryPolicy(attempts=5, interval=1), 0),
        ({"attempts": "5", "until": "yes", "splay": 2}, RetryPolicy(splay=2), 2),
        ("often", RetryPolicy(), 1),
        (None, RetryPolicy(), 1),
    ],
)
def test_parse(value, expected, warned):
    policy, warnings = RetryPolicy.parse(value)
    assert policy == expected
    assert len(warnings) == warned


def test_pause_lies_between_interval_and_interval_plus_splay():
    assert RetryPolicy(interval=3).pause() == 3
    assert all(3 <= RetryPolicy(interval=3, splay=2).pause() <= 5 for _ in range(20))


def test_forecast_is_salts_sentence():
    assert RetryPolicy(attempts=3, interval=1).forecast() == (
        "The state would be retried every 1 seconds (with a splay of up to 0 seconds) a maximum of 3 times "
        "or until a result of True is returned"
    )
