import pytest
from fake_host import FakeHost

from asyncstate.dunders import current
from asyncstate.errors import CommandExecutionError
from asyncstate.run.conditions import check_commands, check_conditions


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
        ({"creates": ["/", "/tmp"]}, "All files in creates exist"),
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
    assert row["warnings"] == [f"{key}: the command could not be started: none"]


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
        ("0", True, "check_cmd determined the state succeeded"),
        (["0", "0"], True, "check_cmd determined the state succeeded"),
        (["0", "1"], False, "check_cmd determined the state failed"),
        ([], False, None),
    ],
)
def test_check_cmd(salt, commands, result, comment):
    verdict = check_commands(low(check_cmd=commands), salt[0])
    assert verdict["result"] is result
    assert verdict.get("comment") == comment


@pytest.mark.parametrize(("given", "shown"), [(None, "nothing"), (5, "5"), (True, "True")])
def test_a_check_cmd_that_is_no_command(salt, given, shown):
    with pytest.raises(CommandExecutionError, match=f"expected a command or a list of commands, got {shown}"):
        check_commands(low(check_cmd=given), salt[0])
    assert salt[1] == []
