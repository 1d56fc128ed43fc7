from types import SimpleNamespace

import pytest
from tables import beside, rows
from trees import FakeStates, chunk_of, plan

from asyncstate.effects.surroundings import Surroundings
from asyncstate.model.chunk import LowChunk
from asyncstate.sources.fileclient import LocalFileClient


@pytest.fixture
def surroundings():
    opts = {"pillar_roots": {"base": ["/srv/pillar"]}, "module_dirs": ["/opt/plugins"], "states_dirs": ["/opt/states"]}
    return Surroundings(LocalFileClient({"base": ["/srv/a", "/srv/b"], "dev": ["/dev/a"]}), opts, "/opt/python")


def chunk(function="file.managed", name="/x", **args):
    state, _, fun = function.partition(".")
    return LowChunk(0, state, fun, "i", name, "s", "base", 0, args)


WRITTEN = beside(__file__)["written"]


@pytest.mark.parametrize("case", WRITTEN.values(), ids=WRITTEN)
def test_what_changes(surroundings, case):
    changed = surroundings.changed_by({"path:/y", case["path"], "user:www"})
    if "names" not in case:
        assert changed is None
    else:
        assert (changed.names, changed.roots, changed.plugins) == ({*case["names"]}, case["roots"], case["plugins"])


def test_a_source_is_read_in_every_root_of_its_environment(surroundings):
    changed = surroundings.changed_by({"path:/srv/a/x"})
    read = surroundings.reads(chunk(source=["salt://x/y", {"salt://z?saltenv=dev": "md5=0"}]), changed, declared=True)
    assert set(read) == {"path:/srv/a/x/y/**", "path:/srv/b/x/y/**", "path:/dev/a/z/**"}
    assert surroundings.reads(chunk(source="salt://x", saltenv="dev"), changed, declared=True) == ["path:/dev/a/x/**"]
    assert surroundings.reads(chunk(name="salt://../x"), changed, declared=True)[0] == "path:/srv/a/x/**"
    assert surroundings.reads(chunk(name="salt://x", saltenv=""), changed, declared=True)[0] == "path:/srv/a/x/**"
    assert surroundings.reads(chunk(name="salt://X salt://y"), changed, declared=True)[0] == "path:/srv/a/X/**"
    assert surroundings.reads(chunk(name="salt:///"), changed, declared=True)[0] == "path:/srv/a/**"
    assert surroundings.reads(chunk(source="/x"), changed, declared=True) == []


def test_a_template_may_import_any_file_of_its_environment(surroundings):
    changed = surroundings.changed_by({"path:/srv/a/x"})
    assert "path:/srv/a/**" in surroundings.reads(chunk(template="jinja"), changed, declared=True)
    assert "path:/srv/a/**" not in surroundings.reads(chunk(), changed, declared=True)


def test_a_source_deep_down_is_found(surroundings):
    deep = "salt://x"
    for _ in range(2000):
        deep = [deep]
    changed = surroundings.changed_by({"path:/srv/a/x"})
    assert "path:/srv/a/x/**" in surroundings.reads(chunk(context=deep), changed, declared=True)


ENVIRONMENT = {
    "file.managed": (False, True),
    "file.patch": (True, True),
    "host.present": (False, True),
    "pkg.installed": (True, True),
    "service.running": (True, True),
    "test.nop": (False, True),
}


@pytest.mark.parametrize("function", ENVIRONMENT)
def test_the_environment_is_read_by_what_starts_programs(surroundings, function):
    changed = surroundings.changed_by({"environ:process"})
    alone, with_condition = ENVIRONMENT[function]
    assert bool(surroundings.reads(chunk(function), changed, declared=True)) is alone
    assert bool(surroundings.reads(chunk(function, onlyif="true"), changed, declared=True)) is with_condition
    assert surroundings.reads(chunk(function), changed, declared=False) == ["environ:process"]


@rows(
    ("function", "args", "declared", "asks"),
    [
        ("file.managed", {}, True, False),
        ("file.managed", {"template": "jinja"}, True, True),
        ("module.run", {}, True, True),
        ("own.thing", {}, False, True),
    ],
)
def test_what_may_ask_for_data_and_modules_reads_them(function, args, declared, asks):
    surroundings = Surroundings(LocalFileClient({}), {"states_dirs": ["/opt/states"]})
    changed = surroundings.changed_by({"grains", "pillar#a", "plugins"})
    expected = ["grains", "pillar", "plugins", "path:/opt/states/**"] if asks else []
    assert surroundings.reads(chunk(function, **args), changed, declared=declared) == expected


def test_what_is_read_and_loaded_again(surroundings):
    assert surroundings.reloads({"reload_grains": True, "reload_modules": False}) == ((), ("grains",))
    assert surroundings.reloads({"reload_pillar": True}) == (("path:/srv/pillar/**",), ("pillar",))
    assert surroundings.reloads({"reload_modules": True, "force_reload_modules": True}) == ((), ("plugins",))


def test_what_may_bring_a_module(surroundings):
    assert {"pkgdb", "pip", "plugins", "path:/opt/python/**", "path:/srv/b/_states/**", "path:/opt/states/**"} <= set(
        surroundings.bringers
    )
    without_python = Surroundings(LocalFileClient({}), {"states_dirs": ["/opt/states"]})
    assert without_python.bringers == ("pkgdb", "pip", "plugins", "path:/opt/states/**")


def test_a_watch_stays_one_where_the_module_will_be_there_in_time():
    class Refused(FakeStates):
        def refused(self, module_name):
            functions = {"mod_watch": None}
            return SimpleNamespace(functions=functions, bundled=True) if module_name == "service" else None

    tree = "a: test.nop\nb: {service.running: [{watch: [a]}]}\nc: {file.managed: [{watch: [a]}]}\n"
    compiled = plan(tree, states=Refused())
    assert "watch" in chunk_of(compiled, "b").args
    assert "watch" not in chunk_of(compiled, "c").args
