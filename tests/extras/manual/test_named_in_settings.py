"""Names in the settings that do not exist are named with the nearest ones; what is there is left alone."""

from __future__ import annotations

import sys

import pytest

from asyncstate.config import Settings
from asyncstate.extras.manual.named_in_settings import CODE, unknown_names
from asyncstate.runtime import StateRuntime


@pytest.fixture
def found(tmp_path):
    def look(**options):
        (tmp_path / "_modules").mkdir(exist_ok=True)
        (tmp_path / "_modules" / "mine.py").write_text("")
        kept = {"cachedir": str(tmp_path / "cache"), "state_dir": str(tmp_path / "state"), "journal": "off"}
        with StateRuntime(Settings(file_roots={"base": [str(tmp_path)]}, **kept, **options)).open_sync() as runtime:
            return [(issue.message, issue.hint) for issue in unknown_names(runtime) if issue.code == CODE == "W404"]

    return look


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        ({"disable_modules": ["dokcer"]}, "disable_modules: there is no module 'dokcer'", "did you mean 'docker'?"),
        ({"disable_modules": ["mien"]}, "disable_modules: there is no module 'mien'", "did you mean 'mine'?"),
        ({"smi_require": ["pgk"]}, "smi_require: there is no interface 'pgk'", "did you mean 'pkg'?"),
        ({"providers": {"pgk": "mine"}}, "providers: there is no virtual module 'pgk'", "did you mean 'pkg'?"),
        (
            {"providers": {"service": "systemd_servise"}},
            "providers: there is no file of execution modules 'systemd_servise'",
            "did you mean 'systemd_service'?",
        ),
        ({"renderer": "jinja|yamll"}, "renderer: there is no renderer 'yamll'", "did you mean 'yaml'?"),
        ({"renderer_blacklist": ["pyy"]}, "renderer_blacklist: there is no renderer 'pyy'", "did you mean 'py'?"),
        (
            {"renderer_whitelist": ["jinaj"]},
            "renderer_whitelist: there is no renderer 'jinaj'",
            "did you mean 'jinja'?",
        ),
        (
            {"jinja_env": {"trim_block": True}},
            "jinja_env: there is no option of Jinja 'trim_block'",
            "did you mean 'trim_blocks'?",
        ),
        (
            {"nodegroups": {"web": "N@dbs or x", "db": ["a"]}},
            "nodegroups: there is no node group 'dbs'",
            "did you mean 'db'?",
        ),
        (
            {"salt_python": "/nowhere/python"},
            "salt_python: there is no program /nowhere/python",
            "name the Python of an environment in which Salt is installed, auto, or off",
        ),
    ],
)
def test_a_name_that_does_not_exist_has_the_nearest_one(found, options, message, hint):
    assert found(**options) == [(message, hint)]


def test_names_that_exist_are_left_alone(found):
    assert found() == []
    settings = {
        "disable_modules": ["docker", "mine", "pkg", "aptpkg"],
        "smi_require": ["pkg"],
        "providers": {"service": "mine"},
        "renderer": "jinja|yaml",
        "renderer_blacklist": ["py"],
        "jinja_env": {"trim_blocks": True},
        "nodegroups": {"web": "N@db or L@x,y", "db": ["a", "N@db"]},
        "salt_python": sys.executable,
        "ignore_rules": ["unknown-name"],
    }
    assert found(**{**settings, "ignore_rules": []}) == []
    assert found(**settings, test=True, state_top="x.sls", renderer_whitelist=["jinja"]) == []
    assert found(smi_require=["pgk"], ignore_rules=["unknown-name"]) == []
