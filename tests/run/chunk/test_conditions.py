import errno
import os

import pytest
from fake_host import FakeHost
from messages import said as said_of
from odd_values import RaisingTruth

from asyncstate import Settings, StateRuntime
from asyncstate.dunders.context import current
from asyncstate.errors import CommandExecutionError
from asyncstate.run.chunk.conditions import WrongCondition, check_commands, check_conditions


@pytest.fixture
def salt():
    """Commands "0", "1", … return that code; "none" cannot be started."""
    host = FakeHost()
    calls = []

    def retcode(command, **options):
        calls.append((command, options))
        if command == "none":
            raise CommandExecutionError("cannot start")
        return int(command)

    def leaves_code(value):
        current.get().retcode = value
        return "text"

    host.salt.update(
        {"cmd.retcode": retcode, "t.yes": lambda *a, **k: {"a": {"b": True}}, "t.no": lambda: 0, "t.code": leaves_code}
    )
    host.salt_calls = calls
    token = current.set(host.context())
    yield host.salt, calls
    current.reset(token)


def low(**args):
    return {"name": "n", "state": "test", "fun": "nop", "__id__": "i", **args}


SKIP_ONLYIF = "onlyif condition is false"
SKIP_UNLESS = "unless condition is true"


@pytest.mark.parametrize(
    ("args", "comment"),
    [
        ({"onlyif": "0"}, None),
        ({"onlyif": "1"}, SKIP_ONLYIF),
        ({"onlyif": ["0", "0"]}, None),
        ({"onlyif": ["0", "3"]}, SKIP_ONLYIF),
        ({"onlyif": [True]}, None),
        ({"onlyif": [{"fun": "t.yes"}]}, None),
        ({"onlyif": [{"fun": "t.yes", "get_return": "a:b"}]}, None),
        ({"onlyif": [{"fun": "t.yes", "get_return": "a:c"}]}, SKIP_ONLYIF),
        ({"onlyif": [{"fun": "t.no"}]}, SKIP_ONLYIF),
        ({"onlyif": [{"fun": "t.code", "args": [2]}]}, SKIP_ONLYIF),
        ({"onlyif": [{"name": "no function"}]}, None),
        ({"unless": "0"}, SKIP_UNLESS),
        ({"unless": "1"}, None),
        ({"unless": ["0", "1"]}, None),
        ({"unless": ["0", "0"]}, SKIP_UNLESS),
        ({"unless": [{"fun": "t.yes"}]}, SKIP_UNLESS),
        ({"unless": [{"fun": "t.no"}]}, None),
        ({"unless": [{"fun": "t.code", "args": [2]}]}, None),
        ({"unless": [True]}, None),
        ({"unless": [{"name": "no function"}]}, None),
        ({"onlyif": "1", "unless": "0", "creates": "/"}, f"{SKIP_ONLYIF}\n{SKIP_UNLESS}\n/ exists"),
        ({"onlyif": "0", "unless": "0"}, f"onlyif condition is true\n{SKIP_UNLESS}"),
        ({"creates": ["/", "/tmp"]}, said_of("creates-exist")),
        ({"creates": ["/", "/no/such"]}, None),
    ],
)
def test_conditions(salt, args, comment):
    before = {key: list(value) if isinstance(value, list) else value for key, value in args.items()}
    row = check_conditions(low(**args), salt[0])
    if comment is None:
        assert row is None
    else:
        assert (row["result"], row["skip_watch"], row["comment"]) == (True, True, comment)
    assert args == before, "low data stays as it is"


@pytest.mark.parametrize("key", ["onlyif", "unless"])
def test_a_command_that_cannot_start_skips_with_a_warning(salt, key):
    row = check_conditions(low(**{key: "none"}), salt[0])
    assert row["result"] is True
    assert row["warnings"] == [said_of("command-not-started", key=key, command="none")]


@pytest.mark.parametrize("key", ["onlyif", "unless"])
@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE])
def test_a_machine_without_room_for_the_command_is_no_answer(salt, key, number):
    def retcode(_command, **_options):
        raise CommandExecutionError("Unable to run command") from OSError(number, os.strerror(number))

    salt[0]["cmd.retcode"] = retcode
    with pytest.raises(
        WrongCondition, match=f"^{said_of('command-not-started', key=key, command='id')}: .*{os.strerror(number)}"
    ):
        check_conditions(low(**{key: "id"}), salt[0])


@pytest.mark.parametrize("key", ["onlyif", "unless"])
def test_an_empty_list_is_an_error(salt, key):
    with pytest.raises(CommandExecutionError, match="empty"):
        check_conditions(low(**{key: []}), salt[0])


def test_conditions_use_the_options_of_the_state(salt):
    functions, calls = salt
    check_conditions(low(onlyif="0", cwd="/tmp", env={"A": "1"}, cmd_opts_exclude=["env"]), functions)
    options = calls[0][1]
    assert options["cwd"] == "/tmp"
    assert "env" not in options
    assert options["python_shell"] is True


@pytest.mark.parametrize(
    ("commands", "result", "comment"),
    [
        ("0", True, said_of("check-succeeded")),
        (["0", "0"], True, said_of("check-succeeded")),
        (["0", "1"], False, said_of("check-failed")),
        ([], False, None),
    ],
)
def test_check_cmd(salt, commands, result, comment):
    verdict = check_commands(low(check_cmd=commands), salt[0])
    assert verdict["result"] is result
    assert verdict.get("comment") == comment


@pytest.mark.parametrize(("given", "shown"), [(None, "nothing"), (5, "5"), (True, "True")])
def test_a_check_cmd_that_is_no_command(salt, given, shown):
    with pytest.raises(CommandExecutionError, match=said_of("check-no-command", what=shown)):
        check_commands(low(check_cmd=given), salt[0])
    assert salt[1] == []


VALUES = {
    "nothing": None, "true": True, "false": False, "a number": 5, "a fraction": 1.5, "a text": "true", "no text": "",
    "no list": [], "a list of a number": [5], "a list of nothing": [None], "a mapping": {}, "a list of a mapping": [{}],
    "a list of lists": [["true"]], "a function": {"fun": "test.true"}, "functions": [{"fun": "test.true"}],
    "a function that is a number": [{"fun": 5}], "a function that is nothing": {"fun": None},
    "a function that is a list": {"fun": ["a"]}, "a function that is not there": [{"fun": "no.such"}],
    "arguments that are a number": [{"fun": "test.echo", "args": 5}],
    "arguments that are a mapping": [{"fun": "test.echo", "args": {"a": 1}}],
    "too many arguments": [{"fun": "test.echo", "args": [1, 2, 3]}], "too few": [{"fun": "test.echo"}],
    "a keyword that is a number": [{"fun": "test.true", 5: 6}], "a path of a value": [{"fun": "test.true", "get_return": 5}],
    "bytes": b"\xff", "a NUL": "a\0b", "a list of a NUL": ["a\0b"], "a lone surrogate": "a\udcff",
    "keys that are numbers": {1: 2}, "an object": object(),
}  # fmt: skip
CONDITIONS = ("onlyif", "unless", "creates", "check_cmd")
OPTIONS = ("runas", "cwd", "env", "shell", "prepend_path", "success_retcodes", "umask", "root", "cmd_opts_exclude")

PROBE = """
def here(name, **kwargs):
    return {"name": name, "result": True, "changes": {"did": "it"}, "comment": "done"}
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    base = tmp_path_factory.mktemp("conditions")
    (base / "salt" / "_states").mkdir(parents=True)
    (base / "salt" / "_states" / "probe.py").write_text(PROBE)
    return base


@pytest.mark.parametrize(
    ("key", "function"),
    [*((key, "test.nop") for key in (*CONDITIONS, *OPTIONS)), *((key, "probe.here") for key in CONDITIONS)],
)
async def test_a_condition_of_any_type_is_answered_in_words(tree, key, function):
    roots = {"base": [str(tree / "salt")]}
    settings = Settings(file_roots=roots, cachedir=str(tree / "cache"), state_dir=str(tree / "state"))
    async with StateRuntime(settings) as runtime:
        for name, value in VALUES.items():
            asked = {key: value} if key in CONDITIONS else {key: value, "unless": "false"}
            report = await runtime.single(function, {"name": "x", **asked})
            (row,) = report.rows.values()
            assert "Traceback" not in row["comment"], (name, row["comment"])
            assert row["result"] in (True, False)
            if key == "check_cmd" and function == "probe.here":
                assert row["changes"] == {"did": "it"}, name


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"onlyif": [{"fun": 5}]}, said_of("condition-function-no-name", key="onlyif", what=5)),
        ({"unless": [{"fun": "no.such"}]}, "unless: 'no.such' is not available."),
        (
            {"onlyif": [{"fun": "t.yes", "args": 5}]},
            said_of("condition-arguments-no-list", key="onlyif", function="t.yes", what=5),
        ),
        ({"onlyif": [{"fun": "t.no", "args": [1]}]}, "onlyif: t.no: too many positional arguments"),
        ({"onlyif": [{"fun": "t.yes", 5: 6}]}, "onlyif: t.yes: "),
        ({"creates": ["/a", None]}, said_of("creates-no-path", what=None)),
        ({"onlyif": []}, said_of("conditions-empty", key="onlyif")),
    ],
)
def test_what_is_wrong_with_a_condition(salt, args, said):
    with pytest.raises(WrongCondition) as caught:
        check_conditions(low(**args), salt[0])
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("kind", ["onlyif", "unless"])
def test_a_value_without_truth_is_told_in_words(salt, kind):
    functions, _ = salt
    functions["t.odd"] = RaisingTruth
    with pytest.raises(
        WrongCondition, match=said_of("condition-without-truth", key=kind, function="t.odd", error="Boom: bool")
    ):
        check_conditions(low(**{kind: [{"fun": "t.odd"}]}), functions)
