"""Effects that a tree relies on without saying so: for each kind one pair of states that must keep its order.

Each pair is of two formulas, and nothing but what the states touch holds them apart.
"""

import pytest
from bundled_states import Bundled
from tables import rows
from trees import plan, reachable

ROOT = "/memory/base"
HASH = "{source_hash: 'md5=d41d8cd98f00b204e9800998ecf8427e'}"

IN_ONE_FOLDER = {
    "a command, another there": ("cmd.run: [{name: echo x > out}, {cwd: /d}]", "cmd.run: [{name: cp out in}, {cwd: /d}]"),
    "make, make install": ("cmd.run: [{name: make}, {cwd: /d}]", "cmd.run: [{name: make install}, {cwd: /d}]"),
    "a command there, a source": ("cmd.run: [{name: make}, {cwd: /d}]", "file.managed: [{name: /x}, {source: /d/out}]"),
    "a command there, a look": ("cmd.run: [{name: make}, {cwd: /d}]", "file.exists: [{name: /d/out}]"),
    "a command there, a copy": ("cmd.run: [{name: make}, {cwd: /d}]", "file.copy: [{name: /x}, {source: /d/out}]"),
    "a command there, an archive": ("cmd.run: [{name: make}, {cwd: /d}]", "archive.extracted: [{name: /x}, {source: /d/out.tar}]"),
    "a command there, a condition": ("cmd.run: [{name: make}, {cwd: /d}]", "file.managed: [{name: /x}, {onlyif: test -e /d/out}]"),
    "a command there, its program": ("cmd.run: [{name: make}, {cwd: /d}]", "cmd.run: [{name: /d/out/prog}]"),
}  # fmt: skip
COMMANDS = {
    "a program is copied": ("cmd.run: [{name: cp /bin/true /usr/local/bin/t}]", "cmd.run: [{name: /usr/local/bin/t}]"),
    "a program is fetched": ("cmd.run: [{name: curl -o /usr/local/bin/x https://h/x}]", "cmd.run: [{name: chmod +x /usr/local/bin/x}]"),
    "a pattern": ("file.managed: [{name: /r/part1}]", "cmd.run: [{name: 'cat /r/part* > /o'}]"),
    "braces": ("file.managed: [{name: /r/a}]", "cmd.run: [{name: 'cat /r/{a,b} > /o'}]"),
    "quotes": ("file.managed: [{name: /r/my file}]", "cmd.run: [{name: 'cat \"/r/my file\" > /o'}]"),
    "a backslash": ("file.managed: [{name: /r/my file}]", "cmd.run: [{name: 'cat /r/my\\ file > /o'}]"),
    "a colon": ("file.managed: [{name: '/r/a:b'}]", "cmd.run: [{name: 'cat /r/a:b > /o'}]"),
    "brackets": ("file.managed: [{name: '/r/a[1]'}]", "cmd.run: [{name: 'cat \"/r/a[1]\" > /o'}]"),
    "a variable at the end": ("file.managed: [{name: /r/part1}]", "cmd.run: [{name: 'cat /r/part$N > /o'}]"),
    "an option with its value": ("file.managed: [{name: /r/x}]", "cmd.run: [{name: 'tool -f/r/x'}]"),
    "a URL of a file": ("file.managed: [{name: /r/x}]", "cmd.run: [{name: 'curl file:///r/x -o /o'}]"),
    "the value of a variable": ("file.managed: [{name: /r/x}]", "cmd.run: [{name: tool}, {env: [{CONFIG: /r/x}]}]"),
    "shared memory": ("cmd.run: [{name: tool > /dev/shm/x}]", "file.exists: [{name: /dev/shm/x}]"),
    "the shell of a condition": ("file.managed: [{name: /r/sh}]", "file.managed: [{name: /x}, {onlyif: a-test}, {shell: /r/sh}]"),
    "where a condition finds its programs": (
        "file.managed: [{name: /r/bin/a-test}]",
        "file.managed: [{name: /x}, {onlyif: a-test}, {prepend_path: /r/bin}]",
    ),
    "a pattern in a condition": ("file.managed: [{name: /r/part1}]", "file.managed: [{name: /x}, {unless: 'cat /r/part*'}]"),
}  # fmt: skip
ASKED_FOR = {
    "a grain in contents": ("grains.present: [{value: 1}]", "file.managed: [{name: /x}, {contents_grains: a}]"),
    "a grain in a template": ("grains.present: [{value: 1}]", "file.managed: [{name: /x}, {source: /t}, {template: jinja}]"),
    "a grain in a condition": ("grains.present: [{value: 1}]", "file.managed: [{name: /x}, {onlyif: [{fun: match.grain, tgt: 'a:1'}]}]"),
    "a grain in a slot": ("grains.present: [{value: 1}]", "file.managed: [{name: /x}, {contents: '__slot__:salt:grains.get(a)'}]"),
    "grains that are read again": ("cmd.run: [{name: make-fact}, {reload_grains: true}]", "file.managed: [{name: /x}, {contents_grains: a}]"),
    "the pillar that is read again": ("cmd.run: [{name: make-pillar}, {reload_pillar: true}]", "file.managed: [{name: /x}, {contents_pillar: a}]"),
    "the environment of a service": ("environ.setenv: [{value: x}]", "service.running: []"),
    "the environment of a package": ("environ.setenv: [{value: x}]", "pkg.installed: []"),
    "the environment of a template": ("environ.setenv: [{value: x}]", "file.managed: [{name: /x}, {source: /t}, {template: jinja}]"),
    "the environment of a condition": ("environ.setenv: [{value: x}]", "test.nop: [{onlyif: 'test -n \"$A\"'}]"),
    "the environment of a check": ("environ.setenv: [{value: x}]", "file.managed: [{name: /x}, {check_cmd: visudo -c}]"),
    "the environment of git": ("environ.setenv: [{value: x}]", "git.latest: [{name: https://h/r}, {target: /g}]"),
    "what a template is told to read": (
        "file.managed: [{name: /etc/key}]",
        "file.managed: [{name: /x}, {source: /t}, {template: jinja}, {context: {key: /etc/key}}]",
    ),
    "what a template reads by default": (
        "file.managed: [{name: /etc/keys/a}]",
        "file.managed: [{name: /x}, {source: /t}, {template: jinja}, {defaults: {keys: [/etc/keys]}}]",
    ),
    "what a slot reads": ("file.managed: [{name: /etc/key}]", "file.managed: [{name: /x}, {contents: '__slot__:salt:file.read(/etc/key)'}]"),
    "what a slot in a list reads": ("file.managed: [{name: /etc/key}]", "file.append: [{name: /x}, {text: ['__slot__:salt:file.read(/etc/key)']}]"),
}  # fmt: skip
SOURCES = {
    "a source": (f"file.managed: [{{name: {ROOT}/a}}]", "file.managed: [{name: /x}, {source: 'salt://a'}]"),
    "one of several sources": (f"file.managed: [{{name: {ROOT}/b}}]", "file.managed: [{name: /x}, {source: ['salt://a', 'salt://b']}]"),
    "a source of another environment": ("file.managed: [{name: /memory/dev/a}]", "file.managed: [{name: /x}, {source: 'salt://a?saltenv=dev'}]"),
    "a folder": (f"file.managed: [{{name: {ROOT}/a/b}}]", "file.recurse: [{name: /x}, {source: 'salt://a'}]"),
    "the file roots as a whole": (f"git.latest: [{{name: https://h/r}}, {{target: {ROOT}}}]", "file.managed: [{name: /x}, {source: 'salt://a'}]"),
    "a folder above the file roots": ("archive.extracted: [{name: /memory}, {source: /a.tar}]", "file.managed: [{name: /x}, {source: 'salt://a'}]"),
    "a script": (f"file.managed: [{{name: {ROOT}/a.sh}}]", "cmd.script: [{name: 'salt://a.sh'}]"),
    "an archive": (f"file.managed: [{{name: {ROOT}/a.tar}}]", "archive.extracted: [{name: /x}, {source: 'salt://a.tar'}]"),
    "a package": (f"file.managed: [{{name: {ROOT}/a.deb}}]", "pkg.installed: [{sources: [{a: 'salt://a.deb'}]}]"),
    "what a template imports": (f"file.managed: [{{name: {ROOT}/map.jinja}}]", "file.managed: [{name: /x}, {source: 'salt://a'}, {template: jinja}]"),
    "a source, with another name of the file roots": ("file.managed: [{name: /elsewhere/a}]", "file.managed: [{name: /x}, {source: 'salt://a'}]"),
    "a module of the tree": (f"file.managed: [{{name: {ROOT}/_states/own.py}}]", "own.present: []"),
    "a function of the tree": (f"file.managed: [{{name: {ROOT}/_modules/own.py}}]", "module.run: [{own.act: []}]"),
    "a function of the tree, in a template": (
        f"file.managed: [{{name: {ROOT}/_modules/own.py}}]",
        "file.managed: [{name: /x}, {source: /t}, {template: jinja}]",
    ),
    "a function of the tree, in a condition": (
        f"file.recurse: [{{name: {ROOT}/_modules}}, {{source: /x}}]",
        "test.nop: [{onlyif: [{fun: own.act}]}]",
    ),
    "a package that a module needs": ("pkg.installed: [{name: python3-own}]", "own.present: []"),
    "a Python package that a module needs": ("pip.installed: [{name: own}]", "own.present: []"),
    "a module that a command brings": ("cmd.run: [{name: get-own}, {reload_modules: true}]", "own.present: []"),
}  # fmt: skip
FILES = {
    "the copy that patch keeps": ("file.patch: [{name: /x}, {source: /p}, {options: -b}]", "file.exists: [{name: /x.orig}]"),
    "the copy that patch is told to keep": ("file.patch: [{name: /x}, {source: /p}, {options: -b -z .was}]", "file.exists: [{name: /x.was}]"),
    "the copy of a line's file": ("file.line: [{name: /d/x}, {content: a}, {mode: ensure}, {after: b}, {backup: true}]", "cmd.run: [{name: ls /d}]"),
    "a folder with its mode": ("cmd.run: [{name: mkdir -p -m 700 /a/b}]", "file.managed: [{name: /a/b/c}, {makedirs: true}]"),
    "the backup of a change": ("file.replace: [{name: /x}, {pattern: a}, {repl: b}]", "file.managed: [{name: /y}, {source: /x.bak}]"),
    "the backup of a comment": ("file.comment: [{name: /x}, {regex: a}]", "file.managed: [{name: /y}, {source: /x.bak}]"),
    "the backup of an uncomment": ("file.uncomment: [{name: /x}, {regex: a}]", "file.managed: [{name: /y}, {source: /x.bak}]"),
    "folders with two modes": (
        "file.managed: [{name: /a/b/c}, {makedirs: true}, {mode: '600'}]",
        "file.managed: [{name: /a/b/d}, {makedirs: true}, {mode: '644'}]",
    ),
    "a local file that is cached": ("file.managed: [{name: /x}]", "file.cached: [{name: /x}]"),
    "a wheel": ("file.managed: [{name: /w/a.whl}]", "pip.installed: [{name: /w/a.whl}]"),
    "a keyring": ("file.managed: [{name: /k.gpg}]", "file.managed: [{name: /x}, {source: /y}, {signature: /y.sig}, {keyring: /k.gpg}]"),
    "a signature": ("file.managed: [{name: /y.sig}]", "file.managed: [{name: /x}, {source: /y}, {signature: /y.sig}]"),
}  # fmt: skip
ACCOUNTS = {
    "a folder of keys": ("ssh_auth.present: [{name: AAAA}, {user: u}]", "file.managed: [{name: /home/u/.ssh/config}]"),
    "a folder of known hosts": ("ssh_known_hosts.present: [{name: h}, {user: u}]", "file.managed: [{name: /home/u/.ssh/config}]"),
    "a home elsewhere": ("user.present: [{name: u}, {home: /srv/u}]", "ssh_auth.present: [{name: AAAA}, {user: u}]"),
    "the files of a new home": ("file.managed: [{name: /etc/skel/.profile}]", "user.present: [{name: u}]"),
    "the rules of new accounts": ("file.managed: [{name: /etc/login.defs}]", "user.present: [{name: u}]"),
    "the group of a user": ("user.present: [{name: u}]", "file.managed: [{name: /x}, {group: u}]"),
    "the number of a user": ("user.present: [{name: u}]", "file.managed: [{name: /x}, {user: 1001}]"),
    "a command of a user": ("user.present: [{name: u}]", "cmd.run: [{name: id u}]"),
    "a condition about a user": ("user.present: [{name: u}]", "test.nop: [{onlyif: id u}]"),
    "the table of a user": ("user.present: [{name: u}]", "cron.present: [{name: x}, {user: u}]"),
}  # fmt: skip
SYSTEM = {
    "a module of the kernel, its settings": (
        "kmod.present: [{name: br_netfilter}]",
        "sysctl.present: [{name: net.bridge.bridge-nf-call-iptables}, {value: 1}]",
    ),
    "one setting, with two names": (
        "sysctl.present: [{name: net.ipv4.ip_forward}, {value: 1}]",
        "sysctl.present: [{name: net/ipv4/ip_forward}, {value: 0}]",
    ),
    "a host, a URL": ("host.present: [{name: h}, {ip: 10.0.0.1}]", f"file.managed: [{{name: /x}}, {{source: 'https://h/x'}}, {HASH}]"),
    "a host, a repository": ("host.present: [{name: h}, {ip: 10.0.0.1}]", "git.latest: [{name: https://h/r}, {target: /g}]"),
    "who answers for names, a URL": ("file.managed: [{name: /etc/resolv.conf}]", "archive.extracted: [{name: /x}, {source: 'https://h/x.tar'}]"),
    "a locale, a cluster": ("locale.present: [{name: de_DE.UTF-8}]", "postgres_cluster.present: [{version: 15}]"),
    "a locale, a database": ("locale.present: [{name: de_DE.UTF-8}]", "postgres_database.present: [{name: d}]"),
    "who may have tables": ("file.managed: [{name: /etc/cron.allow}]", "cron.present: [{name: x}, {user: u}]"),
    "a package by its file": ("cmd.run: [{name: dpkg -i /x.deb}]", "pkg.installed: [{name: y}]"),
    "the login to a host": ("file.managed: [{name: /root/.netrc}]", "git.latest: [{name: https://h/r}, {target: /g}]"),
    "the settings of pip": ("file.managed: [{name: /etc/pip.conf}]", "pip.installed: [{name: x}]"),
}  # fmt: skip
PAIRS = IN_ONE_FOLDER | COMMANDS | ASKED_FOR | SOURCES | FILES | ACCOUNTS | SYSTEM


class Links(dict):
    def __call__(self, path):
        first = f"/{path.split('/')[1]}"
        return self[first] + path[len(first) :] if first in self else path

    def target(self, path):
        return self.get(path, "")


def compiled(*states):
    tree = {f"f{number}": f"s{number}:\n  {state}\n" for number, state in enumerate(states)}
    links = Links({"/elsewhere": ROOT})
    envs = {"dev": {"x": "x: test.nop"}}
    return plan(tree, list(tree), states=Bundled(), implicit_order="footprint", links=links, envs=envs)


@rows("case", PAIRS)
def test_a_pair_keeps_its_order(case):
    pair = compiled(*PAIRS[case])
    last = len(pair.chunks) - 1
    assert reachable(pair, last - 1, last)


APART = {
    "a source that nobody writes": ("file.managed: [{name: /srv/a}]", "file.managed: [{name: /x}, {source: 'salt://a'}]"),
    "another source": (f"file.managed: [{{name: {ROOT}/b}}]", "file.managed: [{name: /x}, {source: 'salt://a'}]"),
    "a source of another environment": ("file.managed: [{name: /memory/dev/a}]", "file.managed: [{name: /x}, {source: 'salt://a'}]"),
    "a module that is there": ("pkg.installed: [{name: python3-own}]", "file.managed: [{name: /x}]"),
    "a file without a program": ("environ.setenv: [{value: x}]", "file.managed: [{name: /x}, {contents: a}]"),
    "a template that is told nothing": (
        "file.managed: [{name: /etc/key}]",
        "file.managed: [{name: /x}, {source: /t}, {template: jinja}, {context: {key: here}}]",
    ),
    "a plugin, and a file": (f"file.managed: [{{name: {ROOT}/_modules/own.py}}]", "file.managed: [{name: /x}]"),
    "what says that it may run beside others": ("environ.setenv: [{value: x}]", "service.running: [{parallel: true}]"),
    "what says itself what it touches": (
        f"file.managed: [{{name: {ROOT}/a}}]",
        "file.managed: [{name: /x}, {source: 'salt://a'}, {footprint: {writes: ['path:/x']}}]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", APART)
def test_a_pair_that_has_nothing_to_do_with_each_other_runs_at_once(case):
    assert not reachable(compiled(*APART[case]), 0, 1)
