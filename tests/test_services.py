"""Services of a runtime for plugins, and the message to a plugin without a runtime."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from fake_services import FakeServices
from plugin_trees import PluginTree, write

from asyncstate import Settings, StateRuntime
from asyncstate.dunders import Services, runtime_services
from asyncstate.errors import FunctionNotFound, LoaderError, RenderError
from asyncstate.services import RuntimeServices


@pytest.fixture
def runtime(tmp_path):
    tree = tmp_path / "srv"
    write(tree / "_modules" / "own.py", 'def f(name="x"):\n    "Say x."\n    return name\n')
    write(tree / "map.jinja", "{% set port = 80 %}")
    settings = Settings(
        id="web1", file_roots={"base": [str(tree)]}, root_dir=str(tmp_path), pillar_roots={"base": []},
        pillar={"role": "web"}, grains_override={"os": "Debian"},
    )  # fmt: skip
    with StateRuntime(settings).open_sync() as runtime:
        yield runtime


@pytest.fixture
def services(runtime):
    with runtime.host.enter():
        yield runtime_services()


@pytest.mark.parametrize("services", [RuntimeServices, FakeServices])
@pytest.mark.parametrize("method", [name for name in vars(Services) if not name.startswith("_")])
def test_what_offers_services_has_the_signatures_that_plugins_rely_on(services, method):
    wanted, actual = (inspect.signature(getattr(each, method)) for each in (Services, services))
    assert [str(each.replace(annotation=each.empty)) for each in actual.parameters.values()] == [
        str(each.replace(annotation=each.empty)) for each in wanted.parameters.values()
    ]


def test_outside_a_runtime_there_are_none(tmp_path):
    tree = PluginTree(tmp_path)
    tree.add(
        "_modules/m.py",
        """
        from asyncstate.dunders import runtime_services

        def f():
            return runtime_services().render_template("x", "jinja", {}, "base")
        """,
    )
    host = tree.host()
    with pytest.raises(LoaderError, match="needs a runtime"):
        runtime_services()
    with host.enter(), pytest.raises(LoaderError, match="needs a runtime"):
        host.salt["m.f"]()
    with pytest.raises(LoaderError, match="needs a runtime"):
        host.services.reload()


def test_templates(services, tmp_path):
    assert services.render_template("{{ pillar.role }} {{ a }}", "jinja", {"a": 1}, "base") == "web 1"
    path = tmp_path / "t"
    path.write_text("{% from 'map.jinja' import port %}{{ port }} {{ grains.os }}")
    assert services.render_template(path, "jinja", {}, "base") == "80 Debian"
    with pytest.raises(RenderError, match="no"):
        services.render_template("{{ no.such }}", "jinja", {}, "base")


def test_data(services):
    assert services.render_data("a: {{ x }}", context={"x": 1}, saltenv="base") == {"a": 1}
    assert services.render_data("#!json\n{}", context={}, saltenv="base") == {}
    assert services.render_data('{"a": 1}', default_renderer="json", context={}, saltenv="base") == {"a": 1}


def test_what_a_template_does_to_the_pillar_nobody_else_sees(services, runtime):
    services.render_template("{% do pillar.update({'role': 'db'}) %}", "jinja", {}, "base")
    assert runtime.host.pillar["role"] == "web"


@pytest.mark.parametrize(
    ("kind", "target", "options", "expected"),
    [
        ("glob", "web*", {}, True),
        ("glob", "web*", {"minion_id": "db1"}, False),
        ("grain", "os:Debian", {}, True),
        ("grain", "os|Debian", {"delimiter": "|"}, True),
        ("pillar", "role:db", {}, False),
    ],
)
def test_targets(services, kind, target, options, expected):
    assert services.match(kind, target, **options) is expected


def test_a_kind_of_target_that_does_not_exist(services):
    with pytest.raises(LoaderError, match=r"no target type 'moon'; it is one of compound, "):
        services.match("moon", "full")


def test_plugins_can_be_read(services):
    plugins = services.plugins("modules")
    assert "own.f" in plugins.names()
    assert plugins.get("own.f").doc == "Say x."
    assert plugins.module("own").file.endswith("_modules/own.py")
    assert plugins.module("other") is None
    with pytest.raises(FunctionNotFound):
        plugins.get("own.g")


def test_looking_again(services, runtime, tmp_path):
    assert "own.f" in runtime.host.salt
    write(tmp_path / "srv" / "_modules" / "late.py", "def f():\n    return 1\n")
    assert "late.f" not in runtime.host.salt
    services.reload()
    assert "late.f" in runtime.host.salt
    write(tmp_path / "srv" / "_grains" / "moon.py", "def moon():\n    return {'moon': 'full'}\n")
    services.reload()
    services.refresh(grains=True, pillar=False)
    assert runtime.host.grains["moon"] == "full"


def test_a_bridged_function_blocks_in_a_thread_and_is_awaited_on_the_loop(runtime):
    async def later(x):
        await asyncio.sleep(0)
        return x + 1

    async def main():
        async with runtime:
            with runtime.host.enter():
                bridged = runtime_services().bridged(later, "own.later")
                assert await bridged(1) == 2
                assert await runtime.host.workers.run(bridged, 2) == 3

    asyncio.run(main())
