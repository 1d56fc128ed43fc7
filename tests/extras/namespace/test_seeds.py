"""The documents this project was made from: their plugins that import ``salt`` run as written."""

from __future__ import annotations

import pytest
from seed_plugins import PKG

MOD_AGGREGATE = """
import salt.utils


def mod_aggregate(low, chunks, running):
    pkgs = []
    if low.get("fun") not in ["installed", "latest", "removed", "purged"]:
        return low
    for chunk in chunks:
        tag = salt.utils.gen_state_tag(chunk)
        if tag in running:
            continue
        if chunk.get("state") == "pkg":
            if "__agg__" in chunk:
                continue
            if chunk.get("fun") != low.get("fun"):
                continue
            if "pkgs" in chunk:
                pkgs.extend(chunk["pkgs"])
                chunk["__agg__"] = True
            elif "name" in chunk:
                pkgs.append(chunk["name"])
                chunk["__agg__"] = True
    if pkgs:
        if "pkgs" in low:
            low["pkgs"].extend(pkgs)
        else:
            low["pkgs"] = pkgs
    return low
"""


@pytest.mark.feature("F103", "F104", "P1")
def test_one_call_installs_the_whole_lamp_stack(feature_tree, width):
    feature_tree.write(
        {
            "_states/pkg.py": PKG + MOD_AGGREGATE,
            "a.sls": """
                lamp_stack:
                  pkg.installed:
                    - pkgs:
                      - php
                      - mysql-client
                    - aggregate: True

                memcached:
                  pkg.installed:
                    - name: memcached
                """,
        }
    )
    rows = feature_tree.rows(concurrency=width)
    assert "[[['php', 'mysql-client'" in rows["lamp_stack"]["comment"]
    assert set(rows["lamp_stack"]["changes"]) == {"php", "mysql-client", "memcached"}
    assert rows["memcached"]["result"] is True
    assert rows["memcached"]["comment"].count("], [") <= 1


@pytest.mark.feature("F104")
@pytest.mark.parametrize("option", [True, ["pkg"]])
def test_aggregation_in_the_configuration(feature_tree, option):
    feature_tree.write({"_states/pkg.py": PKG + MOD_AGGREGATE, "a.sls": "a: pkg.installed\nb: pkg.installed\n"})
    rows = feature_tree.rows(state_aggregate=option)
    assert set(rows["a"]["changes"]) | set(rows["b"]["changes"]) == {"a", "b"}
    assert bool(rows["a"]["changes"]) != bool(rows["b"]["changes"])


CUSTOM = """
import salt.exceptions


def enforce_custom_thing(name, foo, bar=True):
    ret = {"name": name, "changes": {}, "result": False, "comment": ""}
    if bar == True and foo.startswith("Foo"):
        raise salt.exceptions.SaltInvocationError('Argument "foo" cannot start with "Foo" if argument "bar" is True.')
    current_state = __salt__["my_custom_module.current_state"](name)
    if current_state == foo:
        ret["result"] = True
        ret["comment"] = "System already in the correct state"
        return ret
    if __opts__["test"] == True:
        ret["comment"] = 'The state of "{0}" will be changed.'.format(name)
        ret["changes"] = {"old": current_state, "new": "Description, diff, whatever of the new state"}
        ret["result"] = None
        return ret
    new_state = __salt__["my_custom_module.change_state"](name, foo)
    ret["comment"] = 'The state of "{0}" was changed!'.format(name)
    ret["changes"] = {"old": current_state, "new": new_state}
    ret["result"] = True
    return ret
"""

CUSTOM_MODULE = """
def current_state(name):
    return __context__.get(name, "nothing")


def change_state(name, foo):
    __context__[name] = foo
    return foo
"""


@pytest.fixture
def custom(feature_tree):
    return feature_tree.write(
        {
            "_states/my_custom_state.py": CUSTOM,
            "_modules/my_custom_module.py": CUSTOM_MODULE,
            "a.sls": """
                human_friendly_state_id:
                  my_custom_state:
                    - enforce_custom_thing
                    - name: a_value
                    - foo: Foo
                    - bar: False
                again:
                  my_custom_state.enforce_custom_thing:
                    - name: a_value
                    - foo: Foo
                    - bar: False
                    - require: [human_friendly_state_id]
                refused:
                  my_custom_state.enforce_custom_thing: [{name: other}, {foo: Foo}]
                """,
        }
    )


@pytest.mark.feature("F142", "F145", "F110", "B8")
def test_the_example_state_module(custom, width):
    first, again, refused = custom.report(concurrency=width).rows.values()
    assert (first["comment"], first["changes"]) == (
        'The state of "a_value" was changed!',
        {"old": "nothing", "new": "Foo"},
    )
    assert (again["comment"], again["changes"]) == ("System already in the correct state", {})
    assert refused["result"] is False
    assert 'Argument "foo" cannot start with "Foo" if argument "bar" is True.' in refused["comment"]


@pytest.mark.feature("F110")
def test_the_example_state_module_in_test_mode(custom):
    row = next(iter(custom.report(test=True).rows.values()))
    assert (row["result"], row["comment"]) == (None, 'The state of "a_value" will be changed.')


@pytest.mark.feature("F140")
def test_serializers(feature_tree):
    module = "def run(name):\n    dumped = __serializers__['json.serialize']({'a': 1})\n"
    module += "    data = __serializers__['json.deserialize'](dumped)\n"
    module += "    return {'name': name, 'result': True, 'changes': data, 'comment': ''}\n"
    feature_tree.write({"_states/mine.py": module, "a.sls": "a: mine.run\n"})
    assert feature_tree.rows()["a"]["changes"] == {"a": 1}
