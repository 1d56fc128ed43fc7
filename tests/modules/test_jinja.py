from __future__ import annotations

import pytest

from asyncstate import Settings, StateRuntime
from asyncstate.errors import RenderError


@pytest.fixture
def runtime(tmp_path):
    tree = tmp_path / "srv"
    tree.mkdir()
    (tree / "map.jinja").write_text("{% set web = {'port': 80, 'os': grains.osname} %}")
    (tree / "d.yaml").write_text("b: [{{ 1 + 1 }}, ~]\n")
    (tree / "d.json").write_text('{"a": {{ 3 }}}')
    settings = Settings(file_roots={"base": [str(tree)]}, root_dir=str(tmp_path), pillar_roots={"base": []})
    runtime = StateRuntime(settings)
    runtime.host.set_grains({"osname": "test"})
    return runtime


def test_what_templates_import(runtime):
    assert runtime.call_sync("jinja.load_map", "map.jinja", "web") == {"port": 80, "os": "test"}
    assert runtime.call_sync("jinja.import_yaml", "d.yaml") == {"b": [2, None]}
    assert runtime.call_sync("jinja.import_json", "d.json") == {"a": 3}


def test_what_is_not_there(runtime):
    with pytest.raises(RenderError, match=r"no\.yaml"):
        runtime.call_sync("jinja.import_yaml", "no.yaml")
