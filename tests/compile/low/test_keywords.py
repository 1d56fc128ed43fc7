"""A bundled function that takes any keyword: those that it documents are right, and others have no effect."""

from __future__ import annotations

import inspect

import pytest
from tables import rows

from asyncstate.config import Settings
from asyncstate.runtime import StateRuntime
from docs.bundled import bundled_modules

OPEN = {
    *("docker_container.running", "docker_network.present", "pkgrepo.absent", "pkgrepo.managed"),
    *("salt.runner", "salt.wheel", "x509.certificate_managed", "x509.csr_managed"),
    *("test.fail_with_changes", "test.fail_without_changes", "test.nop", "test.show_notification"),
    *("test.succeed_with_changes", "test.succeed_without_changes"),
}
"""Functions that use keywords of any name: options of another program, or none at all."""
PASSING_ON = {"event", "module", "stateconf"}
FUNCTIONS = {
    f"{name}.{function}": func
    for name, providers in bundled_modules("states").items()
    for provider in providers
    for function, func in provider.functions.items()
    if not function.startswith("mod_")
    and any(each.kind is each.VAR_KEYWORD for each in inspect.signature(inspect.unwrap(func)).parameters.values())
}


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    (root / "plain.txt").write_text("port = {{ port }}\n")
    (root / "more.txt").write_text("{% include 'plain.txt' %}\n")
    kept = {"cachedir": str(root / "cache"), "state_dir": str(root / "state")}
    with StateRuntime(Settings(file_roots={"base": [str(root)]}, journal="off", **kept)).open_sync() as opened:
        yield opened


@pytest.fixture(scope="module")
def found(runtime):
    """Return the hints about arguments of a state, and whether each is a mistake."""

    def look(function, /, **args):
        name = args.pop("name", "/x")
        needed = {
            key: "x"
            for key, each in inspect.signature(inspect.unwrap(FUNCTIONS[function])).parameters.items()
            if each.default is each.empty and each.kind is not each.VAR_KEYWORD and key != "name"
        }
        high = {"x": {function: [{key: value} for key, value in (needed | {"name": name} | args).items()]}}
        plan = runtime.compile_data_sync(high)
        return [(issue.hint, issue.mistake) for issue in plan.warnings if issue.code == "E404"]

    return look


def loads(runtime, name):
    return runtime.host.loaders["states"].find(name) is not None


@rows("name", [name for name in FUNCTIONS if name.split(".")[0] not in PASSING_ON])
def test_a_word_of_no_meaning_is_a_mistake(runtime, found, name):
    if not loads(runtime, name):
        return  # the module does not load here
    judged = found(name, xyzzy=1)
    assert judged == ([] if name in OPEN else [(f"remove it; asyncstate doc {name} lists all arguments", True)])


@pytest.mark.parametrize(
    ("function", "argument", "meant"),
    [
        ("service.running", "restart", "full_restart"),
        ("service.running", "enabled", "enable"),
        ("service.running", "relaod", "reload"),
        ("file.managed", "content", "contents"),
        ("file.managed", "owner", "user"),
        ("file.managed", "permissions", "mode"),
        ("file.managed", "src", "source"),
        ("pkg.installed", "packages", "pkgs"),
        ("pkg.installed", "install_recomends", "install_recommends"),
        ("cmd.run", "user", "runas"),
        ("cmd.run", "success_retcode", "success_retcodes"),
        ("cmd.wait", "cdw", "cwd"),
        ("archive.extracted", "format", "archive_format"),
    ],
)
def test_the_word_that_was_probably_meant_is_suggested(found, function, argument, meant):
    assert found(function, **{argument: "x"}) == [(f"did you mean '{meant}'?", True)]
    assert found(function, **{meant: "x"}) == []


def test_what_another_state_of_the_module_takes_is_only_a_warning(found):
    [(hint, is_mistake)] = found("file.absent", contents="x")
    assert (hint.partition(" ")[0], is_mistake) == ("'file.managed'", False)


@pytest.mark.parametrize(
    ("args", "number"),
    [
        ({"source": "salt://plain.txt", "template": "jinja", "port": 80}, 0),
        ({"source": "salt://plain.txt", "port": 80}, 1),
        ({"source": "salt://plain.txt", "template": "jinja", "host": "x"}, 1),
        ({"source": "salt://more.txt", "template": "jinja", "port": 80}, 0),  # the other template may use it
        ({"source": "/nowhere/x", "template": "jinja", "port": 80}, 0),
        ({"contents": "{{ port }}", "template": "jinja", "port": 80}, 0),
        ({"contents": "x", "template": "jinja", "saltenv": "base"}, 0),
    ],
)
def test_a_template_may_use_any_keyword(found, args, number):
    assert len(found("file.managed", **args)) == number
