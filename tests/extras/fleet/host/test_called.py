"""The functions that a state calls, as far as its declaration names them."""

import pytest

from asyncstate.extras.fleet.host.called import functions_of
from asyncstate.model.chunk import LowChunk


def called(state="file", fun="managed", name="x", **args):
    return functions_of(LowChunk(0, state, fun, "x", name, "app", "base", 0, args))


@pytest.mark.parametrize(
    ("args", "more"),
    [
        ({}, {}),
        ({"contents": "salt['cmd.run']('id')"}, {}),
        ({"onlyif": "true"}, {"cmd.run": "onlyif"}),
        ({"unless": ["a", "b"]}, {"cmd.run": "unless"}),
        ({"check_cmd": ["visudo -c"]}, {"cmd.run": "check_cmd"}),
        ({"onlyif": [{"fun": "test.true"}, {"fun": "cmd.shell"}]}, {"test.true": "onlyif", "cmd.shell": "onlyif"}),
        ({"onlyif": True, "unless": []}, {}),
        ({"contents": "__slot__:salt:cmd.run(id)"}, {"cmd.run": "a slot"}),
        ({"context": {"a": ["__slot__:salt:file.read(/etc/shadow) ~ x"]}}, {"file.read": "a slot"}),
    ],
)
def test_conditions_and_slots(args, more):
    assert called(**args) == {"file.managed": "", **more}


@pytest.mark.parametrize(
    ("name", "args", "more"),
    [
        (
            "refresh",
            {"pkg.refresh_db": [], "test.echo:2": [{"text": "x"}], "require": []},
            ["pkg.refresh_db", "test.echo"],
        ),
        ("cmd.run", {"cmd": "id"}, ["cmd.run"]),
        ("cmd.run", {"test.ping": [], "cmd": "id"}, ["test.ping", "cmd.run"]),
        ("odd", {}, ["odd"]),
    ],
)
@pytest.mark.parametrize("fun", ["run", "wait", "watch"])
def test_functions_of_module_states(name, args, more, fun):
    assert called("module", fun, name, **args) == {f"module.{fun}": "", **dict.fromkeys(more, f"module.{fun}")}
