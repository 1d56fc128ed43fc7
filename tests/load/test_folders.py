from __future__ import annotations

from plugin_trees import Roots
from tables import beside

from asyncstate.load.folders import plugin_folders

TABLES = beside(__file__)


def test_folders_in_order():
    opts = {"module_dirs": ["/cli1", "/cli2"], "states_dirs": ["/states"], "extension_modules": "/ext"}
    roots = Roots(dev=["/d"], base=["/b1", "/b2"])
    assert [folder.path for folder in plugin_folders("states", opts | {"saltenv": "dev"}, roots)] == TABLES[
        "folders in order"
    ]
    modules = [folder.path for folder in plugin_folders("modules", opts | {"saltenv": "dev"}, roots)]
    assert modules[-2:] == ["/cli1", "/cli2"]
