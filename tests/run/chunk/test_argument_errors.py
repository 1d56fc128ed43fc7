"""Error messages of bundled states with wrong arguments: which argument, and the expected value; never a traceback."""

# ruff: noqa: F722, F821 - annotations as texts, as bundled modules have them
import asyncio

import pytest
from messages import said as said_of

from asyncstate import Settings, StateRuntime
from asyncstate.errors import FunctionNotFound, InvocationError
from asyncstate.run.chunk.argument_errors import cause_in_words, is_argument_error, wrong_arguments


def takes(  # noqa: PLR0917
    text: "str",
    maybe: "str | None" = None,
    number: "int | float" = 0,
    names: "str | list[str] | None" = None,
    table: "dict[str, Any] | None" = None,
    strict: "Mapping[str, str]" = {},  # noqa: B006
    pair: "tuple[str, ...]" = (),
    call: "Callable[..., Any] | None" = None,
    anything: "Any" = None,
    odd: "Literal['a']" = None,
    late: "str | Later" = None,
    plain: str = "",
    unsaid=None,
    nothing: "None" = None,
    broken: "a b" = None,
):
    """Take arguments of every kind."""


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"text": "x", "maybe": None, "number": 1.5, "names": ["a"], "table": {"a": [1]}, "pair": ["a"]}, ""),
        ({"anything": [1], "odd": 1, "late": 1, "unsaid": {}, "broken": 1, "other": 1, "call": takes}, ""),
        ({"text": 5}, "'text' must be a text, not a number"),
        ({"text": None}, "'text' must be a text, not nothing"),
        ({"plain": True}, "'plain' must be a text, not true or false"),
        ({"maybe": [1]}, "'maybe' must be a text, not a list with a number in it"),
        ({"number": True}, "'number' must be a whole number or a number, not true or false"),
        ({"names": 5}, "'names' must be a text or a list of texts, not a number"),
        ({"names": [None]}, "'names' must be a text or a list of texts, not a list with nothing in it"),
        ({"table": ["x"]}, "'table' must be a mapping, not a list"),
        ({"strict": {"a": 1}}, "'strict' must be a mapping of texts, not a mapping with a number in it"),
        ({"pair": [5]}, "'pair' must be a list of texts, not a list with a number in it"),
        ({"call": "x"}, "'call' must be a Python function, not a text"),
        ({"nothing": 1}, "'nothing' must be left out, not a number"),
        ({"text": takes}, "'text' must be a text, not a function"),
        ({"text": "a\0b"}, said_of("has-a-nul", name="text")),
        ({"anything": [{"a": "b\0"}]}, said_of("has-a-nul", name="anything")),
        ({"text": 5, "maybe": 6}, "'text' must be a text, not a number; 'maybe' must be a text, not a number"),
    ],
)
def test_arguments_that_are_not_what_the_signature_says(given, told):
    assert wrong_arguments(takes, given) == told


def test_values_are_not_shown():
    assert "hunter2" not in wrong_arguments(takes, {"text": ["hunter2"], "table": "hunter2", "names": [["hunter2"]]})


@pytest.mark.parametrize(
    ("error", "trips"),
    [(TypeError(), True), (AttributeError(), True), (UnicodeError(), True), (KeyError(), False), (OSError(), False)],
)
def test_what_code_raises_that_trips(error, trips):
    assert is_argument_error(error) is trips


def test_what_we_say_ourselves_is_no_trip():
    assert is_argument_error(InvocationError("expected a text")) is False


def missing_module():
    """What a state meets where the execution module it relies on did not load."""
    error = KeyError("cron.list_tab")
    error.__cause__ = FunctionNotFound("cron.list_tab", "no crontab here")
    return error


@pytest.fixture
def row(tmp_path):
    """The row of the last state of a tree in a dry run."""

    def run(state, custom="", before=""):
        (tmp_path / "_states").mkdir()
        (tmp_path / "_states" / "own.py").write_text(custom)
        (tmp_path / "x.sls").write_text(f"{before}\nx: {{{state}}}\n")
        roots = {"base": [str(tmp_path)]}
        settings = Settings(file_roots=roots, cachedir=str(tmp_path / "c"), state_dir=str(tmp_path / "s"))

        async def apply():
            async with StateRuntime(settings) as runtime:
                return await runtime.apply(["x"], test=True)

        *_, found = asyncio.run(apply()).rows.values()
        return found

    return run


@pytest.mark.feature("B2")
def test_a_bundled_state_names_the_argument_it_tripped_over(row):
    found = row("host.only: [{name: 192.0.2.1}, {hostnames: [null]}]")
    assert found["result"] is False
    assert found["comment"] == "'hostnames' must be a text or a list of texts, not a list with nothing in it"


@pytest.mark.feature("B2")
@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("x509.private_key_managed: [{name: /x}, {user: [a]}]", "'user' must be a text or a whole number, not a list"),
        ("http.query: [{name: 'http://x'}, {status: 1}, {test_url: 5}]", "'test_url' must be a text, not a number"),
        ("cmd.run: [{name: a}, {env: [[x]]}]", "env must be a mapping of variables, or a list of such mappings"),
        ("file.replace: [{name: /etc/hostname}, {pattern: a}, {repl: b}, {count: 100000000000000000000}]", f"'count' {said_of('number-too-large')}"),
        ("file.replace: [{name: /etc/hostname}, {pattern: a}, {repl: b}, {count: 1.0e+20}]", f"'count' {said_of('number-too-large')}"),
        ("file.mknod: [{name: /x}, {ntype: c}, {major: -5}]", "'major' must be a number from 0 to 4095, not -5"),
        ("file.mknod: [{name: /x}, {ntype: b}, {minor: 1048576}]", "'minor' must be a number from 0 to 1048575, not 1048576"),
    ],
)  # fmt: skip
def test_arguments_that_a_state_passes_on_and_numbers_are_named(row, state, said):
    assert row(state)["comment"] == said


@pytest.mark.feature("B2")
def test_authors_of_states_get_their_traceback(row):
    custom = "def broken(name, text: str):\n    return text.strip()\n"
    comment = row("own.broken: [{text: 5}]", custom)["comment"]
    assert comment.startswith(said_of("exception", text="Traceback"))
    assert comment.endswith("AttributeError: 'int' object has no attribute 'strip'\n")


@pytest.mark.feature("B2")
def test_what_goes_wrong_with_good_arguments_is_no_matter_of_theirs(row):
    call = "file.replace: [{name: /etc/hostname}, {pattern: a}, {repl: b}, {flags: LOCALE}, {encoding: utf-8}]"
    assert row(call)["comment"] == "Invalid regular expression 'a': cannot use LOCALE flag with a str pattern"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (FileNotFoundError(2, "No such file or directory", "/x"), "/x: No such file or directory"),
        (OSError("no disk"), "no disk"),
        (InvocationError("expected a text"), "expected a text"),
        (ValueError("bad"), "bad"),
        (KeyError("a"), ""),
        (missing_module(), "cron.list_tab is needed for that. no crontab here"),
        (TypeError("a"), ""),
    ],
)
def test_what_went_wrong_outside_is_told_in_words_and_a_mistake_of_ours_is_not(error, said):
    assert cause_in_words(error) == said


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("file.replace: [{name: NEW}, {repl: b}]", "Missing parameter pattern"),
        ("file.replace: [{name: NEW}, {pattern: a}, {rpl: b}]", "Missing parameter repl"),
        ("file.absent: [{name: NEW}, {umask: 9}]", "Invalid umask: 9"),
        ("file.replace: [{name: OLD}, {pattern: a}, {repl: b}, {count: x}]", "'count' of"),
    ],
)
def test_arguments_that_no_run_takes_fail_whatever_is_to_come_before(row, tmp_path, state, said):
    old, new = tmp_path / "old", tmp_path / "new"
    old.touch()
    before = f"a:\n  file.managed: [{{names: [{old}, {new}]}}, {{contents: x}}, {{require_in: [x]}}]"
    found = row(state.replace("NEW", str(new)).replace("OLD", str(old)), before=before)
    assert found["result"] is False
    assert said in found["comment"]


def test_a_row_does_not_depend_on_another_state_that_has_modules_loaded_again(tmp_path):
    began, reset = tmp_path / "began", tmp_path / "reset"
    helpers = (
        "import time\nfrom pathlib import Path\n"
        "def until(path):\n    end = time.monotonic() + 30\n"
        "    while not Path(path).exists() and time.monotonic() < end:\n        time.sleep(0.01)\n"
    )
    for kind in ("_modules", "_states"):
        (tmp_path / kind).mkdir()
    (tmp_path / "_modules" / "cron.py").write_text(
        f"{helpers}def list_tab(user):\n    Path({str(began)!r}).touch()\n    until({str(reset)!r})\n"
        "    raise ValueError('no such table')\n"
    )
    (tmp_path / "_states" / "own.py").write_text(
        f"{helpers}def again(name):\n    until({str(began)!r})\n"
        "    return {'name': name, 'result': True, 'changes': {'a': 'b'}, 'comment': ''}\n"
        f"def told(name):\n    Path({str(reset)!r}).touch()\n"
        "    return {'name': name, 'result': True, 'changes': {}, 'comment': ''}\n"
    )
    (tmp_path / "x.sls").write_text(
        "job: {cron.present: [{name: echo}, {parallel: true}]}\n"
        "again: {own.again: [{reload_modules: true}]}\n"
        "told: {own.told: [{require: [own: again]}]}\n"
    )
    roots = {"base": [str(tmp_path)]}
    settings = Settings(file_roots=roots, cachedir=str(tmp_path / "c"), state_dir=str(tmp_path / "s"))

    async def apply():
        async with StateRuntime(settings) as runtime:
            return await runtime.apply(["x"], test=True, concurrency=3)

    rows = asyncio.run(apply()).rows
    found = next(row for tag, row in rows.items() if tag.startswith("cron"))
    assert found["comment"] == "no such table"
