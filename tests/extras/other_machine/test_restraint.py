"""A tree that is compiled for another machine: nothing of this one gets into what templates render, or its name is said."""

import json
import logging
import os
import socket
from contextlib import ExitStack, suppress

import pytest
from record_falsy import calls_of, lay_out
from recording import filled
from tables import beside, rows

from asyncstate import Settings, StateRuntime
from asyncstate.errors import CompileError, ConfigError
from asyncstate.extras.other_machine.restraint import CLOCK, FILTERS, OF_A_PATH
from asyncstate.load.restrained import INDEPENDENT
from asyncstate.render.filters import CHANGING
from asyncstate.sources.grains import core_grains

TABLES = beside(__file__)

GRAINS = {"id": "web1", "os": "Debian", "os_family": "Debian", "roles": ["web"]}
OF_CHANCE = ("random.", "test.rand_str", "test.random_hash")
CHANCE = {"gen_mac", "rand_str", "random_hash", "random_sample", "random_shuffle", "random_str"}
ARGUMENTS = {title: case["arguments"] for title, case in calls_of("modules").items() if " " not in title}
ARGUMENTS |= {
    "test.arg_clean": {},
    "test.raise_exception": {"name": "ValueError"},
    "jinja.load_map": {"path": "a", "value": "b"},
}


@pytest.fixture
def root(tmp_path):
    """A tree."""
    folder = tmp_path / "root"
    folder.mkdir()
    lay_out(folder)
    return folder


@pytest.fixture
def rendered(root, tmp_path):
    """Return what a template renders as the name of a state for another machine, the same on each of two machines."""
    opened = ExitStack()
    machines = {}

    def on(name, settings):
        (root / "of_alpha").unlink(missing_ok=True)
        if name == "alpha":
            (root / "of_alpha").write_text("{of: alpha}\n")
        place = tmp_path / name
        place.mkdir(exist_ok=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(place)
            zone = {"alpha": "UTC", "beta": "Asia/Tokyo"}[name]
            for variable, value in {"HOME": place, "USER": name, "PATH": f"/{name}:/usr/bin:/bin", "TZ": zone}.items():
                patch.setenv(variable, str(value))
            patch.setattr(socket, "gethostname", lambda: name)
            patch.setattr(os, "cpu_count", lambda: len(name))
            patch.setattr("asyncstate.config.settings.user_name", lambda: name)
            if settings or name not in machines:
                mine = {
                    "file_roots": {"base": [str(root / "tree")]},
                    "pillar": {"web": {"port": 80}, "name": "a"},
                    **settings,
                }
                runtime = StateRuntime(Settings(grains_alone=True, grains_override=GRAINS, **mine))
                machines[name] = opened.enter_context(runtime.open_sync())
            try:
                return machines[name].compile_sync(["it"]).chunks[0].name
            except CompileError as error:
                return error

    def render(template, **settings):
        (root / "tree" / "it.sls").write_text(f"{template}\n")
        answer = on("alpha", settings)
        assert str(on("beta", settings)) == str(answer)
        if isinstance(answer, CompileError):
            raise answer
        return answer

    with opened:
        yield render


def test_a_grain_is_one_of_the_file_or_there_is_none(rendered):
    found = json.loads(rendered("{{ grains | json | yaml_dquote }}: test.nop"))
    assert {key: found[key] for key in GRAINS} == GRAINS
    assert set(found) - set(GRAINS) == {"server_id", "master"}, "which derive from the ID, or are a constant"
    assert len(set(core_grains()) - set(found)) > 50


def test_neither_custom_grains_nor_grains_files_nor_those_of_the_configuration_count(rendered, root):
    (root / "tree" / "_grains").mkdir(exist_ok=True)
    (root / "tree" / "_grains" / "mine.py").write_text("def mine():\n    return {'mine': 1}\n")
    answer = rendered(
        "{{ grains.keys() | sort | join(' ') }}: test.nop",
        grains={"of_the_configuration": 1},
        conf_file=str(root / "etc/minion"),
    )
    assert answer == "id master os os_family roles server_id"


def test_options_are_the_same_on_all_machines(rendered):
    answer = json.loads(rendered("it: {test.nop: [{name: {{ opts | json | yaml_dquote }}}]}"))
    assert answer["id"] == "web1"
    assert answer["user"] == "root"


@rows("name", sorted(each for each in INDEPENDENT if not each.startswith(OF_CHANCE)))
def test_a_function_that_is_called_answers_alike_on_all_machines(rendered, root, name):
    arguments = filled(dict(ARGUMENTS.get(name, {})), {"{root}": root})
    positional = arguments.pop("args", [])
    call = f"salt['{name}'](*{positional!r}, **{arguments!r})"
    try:
        answer = rendered(f"{{{{ ({call}) | string | yaml_dquote }}}}: test.nop")
    except CompileError as error:
        answer = str(error)
    assert "depends on this machine" not in answer


@rows("name", sorted(each for each in {*INDEPENDENT, *OF_A_PATH} if not each.startswith(OF_CHANCE)))
def test_no_argument_of_a_function_names_a_file_of_this_machine(rendered, root, name):
    arguments = filled(dict(ARGUMENTS.get(name, {})), {"{root}": root})
    positional = arguments.pop("args", [])
    calls = [(positional, {**arguments, key: None}) for key in arguments]
    calls += [([*positional[:index], None, *positional[index + 1 :]], arguments) for index in range(len(positional))]
    for args, kwargs in [([None], {}), ([], {"path": None}), *calls]:
        for path in (f"{root}/of_alpha", f"file://{root}/of_alpha", "../of_alpha"):
            call = f"salt['{name}'](*{args!r}, **{kwargs!r})".replace("None", repr(path))
            with suppress(CompileError):
                rendered(f"{{{{ ({call}) | string | yaml_dquote }}}}: test.nop")


def test_every_other_bundled_function_is_refused_by_name(rendered, root):
    runtime = StateRuntime(Settings(file_roots={"base": [str(root / "tree")]}))
    with runtime.open_sync():
        names = [
            name
            for name in runtime.host.salt
            if runtime.host.salt.is_bundled(name) and name not in {*INDEPENDENT, *OF_A_PATH}
        ]
    assert len(names) > 400
    calls = "".join(f"{{% if name == '{name}' %}}{{{{ salt['{name}']() }}}}{{% endif %}}" for name in names)
    (root / "tree" / "calls.sls").write_text(calls)
    for name in ("cmd.run", "network.ip_addrs", "environ.get", "disk.usage", "status.uptime", "timezone.get_zone"):
        assert name in names
    for name in names:
        with pytest.raises(CompileError, match=f"{name} depends on this machine") as caught:
            rendered(f"{{{{ salt['{name}']('x') }}}}: test.nop")
        assert "it.sls:1" in str(caught.value)


@pytest.mark.parametrize("name", sorted(FILTERS | CLOCK))
def test_a_filter_that_looks_at_this_machine_is_refused_or_named(rendered, name, caplog):
    template = f"{{{{ '/etc/passwd' | {name} }}}}: test.nop"
    if name in CLOCK:
        with caplog.at_level(logging.WARNING):
            rendered(f"{{{{ '2020-01-01' | {name} }}}}: test.nop")
        assert f"the filter '{name}' uses the clock and the time zone of this machine" in caplog.text
    else:
        with pytest.raises(CompileError, match=f"the filter '{name}' depends on this machine"):
            rendered(template)


@pytest.mark.parametrize(
    "template",
    TABLES["what is installed here is not told"],
)
def test_what_is_installed_here_is_not_told(rendered, template):
    with pytest.raises(CompileError, match="depends on this machine"):
        rendered(f"{template}: test.nop")


def test_each_filter_that_depends_on_more_than_its_arguments_is_known():
    assert CHANGING.keys() == FILTERS | CLOCK | CHANCE


def test_the_calls_of_the_trees_own_functions_are_looked_at_and_themselves_named(rendered, root, caplog):
    (root / "tree" / "_modules").mkdir(exist_ok=True)
    text = "def good(): return __salt__['grains.get']('os')\ndef bad(): return __salt__['cmd.run']('hostname')\n"
    (root / "tree" / "_modules" / "own.py").write_text(text)
    with caplog.at_level(logging.WARNING):
        assert rendered("{{ salt['own.good']() }}: test.nop") == "Debian"
    assert "own.good is a function of the tree, and may read this machine" in caplog.text
    with pytest.raises(CompileError, match=r"cmd\.run depends on this machine"):
        rendered("{{ salt.own.bad() }}: test.nop")


def test_a_program_is_named(rendered, caplog):
    with caplog.at_level(logging.WARNING):
        rendered("#!py\ndef run():\n    return {__grains__['os']: 'test.nop'}")
    assert "rendered by 'py', which may read this machine" in caplog.text


async def test_a_plan_for_another_machine_is_not_run_here(root):
    settings = Settings(grains_alone=True, grains_override=GRAINS, file_roots={"base": [str(root / "tree")]})
    async with StateRuntime(settings) as runtime:
        plan = await runtime.compile_data({"a": "test.nop"})
        for test in (True, False):
            with pytest.raises(ConfigError, match="for another machine"):
                runtime.run(plan, test=test, lock=False)
        assert runtime.run(plan, mock=True)


async def test_a_function_that_reads_this_machine_is_not_called_for_another(root):
    settings = Settings(grains_alone=True, grains_override=GRAINS, file_roots={"base": [str(root / "tree")]})
    async with StateRuntime(settings) as runtime:
        for function in ("cmd.run", "cp.cache_file"):
            with pytest.raises(ConfigError, match=f"{function} would run on this machine"):
                await runtime.call(function, "/etc/hostname")
        assert await runtime.call("grains.get", "id") == GRAINS["id"]
        assert await runtime.call("cp.cache_file", "salt://hello") == str(root / "tree/hello")


def test_without_an_event_loop_neither(root):
    runtime = StateRuntime(
        Settings(grains_alone=True, grains_override=GRAINS, file_roots={"base": [str(root / "tree")]})
    )
    with pytest.raises(ConfigError, match=r"cmd\.run would run on this machine"):
        runtime.call_sync("cmd.run", "hostname")


@rows("grains", [{"os": "Debian"}, {"id": ""}, {"id": None}, {"id": ["web1"]}, {"id": True}, {"id": 3.10}])
def test_the_grains_of_another_machine_have_its_id(grains):
    with pytest.raises(ConfigError, match="need its ID: add a line such as 'id: web1'"):
        StateRuntime(Settings(grains_alone=True, grains_override=grains))


def test_a_file_of_the_tree_is_found_and_no_other(rendered, root):
    assert rendered("{{ salt['cp.cache_file']('salt://hello') }}: test.nop") == str(root / "tree/hello")
    (root / "pillar").mkdir()
    (root / "pillar" / "mine.sls").touch()
    roots = {"pillar_roots": {"base": [str(root / "pillar")]}}
    assert rendered("{{ salt['pillar.file_exists']('mine.sls') }}_: test.nop", **roots) == "True_"
    with pytest.raises(CompileError, match=r"cp\.cache_file of /etc/hostname depends on this machine"):
        rendered("{{ salt['cp.cache_file']('/etc/hostname') }}: test.nop")


def test_the_grains_of_another_machine_come_from_one_file(tmp_path, run_here):
    (tmp_path / "top.sls").write_text("base:\n  'web1': [web]\n")
    (tmp_path / "web.sls").write_text("a: test.nop\n")
    grains = tmp_path / "web1.yaml"
    words = ("show", "top", "--file-root", tmp_path, "--for-machine", grains)
    grains.write_text("id: web1\n")
    assert json.loads(run_here(*words, "--out", "json").stdout) == {"base": ["web"]}
    assert "leave out --grains" in run_here(*words, "--grains", grains).stderr
    grains.write_text("id: web1\n1: one\n")
    assert "asyncstate: --for-machine: grains_override: expected text" in run_here(*words).stderr
