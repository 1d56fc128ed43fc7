"""Values that check calls wrong are those that a run rejects, and no others."""

from __future__ import annotations

import ast
import inspect
import textwrap

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from record_state_rows import CASES
from recorded_states import recorded

from asyncstate.cli import main
from asyncstate.config import Settings
from asyncstate.model.chunk import LowChunk
from asyncstate.reference.entries import entries, example_of
from asyncstate.reference.pages import bundled_modules
from asyncstate.reference.values import _DIGESTS, _KINDS, keywords_of, kinds_of, wrong_values
from asyncstate.runtime import StateRuntime
from modules.file.hashes import HASHES

WRONG = {
    "mode": "rw-r--r--",
    "path": "relative/path",
    "name": "None",
    "source": "salt:/x",
    "hash": "abc",
    "boolean": "perhaps",
    "number": "many",
    "seconds": "5s",
}
"""A wrong value of each kind."""


def functions():
    """Yield (name, function) of every bundled state."""
    for name, providers in bundled_modules("states").items():
        for provider in providers:
            for function, func in provider.functions.items():
                yield f"{name}.{function}", func


FUNCTIONS = dict(functions())
ARGUMENTS = [
    (name, argument, kind) for name, func in FUNCTIONS.items() for argument, kind in kinds_of(name, func).items()
]


def settings_of(root):
    (root / "f").touch()
    kept = {"cachedir": str(root / "cache"), "state_dir": str(root / "state")}
    return Settings(file_roots={"base": [str(root)]}, journal="off", **kept)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    with StateRuntime(settings_of(tmp_path_factory.mktemp("tree"))).open_sync() as opened:
        yield opened


@pytest.fixture(scope="module")
def codes_of(runtime):
    """Return the codes of what is wrong with the arguments of a function."""
    find = runtime.host.loaders["states"].find

    def look(function, /, **args):
        state, fun = function.split(".")
        name = args.pop("name", "/x")
        found = wrong_values(LowChunk(0, state, fun, "x", name, "s", "base", 0, args), find)
        return [issue.code for issue in found]

    return look


def test_every_kind_of_an_entry_is_known_and_every_kind_is_used():
    assert {entry.kind for entry in entries().values()} <= {"", "any", *_KINDS}
    assert {kind for _, _, kind in ARGUMENTS} == {*_KINDS} == {*WRONG}
    assert len(ARGUMENTS) > 300


@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_and_defaults_have_no_wrong_value(codes_of, name):
    """What the documentation shows is right, for every argument that has a kind."""
    parameters = inspect.signature(inspect.unwrap(FUNCTIONS[name])).parameters
    for argument in kinds_of(name, FUNCTIONS[name]):
        example = example_of(name, argument).get(argument)
        default = parameters[argument].default if argument in parameters else None
        for value in [default, yaml.safe_load(example) if example else None]:
            if isinstance(value, (str, int)):
                assert codes_of(name, **{"skip_verify": True, argument: value}) == [], value


UNJUDGED = {
    "cmd.call": "retval",
    "cmd.run": "success_retcodes",
    "cmd.script": "args",
    "docker_container.running": "environment binds port_bindings command entrypoint restart_policy hostname extra_hosts "
    "network_mode cap_add ulimits",
    "docker_network.present": "driver options labels subnet gateway iprange aux_addresses ipam_pools",
    "file.accumulated": "require_in watch_in",
    "file.serialize": "formatter",
    "http.query": "string pcre list test_url",
    "module.run": "result retcode",
    "mount.mounted": "auto",
    "pkg.installed": "latest",
    "pkgrepo.absent": "keyid",
    "pkgrepo.managed": "keyid key_text disabled enabled",
    "salt.parallel_runners": "kwarg",
    "salt.runner": "arg kwarg",
    "test.fail_without_changes": "comment",
    "test.nop": "comment",
    "test.succeed_without_changes": "comment",
    "virtualenv.managed": "find_links",
    "x509.certificate_managed": "CN O subjectAltName basicConstraints keyUsage extendedKeyUsage",
    "x509.crl_managed": "certificate serial_number revocation_date not_after cRLNumber",
    "x509.private_key_managed": "prereq",
}
"""What the documentation of states names, beyond their parameters, that is no argument or may have any text."""


def test_every_keyword_that_a_state_documents_is_judged_or_may_have_any_value():
    kinds = {name: kinds_of(name, func) for name, func in FUNCTIONS.items()}
    left = {name: [word for word in keywords_of(func) if word not in kinds[name]] for name, func in FUNCTIONS.items()}
    assert {name: words for name, words in left.items() if words} == {
        name: words.split() for name, words in UNJUDGED.items()
    }
    assert ("file.directory", "mode", "mode") in ARGUMENTS


def _keywords_read(function):
    """Yield the keywords that the source of a function names as keys of its ``kwargs``."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))):
        match node:
            case ast.Call(func=ast.Attribute(ast.Name("kwargs"), "get" | "pop"), args=[ast.Constant(str(key)), *_]):
                yield key
            case ast.Subscript(ast.Name("kwargs"), ast.Constant(str(key)), ast.Load()):
                yield key
            case ast.Compare(ast.Constant(str(key)), [ast.In()], [ast.Name("kwargs")]):
                yield key


UNDOCUMENTED = {
    "archive.extracted": "keep keep_source",
    "docker_container.running": "send_signal",
    "docker_image.present": "sls",
    "file.managed": "env file_mode",
    "file.recurse": "env mode",
    "file.serialize": "env",
    "pkg.downloaded": "downloadonly normalize skip_suggestions",
    "pkg.latest": "sources",
    "pkgrepo.absent": "copr keyid_ppa ppa",
    "test.fail_with_changes": "comment",
    "test.succeed_with_changes": "comment",
    "x509.certificate_managed": "algorithm",
    "x509.csr_managed": "algorithm",
}
"""Keywords that a state reads and does not name: old names, what is only refused, and texts of tests."""


def test_every_keyword_that_a_state_reads_is_documented():
    read = {
        name: sorted({*_keywords_read(func)} - {*keywords_of(func)})
        for name, func in FUNCTIONS.items()
        if not name.split(".")[1].startswith("mod_")
    }
    assert {name: words for name, words in read.items() if words} == {
        name: words.split() for name, words in UNDOCUMENTED.items()
    }


@pytest.mark.parametrize(("name", "argument", "kind"), ARGUMENTS)
def test_a_wrong_value_of_each_argument_is_found(runtime, codes_of, name, argument, kind):
    if runtime.host.loaders["states"].find(name) is None:
        pytest.skip("the module does not load here")
    more = {"source": "https://example.org/x"} if kind == "hash" else {}
    if name == "file.cached" and kind == "hash":
        more = {"name": "https://example.org/x"}
    found = codes_of(name, **more, **{argument: WRONG[kind]})
    if kind == "hash" and "skip_verify" not in kinds_of(name, FUNCTIONS[name]):
        assert found == []  # it takes a digest, but does not need one
    else:
        assert _KINDS[kind].code in found


async def test_a_run_refuses_every_relative_path(tmp_path):
    """What is called wrong is wrong: no state takes a relative path where an absolute one is expected."""
    taken = []
    async with StateRuntime(settings_of(tmp_path)) as runtime:
        for name, argument, kind in ARGUMENTS:
            if kind == "path":
                args = needed(name) | {argument: "relative/path"}
                moves = argument == "backupname"  # a real run moves what is in the way; a dry run may not look
                if moves:
                    args |= {"name": str(tmp_path / "f"), "force": True}
                report = await runtime.single(name, args, test=not moves)
                taken += [
                    (name, argument, row["comment"]) for row in report.rows.values() if row["result"] is not False
                ]
    assert not taken


def needed(function):
    """Return values for the required arguments of a function."""
    args = {"name": "/nowhere/x"}
    for parameter in inspect.signature(inspect.unwrap(FUNCTIONS[function])).parameters.values():
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            given = example_of(function, parameter.name).get(parameter.name)
            args.setdefault(parameter.name, yaml.safe_load(given) if given else "x")
    return args


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.yaml")))
def test_what_salt_was_recorded_to_accept_is_left_alone(codes_of, name):
    accepted = {
        title: codes_of(case["state"], **yaml.safe_load(yaml.safe_dump(case["arguments"]).replace("{root}", "/r")))
        for title, case in recorded(name).items()
        if "arguments" in case and all(result is not False for result, *_ in case["rows"])
    }
    assert accepted
    assert {title: found for title, found in accepted.items() if found} == {}


@pytest.mark.parametrize(
    ("function", "args"),
    [
        ("file.managed", {"mode": 644, "contents": "x"}),
        ("file.managed", {"mode": "0o644", "contents": "x"}),
        ("file.managed", {"mode": "", "contents": "x"}),
        ("file.managed", {"mode": "keep", "source": "salt://x"}),
        ("file.managed", {"name": "~/x", "contents": "x"}),
        ("file.managed", {"name": "__slot__:salt:test.echo(x)", "contents": "x"}),
        ("file.managed", {"mode": "__slot__:salt:test.echo(0644)", "contents": "x"}),
        ("file.managed", {"source": ["salt://x", "/srv/x"]}),
        ("file.managed", {"source": "salt://x", "source_hash": "None"}),
        ("file.managed", {"source": "https://example.org/x", "skip_verify": True, "source_hash": "None"}),
        ("file.managed", {"source": "https://example.org/x", "source_hash": "https://example.org/SUMS"}),
        ("file.managed", {"source": "https://example.org/x", "use_etag": True}),
        ("file.managed", {"source": "https://example.org/x", "replace": False}),
        ("file.managed", {"source": "https://example.org/x", "create": False}),
        ("file.managed", {"makedirs": "True", "contents": "x"}),
        ("file.managed", {"timeout": "10s", "contents": "{{ timeout }}", "template": "jinja"}),
        ("file.line", {"mode": "insert", "content": "x"}),
        ("file.symlink", {"target": "relative"}),
        ("cmd.run", {"timeout": "5", "retry": {"attempts": 2, "interval": 5}, "umask": "022"}),
        ("cmd.run", {"retry": True}),
        ("pkg.installed", {"sources": [{"x": "https://example.org/x.deb"}], "name": "x"}),
    ],
)
def test_values_that_work_are_left_alone(codes_of, function, args):
    assert codes_of(function, **args) == []


def test_a_quoted_false_counts_as_true_and_is_a_warning(runtime):
    chunk = LowChunk(0, "file", "managed", "x", "/x", "s", "base", 0, {"contents": "x", "makedirs": "False"})
    [issue] = wrong_values(chunk, runtime.host.loaders["states"].find)
    assert (issue.code, issue.mistake) == ("E416", False)
    assert "counts as true" in issue.message


def test_a_retry_is_judged_as_a_run_reads_it(codes_of):
    assert codes_of("cmd.run", name="x", retry={"attempts": "many", "until": "maybe"}) == ["E418", "E418"]
    assert codes_of("cmd.run", name="x", retry=3) == ["E418"]


def test_digests_are_those_that_the_module_knows():
    assert _DIGESTS == HASHES


@given(st.integers(0, 0o7777), st.sampled_from(["{:o}", "0{:o}", "{:04o}", "0o{:o}", "'{:04o}'"]))
def test_every_mode_that_a_file_can_have_is_right(mode, form):
    assert _KINDS["mode"].fits(form.format(mode))


@given(st.text(min_size=1).filter(lambda text: text.strip("\"'0") and not text.strip("\"'").isdigit()))
def test_texts_without_digits_are_no_modes(text):
    if (
        text.strip("\"'").lstrip("0").lower() not in {"keep", "o", ""}
        and not text.strip("\"'").lstrip("0")[1:].isdigit()
    ):
        assert not _KINDS["mode"].fits(text)


@pytest.fixture
def cli(tmp_path, monkeypatch, capfd):
    for name in ("HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    (tmp_path / "salt").mkdir()

    def call(text, *words):
        (tmp_path / "salt" / "s.sls").write_text(text)
        code = main([*words, "s", "--file-root", str(tmp_path / "salt")])
        out, errors = capfd.readouterr()
        return code, out + errors

    return call


VALUES = "a:\n  file.managed:\n    - name: {here}/a\n    - contents: x\n    - mode: '0999'\n"


def test_check_names_value_and_line_and_a_comment_silences_it(cli, tmp_path):
    text = VALUES.format(here=tmp_path)
    code, said = cli(text, "check")
    assert code == 1
    assert "s.sls:5 [E410]" in said
    assert "not '0999'" in said
    assert cli(text.replace("'0999'", "'0999'  # asyncstate: ignore[argument-value]"), "check")[0] == 0
    assert cli(text.replace("'0999'", "'0999'  # asyncstate: ignore[E410]"), "check")[0] == 0
    assert "argument-value: 'mode' of 'file.managed'" in cli(text, "lint")[1]


def test_apply_runs_the_state_and_does_not_judge_values(cli, tmp_path):
    code, said = cli(VALUES.format(here=tmp_path), "apply", "--test")
    assert code == 0
    assert "E410" not in said
