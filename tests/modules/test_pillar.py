from __future__ import annotations

import jinja2
import pytest
from plugin_harness import PluginHarness


def test_an_undefined_default_is_an_error_even_where_it_is_not_needed(tmp_path):
    plugins = PluginHarness(tmp_path)
    plugins.pillar = {"p": {"r": "v"}}
    plugins.load("modules", "pillar")
    with pytest.raises(jinja2.UndefinedError, match="'nosuch' is undefined"):
        plugins.call("pillar.get", "p:r", jinja2.StrictUndefined(name="nosuch"))
    assert plugins.call("pillar.get", "p:r", jinja2.Undefined(name="nosuch")) == "v"
