import pytest
from record_answers import recorded

from asyncstate.run.chunk.retry import RetryPolicy


@pytest.mark.parametrize(
    ("value", "expected", "warned"),
    [
        (True, RetryPolicy(), 0),
        (False, RetryPolicy(attempts=0), 0),
        ({"attempts": 5, "interval": 1}, RetryPolicy(attempts=5, interval=1), 0),
        ({"attempts": "5", "until": "yes", "splay": 2}, RetryPolicy(splay=2), 2),
        *(
            ({key: number}, RetryPolicy(), 1)
            for key in ("interval", "splay")
            for number in (-1, 10**10, -(10**400), 10**400)
        ),
        ({"attempts": 10**400, "interval": 10**9, "splay": 10**9}, RetryPolicy(True, 10**400, 10**9, 10**9), 0),
        ({"attempts": -5}, RetryPolicy(attempts=-5), 0),
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
    [comment] = [comment for text, comment in recorded("row").items() if "retry" in text]
    assert comment.endswith(f"  {RetryPolicy(attempts=3, interval=1).forecast()}")
