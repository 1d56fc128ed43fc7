"""Footprints of the bundled states: each has one, in the documented terms, and conflicting states are kept apart."""

import inspect
import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import asyncstate.states as bundled
import pytest
from bare_footprints import declared
from bundled_states import Bundled, edges_between, state_module
from plugin_harness import PluginHarness
from tables import rows

MODULES = sorted(info.name for info in pkgutil.iter_modules(bundled.__path__) if not info.name.startswith("_"))
ODD = ("", "x", "/x/y", "/x/../y/", "salt://x", None, [], ["/x", "y"], [{"/x": "y"}], {"/x": "y"}, [None, 5])
NAMES = ("/x/y", "x", "https://host/x", "")


def functions_of(module):
    """(name in an SLS, function) of the states of a module."""
    aliases = getattr(module, "__func_alias__", {})
    for name, function in vars(module).items():
        own = inspect.isfunction(function) and function.__module__.startswith("asyncstate.states")
        if own and not name.startswith(("_", "mod_")):
            yield aliases.get(name, name), function


@pytest.fixture(scope="module")
def kinds(checkout):
    """The kinds of names that docs/writing-states.md lists."""
    guide = (checkout / "docs/writing-states.md").read_text().split("## Saying what it touches")[1].split("\n### ")[0]
    cells = "".join(re.findall(r"^- (`[a-z].*?`): ", guide, re.MULTILINE))
    return {name.split(":")[0] for name in re.findall(r"`([^`]+)`", cells)}


KEYS = {"reads", "writes", "makes", "leaves", "links", "copies", "programs", "unknown"}


@pytest.mark.feature("F059")
@pytest.mark.parametrize("name", MODULES)
def test_every_state_says_what_it_touches_in_documented_words_whatever_it_is_given(name, kinds, tmp_path):
    module = state_module(name)
    assert callable(getattr(module, "mod_footprint", None)), f"states/{name} has no mod_footprint"
    harness = PluginHarness(tmp_path)
    for function, call in functions_of(module):
        parameters = [parameter for parameter in inspect.signature(call).parameters if parameter != "name"]
        for value in ODD:
            for called in NAMES:
                low = dict.fromkeys(parameters, value) | {"state": name, "fun": function, "name": called, "__id__": "i"}
                with harness.calling():
                    footprint = module.mod_footprint(low)
                assert footprint.keys() <= KEYS
                links = footprint.get("links", {})
                said = [each for link in links.values() for each in (link if isinstance(link, list) else [link])]
                assert all(isinstance(each, str) for each in (*links, *said)), (function, value, links)
                touched = [*footprint.get("reads", ()), *footprint.get("writes", ()), *footprint.get("makes", ())]
                assert all(isinstance(each, str) for each in touched), (function, value, touched)
                unheard_of = {re.split("[:#]", each)[0] for each in touched} - kinds
                assert not unheard_of, f"{name}.{function}: list these in docs/writing-states.md, or use what is there"


ORDERED = {
    "a file needs its owner": ("user.present: [{name: www}]", "file.managed: [{name: /x}, {user: www}]"),
    "a file needs its group": ("group.present: [{name: www}]", "file.managed: [{name: /x}, {group: www}]"),
    "a file needs its folder": ("file.directory: [{name: /a}]", "file.managed: [{name: /a/b/c}]"),
    "what is below goes with a folder": ("file.managed: [{name: /a/b}]", "file.absent: [{name: /a}]"),
    "what is below gets its mode": ("file.managed: [{name: /a/b}]", "file.directory: [{name: /a}, {file_mode: '600'}, {recurse: [mode]}]"),
    "a folder was made for another file": ("file.managed: [{name: /a/b/c}, {makedirs: true}]", "file.managed: [{name: /a/b/d}]"),
    "a folder was made for files": ("file.recurse: [{name: /a/b/c}, {source: 'salt://c'}]", "cmd.run: [{name: touch /a/b/d}]"),
    "a folder comes with a file": ("file.managed: [{name: /a/b/c}, {makedirs: true}]", "file.exists: [{name: /a}]"),
    "a folder comes with a file, and a condition asks": (
        "file.managed: [{name: /a/b/c}, {makedirs: true}]",
        "service.running: [{name: s}, {onlyif: test -d /a}]",
    ),
    "one file": ("file.managed: [{name: /a}]", "file.append: [{name: /a/../a}]"),
    "a copy needs its source": ("file.managed: [{name: /a}]", "file.copy: [{name: /b}, {source: /a}]"),
    "users have one database": ("user.present: [{name: a}]", "user.present: [{name: b}]"),
    "a user needs the group": ("group.present: [{name: g}]", "user.present: [{name: a}, {groups: [g]}]"),
    "packages have one database": ("pkg.installed: [{name: a}]", "pkg.removed: [{name: b}]"),
    "a package needs its source": ("pkgrepo.managed: [{name: deb http://x y main}]", "pkg.installed: [{name: a}]"),
    "a package needs its file": ("file.managed: [{name: /a.deb}]", "pkg.installed: [{sources: [{a: /a.deb}]}]"),
    "one service": ("service.running: [{name: a}]", "service.dead: [{name: a}]"),
    "an archive needs its file": ("file.managed: [{name: /a.tar}]", "archive.extracted: [{name: /srv/a}, {source: /a.tar}]"),
    "a file is laid over an archive": ("archive.extracted: [{name: /srv/a}, {source: /a.tar}]", "file.managed: [{name: /srv/a/b}]"),
    "one table": ("cron.present: [{name: a}, {user: root}]", "cron.absent: [{name: a}]"),
    "a new member must be there": ("user.present: [{name: u}]", "group.present: [{name: g}, {addusers: [u]}]"),
    "a command runs with the groups of its user": ("group.present: [{name: g}, {addusers: [u]}]", "cmd.run: [{name: make}, {runas: u}, {cwd: /s}]"),
    "a table needs its user": ("user.present: [{name: u}]", "cron.present: [{name: a}, {user: u}]"),
    "a command reads": ("file.managed: [{name: /a}]", "cmd.run: [{name: wc -l /a}]"),
    "a command writes": ("cmd.run: [{name: make-it > /a}]", "file.exists: [{name: /a}]"),
    "a command has a program": ("file.managed: [{name: /usr/local/bin/x}]", "cmd.run: [{name: /usr/local/bin/x -v}]"),
    "a command is somewhere": ("file.directory: [{name: /srv/a}]", "cmd.run: [{name: make}, {cwd: /srv/a}]"),
    "a command finds what it needs where it is": ("file.managed: [{name: /srv/a/Makefile}]", "cmd.run: [{name: make}, {cwd: /srv/a}]"),
    "a command writes where it is": ("cmd.run: [{name: echo a > out}, {cwd: /srv/a}]", "cmd.run: [{name: cp out inst}, {cwd: /srv/a}]"),
    "make, then make install": ("cmd.run: [{name: make}, {cwd: /a}]", "cmd.run: [{name: make install}, {cwd: /a}]"),
    "a file is taken from where a command was": ("cmd.run: [{name: make}, {cwd: /a}]", "file.managed: [{name: /etc/x}, {source: /a/out}]"),
    "a condition asks what a command made": ("cmd.run: [{name: make}, {cwd: /a}]", "file.managed: [{name: /etc/x}, {onlyif: test -e /a/out}]"),
    "a program was made": ("cmd.run: [{name: make}, {cwd: /a}]", "cmd.run: [{name: /a/out/prog}]"),
    "a program is copied": ("cmd.run: [{name: cp /bin/true /usr/local/bin/t}]", "cmd.run: [{name: /usr/local/bin/t /x}]"),
    "a program is found by its name": ("file.managed: [{name: /usr/local/bin/t}]", "cmd.run: [{name: t --version}]"),
    "a program is fetched": ("cmd.run: [{name: 'curl -o /usr/local/bin/x https://h/x'}]", "cmd.run: [{name: chmod +x /usr/local/bin/x}]"),
    "a pattern": ("file.managed: [{name: /r/part1}]", "cmd.run: [{name: cat /r/part* > /all}]"),
    "braces": ("file.managed: [{name: /r/b}]", "cmd.run: [{name: 'cat /r/{a,b}'}]"),
    "a backslash": ("file.managed: [{name: /r/my file}]", "cmd.run: [{name: cat /r/my\\ file}]"),
    "quotes": ("file.managed: [{name: /r/my file}]", 'cmd.run: [{name: cat "/r/my file"}]'),
    "a colon": ("file.managed: [{name: '/r/a:b'}]", "cmd.run: [{name: 'cat /r/a:b'}]"),
    "a variable in a name": ("file.managed: [{name: /r/part1}]", "cmd.run: [{name: cat /r/part$N}]"),
    "an option": ("cmd.run: [{name: tool -o/r/x}]", "file.exists: [{name: /r/x}]"),
    "a URL of a file": ("file.managed: [{name: /r/x}]", "cmd.run: [{name: 'curl file:///r/x'}]"),
    "a folder is changed": ("cmd.run: [{name: cd /r && touch x}]", "file.exists: [{name: /r/x}]"),
    "a home": ("cmd.run: [{name: touch ~/x}]", "cmd.run: [{name: cat $HOME/x}]"),
    "memory is a file system": ("cmd.run: [{name: touch /dev/shm/x}]", "cmd.run: [{name: cat /dev/shm/x}]"),
    "a variable of the state": ("file.managed: [{name: /r/x}]", "cmd.run: [{name: tool $X}, {env: {X: /r/x}}]"),
    "a condition with a pattern": ("file.managed: [{name: /r/x1}]", "file.managed: [{name: /y}, {unless: ls /r/x*}]"),
    "a condition where the state is": ("file.managed: [{name: /r/x1}]", "git.config_set: [{name: a.b}, {value: c}, {cwd: /r}, {unless: test -e x1}]"),
    "a condition asks for grains": (
        "own.thing: [{footprint: {writes: [grains]}}]",
        "file.managed: [{name: /y}, {onlyif: [{fun: match.grain, tgt: 'a:b'}]}]",
    ),
    "a condition is a process": ("environ.setenv: [{name: A}, {value: b}]", 'file.managed: [{name: /y}, {onlyif: test -n "$A"}]'),
    "a command changes an account": ("cmd.run: [{name: useradd u}]", "file.managed: [{name: /x}, {user: u}]"),
    "a user runs it in sudo": ("user.present: [{name: u}]", "cmd.run: [{name: sudo -u u touch /x}]"),
    "a command starts a service": ("service.running: [{name: a}]", "cmd.run: [{name: systemctl restart a}]"),
    "a command makes a link": ("cmd.run: [{name: ln -sfn /opt/v2 /srv/current}]", "file.managed: [{name: /srv/current/x}]"),
    "a user comes with a home": ("cmd.run: [{name: useradd -m u}]", "cmd.run: [{name: touch ~u/x}]"),
    "a package is a file": ("cmd.run: [{name: dpkg -i /x.deb}]", "pkg.installed: [{name: a}]"),
    "a host is looked up": ("host.present: [{ip: 10.0.0.1}]", "cmd.run: [{name: 'wget http://b/x'}]"),
    "a setting of the kernel": ("sysctl.present: [{name: a.b}, {value: 1}]", "cmd.run: [{name: sysctl -w a.b=2}]"),
    "a script is a file": ("file.managed: [{name: /a.sh}]", "cmd.script: [{name: a}, {source: /a.sh}]"),
    "a script has arguments": ("cmd.script: [{name: 'salt://a'}, {args: -o /a}]", "file.exists: [{name: /a}]"),
    "a command creates": ("cmd.run: [{name: make}, {creates: /a}]", "file.managed: [{name: /a}]"),
    "a command has conditions": ("file.managed: [{name: /a}]", "cmd.run: [{name: make}, {unless: test -e /a}]"),
    "a command has an environment": ("environ.setenv: [{name: A}, {value: b}]", "cmd.run: [{name: make}]"),
    "a command is somebody's": ("user.present: [{name: u}]", "cmd.run: [{name: make}, {runas: u}]"),
    "one file of hosts": ("host.present: [{ip: 10.0.0.1}]", "host.absent: [{name: b}, {ip: 10.0.0.1}]"),
    "one file of grains": ("grains.present: [{value: 1}]", "grains.absent: [{name: b}]"),
    "one file of settings": ("sysctl.present: [{name: a}, {value: 1}]", "file.append: [{name: /etc/sysctl.conf}, {text: x}]"),
    "a working tree": ("git.latest: [{name: https://h/r}, {target: /srv/g}]", "file.managed: [{name: /srv/g/x}]"),
    "keys of a user": ("user.present: [{name: u}]", "ssh_auth.present: [{name: AAAA}, {user: u}]"),
    "an environment": ("virtualenv.managed: [{name: /srv/v}]", "pip.installed: [{name: x}, {bin_env: /srv/v}]"),
    "one environment": ("pip.installed: [{name: x}]", "pip.removed: [{name: y}]"),
    "a link leads to a folder": ("file.symlink: [{name: /srv/current}, {target: v1}]", "file.managed: [{name: /srv/current/a}]"),
    "aliases": ("alias.present: [{name: y}, {target: x}]", "alias.absent: [{name: y}]"),
}  # fmt: skip
APART = {
    "two files": ("file.managed: [{name: /a/b}]", "file.managed: [{name: /a/c}]"),
    "two who make one folder": ("file.managed: [{name: /a/b/c}, {makedirs: true}]", "file.managed: [{name: /a/b/d}, {makedirs: true}]"),
    "a folder made in one that is always there": ("file.managed: [{name: /etc/b/c}, {makedirs: true}]", "file.managed: [{name: /etc/d}]"),
    "two readers": ("cmd.run: [{name: x}, {onlyif: test -e /a}]", "cmd.run: [{name: y}, {onlyif: test -e /a}]"),
    "two commands that read in one folder": ("cmd.run: [{name: cat a}, {cwd: /srv}]", "cmd.run: [{name: grep x b}, {cwd: /srv}]"),
    "two commands without a folder": ("cmd.run: [{name: x}]", "cmd.run: [{name: y}]"),
    "a command at the root": ("cmd.run: [{name: x}, {cwd: /}]", "file.managed: [{name: /a}]"),
    "two services": ("service.running: [{name: a}]", "service.running: [{name: b}]"),
    "who owns a file has other groups": ("file.managed: [{name: /x}, {user: u}]", "group.present: [{name: g}, {members: [u]}]"),
    "who has a table has other groups": ("cron.present: [{name: a}, {user: root}]", "group.present: [{name: g}, {members: [root]}]"),
    "two tables": ("cron.present: [{name: a}, {user: u}]", "cron.present: [{name: a}, {user: v}]"),
    "two trees": ("archive.extracted: [{name: /a}]", "git.latest: [{name: https://h/r}, {target: /b}]"),
    "two environments": ("pip.installed: [{name: x}, {bin_env: /v}]", "pip.installed: [{name: x}, {bin_env: /w}]"),
    "a service and a file elsewhere": ("service.running: [{name: a}]", "file.managed: [{name: /a}]"),
    "a package and a file elsewhere": ("pkg.installed: [{name: a}]", "file.managed: [{name: /a}]"),
    "tests": ("test.nop: [{name: /a}]", "test.succeed_with_changes: [{name: /a}]"),
}  # fmt: skip


@pytest.mark.feature("F059")
@rows("case", ORDERED)
def test_states_that_touch_one_thing_keep_their_order(case):
    first, second = ORDERED[case]
    assert edges_between(first, second) == {("s0", "s1")}
    assert edges_between(second, first) == {("s0", "s1")}


@pytest.mark.parametrize("case", APART)
def test_states_that_touch_different_things_run_beside_each_other(case):
    assert edges_between(*APART[case]) == set()


def test_what_is_not_installed_yet_changes_nothing_in_what_a_state_touches(tmp_path):
    """A tree that installs a library, or a program, must not run what needs it before that."""
    script = Path(__file__).parent.parent / "support" / "bare_footprints.py"
    ran = subprocess.run(
        [sys.executable, script], env={"PATH": ""}, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    bare = json.loads(ran.stdout)
    assert {"x509", "docker_container", "docker_image", "docker_network", "git", "pkgrepo"} <= set(bare["refused"])
    with PluginHarness(tmp_path).calling():
        everything_there = declared(Bundled())
    assert bare["footprints"] == json.loads(json.dumps(everything_there))
