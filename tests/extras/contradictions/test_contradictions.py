"""States that undo each other's work, and those that a run refuses: certain ones are mistakes, others are for lint."""

from __future__ import annotations

import json
import re

from bundled_states import Bundled
from hypothesis import given
from hypothesis import strategies as st
from tables import rows
from trees import plan

from asyncstate.data.packages import PackageLists
from asyncstate.extras.analyse.lint import lint

MANAGED = "file.managed: [{name: /x}, {contents: 'a = 1'}]"


def rules(first, second, *more, files=None, **options):
    """The rules that find something between states, which stand in two SLS files."""
    states = [f"s{number}: {{{each}}}" for number, each in enumerate((first, second, *more))]
    made = plan({"a": "\n".join(states), **(files or {})}, ["a"], implicit_order="footprint", **options)
    return {issue.rule for issue in made.warnings if issue.mistake} | {
        finding.rule for finding in lint(made) if finding.rule == "may-undo"
    }


@rows(
    "second",
    [
        "file.managed: [{name: /x}, {contents: 'b = 1'}]",
        "file.managed: [{name: /x}, {contents: ['a = 1', b]}]",
        "file.replace: [{name: /x}, {pattern: 'a = .*'}, {repl: 'a = 2'}]",
        "file.line: [{name: /x}, {content: 'b = 2'}, {mode: ensure}, {after: a}]",
        "file.line: [{name: /x}, {content: 'a = 1'}, {mode: ensure}, {after: a}]",
        "file.append: [{name: /x}, {text: b}]",
        "file.append: [{name: /x}, {text: [a = 1, b]}]",
        "file.prepend: [{name: /x}, {text: b}]",
        "file.comment: [{name: /x}, {regex: ^a}]",
        "file.blockreplace: [{name: /x}, {content: b}, {append_if_not_found: True}]",
        "file.keyvalue: [{name: /x}, {key: a}, {value: 2}, {separator: ' = '}]",
        "file.serialize: [{name: /x}, {dataset: {a: 1}}]",
        "file.serialize: [{name: /x}, {dataset: {a: 1}}, {merge_if_exists: True}]",
        "file.decode: [{name: /x}, {encoded_data: Yg==}]",
        "file.managed: [{name: /x}, {contents: ''}]",
    ],
)
def test_two_states_that_write_one_file_differently_are_a_mistake(second):
    assert rules(MANAGED, second) == {"undone"}
    assert rules(second, MANAGED) == {"undone"}
    head, _, tail = second.rpartition("]")
    assert rules(MANAGED, f"{head}, {{require: [{{file: s0}}]}}]{tail}") == {"undone"}
    assert rules(MANAGED, f"{head}, {{order: last}}]{tail}") == {"undone"}


BLOCK = "file.blockreplace: [{name: /x}, {marker_start: '# a'}, {marker_end: '# b'}"
OF_NO_TEXT = [
    ("file.append: [{name: /x}, {text: a}]", "file.replace: [{name: /x}, {pattern: ^a}, {repl: b}]"),
    ("file.append: [{name: /x}, {text: a}]", "file.comment: [{name: /x}, {regex: ^a}]"),
    ("file.append: [{name: /x}, {text: a}]", "file.line: [{name: /x}, {match: a}, {mode: delete}]"),
    ("file.comment: [{name: /x}, {regex: ^a}]", "file.uncomment: [{name: /x}, {regex: ^a}]"),
    (f"{BLOCK}, {{content: c}}]", f"{BLOCK}, {{content: d}}]"),
    (f"{BLOCK}, {{content: c}}, {{append_if_not_found: True}}]", f"{BLOCK}, {{content: d}}]"),
    ("file.serialize: [{name: /x}, {dataset: {a: 1}}]", "file.serialize: [{name: /x}, {dataset: {a: 2}}]"),
    ("file.serialize: [{name: /x}, {dataset: {a: 1}}]", "file.serialize: [{name: /x}, {dataset: {a: 1}}, {formatter: json}]"),
    ("file.prepend: [{name: /x}, {text: a}, {header: True}]", "file.prepend: [{name: /x}, {text: b}, {header: True}]"),
]  # fmt: skip


@rows(("first", "second"), OF_NO_TEXT)
def test_states_that_no_text_contents_are_a_mistake(first, second):
    assert rules(first, second) == {"undone"}
    assert rules(second, first) == {"undone"}


@rows(
    ("first", "second"),
    [
        ("file.append: [{name: /x}, {text: a}]", "file.append: [{name: /x}, {text: b}]"),
        ("file.append: [{name: /x}, {text: a}]", "file.replace: [{name: /x}, {pattern: ^b}, {repl: c}]"),
        ("file.append: [{name: /x}, {text: a}]", "file.replace: [{name: /x}, {pattern: \\Aa}, {repl: c}]"),
        (f"{BLOCK}, {{content: c}}]", f"{BLOCK}, {{content: c}}]"),
        (f"{BLOCK}, {{content: c}}]", "file.append: [{name: /x}, {text: d}]"),
        ("file.serialize: [{name: /x}, {dataset: {a: 1}}]", "file.append: [{name: /x}, {text: 'a: 1'}]"),
        ("file.keyvalue: [{name: /x}, {key: a}, {value: 1}]", "file.keyvalue: [{name: /x}, {key: b}, {value: 1}]"),
    ],
)
def test_states_that_a_text_contents_are_no_mistake(first, second):
    assert "undone" not in rules(first, second)
    assert "undone" not in rules(second, first)


def test_what_is_in_the_file_decides_about_two_replacements():
    first, second = (f"file.replace: [{{name: /x}}, {{pattern: ^a=.*}}, {{repl: a={number}}}]" for number in (1, 2))
    assert rules(first, second) == {"may-undo"}


@rows("number", [3, 60])
def test_of_many_states_the_pairs_are_found(number):
    appended = [f"file.append: [{{name: /x}}, {{text: line {each}}}]" for each in range(number)]
    assert rules(*appended) == set()
    made = plan("\n".join(f"s{index}: {{{each}}}" for index, each in enumerate([MANAGED, *appended])), ["s"])
    pairs = [(each.first, each.second) for each in made.contradictions]
    assert pairs == [(0, index + 1) for index in range(number)]
    other = "file.replace: [{name: /x}, {pattern: line 2$}, {repl: other}]"
    made = plan("\n".join(f"s{index}: {{{each}}}" for index, each in enumerate([*appended, other])), ["s"])
    assert [(each.first, each.second) for each in made.contradictions] == [(2, number)]


def test_no_requisite_is_advised_between_states_that_contradict_each_other():
    other = "file.managed: [{name: /x}, {contents: b}]"
    made = plan({"a": f"one: {{{MANAGED}}}\ntwo: {{{other}}}"}, ["a"], states=Bundled(), implicit_order="footprint")
    assert [finding.rule for finding in lint(made)] == ["undone"]


def test_a_mistake_names_both_places():
    made = plan({"a": f"one: {{{MANAGED}}}\ntwo: {{file.managed: [{{name: /x}}, {{contents: b}}]}}"}, ["a"])
    (issue,) = [issue for issue in made.warnings if issue.rule == "undone"]
    assert (issue.code, issue.mistake, issue.line) == ("E430", True, 2)
    assert "let one state say all that is in the file" in issue.hint
    assert "a:two" in issue.message
    assert "a:one" in issue.message
    assert ".sls:1)" in issue.message


@rows(
    "second",
    [
        "file.managed: [{name: /x}, {contents: 'a = 1'}, {mode: '0600'}]",
        "file.managed: [{name: /x}, {contents: ['a = 1']}]",
        "file.managed: [{name: /y}, {contents: b}]",
        "file.managed: [{name: /x}, {contents: b}, {replace: False}]",
        "file.managed: [{name: /x}, {mode: '0600'}]",
        "file.managed: [{name: /x}, {contents: b}, {unless: test -e /y}]",
        "file.managed: [{name: /x}, {contents: b}, {onlyif: test -e /y}]",
        "file.managed: [{name: /x}, {contents: b}, {creates: /y}]",
        "file.managed: [{name: /x}, {contents: b}, {onchanges: [{file: s0}]}]",
        "file.managed: [{name: /x}, {contents: b}, {onfail: [{file: s0}]}]",
        "file.managed: [{name: /x}, {contents: b}, {prereq: [{file: s0}]}]",
        "file.replace: [{name: /x}, {pattern: nothing}, {repl: x}]",
        "file.replace: [{name: /x}, {pattern: '['}, {repl: x}]",
        "file.line: [{name: /x}, {content: 'a = 1'}, {mode: ensure}, {before: b}]",
        "file.append: [{name: /x}, {text: 'a = 1'}]",
        "file.append: [{name: /x}, {text: b}, {unless: grep b /x}]",
        "file.append: [{name: /x}]",
        "file.comment: [{name: /x}, {regex: ^b}]",
        "file.blockreplace: [{name: /x}, {content: b}]",
        "file.exists: [{name: /x}]",
    ],
)
def test_what_leaves_the_other_alone_is_no_mistake(second):
    assert rules(MANAGED, second) == set()


@rows(
    "second",
    [
        "file.managed: [{name: /x}, {contents: '{{ 1 }}'}, {template: jinja}]",
        "file.managed: [{name: /x}, {contents_pillar: web}]",
        "file.replace: [{name: /x}, {pattern: '(.+)+b'}, {repl: x}]",
        "file.serialize: [{name: /x}, {dataset_pillar: web}]",
    ],
)
def test_what_may_agree_is_for_lint(second):
    assert rules(MANAGED, second) == {"may-undo"}


LAST = "file.managed: [{name: /x}, {contents: b}, {require: [{id: s1}]}]"


@rows(
    ("between", "found"),
    [
        ("test.nop: [{require: [{file: s0}]}]", "undone"),
        ("file.append: [{name: /x}, {text: 'a = 1'}, {require: [{file: s0}]}]", "undone"),
        ("cmd.run: [{name: cp /x /y}, {require: [{file: s0}]}]", "may-undo"),
    ],
)
def test_only_a_state_that_uses_the_file_meanwhile_says_that_both_texts_are_meant(between, found):
    assert found in rules(MANAGED, between, LAST)


def test_a_file_that_is_removed_between_may_be_written_twice():
    assert rules(MANAGED, "file.absent: [{name: /x}]", "file.managed: [{name: /x}, {contents: b}]") == {"may-undo"}


def test_sources_of_the_tree_are_read():
    one, two = ("file.managed: [{name: /x}, {source: 'salt://" + name + "'}]" for name in ("one", "two"))
    files = {"salt://one": "text\n", "salt://two": "other\n"}
    assert rules(one, "file.managed: [{name: /x}, {contents: text}]", files=files) == set()
    assert rules(one, two, files=files) == {"undone"}
    assert rules(one, "file.append: [{name: /x}, {text: other}]", files=files) == {"undone"}


@rows(
    ("second", "found"),
    [
        ("cron.file: [{name: 'salt://tab'}]", set()),
        ("cron.file: [{name: 'salt://other'}]", {"undone"}),
        ("cron.file: [{name: 'salt://other'}, {replace: False}]", set()),
        ("cron.present: [{name: /bin/true -x}]", {"undone"}),  # above the line of Salt, no job is looked for
        ("cron.absent: [{name: /bin/true -x}]", set()),
        ("cron.absent: [{name: /bin/true -x}, {user: app}]", set()),
        ("cron.present: [{name: /bin/false}]", {"undone"}),
        ("cron.present: [{name: /bin/false}, {user: app}]", set()),
        ("cron.env_present: [{name: MAILTO}, {value: a}]", {"undone"}),
        ("file.managed: [{name: /var/spool/cron/crontabs/root}, {contents: a}]", {"undone"}),
    ],
)
def test_a_whole_crontab_and_a_job_that_it_lacks_are_a_mistake(second, found):
    files = {"salt://tab": "5 4 * * * /bin/true -x\n", "salt://other": "# none\n"}
    assert rules("cron.file: [{name: 'salt://tab'}]", second, files=files, states=Bundled()) == found


def undone(*states, apart=True, **options):
    """The things that states of two SLS files, or of one, want differently for certain, and those that they may."""
    texts = [f"s{number}: {{{state}}}" for number, state in enumerate(states)]
    tree = {f"a{number}": text for number, text in enumerate(texts)} if apart else {"a0": "\n".join(texts)}
    made = plan({**tree, **FILES}, list(tree), states=Bundled(), implicit_order="footprint", **options)
    found = [each for each in made.contradictions if each.code == "E430"]
    assert len([issue for issue in made.warnings if issue.code == "E430"]) == len([e for e in found if e.certain])
    return [each.thing for each in found if each.certain], [each.thing for each in found if not each.certain]


SYSCTL = "sysctl.present: [{name: a.b}, {value: 1}, {config: /x}]"
INI = "ini.options_present: [{name: /x}, {sections: {s: {o: 1}}}]"


@rows(
    ("first", "second", "found"),
    [
        ("host.present: [{name: h}, {ip: 192.0.2.7}]", "file.comment: [{name: /etc/hosts}, {regex: ^192.0.2.7}]", 1),
        ("host.present: [{name: h}, {ip: 192.0.2.7}]", "file.comment: [{name: /etc/hosts}, {regex: ^192.0.2.8}]", 0),
        ("host.present: [{name: h}, {ip: 192.0.2.7}]", "file.line: [{name: /etc/hosts}, {match: 192.0.2.7}, {mode: delete}]", 1),
        (SYSCTL, "file.replace: [{name: /x}, {pattern: '^a.b *=.*'}, {repl: 'a.b = 0'}]", 1),
        (SYSCTL, "file.replace: [{name: /x}, {pattern: '^a.b *=.*'}, {repl: 'a.b=1'}]", 0),
        (SYSCTL, "file.append: [{name: /x}, {text: c}]", 0),
        ("mount.mounted: [{name: /m}, {device: tmpfs}, {fstype: tmpfs}]", "file.comment: [{name: /etc/fstab}, {regex: ^tmpfs}]", 1),
        ("mount.mounted: [{name: /m}, {device: tmpfs}, {fstype: tmpfs}]", "file.comment: [{name: /etc/fstab}, {regex: ^/dev}]", 0),
        (INI, "file.replace: [{name: /x}, {pattern: '^o *=.*'}, {repl: 'o = 2'}]", 1),
        (INI, "file.keyvalue: [{name: /x}, {key: o}, {value: 2}, {separator: ' = '}]", 1),
        (INI, "file.keyvalue: [{name: /x}, {key: p}, {value: 2}, {separator: ' = '}]", 0),
    ],
)  # fmt: skip
def test_an_edit_of_the_line_of_an_entry_is_told(first, second, found):
    certain, possible = undone(first, second)
    assert (certain, len(possible)) == ([], found)
    assert len(undone(second, first)[0] + undone(second, first)[1]) == found


KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIHJ1bm5pbmd0aGVzYW1ldGVzdGluZXZlcnlvcmRlcjAw"
CRON = "{name: /bin/true}, {user: app}"
REPO = "{name: https://x/r}, {target: /srv/x}"
GIT = "git.config_set: [{name: user.email}, {value: me@x}"
EMAIL = "git setting user.email in"
SOURCE = "pkgrepo.managed: [{name: 'deb [signed-by=/k] http://x/ stable main'}, {file: /x.list}]"
KMOD = "kmod.present: [{name: a}, {persist: True}]"
ROME = "file.symlink: [{name: /etc/localtime}, {target: /usr/share/zoneinfo/Europe/Rome}]"
ALIASES = "file.managed: [{name: /etc/aliases}, "
SETTINGS = "file.managed: [{name: /srv/x/.git/config}, {contents: "
VENV = "virtualenv.managed: [{name: /v}, {requirements: 'salt://needed'}]"
FILES = {
    "salt://needed": "-r more\na.b == 1 # why\nc==3 --hash=sha256:0\nd==1; os_name == 'nt'\n",
    "salt://hosts": "192.0.2.7 h\n",
    "salt://other": "a-b==2\n",
    "salt://s/y": "a\n",
    "salt://s/d/y": "a\n",
}
OPPOSED = [
    ("file.managed: [{name: /x/y}, {contents: a}]", "file.absent: [{name: /x/y}]", "/x/y"),
    ("file.touch: [{name: /x/y}]", "file.absent: [{name: /x}]", "/x/y"),
    ("file.directory: [{name: /x}]", "file.absent: [{name: /x/}]", "/x"),
    ("file.symlink: [{name: /x}, {target: /y}]", "file.absent: [{name: /x}]", "/x"),
    ("file.directory: [{name: /x}]", "file.managed: [{name: /x}, {contents: a}]", "/x"),
    ("file.symlink: [{name: /x}, {target: /y}]", "file.symlink: [{name: /x}, {target: /z}]", "/x"),
    ("file.symlink: [{name: /x}, {target: /y}]", "file.managed: [{name: /x}, {follow_symlinks: False}]", "/x"),
    ("git.latest: [{name: https://x/r}, {target: /srv/x}]", "file.absent: [{name: /srv/x}]", "/srv/x"),
    (f"git.latest: [{REPO}, {{rev: v1}}]", f"git.latest: [{REPO}, {{rev: v2}}]", "revision of /srv/x"),
    ("file.hardlink: [{name: /x}, {target: /y}, {force: True}]", "file.directory: [{name: /x}, {force: True}]", "/x"),
    ("file.symlink: [{name: /x}, {target: /y}]", "file.directory: [{name: /x}, {allow_symlink: False}]", "/x"),
    ("pip.installed: [{name: A_b==1}, {bin_env: /v}]", "pip.installed: [{name: a-b == 2}, {bin_env: /v}]", "version of Python package a-b of /v"),
    ("pip.installed: [{name: a>1}, {bin_env: /v}]", "pip.removed: [{name: a}, {bin_env: /v}]", "Python package a of /v"),
    ("service.running: [{name: a}, {enable: True}, {unmask: True}]", "service.masked: [{name: a}]", "mask of service a"),
    ("group.present: [{name: a}, {addusers: [u]}]", "group.present: [{name: a}, {delusers: [u, v]}]", "members of group a"),
    ("group.present: [{name: a}, {members: [u, v]}]", "group.present: [{name: a}, {delusers: [u]}]", "members of group a"),
    ("group.present: [{name: a}, {members: [u]}]", "group.present: [{name: a}, {addusers: [v]}]", "members of group a"),
    ("user.present: [{name: a}, {gid: crew}, {shell: /x}]", "user.present: [{name: a}, {gid: 7}, {shell: /y}]", "shell of user a"),
    ("virtualenv.managed: [{name: /c}]", "file.directory: [{name: /c}, {clean: True}]", "/c/bin"),
    ("file.managed: [{name: /x}, {mode: '0644'}]", "file.managed: [{name: /x}, {mode: '600'}]", "mode of /x"),
    ("file.directory: [{name: /x}, {user: app}]", "file.directory: [{name: /x}, {user: 0}]", "user of /x"),
    ("file.directory: [{name: /x}, {mode: '0755'}]", "file.directory: [{name: /x}, {dir_mode: '0750'}]", "mode of /x"),
    ("user.present: [{name: app}]", "user.absent: [{name: app}]", "user app"),
    ("user.present: [{name: app}, {shell: /bin/sh}]", "user.present: [{name: app}, {shell: /bin/ksh}]", "shell of user app"),
    ("user.present: [{name: app}, {groups: [a, b]}]", "user.present: [{name: app}, {groups: [a]}]", "groups of user app"),
    ("group.present: [{name: crew}]", "group.absent: [{name: crew}]", "group crew"),
    ("group.present: [{name: crew}, {gid: 7}]", "group.present: [{name: crew}, {gid: 8}]", "gid of group crew"),
    ("pkg.installed: [{pkgs: [a, b]}]", "pkg.removed: [{pkgs: [c, b]}]", "package b"),
    ("pkg.latest: [{name: a}]", "pkg.purged: [{name: a}]", "package a"),
    ("pkg.installed: [{name: a}, {version: '1'}]", "pkg.installed: [{name: a}, {version: '2'}]", "version of package a"),
    ("pkg.installed: [{pkgs: [a: '1', b]}]", "pkg.installed: [{pkgs: [a: '2', c]}]", "version of package a"),
    ("pkg.installed: [{name: a}, {version: '1'}]", "pkg.installed: [{pkgs: [b, a: '2']}]", "version of package a"),
    ("pkg.installed: [{pkgs: [a: '1', b: '2']}]", "pkg.removed: [{pkgs: [a]}]", "package a"),
    ("service.running: [{name: a}]", "service.dead: [{name: a.service}]", "service a"),
    ("service.running: [{name: a}, {enable: True}]", "service.disabled: [{name: a}]", "start of service a at boot"),
    ("service.masked: [{name: a}]", "service.unmasked: [{name: a}]", "mask of service a"),
    ("service.running: [{name: a}, {unmask: True}]", "service.masked: [{name: a}]", "mask of service a"),
    (f"cron.present: [{CRON}]", f"cron.absent: [{CRON}]", "cron /bin/true"),
    (f"cron.present: [{CRON}, {{minute: 5}}]", f"cron.present: [{CRON}]", "minute of cron /bin/true"),
    (f"cron.present: [{CRON}, {{commented: True}}]", f"cron.present: [{CRON}]", "commented of cron /bin/true"),
    ("cron.env_present: [{name: A}, {value: b}]", "cron.env_absent: [{name: A}]", "cron variable A"),
    (f"cron.present: [{CRON}, {{identifier: a}}]", "cron.present: [{name: /x}, {identifier: a}, {user: app}]", "command of cron a"),
    ("pkg.held: [{name: a}]", "pkg.unheld: [{name: a}]", "pkg hold of a"),
    ("alias.present: [{name: a}, {target: b}]", "file.managed: [{name: /etc/aliases}, {contents: 'a: c'}]", "/etc/aliases"),
    ("grains.list_present: [{name: a}, {value: b}]", "grains.list_absent: [{name: a}, {value: b}]", "grains value in a"),
    ("host.present: [{name: h}, {ip: 192.0.2.7}]", "host.absent: [{name: h}, {ip: [192.0.2.7, 192.0.2.8]}]", "addresses of host h"),
    ("ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}]", "ini.options_absent: [{name: /x}, {sections: {a: [b]}}]", "option b of section a in /x"),
    ("ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}]", "ini.options_present: [{name: /x}, {sections: {a: {b: 2}}}]", "option b of section a in /x"),
    ("mount.mounted: [{name: /m}, {device: /dev/x}, {fstype: ext4}]", "mount.unmounted: [{name: /m}]", "mount /m"),
    ("sysctl.present: [{name: a.b}, {value: 1}]", "sysctl.present: [{name: a.b}, {value: 2}]", "value of sysctl a.b"),
    ("kmod.present: [{mods: [a, b]}]", "kmod.absent: [{name: b}]", "kmod b"),
    ("alias.present: [{name: a}, {target: b}]", "alias.absent: [{name: a}]", "alias a"),
    ("alternatives.set: [{name: a}, {path: /b}]", "alternatives.set: [{name: a}, {path: /c}]", "path of alternatives a"),
    (f"ssh_auth.present: [{{name: {KEY}}}, {{user: app}}]", f"ssh_auth.absent: [{{name: {KEY}}}, {{user: app}}]", f"ssh_auth {KEY}"),
    (f"ssh_auth.present: [{{name: ssh-ed25519 {KEY} me}}, {{user: app}}]", f"ssh_auth.absent: [{{name: {KEY}}}, {{user: app}}, {{config: .ssh/authorized_keys}}]", f"ssh_auth {KEY}"),
    ("cron.present: [{name: /x}, {identifier: a}, {user: root}]", "cron.absent: [{name: /x}, {identifier: a}]", "cron a"),
    ("host.present: [{name: h}, {ip: 192.0.2.7}, {clean: True}]", "host.present: [{name: h}, {ip: 192.0.2.8}, {clean: True}]", "addresses of host h"),
    ("host.present: [{name: h}, {ip: 192.0.2.7}, {clean: True}]", "host.present: [{name: h}, {ip: 192.0.2.8}]", "addresses of host h"),
    ("host.present: [{name: h}, {ip: 192.0.2.7}]", "host.only: [{name: 192.0.2.7}, {hostnames: [i]}]", "names of address 192.0.2.7"),
    ("host.only: [{name: 192.0.2.7}, {hostnames: [h]}]", "host.only: [{name: 192.0.2.7}, {hostnames: [i]}]", "names of address 192.0.2.7"),
    ("user.present: [{name: u}, {groups: [a]}]", "group.present: [{name: a}, {members: [v]}]", "members of group a"),
    ("user.present: [{name: u}, {groups: [a]}]", "group.present: [{name: b}, {addusers: [u]}]", "groups of user u"),
    ("user.present: [{name: u}, {optional_groups: [a]}]", "group.present: [{name: b}, {members: 'u,v'}]", "groups of user u"),
    ("user.present: [{name: u}, {groups: [a]}, {remove_groups: False}]", "user.present: [{name: u}, {groups: [b]}]", "groups of user u"),
    ("user.present: [{name: u}, {password: a}]", "user.present: [{name: u}, {password: b}]", "password of user u"),
    ("user.present: [{name: a}, {uid: 7}]", "user.present: [{name: b}, {uid: 7}]", "uid 7"),
    ("user.present: [{name: a}, {home: /x}]", "file.absent: [{name: /x}]", "/x"),
    ("pkg.installed: [{name: a}, {version: '1'}]", "pkg.removed: [{pkgs: [a: '1', b]}]", "version of package a"),
    ("file.managed: [{name: /x}, {contents: a}]", "file.managed: [{name: /x/y/z}, {contents: a}]", "/x"),
    ("file.append: [{name: /x}, {text: a}]", "file.directory: [{name: /x/y}]", "/x"),
    ("x509.private_key_managed: [{name: /x}]", "git.latest: [{name: https://x/r}, {target: /x/y}]", "/x"),
    ("x509.private_key_managed: [{name: /x}]", "x509.private_key_managed: [{name: /x}, {keysize: 4096}]", "keysize of /x"),
    ("x509.private_key_managed: [{name: /x}, {algo: ed25519}]", "x509.private_key_managed: [{name: /x}]", "algo of /x"),
    ("x509.csr_managed: [{name: /x}, {private_key: /k}, {CN: a}]", "x509.csr_managed: [{name: /x}, {private_key: /k}, {CN: a}, {O: b}]", "O of /x"),
    ("x509.private_key_managed: [{name: /x}]", "x509.csr_managed: [{name: /x}, {private_key: /k}]", "content of /x"),
    ("x509.private_key_managed: [{name: /x}]", "file.managed: [{name: /x}, {contents: a}]", "/x"),
    ("x509.private_key_managed: [{name: /x}]", "file.absent: [{name: /x}]", "/x"),
    ("x509.private_key_managed: [{name: /x}]", "file.managed: [{name: /x}, {mode: '0644'}]", "mode of /x"),
    ("ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}]", "file.managed: [{name: /x}, {contents: a}]", "/x"),
    ("ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}]", "file.absent: [{name: /x}]", "/x"),
    ("ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}]", "ini.sections_absent: [{name: /x}, {sections: [a]}]", "section a in /x"),
    ("ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}]", "ini.options_present: [{name: /x}, {sections: {a: {c: 1}}}, {strict: True}]", "options of section a in /x"),
    ("ssh_auth.manage: [{name: x}, {user: a}, {ssh_keys: [ssh-rsa k me]}]", "ssh_auth.present: [{name: l}, {user: a}]", "keys of user a"),
    ("ssh_auth.manage: [{name: x}, {user: a}, {ssh_keys: [ssh-rsa k me]}]", "ssh_auth.absent: [{name: k}, {user: a}]", "ssh_auth k"),
    ("ssh_auth.present: [{name: ssh-rsa k me}, {user: a}]", "ssh_auth.present: [{name: ssh-rsa k you}, {user: a}]", "line of ssh_auth k"),
    ("ssh_auth.present: [{name: k}, {user: a}]", "ssh_auth.present: [{name: k}, {user: a}, {enc: ssh-ed25519}]", "line of ssh_auth k"),
    ("ini.sections_present: [{name: /x}, {sections: [a]}]", "ini.sections_absent: [{name: /x}, {sections: [a]}]", "section a in /x"),
    ("ini.sections_present: [{name: /x}, {sections: [a]}]", "file.managed: [{name: /x}, {contents: b}]", "/x"),
    ("host.present: [{name: h}, {ip: 192.0.2.7}, {comment: a}]", "host.present: [{name: i}, {ip: 192.0.2.7}, {comment: b}]", "comment of address 192.0.2.7"),
    ("mount.fstab_present: [{name: /dev/x}, {fs_file: /m}, {fs_vfstype: xfs}]", "mount.unmounted: [{name: /m}, {persist: True}]", "fstab entry of /m"),
    ("mount.mounted: [{name: /m}, {device: tmpfs}, {fstype: tmpfs}]", "mount.fstab_absent: [{name: /dev/x}, {fs_file: /m}]", "fstab entry of /m"),
    ("host.present: [{name: h}, {ip: 192.0.2.7}]", "file.managed: [{name: /etc/hosts}, {contents: a}]", "/etc/hosts"),
    ("host.only: [{name: 192.0.2.7}, {hostnames: [h]}]", "file.managed: [{name: /etc/hosts}, {contents: a}]", "/etc/hosts"),
    ("mount.fstab_present: [{name: /dev/x}, {fs_file: /m}, {fs_vfstype: xfs}]", "file.absent: [{name: /etc/fstab}]", "/etc/fstab"),
    ("mount.fstab_present: [{name: /dev/x}, {fs_file: /m}, {fs_vfstype: xfs}]", "mount.mounted: [{name: /n}, {device: /dev/x}, {fstype: xfs}]", "mount point of /dev/x in fstab"),
    ("sysctl.present: [{name: a.b}, {value: 1}, {config: /etc/sysctl.d/a}]", "file.managed: [{name: /etc/sysctl.d/a}, {contents: x = 1}]", "/etc/sysctl.d/a"),
    ("sysctl.present: [{name: a.b}, {value: 1}]", "sysctl.present: [{name: a/b}, {value: 2}]", "value of sysctl a.b"),
    ("ssh_auth.present: [{name: k}, {user: a}, {config: /x}]", "file.managed: [{name: /x}, {contents: ssh-rsa l}]", "/x"),
    ("timezone.system: [{name: UTC}]", "timezone.system: [{name: Europe/Rome}]", "the timezone of the system"),
    ("grains.present: [{name: a}, {value: b}]", "grains.absent: [{name: a}]", "grains a"),
    (f"{GIT}, {{global: True}}]", "git.config_unset: [{name: user.email}, {global: True}]", f"{EMAIL} /root/.gitconfig"),
    (f"{GIT}, {{global: True}}]", "git.config_unset: [{name: ^User.Email$}, {global: 'yes'}, {user: root}]", f"{EMAIL} /root/.gitconfig"),
    (f"{GIT}, {{global: True}}]", "git.config_unset: [{name: 'user\\..*'}, {global: True}]", f"{EMAIL} /root/.gitconfig"),
    (f"{GIT}, {{global: True}}]", "git.config_unset: [{name: user.email}, {value_regex: '@x'}, {global: True}]", f"{EMAIL} /root/.gitconfig"),
    (f"{GIT}, {{repo: /srv/x}}]", "git.config_unset: [{name: user.email}, {repo: /srv/x/}]", f"{EMAIL} /srv/x/.git/config"),
    (f"{GIT}, {{global: True}}]", "git.config_set: [{name: User.email}, {multivar: [me@x, b]}, {global: True}]", f"value of {EMAIL} /root/.gitconfig"),
    (f"{GIT}, {{global: True}}]", "git.config_set: [{name: user.email}, {multivar: 'me@x,b'}, {global: True}]", f"value of {EMAIL} /root/.gitconfig"),
    (f"{GIT}, {{global: True}}]", "file.managed: [{name: /root/.gitconfig}, {contents: '[user]'}]", "/root/.gitconfig"),
    (f"{GIT}, {{global: True}}]", "file.absent: [{name: /root/.gitconfig}]", "/root/.gitconfig"),
    (f"{GIT}, {{global: True}}, {{user: app}}]", "file.managed: [{name: /home/app/.gitconfig}, {contents: a}]", "/home/app/.gitconfig"),
    (f"{GIT}, {{repo: /srv/x}}]", "file.managed: [{name: /srv/x/.git/config}, {contents: a}]", "/srv/x/.git/config"),
    ("alias.absent: [{name: root}]", f"{ALIASES}{{contents: ['root: ada', 'eva: root']}}]", "/etc/aliases"),
    ("git.config_unset: [{name: 'user\\.(email|name)'}, {repo: /srv/x}]", f"{SETTINGS}['[user]', email = me@x]}}]", "/srv/x/.git/config"),
    ("mount.fstab_absent: [{name: /dev/x}, {fs_file: /m}]", "file.append: [{name: /etc/fstab}, {text: /dev/x /m ext4 defaults 0 0}]", "/etc/fstab"),
    ("mount.unmounted: [{name: /m}, {persist: True}]", "file.append: [{name: /etc/fstab}, {text: /dev/x /m ext4 defaults 0 0}]", "/etc/fstab"),
    ("ssh_known_hosts.absent: [{name: h}]", f"file.managed: [{{name: /etc/ssh/ssh_known_hosts}}, {{contents: 'g,h ssh-ed25519 {KEY}'}}]", "/etc/ssh/ssh_known_hosts"),
    ("pkgrepo.absent: [{name: 'deb http://x stable main'}]", "file.managed: [{name: /etc/apt/sources.list.d/x.list}, {contents: 'deb [signed-by=/k] http://x/  stable main contrib'}]", "/etc/apt/sources.list.d/x.list"),
    (SOURCE, "pkgrepo.absent: [{name: 'deb http://x stable main'}]", "pkgrepo deb http://x stable main"),
    ("pkgrepo.managed: [{name: 'deb http://x ./'}]", "pkgrepo.absent: [{name: 'deb http://x ./'}]", "pkgrepo deb http://x ./"),
    ("pkgrepo.absent: [{name: 'deb http://x ./'}]", "file.managed: [{name: /etc/apt/sources.list.d/x.list}, {contents: 'deb http://x ./'}]", "/etc/apt/sources.list.d/x.list"),
    (SOURCE, SOURCE.replace("main", "main contrib"), "line of pkgrepo deb http://x stable main"),
    (SOURCE, SOURCE.replace("/k", "/l").replace(", {file: /x.list}", ""), "line of pkgrepo deb http://x stable main"),
    (VENV, "pip.installed: [{name: a_b==2}, {bin_env: /v}]", "version of Python package a-b of /v"),
    (VENV, "pip.removed: [{pkgs: [z, c]}, {bin_env: /v/bin/pip}]", "Python package c of /v"),
    (VENV, "pip.installed: [{name: c==4}, {bin_env: /v}]", "version of Python package c of /v"),
    ("pip.installed: [{name: a}]", "pip.removed: [{name: a}]", "Python package a of the system"),
    (VENV, "pip.installed: [{requirements: ['salt://other']}, {bin_env: /v}]", "version of Python package a-b of /v"),
    ("pip.installed: [{name: a==2}, {bin_env: /v/bin/python3}]", "virtualenv.managed: [{name: /v}, {pip_pkgs: [a==1]}]", "version of Python package a of /v"),
    ("cron.present: [{name: /bin/true}]", "file.absent: [{name: /var/spool/cron/crontabs/root}]", "/var/spool/cron/crontabs/root"),
    ("cron.env_present: [{name: A}, {value: b}, {user: app}]", "file.absent: [{name: /var/spool/cron/app}]", "/var/spool/cron/app"),
    ("cron.file: [{name: 'salt://t'}]", "file.absent: [{name: /var/spool/cron}]", "/var/spool/cron/root"),
    ("postgres_user.present: [{name: a}]", "postgres_user.absent: [{name: a}]", "postgres_user a"),
    ("file.symlink: [{name: /x}, {target: /y}]", "file.hardlink: [{name: /x}, {target: /z}, {force: True}]", "/x"),
    ("ssh_auth.present: [{name: k}, {user: a}, {options: [no-pty]}]", "ssh_auth.present: [{name: k}, {user: a}]", "line of ssh_auth k"),
    ("ssh_known_hosts.present: [{name: h}]", "ssh_known_hosts.absent: [{name: h}]", "ssh_known_hosts h"),
    ("sysctl.present: [{name: a/b.c}, {value: 1}]", "sysctl.present: [{name: a.b/c}, {value: 2}]", "value of sysctl a.b/c"),
    ("host.present: [{name: h}, {ip: 192.0.2.7}]", "file.managed: [{name: /etc/hosts}, {source: 'salt://s/y'}]", "/etc/hosts"),
    ("archive.extracted: [{name: /x}, {source: /a.tgz}, {group: a}]", "file.directory: [{name: /x}, {group: b}, {recurse: [group]}]", "group of the files in /x"),
    ("file.managed: [{name: /x/y}, {contents: b}]", "file.recurse: [{name: /x}, {source: 'salt://s/'}]", "/x/y"),
    ("file.managed: [{name: /x/y}, {contents: b}]", "file.recurse: [{name: /x}, {source: 'salt://s?saltenv=base'}]", "/x/y"),
    (f"git.latest: [{REPO.replace('/srv/x', '/x/y')}]", "file.recurse: [{name: /x}, {source: 'salt://s'}]", "/x/y"),
    ("file.managed: [{name: /y}, {contents: b}]", "file.recurse: [{name: /}, {source: 'salt://s'}]", "/y"),
    ("file.directory: [{name: /x}, {mode: '0755'}]", "file.recurse: [{name: /x}, {source: 'salt://s'}, {dir_mode: '0700'}]", "mode of /x"),
]  # fmt: skip


@rows(("first", "second", "thing"), OPPOSED)
def test_states_that_want_one_thing_differently_are_a_mistake(first, second, thing):
    assert undone(first, second) == ([thing], [])
    assert undone(second, first) == ([thing], [])


OF_PATHS = [
    *((MANAGED, MANAGED.replace("a = 1", "b"), "/x"),),
    *((*pair, "/x") for pair in OF_NO_TEXT),
    *(
        each
        for each in OPPOSED
        if each[0].startswith(("file.", "git.", "ini.", "virtualenv."))
        and not each[1].startswith(("pip.", "git.config"))
    ),
]


def respelled(path):
    """Other spellings of a path."""
    return [path.replace("/", "//"), path.replace("/", "/./"), path.replace("/", "/y/../"), f"/{path}", f"{path}/"]


@rows("number", range(5))
@rows(("first", "second", "thing"), OF_PATHS)
def test_all_spellings_of_a_path_mean_the_same_path(first, second, thing, number):
    def other(found):
        return f"{found[1]}: {respelled(found[2])[number]}}}"

    spelled = re.sub(r"(name|target): (/[^},]*)}", other, second)
    assert spelled != second
    assert undone(first, spelled) == ([thing], [])
    assert undone(spelled, first) == ([thing], [])


@rows("wanted", ["running: []", "running: [{require: [{sls: a}]}]", "enabled: []", "running: [{enable: True}]"])
def test_a_service_that_is_masked_first_is_not_started(wanted):
    states = {"a": "a: {service.masked: [{name: x}]}", "b": f"x: {{service.{wanted}}}"}
    (found,) = plan(states, ["a", "b"], states=Bundled(), implicit_order="footprint").contradictions
    assert (found.thing, found.certain) == ("mask of service x", True)
    assert found.message.endswith("one of them fails in each run")


NEEDED = [
    ("user.present: [{name: u}, {gid: crew}]", "group.absent: [{name: crew}]", "group crew"),
    ("user.present: [{name: u}, {groups: [crew]}]", "group.absent: [{name: crew}]", "group crew"),
    ("group.present: [{name: crew}, {members: [u]}]", "user.absent: [{name: u}]", "user u"),
    ("group.present: [{name: crew}, {addusers: [u]}]", "user.absent: [{name: u}]", "user u"),
    ("file.managed: [{name: /x}, {contents: a}, {user: u}]", "user.absent: [{name: u}]", "user u"),
    ("file.directory: [{name: /x}, {group: crew}]", "group.absent: [{name: crew}]", "group crew"),
    ("ssh_auth.present: [{name: k}, {user: u}]", "user.absent: [{name: u}]", "user u"),
    ("cron.present: [{name: /x}, {user: u}]", "user.absent: [{name: u}]", "user u"),
    ("git.latest: [{name: https://x/r}, {target: /x}, {user: u}]", "user.absent: [{name: u}]", "user u"),
    ("cmd.run: [{name: id}, {runas: u}]", "user.absent: [{name: u}]", "user u"),
    ("cmd.script: [{name: 'salt://x'}, {runas: u}]", "user.absent: [{name: u}]", "user u"),
    ("mount.mounted: [{name: /m/n}, {device: x}, {fstype: xfs}]", "file.absent: [{name: /m}]", "/m/n"),
    ("file.exists: [{name: /x}]", "file.absent: [{name: /x}]", "/x"),
    ("file.replace: [{name: /x}, {pattern: a}, {repl: b}]", "file.absent: [{name: /x}]", "/x"),
    ("file.comment: [{name: /x/y}, {regex: a}]", "file.absent: [{name: /x}]", "/x/y"),
    ("file.blockreplace: [{name: /x}, {content: a}]", "file.directory: [{name: /x}]", "/x"),
    (
        "file.replace: [{name: /x}, {pattern: a}, {repl: b}, {ignore_if_missing: True}]",
        "file.directory: [{name: /x}]",
        "/x",
    ),
]


@rows("more", ["", ", {require: [{id: s0}]}", ", {order: last}"])
@rows(("first", "second", "thing"), NEEDED)
def test_what_is_removed_is_missing_where_it_is_needed(first, second, thing, more):
    head, _, tail = second.rpartition("]")
    states = {"a": f"s0: {{{first}}}", "b": f"s1: {{{head}{more}]{tail}}}"}
    (found,) = plan(states, ["a", "b"], states=Bundled(), implicit_order="footprint").contradictions
    assert (found.thing, found.certain) == (thing, True)
    assert found.message.endswith("one of them fails in each run")
    assert undone(second, first) == ([thing], [])


def test_an_account_that_the_tree_makes_is_not_missing():
    made, needs, gone = "user.present: [{name: u}]", "cmd.run: [{name: id}, {runas: u}]", "user.absent: [{name: u}]"
    assert undone(made, needs, gone, apart=False) == ([], ["user u"])


ORDERS = ["{require: [{sls: a0}]}", "{watch: [{sls: a0}]}", "{order: last}", "{order: 20000}", "{order: 1}"]
AT_TIMES = ["{onlyif: test -e /y}", "{unless: test -e /y}", "{onchanges: [{sls: a0}]}", "{onfail: [{sls: a0}]}", "{prereq: [{sls: a0}]}"]  # fmt: skip
TAKE_AWAY = tuple(
    "absent: removed: purged: dead: disabled: unmounted: masked: options_absent: env_absent: unheld: config_unset:".split()
)


@rows("when", AT_TIMES)
@rows(("first", "second", "thing"), OPPOSED)
def test_what_does_not_run_each_time_may_be_meant(first, second, thing, when):
    head, _, tail = second.rpartition("]")
    certain, _ = undone(first, f"{head}, {when}]{tail}")
    assert certain == []


@rows("order", ORDERS)
@rows(("first", "second", "thing"), OPPOSED)
def test_an_order_may_be_meant_only_where_one_state_takes_away_what_the_other_makes(first, second, thing, order):
    head, _, tail = second.rpartition("]")
    certain, _ = undone(first, f"{head}, {order}]{tail}")
    assert certain == ([] if any(function in second for function in TAKE_AWAY) else [thing])


UNSET = "git.config_unset: [{name: 'user.*'}, {global: True}]"


@rows(
    ("states", "certain", "possible"),
    [
        ([f"{GIT}, {{global: True}}]", UNSET.replace(".*", "("), UNSET], [f"{EMAIL} /root/.gitconfig"], []),
        (["file.symlink: [{name: /root/.gitconfig}, {target: /y}]", f"{GIT}, {{global: True}}]", UNSET], [], [f"{EMAIL} /root/.gitconfig"]),
        (["file.directory: [{name: /d}]", "mount.mounted: [{name: /m}, {device: /d}, {fstype: none}, {opts: bind}]", "file.absent: [{name: /d}]"], ["/d"], []),
        (["service.running: [{name: ssh}]", "service.dead: [{name: sshd}]"], [], ["service ssh or sshd"]),
        (["file.managed: [{name: /x}, {contents: a}]", "file.comment: [{name: /x}, {regex: ^b}]", "file.uncomment: [{name: /x}, {regex: ^b}]"], [], []),
        (["host.absent: [{name: h}, {ip: 192.0.2.7}]", "file.managed: [{name: /etc/hosts}, {source: 'salt://hosts'}]"], ["addresses of host h"], []),
        (["mount.mounted: [{name: /m}, {device: /dev/x}, {fstype: ext4}]", "mount.fstab_absent: [{name: /dev/x}, {fs_file: /m}]"], ["mount fstab entry /dev/x"], []),
        (["host.absent: [{name: h}, {ip: 192.0.2.7}]", "file.managed: [{name: /etc/hosts}, {mode: '0644'}]", "file.append: [{name: /etc/hosts}, {text: 192.0.2.7 h}]"], ["addresses of host h"], []),
        (["ssh_auth.absent: [{name: l}, {user: a}, {config: /x}]", "ssh_auth.absent: [{name: k}, {user: b}, {config: /x}]", "file.append: [{name: /x}, {text: ssh-rsa l}]"], ["ssh_auth l"], []),
        (["ssh_auth.absent: [{name: l}, {user: a}]", "ssh_auth.absent: [{name: k}, {user: a}, {config: /home/a/.ssh/authorized_keys}]", "file.append: [{name: /home/a/.ssh/authorized_keys}, {text: ssh-rsa l}]"], ["ssh_auth l"], []),
        (["ssh_auth.absent: [{name: l}, {user: a}, {config: /x}]", "ssh_auth.present: [{name: k}, {user: a}, {source: 'salt://k'}, {config: /x}]", "file.append: [{name: /x}, {text: ssh-rsa l}]"], ["ssh_auth l"], []),
    ],
)  # fmt: skip
def test_what_else_is_in_the_tree_decides(states, certain, possible):
    assert undone(*states) == (certain, possible)


@rows("meant", ["onchanges_in", "onfail_in", "prereq_in"])
def test_a_requisite_that_another_state_writes_counts_too(meant):
    other = f"cmd.run: [{{name: 'true'}}, {{{meant}: [{{user: s1}}]}}]"
    assert undone("user.present: [{name: app}]", "user.absent: [{name: app}]", other)[0] == []


@rows(
    ("first", "second"),
    [
        ("user.present: [{name: app}, {gid: crew}]", "group.absent: [{name: app}]"),
        ("user.present: [{name: app}, {optional_groups: [crew]}]", "group.absent: [{name: crew}]"),
        ("user.present: [{name: app}, {gid: 7}, {groups: [crew]}]", "group.present: [{name: crew}, {members: [app]}]"),
        ("user.present: [{name: app}, {gid: crew}, {groups: [a]}]", "group.present: [{name: crew}, {members: [app]}]"),
        ("user.present: [{name: app}, {gid: crew}, {groups: [a]}]", "group.present: [{name: crew}, {delusers: [app]}]"),
        ("user.present: [{name: app}, {groups: [a]}]", "group.present: [{name: app}, {members: [app, b]}]"),
        ("user.present: [{name: app}]", "group.present: [{name: crew}, {addusers: [app]}]"),
        ("user.present: [{name: a}, {uid: 7}]", "user.present: [{name: b}, {uid: 7}, {unique: False}]"),
        ("user.present: [{name: a}, {home: /x}, {createhome: False}]", "file.absent: [{name: /x}]"),
        ("user.absent: [{name: app}]", "group.present: [{name: crew}, {delusers: [app]}]"),
        ("user.absent: [{name: app}]", "cmd.run: [{name: id}]"),
        ("user.absent: [{name: app}]", "cron.absent: [{name: /x}, {user: app}]"),
        ("user.absent: [{name: app}]", "file.managed: [{name: /x}, {user: app}, {create: False}]"),
        ("user.absent: [{name: app}]", "file.managed: [{name: /x}, {user: app}, {unless: test -e /y}]"),
        ("host.present: [{name: h}, {ip: 192.0.2.7}]", "host.only: [{name: 192.0.2.7}, {hostnames: [h, i]}]"),
        ("host.present: [{name: h}, {ip: 192.0.2.7}]", "host.only: [{name: 192.0.2.8}, {hostnames: [i]}]"),
        ("user.present: [{name: app}]", "user.absent: [{name: apps}]"),
        ("user.present: [{name: app}, {gid: crew}]", "user.present: [{name: app}, {shell: /bin/sh}]"),
        ("user.present: [{name: app}, {groups: [a]}, {remove_groups: False}]", "user.present: [{name: app}, {groups: [b]}, {remove_groups: False}]"),
        ("sysctl.present: [{name: a.b}, {value: True}]", "sysctl.present: [{name: a.b}, {value: 1}]"),
        ("pkg.installed: [{name: a}]", "pkg.latest: [{name: a}]"),
        ("pkg.installed: [{name: a}, {version: '1'}]", "pkg.installed: [{name: a}, {version: '>=1'}]"),
        ("pkg.installed: [{pkgs: [a: '2']}]", "pkg.removed: [{pkgs: [a: '1', b]}]"),
        ("pkg.removed: [{name: a}]", "pkg.removed: [{pkgs: [a: '1']}]"),
        ("file.managed: [{name: /x}, {contents: a}]", "file.managed: [{name: /xy}, {contents: a}]"),
        ("file.managed: [{name: /x}, {contents: a}]", "file.absent: [{name: /x/y}]"),
        ("file.managed: [{name: /x}, {contents: a}, {create: False}]", "file.directory: [{name: /x/y}]"),
        ("file.symlink: [{name: /x}, {target: /z}]", "file.managed: [{name: /x/y}, {contents: a}]"),
        ("x509.private_key_managed: [{name: /x}]", "x509.private_key_managed: [{name: /x}, {keysize: 2048}]"),
        ("x509.private_key_managed: [{name: /x}]", "file.append: [{name: /x}, {text: a}]"),
        ("x509.private_key_managed: [{name: /x}]", "file.managed: [{name: /x}, {contents: a}, {replace: False}]"),
        ("x509.private_key_managed: [{name: /x}, {create: False}]", "file.managed: [{name: /x}, {contents: a}]"),
        ("ssh_auth.manage: [{name: x}, {user: a}, {ssh_keys: [ssh-rsa k me, l]}]", "ssh_auth.present: [{name: k}, {user: a}, {comment: me}]"),
        ("ssh_auth.manage: [{name: x}, {user: a}, {ssh_keys: [ssh-rsa k me]}]", "ssh_auth.absent: [{name: l}, {user: a}]"),
        ("ssh_auth.manage: [{name: x}, {user: a}, {ssh_keys: [k]}]", "ssh_auth.manage: [{name: x}, {user: b}, {ssh_keys: [l]}]"),
        ("ini.sections_absent: [{name: /x}, {sections: [a]}]", "file.absent: [{name: /x}]"),
        ("file.keyvalue: [{name: /x}, {key: a}, {value: b}, {ignore_if_missing: True}]", "file.directory: [{name: /x}]"),
        ("ssh_auth.manage: [{name: x}, {user: a}, {ssh_keys: []}, {config: /x}]", "file.absent: [{name: /x}]"),
        ("ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}, {strict: True}]", "ini.options_present: [{name: /x}, {sections: {c: {b: 2}}}]"),
        ("ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}]", "ini.sections_absent: [{name: /x}, {sections: [c]}]"),
        ("pkg.installed: [{pkgs: [a: '1', b: '2']}]", "pkg.installed: [{pkgs: [a: '1', b]}]"),
        ("pkg.installed: [{pkgs: [a: '1']}]", "pkg.installed: [{pkgs: [a: '>=1']}]"),
        ("pkg.installed: [{pkgs: a}]", "pkg.installed: [{pkgs: 5}]"),
        ("service.running: [{name: a}]", "service.disabled: [{name: a}]"),
        ("service.dead: [{name: a}]", "service.masked: [{name: a}]"),
        ("host.present: [{name: h}, {ip: 192.0.2.7}]", "host.absent: [{name: h}, {ip: 192.0.2.8}]"),
        ("host.present: [{name: h}, {ip: 192.0.2.7}]", "host.present: [{name: h}, {ip: 192.0.2.8}]"),
        ("host.present: [{name: h}, {ip: [192.0.2.7, 192.0.2.8]}, {clean: True}]", "host.present: [{name: h}, {ip: 192.0.2.8}]"),
        ("ssh_auth.present: [{name: ssh-rsa k me}, {user: a}]", "ssh_auth.absent: [{name: ssh-rsa l me}, {user: a}]"),
        ("ssh_auth.present: [{name: k}, {user: a}, {source: salt://k}]", "ssh_auth.absent: [{name: k}, {user: a}]"),
        ("cron.present: [{name: /x}, {user: root}]", "cron.absent: [{name: /x}, {user: app}]"),
        ("cron.present: [{name: /bin/true}, {user: a}]", "cron.absent: [{name: /bin/true}, {user: b}]"),
        ("cron.present: [{name: /x}, {identifier: a}]", "cron.absent: [{name: /x}, {identifier: b}]"),
        ("cron.present: [{name: /x}, {minute: random}]", "cron.present: [{name: /x}, {minute: 5}]"),
        ("mount.mounted: [{name: /m}, {device: x}, {fstype: y}, {mount: False}]", "mount.unmounted: [{name: /m}]"),
        ("mount.mounted: [{name: /m}, {device: /x}, {fstype: none}, {opts: 'ro,bind'}]", "file.managed: [{name: /m}, {contents: a}]"),
        ("mount.mounted: [{name: /m}, {device: /x}, {fstype: ext4}, {mount: False}]", "file.absent: [{name: /m}]"),
        ("mount.mounted: [{name: none}, {device: /x}, {fstype: swap}]", "file.absent: [{name: /m}]"),
        ("ssh_auth.absent: [{name: k}, {user: a}, {config: /x}]", "file.managed: [{name: /x}, {contents: k}]"),
        ("host.absent: [{name: h}, {ip: 192.0.2.7}]", "file.append: [{name: /etc/hosts}, {text: '# 192.0.2.7 h'}]"),
        ("host.absent: [{name: h}, {ip: 192.0.2.7}]", "file.append: [{name: /etc/hosts}, {text: [h, '']}]"),
        ("ssh_auth.absent: [{name: k}, {user: [a]}, {config: /x}]", "file.managed: [{name: /x}, {contents: ssh-rsa l}]"),
        ("file.managed: [{name: /x}, {create: False}]", "file.absent: [{name: /x}]"),
        ("file.managed: [{name: /x/y}]", "file.absent: [{name: /x/z}]"),
        ("file.managed: [{name: /x}, {mode: keep}]", "file.managed: [{name: /x}, {mode: '0600'}]"),
        ("file.managed: [{name: /x}, {mode: '0600'}]", "file.managed: [{name: /x}, {mode: '600'}]"),
        ("file.directory: [{name: /x}, {mode: '0700'}, {file_mode: '0600'}]", "file.directory: [{name: /x}, {mode: '700'}]"),
        ("file.exists: [{name: /x}]", "file.directory: [{name: /x}]"),
        ("file.replace: [{name: /x}, {pattern: a}, {repl: b}, {ignore_if_missing: True}]", "file.absent: [{name: /x}]"),
        ("file.symlink: [{name: /x}, {target: /z}]", "file.replace: [{name: /x}, {pattern: a}, {repl: b}]"),
        ("mount.mounted: [{name: /m}, {device: /dev/x}, {fstype: xfs}]", "mount.mounted: [{name: /n}, {device: tmpfs}, {fstype: tmpfs}]"),
        ("host.present: [{name: h}, {ip: 192.0.2.7}]", "file.managed: [{name: /etc/hosts}, {contents: a}, {replace: False}]"),
        ("ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}]", "ini.options_present: [{name: /x}, {sections: {c: {b: 2}}}]"),
        ("ssh_auth.present: [{name: k}, {user: a}]", "ssh_auth.absent: [{name: k}, {user: b}]"),
        ("postgres_user.present: [{name: a}, {db_host: x}]", "postgres_user.absent: [{name: a}, {db_host: y}]"),
        ("grains.present: [{name: a}, {value: b}]", "grains.present: [{name: a}, {value: b}]"),
        ("group.present: [{name: a}, {members: [u, v]}]", "group.present: [{name: a}, {addusers: [v]}]"),
        ("group.present: [{name: a}, {addusers: [u]}]", "group.present: [{name: a}, {delusers: [v]}]"),
        ("group.present: [{name: a}, {addusers: [u]}]", "group.present: [{name: a}, {addusers: [v]}]"),
        ("pip.installed: [{name: a==1}, {bin_env: /v}]", "pip.installed: [{name: a==2}, {bin_env: /w}]"),
        ("archive.extracted: [{name: /x}, {source: /a.tgz}]", "file.managed: [{name: /x/y}, {contents: a}]"),
        ("git.latest: [{name: https://x/r}, {target: /x}]", "file.managed: [{name: /x/y}, {contents: a}]"),
        ("git.latest: [{name: https://x/r}, {target: /x}]", "file.directory: [{name: /x}]"),
        ("git.cloned: [{name: https://x/r}, {target: /x}]", "file.directory: [{name: /x}, {clean: True}, {exclude_pat: .git}]"),
        (f"{GIT}, {{global: True}}]", "file.managed: [{name: /root/.gitconfig}, {contents: a}, {replace: False}]"),
        (f"{GIT}, {{global: True}}]", "git.config_set: [{name: user.email}, {multivar: me@x}, {global: True}, {user: root}]"),
        (f"{GIT}, {{global: True}}]", "git.config_unset: [{name: user.email}, {global: True}, {user: app}]"),
        (f"{GIT}, {{global: True}}]", "git.config_unset: [{name: user.email}, {value_regex: old}, {global: True}]"),
        (f"{GIT}, {{global: True}}]", "git.config_unset: [{name: 'core\\..*'}, {global: True}]"),
        (f"{GIT}, {{global: True}}]", "git.config_unset: [{name: user.email}, {repo: /srv/x}]"),
        ("git.config_set: [{name: a.B.c}, {value: 1}, {repo: /x}]", "git.config_unset: [{name: a.b.c}, {repo: /x}]"),
        (f"{GIT}, {{global: True}}]", "file.managed: [{name: /home/app/.gitconfig}, {contents: a}]"),
        (SOURCE, "file.managed: [{name: /y.list}, {contents: a}]"),
        (SOURCE, "file.managed: [{name: /x.list}, {contents: ['# ours', 'deb [signed-by=/k]  http://x stable main']}]"),
        (SOURCE, SOURCE.replace("stable", "testing")),
        (SOURCE, SOURCE.replace("main", "contrib")),
        (SOURCE, SOURCE.replace("main", "main # ours")),
        (SOURCE, SOURCE.replace("main", "main contrib").replace("}]", "}, {comps: main}]")),
        ("pkgrepo.absent: [{name: 'deb http://x stable main'}]", "pkgrepo.absent: [{name: 'deb http://x stable main contrib'}]"),
        ("pkgrepo.absent: [{name: 'deb http://x stable main'}]", "file.managed: [{name: /etc/apt/sources.list}, {contents: 'deb http://y stable main'}]"),
        ("pkgrepo.managed: [{name: 5}]", "pkgrepo.absent: [{name: base}]"),
        ("pkgrepo.managed: [{name: 'deb http://x stable main'}]", "file.managed: [{name: /etc/apt/sources.list}, {contents: a}]"),
        ("pkgrepo.absent: [{name: 'deb http://x stable main'}]", "file.managed: [{name: /etc/apt/sources.list}, {contents: a}]"),
        (f"{GIT}, {{global: True}}]", "file.managed: [{name: /root/.gitconfig}, {contents: ['[user]', '  Email = me@x']}]"),
        ("git.config_unset: [{name: user.name}, {repo: /srv/x}]", f"{SETTINGS}['[user]', email = me@x]}}]"),
        ("ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}]", "file.managed: [{name: /x}, {contents: ['[a]', b = 1]}]"),
        ("ini.options_absent: [{name: /x}, {sections: {a: [b]}}]", "file.managed: [{name: /x}, {contents: ['[c]', b = 1]}]"),
        ("sysctl.present: [{name: a.b}, {value: 1}]", "file.managed: [{name: /etc/sysctl.conf}, {contents: a.b = 1}]"),
        ("kmod.absent: [{name: a}, {persist: True}]", "file.managed: [{name: /etc/modules}, {contents: ['# a', b]}]"),
        ("kmod.absent: [{name: a}]", "file.managed: [{name: /etc/modules}, {contents: a}]"),
        ("alias.absent: [{name: root}]", f"{ALIASES}{{contents: ['# root: ada', 'eva: root']}}]"),
        ("alias.present: [{name: root}, {target: ada}]", f"{ALIASES}{{contents: 'root:  ada # her'}}]"),
        ("mount.unmounted: [{name: /m}]", "file.managed: [{name: /etc/fstab}, {contents: /dev/x /m ext4 defaults 0 0}]"),
        ("mount.mounted: [{name: /m}, {device: tmpfs}, {fstype: tmpfs}]", "mount.mounted: [{name: /n}, {device: tmpfs}, {fstype: tmpfs}]"),
        (VENV, "pip.installed: [{pkgs: [a-b==1, c, d==2]}, {bin_env: /v}]"),
        (VENV, "pip.removed: [{name: d}, {bin_env: /v}]"),
        (VENV, "pip.removed: [{name: c}]"),
        (VENV, "pip.removed: [{name: z}, {requirements: 'salt://other'}, {bin_env: /v}]"),
        ("pip.installed: [{name: x}, {requirements: /r.txt}]", "pip.removed: [{name: x}]"),
        ("pip.installed: [{name: a==1}, {editable: /srv/a}]", "pip.installed: [{name: a==2}]"),
        ("pip.installed: [{name: git+https://x/r}]", "pip.removed: [{name: git}]"),
        ("pip.installed: [{pkgs: [5]}]", "pip.removed: [{pkgs: [a: 1]}]"),
        ("pip.uptodate: [{name: a}]", "pip.removed: [{name: a}]"),
        ("pip.installed: [{name: c}, {requirements: 'salt://other'}, {bin_env: /v}]", "pip.removed: [{name: c}, {bin_env: /v}]"),
        (KMOD.replace("True", "False"), "file.absent: [{name: /etc/modules}]"),
        ("timezone.system: [{name: Europe/Rome}]", ROME),
        ("virtualenv.managed: [{name: /v}, {pip_pkgs: [a]}]", "pip.installed: [{name: a==2}, {bin_env: /v}]"),
        ("virtualenv.managed: [{name: /v}, {pip_pkgs: [a==1]}]", "pip.installed: [{name: a==2}]"),
        ("cron.absent: [{name: /bin/true}]", "file.absent: [{name: /var/spool/cron/crontabs/root}]"),
        ("cron.present: [{name: /bin/true}]", "file.absent: [{name: /var/spool/cron/crontabs/app}]"),
        ("file.rename: [{name: /x/y}, {source: /y}]", "file.tidied: [{name: /x}]"),
        ("ini.options_absent: [{name: /x}, {sections: {a: [b]}}]", "ini.sections_absent: [{name: /x}, {sections: [a]}]"),
        ("ini.sections_present: [{name: /x}, {sections: {a: {b: 1}}}]", "ini.options_present: [{name: /x}, {sections: {a: {b: 2}}}]"),
        ("ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}]", "ini.options_present: [{name: /x}, {sections: {a: {c: 1}}}]"),
        ("ini.options_present: [{name: /x}, {sections: {a: [b]}}]", "ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}]"),
        ("ini.options_present: [{name: /x}]", "ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}]"),
        ("file.symlink: [{name: /x}, {target: /y}]", "file.symlink: [{name: /x}, {target: /y/}]"),
        ("file.copy: [{name: /x}, {source: /y}, {force: True}, {subdir: True}]", "file.directory: [{name: /x}]"),
        ("x509.private_key_managed: [{name: /x}]", "x509.private_key_managed: [{name: /x}, {algo: rsa}]"),
        ("x509.private_key_managed: [{name: /x}, {algo: ec}]", "x509.private_key_managed: [{name: /x}, {algo: ec}, {keysize: 256}]"),
        ("git.config_set: [{name: a.b}, {multivar: 'c,d'}, {repo: /x}]", "git.config_set: [{name: a.b}, {multivar: [c, d]}, {repo: /x}]"),
        ("mount.mounted: [{name: /m}, {device: /dev/x}, {fstype: ext4}, {persist: False}]", "file.managed: [{name: /etc/fstab}, {contents: a}]"),
        ("mount.mounted: [{name: /m}, {device: /dev/x}, {fstype: ext4}]", "file.absent: [{name: /dev/x}]"),
        ("mount.mounted: [{names: [5]}, {device: /dev/x}, {fstype: ext4}]", "file.absent: [{name: /m}]"),
        ("mount.fstab_present: [{name: /dev/x}, {fs_file: /m}, {fs_vfstype: xfs}]", "mount.unmounted: [{name: /m}, {device: /dev/y}, {persist: True}]"),
        ("user.absent: [{name: app}]", "cmd.wait: [{name: id}, {runas: app}]"),
        ("user.absent: [{name: app}]", "cmd.run: [{name: id}, {runas: app}, {creates: /y}]"),
        ("file.copy: [{name: /x}, {source: /y}, {force: True}, {preserve: True}, {mode: '0644'}]", "file.managed: [{name: /x}, {mode: '0600'}]"),
        ("file.managed: [{name: /x}, {mode: '0644'}, {dir_mode: '0755'}]", "file.managed: [{name: /x}, {mode: '644'}]"),
        ("file.managed: [{name: x}, {mode: '0644'}]", "file.managed: [{name: x}, {mode: '0600'}]"),
        ("pip.installed: [{name: /x}]", "file.managed: [{name: /x}, {contents: a}]"),
        ("file.managed: [{name: /x}, {contents_pillar: a}]", "file.append: [{name: /x}, {text: a}]"),
        ("file.managed: [{name: /x}, {contents_pillar: a}]", "file.managed: [{name: /x}, {contents_pillar: a}]"),
        ("file.replace: [{name: /x}, {pattern: ^b}, {repl: c}]", "file.line: [{name: /x}, {match: c}, {mode: delete}]"),
        ("user.absent: [{name: None}]", "cmd.run: [{name: id}, {runas: null}]"),
        ("group.present: [{name: a}, {members: 'u,'}]", "group.present: [{name: a}, {members: [u]}]"),
        ("group.present: [{name: a}, {gid: 7}]", "group.present: [{name: b}, {gid: 7}, {non_unique: True}]"),
        ("host.absent: [{name: h}, {ip: 192.0.2.7}]", "host.only: [{name: 192.0.2.7}, {hostnames: [i]}]"),
        ("ssh_auth.present: [{name: k}, {user: a}]", "ssh_auth.absent: [{name: k}, {user: a}, {config: /x}]"),
        ("ssh_auth.present: [{name: k}, {user: a}, {options: [b, c]}]", "ssh_auth.present: [{name: 'b,c ssh-rsa k'}, {user: a}]"),
        ("ssh_auth.present: [{name: k}, {user: a}, {options: [b, c]}]", "ssh_auth.present: [{name: ssh-rsa k}, {user: a}, {options: 'b,c'}]"),
        ("pkg.installed: [{name: 'a*'}]", "pkg.removed: [{name: 'a*'}]"),
        ("grains.list_present: [{name: a}, {value: b}]", "grains.list_absent: [{name: a}, {value: c}]"),
        ("file.managed: [{name: 5}]", "file.recurse: [{name: 6}, {source: 'salt://s'}]"),
        ("file.managed: [{name: /x/y}, {contents: a}]", "own.tidied: [{name: /x}]"),
        ("file.absent: [{name: /x/y}]", "file.directory: [{name: /x}, {clean: True}]"),
        ("file.exists: [{name: /x}]", "file.replace: [{name: /x}, {pattern: a}, {repl: b}]"),
        ("archive.extracted: [{name: /x}, {source: /a.tgz}, {if_missing: /m}]", "file.directory: [{name: /x}, {clean: True}]"),
        ("archive.extracted: [{name: /x}, {source: /a.tgz}, {if_missing: /m}]", "file.absent: [{name: /x/y}]"),
        ("archive.extracted: [{name: /x}, {source: /a.tgz}, {user: 0}]", "file.directory: [{name: /x}, {user: root}, {recurse: [user]}]"),
        ("git.latest: [{name: https://x/r}, {target: x}]", "file.directory: [{name: /x}, {clean: True}]"),
        (f"git.latest: [{REPO}, {{user: a}}]", "file.directory: [{name: /srv/x}, {user: b}, {recurse: [user]}]"),
        (f"git.latest: [{REPO}, {{bare: True}}]", "file.tidied: [{name: /srv/x}, {matches: '[.]git'}, {rmdirs: True}]"),
        (f"git.latest: [{REPO}, {{mirror: True}}]", "file.tidied: [{name: /srv/x}, {matches: '[.]git'}, {rmdirs: True}]"),
        ("file.append: [{name: /x}, {source: 'salt://needed'}]", "file.append: [{name: /x}, {text: b}]"),
        ("kmod.present: [{name: a}]", "file.managed: [{name: /etc/apt/sources.list}, {contents: b}]"),
        ("pkgrepo.absent: [{name: 'deb http://x stable main'}]", "file.managed: [{name: /x.list}, {contents: 'deb http://x stable main'}]"),
        ("file.managed: [{name: /x/y}, {contents: a}]", "file.copy: [{name: /x}, {source: /z}]"),
        ("file.managed: [{name: /x/y}, {contents: a}]", "file.copy: [{name: /x}, {source: /z}, {force: True}, {subdir: True}]"),
        ("file.managed: [{name: /x/y}, {contents: a}]", "file.directory: [{name: /x}, {clean: True}, {exclude_pat: 'E@('}]"),
        ("file.directory: [{name: /x/y}, {mode: '0755'}]", "file.directory: [{name: /x}, {mode: '0755'}, {file_mode: '0644'}, {recurse: [mode]}]"),
        ("file.managed: [{name: /q/y}, {contents: b}]", "file.recurse: [{name: /x}, {source: 'salt://s'}]"),
        ("file.directory: [{name: /x/d}, {mode: '0755'}]", "file.recurse: [{name: /x}, {source: 'salt://s'}, {dir_mode: '0700'}, {exclude_pat: z}]"),
    ],
)  # fmt: skip
def test_states_that_want_different_things_do_not_clash(first, second):
    assert undone(first, second) == ([], [])
    assert undone(second, first) == ([], [])


@rows(
    ("first", "second"),
    [
        ("file.symlink: [{name: /x}, {target: /y}]", "file.managed: [{name: /x}, {contents: a}]"),
        ("file.symlink: [{name: /x}, {target: /y}]", "file.directory: [{name: /x}]"),
        ("user.present: [{name: app}, {gid: crew}]", "user.present: [{name: app}, {gid: 7}]"),
        ("archive.extracted: [{name: /x}, {source: /a.tgz}]", "file.absent: [{name: /x/y}]"),
        ("archive.extracted: [{name: /x}, {source: /a.tgz}]", "file.directory: [{name: /x}, {clean: True}, {exclude_pat: a}]"),
        (f"git.latest: [{REPO}, {{force_reset: True}}]", "file.managed: [{name: /srv/x/y}, {contents: a}]"),
        (f"git.latest: [{REPO}, {{rev: v1}}]", f"git.latest: [{REPO}]"),
        ("file.copy: [{name: /x}, {source: /y}, {force: True}]", "file.managed: [{name: /x}, {contents: a}]"),
        ("file.hardlink: [{name: /x}, {target: /y}, {force: True}]", "file.managed: [{name: /x}, {contents: a}]"),
        ("user.present: [{name: app}]", "group.absent: [{name: app}]"),
        ("user.present: [{name: app}, {gid: 7}, {groups: [a]}]", "group.present: [{name: crew}, {members: [app]}]"),
        ("pkg.installed: [{name: a}]", "pkg.removed: [{name: a}, {version: '1'}]"),
        ("pkg.installed: [{pkgs: [a: '>=1']}]", "pkg.removed: [{pkgs: [a: '1', b]}]"),
        ("x509.private_key_managed: [{name: /x}]", "file.managed: [{name: /x}, {contents: '-----BEGIN PRIVATE KEY-----'}]"),
        ("x509.private_key_managed: [{name: /x}]", "file.managed: [{name: /x}, {source: 'salt://k'}, {template: jinja}]"),
        ("ini.options_present: [{name: /x}, {sections: {a: {b: 1}}}]", "file.managed: [{name: /x}, {contents: ['[a]', b=1]}]"),
        ("ssh_auth.present: [{name: k}, {user: a}, {source: 'salt://k'}, {config: /x}]", "file.managed: [{name: /x}, {contents: l}]"),
        ("service.running: [{name: a}]", "service.masked: [{name: a}]"),
        ("file.symlink: [{name: /x}, {target: /z}]", "file.managed: [{name: /x/y}, {contents: a}, {makedirs: True}]"),
        ("archive.extracted: [{name: /x/y}, {source: /a.tgz}]", "file.managed: [{name: /x}, {contents: a}]"),
        (SOURCE, "file.managed: [{name: /x.list}, {contents: '# none'}]"),
        (SOURCE, "file.absent: [{name: /x.list}]"),
        ("service.running: [{name: ssh}]", "service.dead: [{name: sshd}]"),
        ("service.enabled: [{name: mysql}]", "service.dead: [{name: mariadb.service}, {enable: False}]"),
        ("kmod.absent: [{name: a}, {persist: True}]", "file.managed: [{name: /etc/modules}, {contents: [a, b]}]"),
        (f"{GIT}, {{global: True}}]", "file.managed: [{name: /root/.gitconfig}, {contents: ['[include]', path = /x]}]"),
        ("pkgrepo.managed: [{name: 'deb http://x stable main'}]", "file.managed: [{name: /etc/apt/sources.list}, {contents: 'deb http://x stable contrib'}]"),
        (SOURCE, "file.managed: [{name: /x.list}, {contents: deb http://x stable main}]"),
        (KMOD, "file.managed: [{name: /etc/modules}, {contents: b}]"),
        ("timezone.system: [{name: UTC}]", ROME),
        ("sysctl.present: [{name: a.b}, {value: 1}]", "file.absent: [{name: /etc/sysctl.conf}]"),
        ("file.symlink: [{name: /x}]", "file.symlink: [{name: /x}, {target: /y}]"),
        ("timezone.system: [{name: UTC}]", "file.absent: [{name: /etc/localtime}]"),
        ("user.present: [{name: app}, {gid: 7}, {groups: [a]}]", "group.present: [{name: a}, {members: [b]}]"),
    ],
)  # fmt: skip
def test_what_only_a_run_can_tell_is_for_lint(first, second):
    certain, possible = undone(first, second)
    assert (certain, len(possible)) == ([], 1)


@rows(
    ("removed", "installed", "number"),
    [
        ("removed: [{name: mawk}]", "installed: [{name: awk}]", 1),
        ("purged: [{pkgs: [mawk, x]}]", "latest: [{pkgs: [y, awk]}]", 1),
        ("removed: [{name: gawk}]", "installed: [{name: awk}]", 0),
        ("removed: [{name: mawk}]", "installed: [{name: 'awk:i386'}]", 1),
        ("removed: [{name: awk}]", "installed: [{name: mawk}]", 0),
        ("removed: [{name: mawk}]", "downloaded: [{name: awk}]", 0),
    ],
)
def test_a_state_may_install_what_another_removes_with_its_own_package(removed, installed, number):
    class Mawk(PackageLists):
        def implied(self, name, /):
            return frozenset({"mawk"} if name in {"awk", "awk:i386"} else ())

    for pair in ((f"pkg.{removed}", f"pkg.{installed}"), (f"pkg.{installed}", f"pkg.{removed}")):
        certain, possible = undone(*pair, packages=lambda _: Mawk("\n\n"))
        assert (certain, len(possible)) == ([], number)


TIDIED = [
    ("file.managed: [{name: /x/y}, {contents: a}]", "", "/x/y", True),
    ("file.managed: [{name: /x/y}, {contents: a}]", "{rmlinks: False}", "/x/y", True),
    ("file.managed: [{name: /x/y}, {contents: a}]", "{exclude: z}", "/x/y", True),
    ("file.managed: [{name: /x/y}, {contents: a}]", "{exclude: y}", "", None),
    ("file.managed: [{name: /x/y}, {contents: a}]", "{matches: '('}", "", None),
    ("file.managed: [{name: /x/y}, {contents: a}]", "{matches: /x/}", "", None),
    ("file.managed: [{name: /x/y}, {contents: a}]", "{matches: /x/}, {full_path_match: True}", "/x/y", True),
    ("file.managed: [{name: /x/y}, {contents: a}]", "{age: 7}", "/x/y", True),
    ("file.managed: [{name: /x/y}, {contents: a}]", "{age: 7}, {size: 5}", "/x/y", False),
    ("file.managed: [{name: /x/y}, {contents: a}]", "{age: 7}, {age_size_logical_operator: and}", "/x/y", False),
    ("file.managed: [{name: /x/y}, {contents: a}]", "{age: 7}, {age_size_only: age}", "/x/y", False),
    ("file.managed: [{name: /x/y}, {contents: a}]", "{size: 5}, {age_size_only: Size}", "/x/y", False),
    ("file.managed: [{name: /x/y}, {contents: a}]", "{size: 5}, {age_size_only: age}", "/x/y", True),
    ("file.managed: [{name: /x/d/y}, {contents: a}]", "{matches: d}", "", None),
    ("file.managed: [{name: /x/d/y}, {contents: a}]", "{matches: d}, {rmdirs: True}", "/x/d/y", True),
    ("file.directory: [{name: /x/y}]", "", "", None),
    ("file.directory: [{name: /x/y}]", "{rmdirs: True}", "/x/y", True),
    ("file.symlink: [{name: /x/y}, {target: /z}]", "", "/x/y", True),
    ("file.symlink: [{name: /x/y}, {target: /z}]", "{rmlinks: False}", "", None),
    ("file.touch: [{name: /x/y}]", "", "/x/y", False),
    ("archive.extracted: [{name: /x}, {source: /a.tgz}]", "{matches: ['.*']}", "the files in /x", True),
    ("archive.extracted: [{name: /x}, {source: /a.tgz}]", "{exclude: z}", "the files in /x", False),
]


@rows(("made", "arguments", "thing", "certain"), TIDIED)
def test_what_a_tidied_folder_loses_is_lost_in_each_run(made, arguments, thing, certain):
    tidied = f"file.tidied: [{{name: /x}}{', ' if arguments else ''}{arguments}]"
    found = ([thing], []) if certain else ([], [thing] if thing else [])
    assert undone(made, tidied) == undone(tidied, made) == found


BOUND = "mount.mounted: [{name: /m}, {device: /x}, {fstype: none}, {opts: bind}"
ON_BOUND = ["file.directory: [{name: /m}, {mode: '0700'}]", "file.directory: [{name: /x}, {mode: '0755'}]"]
IN_BOUND = ["file.managed: [{name: /m/a}, {contents: b}]", "file.managed: [{name: /x/a}, {contents: c}]"]
CLEAN = "file.directory: [{name: /x}, {clean: True}, {require: [{file: s1}]}]"
IN_X, Z = "file.managed: [{name: /x/y}, {contents: a}]", "file.managed: [{name: /z}, {contents: a}]"
TO_X, Y = "file.symlink: [{name: /l}, {target: /x}]", "file.managed: [{name: /l/y}, {contents: a}, {makedirs: True}]"
APPENDED = ["file.append: [{name: /x}, {text: a}]", "file.replace: [{name: /x}, {pattern: ^a}, {repl: b}]"]
MORE = "file.accumulated: [{name: n}, {filename: /x}, {text: b}, {require_in: [{file: s0}]}]"
COPY = "file.copy: [{name: /x}, {source: /y}, {force: True}]"
TABS = "cron.file: [{name: 'salt://needed'}", "cron.file: [{name: 'salt://other'}"
NEEDS = [
    "virtualenv.managed: [{name: /v}, {requirements: /srv/./r.txt}]",
    "pip.installed: [{pkgs: [a==2, a-b==3]}, {bin_env: /v}]",
]


@rows(
    ("states", "things"),
    [
        # a folder of the tree has files
        ([IN_X.replace(": a", ": b"), "file.recurse: [{name: /x}, {source: 'salt://s'}]", "file.managed: [{name: /a}]"], ["/x/y"]),
        # a cleaned folder keeps only what it requires
        ([CLEAN, IN_X], []),
        ([CLEAN, Z, IN_X], ["/x/y"]),
        # a bound folder is the one that it shows
        ([f"{BOUND}]", *IN_BOUND], ["/x/a"]),
        ([f"{BOUND}]", *ON_BOUND], ["mode of /x"]),
        ([f"{BOUND}, {{mount: True}}]", *IN_BOUND], ["/x/a"]),
        ([f"{BOUND}, {{mount: False}}]", *IN_BOUND], []),
        ([f"{BOUND}]", "cron.present: [{name: /m/a}]", "cron.absent: [{name: /x/a}]"], []),
        # a file bars the way to everything below it: one finding; so does a link to a file
        (["file.managed: [{name: /x}]", "file.managed: [{name: /x/y}]", "user.present: [{name: u}]", "user.absent: [{name: u}]", "file.managed: [{name: /x/z}]"], ["/x", "user u"]),
        ([TO_X, "file.managed: [{name: /x}]", "file.touch: [{name: /l/y}]"], ["/x"]),
        ([TO_X, "file.copy: [{name: /x}, {source: /q}]", Y], []),
        (["file.symlink: [{name: /l}, {target: /d/x}]", "file.managed: [{name: /d/x}, {contents: a}]", "file.directory: [{name: /d}, {clean: True}]", "file.managed: [{name: /l/y}]"], ["/d/x"]),
        # what the tree has near the target of a link may make that
        ([TO_X, IN_X.replace("y", "z"), Y], []),
        (["file.symlink: [{name: /l}, {target: /d/x}]", "file.directory: [{name: /d}]", Y], []),
        # a move leaves what its source was; an archive a folder, whatever it is itself
        (["file.managed: [{name: /y}]", "file.rename: [{name: /x}, {source: /y}]", "file.managed: [{name: /x}]"], []),
        (["file.managed: [{name: /a.tgz}]", "archive.extracted: [{name: /x/y}, {source: /a.tgz}]", "file.tidied: [{name: /x}, {matches: y}]"], []),
        # what is accumulated may be more text
        (APPENDED, ["/x"]),
        ([*APPENDED, MORE], []),
        ([*APPENDED, MORE.replace("/x", "/y")], ["/x"]),
        # a copy has the text of its source
        (["file.managed: [{name: /y}, {source: 'salt://other'}]", COPY, "file.managed: [{name: /x}, {contents: a}]"], ["/x"]),
        (["file.managed: [{name: /y}, {source: 'salt://other'}]", COPY, "file.managed: [{name: /x}, {source: 'salt://other'}]"], []),
        # of each user, one crontab
        ([f"{TABS[0]}]", f"{TABS[1]}]"], ["the crontab of root"]),
        ([f"{TABS[0]}, {{user: u}}]", f"{TABS[1]}, {{user: u}}]", f"{TABS[1]}, {{user: v}}]"], ["the crontab of u"]),
        # only a state of a file takes the file away
        ([MANAGED, "cron.absent: [{name: /x}]", "file.managed: [{name: /x}, {contents: b}]"], ["/x"]),
        # requirements that the tree writes are installed
        (["file.managed: [{name: /srv//r.txt}, {contents: [a==1]}]", *NEEDS], ["version of Python package a of /v"]),
        (["file.managed: [{name: /srv/r.txt}, {source: 'salt://other'}]", *NEEDS], ["version of Python package a-b of /v"]),
        (["file.managed: [{name: /srv/r.txt}, {contents: a==1}, {template: jinja}]", *NEEDS], []),
        (["file.managed: [{name: /srv/r.txt}, {contents: a==1}, {replace: False}]", *NEEDS], []),
        (["file.append: [{name: /srv/r.txt}, {text: a==1}]", *NEEDS], []),
        (["file.managed: [{name: /srv/s.txt}, {contents: a==1}]", *NEEDS], []),
    ],
)  # fmt: skip
def test_what_several_states_want_of_one_thing(states, things):
    assert undone(*states) == (things, [])


def test_a_file_that_the_tree_writes_is_not_missing():
    made, needs = "file.managed: [{name: /x}, {contents: b}]", "file.replace: [{name: /x}, {pattern: a}, {repl: c}]"
    assert undone(made, needs, "file.absent: [{name: /x}]", apart=False) == ([], ["/x"])


FAILS, TO_AND_FRO, EITHER = (
    "one of them fails in each run",
    "differently: each run changes it to and fro",
    "or one of them fails",
)
DECIDE, REQUIRE, EXCLUDE, MATCH = (
    "let one state decide",
    "require the other one",
    "with exclude_pat",
    "let matches or exclude",
)


@rows(
    ("first", "second", "outcome", "hint"),
    [
        ("user.present: [{name: a}]", "user.absent: [{name: a}]", TO_AND_FRO, DECIDE),
        ("user.present: [{name: a}, {uid: 7}]", "user.present: [{name: b}, {uid: 7}]", FAILS, DECIDE),
        ("service.running: [{name: a}]", "service.masked: [{name: a}]", FAILS, DECIDE),
        ("service.unmasked: [{name: a}]", "service.masked: [{name: a}]", TO_AND_FRO, DECIDE),
        ("file.managed: [{name: /x/y}]", "file.directory: [{name: /x}, {clean: True}]", TO_AND_FRO, REQUIRE),
        ("file.managed: [{name: /x/y}, {contents: a}]", "file.tidied: [{name: /x}]", TO_AND_FRO, MATCH),
        ("virtualenv.managed: [{name: /x}]", "file.directory: [{name: /x}, {clean: True}]", TO_AND_FRO, EXCLUDE),
        (f"git.latest: [{REPO}, {{rev: v1}}]", f"git.latest: [{REPO}, {{rev: v2}}]", EITHER, DECIDE),
        (f"git.latest: [{REPO}, {{rev: v1}}, {{force_reset: True}}]", f"git.detached: [{REPO}, {{rev: v2}}]", TO_AND_FRO, DECIDE),
        (TO_X.replace("/l", "/f"), "file.managed: [{name: /f}, {follow_symlinks: False}]", FAILS, DECIDE),
        (TO_X.replace("/l", "/f").replace("}]", "}, {force: True}]"), "file.managed: [{name: /f}, {follow_symlinks: False}]", EITHER, DECIDE),
        (TO_X.replace("/l", "/f"), "file.directory: [{name: /f}, {allow_symlink: False}, {force: True}]", FAILS, DECIDE),
    ],
)  # fmt: skip
def test_a_mistake_says_what_runs_do_and_what_helps(first, second, outcome, hint):
    for pair in ((first, second), (second, first)):
        tree = {f"a{number}": f"s{number}: {{{state}}}" for number, state in enumerate(pair)}
        (found,) = plan(tree, list(tree), states=Bundled(), implicit_order="footprint").contradictions
        assert found.message.endswith(outcome)
        assert hint in found.hint


def test_what_is_moved_where_it_does_not_stay_is_moved_in_each_run():
    states = ["file.managed: [{name: /y}, {contents: a}]", "file.rename: [{name: /x/y}, {source: /y}]"]
    assert undone(*states, "file.tidied: [{name: /x}]") == (["/x/y"], [])
    assert undone(*states, "file.absent: [{name: /x}]") == (["/x/y"], [])
    assert undone(*states) == ([], [])


@rows(
    ("states", "certain"),
    [
        # a file for a moment
        (["file.managed: [{name: /x}, {contents: a}]", "cmd.run: [{name: cp /x /y}]", "file.absent: [{name: /x}]"], False),
        (["file.managed: [{name: /x}, {contents: a}]", "cmd.run: [{name: 'sh -c \"$A\"'}]", "file.absent: [{name: /x}]"], False),
        (["file.managed: [{name: /x}, {contents: a}]", "file.managed: [{name: /y}]", "file.absent: [{name: /x}]"], True),
        (["file.managed: [{name: /x/y}, {contents: a}]", "cmd.run: [{name: cp -r /x /z}]", "file.absent: [{name: /x/y}]"], False),
        # a service that stands still meanwhile
        (["service.dead: [{name: a}]", "file.managed: [{name: /y}]", "service.running: [{name: a}]"], False),
        (["service.dead: [{name: a}]", "service.running: [{name: a}]"], True),
        (["service.dead: [{name: a}]", "test.nop: [{name: b}]", "service.running: [{name: a}]"], True),
        # made anew
        (["file.absent: [{name: /x}]", "file.directory: [{name: /x}]"], False),
        (["file.directory: [{name: /x}]", "file.absent: [{name: /x}]"], True),
        (["file.absent: [{name: /x}]", "file.comment: [{name: /x}, {regex: a}]"], True),
        (["pkg.installed: [{name: a}]", "pkg.removed: [{name: a}]", "pkg.installed: [{pkgs: [a]}]"], False),
    ],
)  # fmt: skip
def test_steps_of_one_file_are_meant(states, certain):
    found, possible = undone(*states, apart=False)
    assert bool(found) is certain
    assert found or possible


@rows("order", ["none", "file", "footprint", "strict"])
def test_what_contradicts_does_so_in_every_order(order):
    tree = {"a": "a: {user.present: [{name: app}]}", "b": "b: {user.absent: [{name: app}]}"}
    made = plan(tree, ["a", "b"], states=Bundled(), implicit_order=order)
    assert [each.thing for each in made.contradictions] == ["user app"]


def test_no_value_is_told():
    first = "ini.options_present: [{name: /x}, {sections: {a: {password: one-secret}}}]"
    tree = {"a": f"a: {{{first}}}", "b": f"b: {{{first.replace('one-secret', 'another-secret')}}}"}
    made = plan(tree, ["a", "b"], states=Bundled(), implicit_order="footprint")
    (issue,) = [issue for issue in made.warnings if issue.code == "E430"]
    assert "secret" not in f"{issue.message}{issue.hint}{made.contradictions}"


ODD = st.recursive(
    st.sampled_from([None, True, False, 0, -1, 8, 1.5, "", "(", "[", "E@(", "\\", "{", "a", "/x", "salt://s", "mode"]),
    lambda value: st.lists(value, max_size=2) | st.dictionaries(st.sampled_from(["a", "file"]), value, max_size=1),
    max_leaves=3,
)
ARGUMENTS = """addusers algo comment config device enc fs_file fs_vfstype fstype gid hostnames ip match_on members mount
    opts options ssh_keys target usergroup append_if_not_found append_newline backslash_literal clean contents contents_newline content count dataset
    deserializer_opts encoded_data exclude_pat file_mode flags formatter header ignore_missing ignore_whitespace
    insert_before_match key key_values location marker_start match max_depth merge_if_exists mode not_found_content
    age_size_only creates exclude force full_path_match matches rmdirs pattern recurse regex repl replace separator serializer serializer_opts source text user value""".split()
FUNCTIONS = [
    *(
        f"file.{each}"
        for each in """append blockreplace comment copy decode directory keyvalue line managed prepend recurse
    rename replace serialize symlink tidied uncomment""".split()
    ),
    *"""archive.extracted cmd.run group.present host.absent host.only host.present mount.fstab_present mount.mounted ssh_auth.absent
    ssh_auth.manage ssh_auth.present user.present x509.private_key_managed""".split(),
]
ODD_STATE = st.tuples(
    st.sampled_from(FUNCTIONS),
    st.sampled_from(["/x", "/x/y", "/x/", "/etc/hosts"]),
    st.dictionaries(st.sampled_from(ARGUMENTS), ODD, max_size=6),
)


@given(st.lists(ODD_STATE, min_size=2, max_size=10), st.sampled_from(["footprint", "none"]))
def test_whatever_the_arguments_are_the_tree_compiles(states, order):
    tree = {
        f"s{number}": {function: [{"name": name}, *({key: value} for key, value in args.items())]}
        for number, (function, name, args) in enumerate(states)
    }
    plan({"s": json.dumps(tree), "salt://s/y": "a"}, ["s"], states=Bundled(), implicit_order=order)
