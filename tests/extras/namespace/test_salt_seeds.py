"""Custom modules as the seeds and real trees write them, run by a StateRuntime."""

from __future__ import annotations

import pytest
from plugin_trees import PluginTree

from asyncstate import Settings, StateRuntime

MY_CUSTOM_STATE = '''
import salt.exceptions

def enforce_custom_thing(name, foo, bar=True):
    """
    Enforce the state of a custom thing

    This state module does a custom thing. It calls out to the execution module
    ``my_custom_module`` in order to check the current system and perform any
    needed changes.

    name
        The thing to do something to
    foo
        A required argument
    bar : True
        An argument with a default value
    """
    ret = {
        "name": name,
        "changes": {},
        "result": False,
        "comment": "",
    }

    # Start with basic error-checking. Do all the passed parameters make sense
    # and agree with each-other?
    if bar == True and foo.startswith("Foo"):
        raise salt.exceptions.SaltInvocationError(
            'Argument "foo" cannot start with "Foo" if argument "bar" is True.'
        )

    # Check the current state of the system. Does anything need to change?
    current_state = __salt__["my_custom_module.current_state"](name)

    if current_state == foo:
        ret["result"] = True
        ret["comment"] = "System already in the correct state"
        return ret

    # The state of the system does need to be changed. Check if we're running
    # in ``test=true`` mode.
    if __opts__["test"] == True:
        ret["comment"] = 'The state of "{0}" will be changed.'.format(name)
        ret["changes"] = {
            "old": current_state,
            "new": "Description, diff, whatever of the new state",
        }

        # Return ``None`` when running with ``test=true``.
        ret["result"] = None

        return ret

    # Finally, make the actual change and return the result.
    new_state = __salt__["my_custom_module.change_state"](name, foo)

    ret["comment"] = 'The state of "{0}" was changed!'.format(name)

    ret["changes"] = {
        "old": current_state,
        "new": new_state,
    }

    ret["result"] = True

    return ret
'''
"""Seed 003's full example, as written."""

MY_CUSTOM_MODULE = """
from salt.exceptions import CommandExecutionError

def _things():
    return __context__.setdefault("things", {})

def current_state(name):
    return _things().get(name, "absent")

def change_state(name, foo):
    if foo == "impossible":
        raise CommandExecutionError("it cannot be " + foo)
    _things()[name] = foo
    return foo
"""

MOD_AGGREGATE = """
    def mod_aggregate(low, chunks, running):
        '''
        The mod_aggregate function which looks up all packages in the available
        low chunks and merges them into a single pkgs ref in the present low data
        '''
        pkgs = []
        # What functions should we aggregate?
        agg_enabled = [
                'installed',
                'latest',
                'removed',
                'purged',
                ]
        # The `low` data is just a dict with the state, function (fun) and
        # arguments passed in from the sls
        if low.get('fun') not in agg_enabled:
            return low
        # Now look into what other things are set to execute
        for chunk in chunks:
            # The state runtime uses "tags" to track completed jobs, it may
            # look familiar with the _|-
            tag = salt.utils.gen_state_tag(chunk)
            if tag in running:
                # Already ran the pkg state, skip aggregation
                continue
            if chunk.get('state') == 'pkg':
                if '__agg__' in chunk:
                    continue
                # Check for the same function
                if chunk.get('fun') != low.get('fun'):
                    continue
                # Pull out the pkg names!
                if 'pkgs' in chunk:
                    pkgs.extend(chunk['pkgs'])
                    chunk['__agg__'] = True
                elif 'name' in chunk:
                    pkgs.append(chunk['name'])
                    chunk['__agg__'] = True
        if pkgs:
            if 'pkgs' in low:
                low['pkgs'].extend(pkgs)
            else:
                low['pkgs'] = pkgs
        # The low has been modified and needs to be returned to the state
        # runtime for execution
        return low
"""
"""Seed 000's example, as written."""

PKG_STATE = """
    import salt.utils

    def installed(name, pkgs=None, **kwargs):
        wanted = sorted(set(pkgs or [name]))
        missing = [each for each in wanted if each not in __context__.setdefault("installed", set())]
        if missing:
            __context__["installed"].update(missing)
            __context__.setdefault("calls", []).append(missing)
        changes = {each: {"old": "", "new": "1"} for each in missing}
        return {"name": name, "result": True, "changes": changes, "comment": str(__context__.get("calls"))}
"""

LAMP_STACK = """
lamp_stack:
  pkg.installed:
    - pkgs:
      - php
      - mysql-client
    - aggregate: True

memcached:
  pkg.installed:
    - name: memcached
"""


@pytest.fixture
def tree(tmp_path):
    return PluginTree(tmp_path / "salt")


async def apply(tree, tmp_path, sls, test=False):
    """Return the rows by ID."""
    tree.add("web.sls", sls)
    settings = Settings(
        id="m",
        file_roots={"base": [str(tree.root)]},
        pillar_roots={"base": []},
        cachedir=str(tmp_path / "cache"),
        state_dir=str(tmp_path / "state"),
    )
    async with StateRuntime(settings) as runtime:
        report = await runtime.apply(["web"], test=test)
        return {tag.split("_|-")[1]: row for tag, row in report.rows.items()}


async def custom(tree, tmp_path, foo, bar="False", test=False):
    tree.add("_states/my_custom_state.py", MY_CUSTOM_STATE)
    tree.add("_modules/my_custom_module.py", MY_CUSTOM_MODULE)
    sls = f"""
        human_friendly_state_id:
          my_custom_state:
            - enforce_custom_thing
            - name: a_value
            - foo: {foo}
            - bar: {bar}
    """
    rows = await apply(tree, tmp_path, sls, test)
    return rows["human_friendly_state_id"]


async def test_the_example_state_module_changes_the_system(tree, tmp_path):
    row = await custom(tree, tmp_path, "Foo")
    assert (row["result"], row["comment"]) == (True, 'The state of "a_value" was changed!')
    assert row["changes"] == {"old": "absent", "new": "Foo"}


async def test_the_example_state_module_foretells(tree, tmp_path):
    row = await custom(tree, tmp_path, "Foo", test=True)
    assert (row["result"], row["comment"]) == (None, 'The state of "a_value" will be changed.')


async def test_the_example_state_module_finds_nothing_to_do(tree, tmp_path):
    row = await custom(tree, tmp_path, "absent")
    assert (row["result"], row["comment"]) == (True, "System already in the correct state")


async def test_the_example_state_module_refuses(tree, tmp_path):
    row = await custom(tree, tmp_path, "Foo", bar="True")
    assert row["result"] is False
    assert 'Argument "foo" cannot start with "Foo" if argument "bar" is True.' in row["comment"]


async def test_what_an_execution_module_raises_fails_the_row(tree, tmp_path):
    row = await custom(tree, tmp_path, "impossible")
    assert row["result"] is False
    assert "it cannot be impossible" in row["comment"]


async def test_the_aggregation_example_installs_everything_at_once(tree, tmp_path):
    tree.add("_states/pkg.py", PKG_STATE + MOD_AGGREGATE)
    rows = await apply(tree, tmp_path, LAMP_STACK)
    assert [row["result"] for row in rows.values()] == [True, True]
    assert {row["comment"] for row in rows.values()} == {"[['memcached', 'mysql-client', 'php']]"}
    assert set(rows["lamp_stack"]["changes"]) == {"memcached", "mysql-client", "php"}


SITE_STATE = """
    from __future__ import absolute_import, print_function, unicode_literals

    import logging
    import os

    import salt.utils
    import salt.utils.files
    import salt.utils.odict as odict
    from salt import exceptions
    from salt.exceptions import CommandExecutionError, CommandNotFoundError
    from salt.ext import six
    from salt.ext.six.moves import range
    from salt.utils.dictupdate import update

    log = logging.getLogger(__name__)
    __virtualname__ = "site"

    def __virtual__():
        if not salt.utils.which("sh") or salt.utils.is_windows():
            return (False, "no shell")
        return __virtualname__

    def listed(name, entries=None, strict=False):
        ret = {"name": name, "result": None, "comment": "", "changes": {}}
        text = six.text_type("\\n".join("{0}={1}".format(k, v) for k, v in six.iteritems(entries or {})))
        try:
            before = __salt__["site.read"](name)
        except CommandNotFoundError as exc:
            before = exc.strerror
        except CommandExecutionError as exc:
            if strict:
                ret["result"] = False
                ret["comment"] = exc.message
                return ret
            before = ""
        log.trace("before: %s", before)
        if before == text:
            ret["result"] = True
            return ret
        ret["changes"] = {"lines": len(list(range(len(text.splitlines()))))}
        if not __opts__["test"]:
            with salt.utils.fopen(name, "w") as fp_:
                fp_.write(text)
            ret["result"] = True
        return ret
"""

SITE_MODULE = """
    import os
    import salt.utils.files
    from salt.exceptions import CommandExecutionError

    def read(path):
        if not os.path.exists(path):
            raise CommandExecutionError("{} is missing".format(path), info={"path": path})
        with salt.utils.files.fopen(path) as fp_:
            return fp_.read()
"""


async def test_a_module_as_real_trees_have_them(tree, tmp_path):
    tree.add("_states/site_state.py", SITE_STATE)
    tree.add("_modules/site.py", SITE_MODULE)
    path = tmp_path / "list"
    sls = f"""
        first:
          site.listed:
            - name: {path}
            - entries: {{a: 1, b: 2}}
        again:
          site.listed:
            - name: {path}
            - entries: {{a: 1, b: 2}}
            - require:
              - site: first
        strict:
          site.listed:
            - name: {tmp_path}/none
            - strict: True
    """
    rows = await apply(tree, tmp_path, sls)
    assert rows["first"]["changes"] == {"lines": 2}
    assert (rows["again"]["result"], rows["again"]["changes"]) == (True, {})
    assert path.read_text() == "a=1\nb=2"
    comment = f"{tmp_path}/none is missing. Additional info follows:\n\npath:\n    {tmp_path}/none"
    assert (rows["strict"]["result"], rows["strict"]["comment"]) == (False, comment)


async def test_env_and_sls_are_text_for_whatever_reads_them(tree, tmp_path):
    tree.add(
        "_states/words.py",
        """
        import json, os.path
        __env__ = "to please a linter"

        def said(name):
            def inner():
                return [__env__, isinstance(__env__, str), "-".join([__sls__, __env__]), json.dumps({__env__: __sls__}),
                        os.path.join("/srv", __env__), {"base": 1}[__env__], bool(__instance_id__)]
            return {"name": name, "result": True, "changes": {"said": inner()}, "comment": ""}
        """,
    )
    rows = await apply(tree, tmp_path, "x: words.said\n")
    assert rows["x"]["changes"] == {"said": ["base", True, "web-base", '{"base": "web"}', "/srv/base", 1, True]}
