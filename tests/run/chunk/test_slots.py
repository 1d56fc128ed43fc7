import pytest

from asyncstate.model.chunk import has_slot
from asyncstate.run.chunk.slots import evaluate, fill_slots, parse_call

SALT = {
    "test.echo": lambda text: text,
    "test.arg": lambda *args, **kwargs: {"args": list(args), "kwargs": kwargs},
}


@pytest.mark.parametrize(
    ("slot", "value"),
    [
        ("__slot__:salt:test.echo(hello)", "hello"),
        ("__slot__:salt:test.echo('a, b')", "a, b"),
        ("__slot__:salt:test.echo(x) ~ /tail", "x/tail"),
        ("__slot__:salt:test.echo(x) ~ ' y '", "x y "),
        ("__slot__:salt:test.arg(1, k=v).kwargs.k", "v"),
        ("__slot__:salt:test.arg(one).args.0", "one"),
        ("__slot__:salt:test.arg(one).nowhere.deep", None),
        ("__slot__:salt:test.arg([1, 2])", {"args": ["[1,2]"], "kwargs": {}}),
    ],
)
def test_evaluate(slot, value):
    assert evaluate(slot, SALT) == value


@pytest.mark.parametrize(
    "slot",
    [
        "__slot__:salt:no.such(x)",
        "__slot__:grains:os",
        "__slot__:salt",
        "__slot__:salt:test.echo",
        "__slot__:salt:test.echo('x",
    ],
)
def test_malformed_slots_stay_text(slot, caplog):
    assert evaluate(slot, SALT) == slot
    assert "malformed slot" in caplog.text


def test_slots_are_filled_one_level_deep():
    slot = "__slot__:salt:test.echo(v)"
    args, kwargs = fill_slots([slot, "plain"], {"d": {"a": slot, "b": {"c": slot}}, "l": [slot, {"k": slot}, 3]}, SALT)
    assert args == ["v", "plain"]
    assert kwargs == {"d": {"a": "v", "b": {"c": slot}}, "l": ["v", {"k": "v"}, 3]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [("__slot__:x", True), ({"a": "__slot__:x"}, True), ([{"a": "__slot__:x"}], True), (["a", 1], False), (5, False)],
)
def test_has_slot(value, expected):
    assert has_slot([value]) is expected


@pytest.mark.parametrize("text", ["m.f", "(a)", "m.f(a", "m.f(a]", "m.f([a)", "m.f(']"])
def test_what_is_no_call(text):
    assert parse_call(text) is None
