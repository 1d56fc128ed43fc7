from __future__ import annotations

from plugin_trees import Roots

from asyncstate.load.folders import plugin_folders


def test_folders_in_order():
    opts = {
        "module_dirs": ["/cli1", "/cli2"],
        "states_dirs": ["/states"],
        "extension_modules": "/ext",
        "saltenv": "dev",
    }
    roots = Roots(dev=["/d"], base=["/b1", "/b2"])
    assert [folder.path for folder in plugin_folders("states", opts, roots)] == [
        "/b1/_states",
        "/b2/_states",
        "/d/_states",
        "/cli2/states",
        "/cli2/_states",
        "/cli1/states",
        "/cli1/_states",
        "/ext/states",
        "/states",
    ]
    modules = [folder.path for folder in plugin_folders("modules", opts, roots)]
    assert modules[-2:] == ["/cli1", "/cli2"]
