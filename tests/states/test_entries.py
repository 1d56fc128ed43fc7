"""States that touch entries of one file: which wait for each other, and that any order gives the serial file and rows."""

from __future__ import annotations

import asyncio
import json
import os
import stat

import pytest
from bundled_states import edges_between
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from asyncstate import Settings, StateRuntime

HOST = 'host.present: [{{name: {0}}}, {{ip: "{1}"}}]'
CRON = "cron.present: [{{name: /bin/{0}}}, {{{1}}}]"
INI = "ini.options_present: [{{name: /a.ini}}, {{sections: {{{0}: {{{1}: 1}}}}}}, {{{2}: true}}]"
SYSCTL = "sysctl.present: [{{name: {0}}}, {{value: 1}}, {{config: /etc/s.conf}}]"
KEY = "ssh_auth.present: [{{name: {0}}}, {{user: u}}]"

APART = {
    "two settings": (SYSCTL.format("a.b"), SYSCTL.format("a.c")),
    "two settings of interfaces": (SYSCTL.format("net.ipv4.conf.all.x"), SYSCTL.format("net.ipv4.conf.all.y")),
    "two hosts": (HOST.format("a", "::1"), HOST.format("b", "::2")),
    "a host that goes": (HOST.format("a", "::1"), "host.absent: [{name: b}, {ip: '::2'}]"),
    "two jobs": (CRON.format("a", "minute: 1"), CRON.format("b", "special: '@daily'")),
    "a job and a variable": (CRON.format("a", "hour: '*/2'"), "cron.env_present: [{name: PATH}, {value: /bin}]"),
    "two users' jobs": (CRON.format("a", "minute: x"), CRON.format("b", "user: u")),
    "two sections": (INI.format("s", "o", "x"), INI.format("t", "o", "x")),
    "a section that goes": (INI.format("s", "o", "x"), "ini.sections_absent: [{name: /a.ini}, {sections: [t]}]"),
    "two keys": (KEY.format("AAAA"), KEY.format("BBBB")),
    "two aliases": ("alias.present: [{name: a}, {target: x}]", "alias.absent: [{name: b}]"),
    "two grains that are there": ("grains.append: [{name: a}, {value: 1}]", "grains.absent: [{name: b}]"),
}

ORDERED = {
    "one setting": (SYSCTL.format("a.b"), SYSCTL.format("a/b")),
    "one setting of all interfaces and one": (SYSCTL.format("net.ipv4.conf.all.x"), SYSCTL.format("net/ipv4/conf/e/x")),
    "forwarding resets the others": (SYSCTL.format("net.ipv4.conf.all.x"), SYSCTL.format("net.ipv4.ip_forward")),
    "settings that are set together": (SYSCTL.format("vm.dirty_bytes"), SYSCTL.format("vm.dirty_ratio")),
    "a setting of a module": ("kmod.present: [{name: br_netfilter}]", SYSCTL.format("net.bridge.x")),
    "a setting and its file": (SYSCTL.format("a.b"), "file.append: [{name: /etc/s.conf}, {text: x}]"),
    "one address": (HOST.format("a", "::1"), HOST.format("b", "::1")),
    "one name": (HOST.format("a", "::1"), HOST.format("a", "::2")),
    "a name with no other address": (HOST.format("a", "::1"), "host.present: [{name: b}, {ip: '::2'}, {clean: true}]"),
    "all names of an address": (HOST.format("a", "::1"), "host.only: [{name: '::2'}, {hostnames: b}]"),
    "an address that a run finds out": (HOST.format("a", "::1"), HOST.format("b", "__slot__:salt:test.echo(::1)")),
    "one command": (CRON.format("a", "minute: 1"), CRON.format("a", "identifier: x")),
    "one identifier": (CRON.format("a", "identifier: x"), CRON.format("b", "identifier: x")),
    "a time that crontab may refuse": (CRON.format("a", "minute: 1"), CRON.format("b", "minute: 61")),
    "a day that crontab may refuse": (CRON.format("a", "minute: 1"), CRON.format("b", "daymonth: '1:5'")),
    "a variable that crontab may refuse": (CRON.format("a", "minute: 1"), "cron.env_present: [{name: A B}, {value: 1}]"),
    "a job and the whole": ("cron.file: [{name: /x}]", CRON.format("a", "minute: 1")),
    "one section": (INI.format("s", "o", "x"), INI.format("s", "p", "x")),
    "the options of no section": (INI.format("''", "o", "x"), INI.format("''", "p", "x")),
    "a section of the name of an option": (INI.format("s", "o", "x"), INI.format("''", "s", "x")),
    "all sections": (INI.format("s", "o", "x"), INI.format("t", "o", "strict")),
    "how a file is written": (INI.format("s", "o", "x"), INI.format("t", "o", "no_spaces")),
    "an option that goes": (INI.format("s", "o", "x"), "ini.options_absent: [{name: /a.ini}, {sections: {t: [o]}}]"),
    "one key": (KEY.format("AAAA"), KEY.format("ssh-rsa AAAA me")),
    "a key that goes": (KEY.format("AAAA"), "ssh_auth.absent: [{name: BBBB}, {user: u}]"),
    "one alias": ("alias.present: [{name: a}, {target: x}]", "alias.absent: [{name: a}]"),
    "a grain that may be new": ("grains.present: [{name: a}, {value: 1}]", "grains.present: [{name: b}, {value: 1}]"),
    "a grain within another": ("grains.absent: [{name: 'a:b'}]", "grains.append: [{name: a}, {value: 1}]"),
    "a grain and all": ("grains.append: [{name: a}, {value: 1}]", "grains.present: [{name: b}, {value: 1}]"),
}  # fmt: skip


@pytest.mark.parametrize("case", APART)
def test_states_with_different_entries_do_not_wait(case):
    first, second = APART[case]
    assert edges_between(first, second) == edges_between(second, first) == set()


@pytest.mark.parametrize("case", ORDERED)
def test_states_that_touch_the_same_keep_their_order(case):
    first, second = ORDERED[case]
    assert edges_between(first, second) == edges_between(second, first) == {("s0", "s1")}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A root for everything that the states below write, with a crontab program of its own."""
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    crontab = root / "bin" / "crontab"
    crontab.write_text(
        f'#!/bin/sh\n[ "$1" = -u ] && shift 2\ncase $1 in -l) cat {root}/tab;; *) cat > {root}/tab;; esac\n'
    )
    crontab.chmod(0o755)
    monkeypatch.setenv("PATH", f"{root / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "roots").mkdir()
    return tmp_path


def outcome(machine, high, before, **options):
    """Apply a tree to ``before``, {file: text}; return the files, the rows, and the grains in their order."""
    root = machine / "root"
    for name in ("hosts", "tab", "a.ini", "etc/s.conf", "aliases", "conf/grains"):
        path = root / name
        path.unlink(missing_ok=True)
        path.parent.mkdir(exist_ok=True)
        if name in before:
            path.write_text(before[name])
    for setting in SETTINGS:
        path = root / "proc" / setting.replace(".", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("0\n")
    (machine / "roots" / "t.sls").write_text(json.dumps(high))

    async def main():
        made = Settings(
            file_roots={"base": [str(machine / "roots")]},
            pillar_roots={},
            pillar={"hosts.file": str(root / "hosts"), "aliases.file": str(root / "aliases")},
            cachedir=str(machine / "cache"),
            implicit_order="footprint",
        )
        async with StateRuntime(made) as runtime:
            module = runtime.host.loaders["modules"].find("sysctl.persist").func.__globals__
            with pytest.MonkeyPatch.context() as patch:
                patch.setitem(module, "_PROC", str(root / "proc"))
                return await runtime.apply(["t"], **options)

    report = asyncio.run(main())
    rows = [{key: value for key, value in row.items() if key not in TIMED} for row in report.rows.values()]
    files = {
        str(path.relative_to(root)): (path.read_text(), stat.S_IMODE(path.stat().st_mode))
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
    return files, rows


TIMED = ("start_time", "duration")
SETTINGS = ("net.a", "net.b", "net.c", "vm.d")
NAMES = ("a", "b", "c", "d", "e", "f")
BEFORE = {
    "hosts": ["# top\n::a\t\tx a b # c\n\n::b b\n# end", "::1 localhost\n"],
    "tab": ["1 2 3 4 5 /own\n", "# Lines below here are managed by Salt, do not edit\n* * * * * /bin/a\n# c\n# stray\n"],
    "a.ini": ["o=1\n# c = 3\n\n[a]\nx=1\n#y = 2\n\n[b]\nx = 2\n  more", "[d]\n\n\n[e]\nx=1\n \n"],
    "etc/s.conf": ["# c\nnet.a=5\n\nnet.b = 0", "net.z = 1\n"],
    "aliases": ["# c\na: x # y\n  z\nroot: me", "b: x\n"],
}  # fmt: skip


@st.composite
def states(draw, root):
    """One state on an entry of one of the files."""
    name, value = draw(st.sampled_from(NAMES)), draw(st.sampled_from((1, 2)))
    match draw(
        st.sampled_from(
            ("host", "host", "gone", "sysctl", "cron", "cron", "env", "ini", "ini", "section", "alias", "file")
        )
    ):
        case "host":
            more = [{"comment": f"c{value}"}] if draw(st.booleans()) else []
            return "host.present", [{"name": f"{name}{value}"}, {"ip": f"::{draw(st.sampled_from(NAMES))}"}, *more]
        case "gone":
            return "host.absent", [{"name": name}, {"ip": f"::{name}"}]
        case "sysctl":
            setting = draw(st.sampled_from(SETTINGS))
            return "sysctl.present", [{"name": setting}, {"value": value}, {"config": f"{root}/etc/s.conf"}]
        case "cron":
            about = draw(
                st.sampled_from(
                    ({"minute": value}, {"special": "@daily"}, {"identifier": f"i{value}"}, {"comment": "c"})
                )
            )
            return f"cron.{draw(st.sampled_from(('present', 'present', 'absent')))}", [
                {"name": f"/bin/{name}"},
                {"user": "root"},
                about,
            ]
        case "env":
            return "cron.env_present", [{"name": name}, {"value": value}]
        case "ini":
            sections = {name: {draw(st.sampled_from("xyz")): value}} if value == 1 else {"": {f"o{name}": value}}
            return "ini.options_present", [{"name": f"{root}/a.ini"}, {"sections": sections}]
        case "section":
            how = draw(st.sampled_from(("sections_present", "sections_absent")))
            return f"ini.{how}", [{"name": f"{root}/a.ini"}, {"sections": [name]}]
        case "alias":
            return "alias.present", [{"name": name}, {"target": f"t{value}"}]
        case _:
            file = draw(st.sampled_from(("hosts", "a.ini", "etc/s.conf")))
            return "file.append", [{"name": f"{root}/{file}"}, {"text": f"# appended {name}"}]


@st.composite
def trees(draw, root, size):
    """A tree of such states, some with a requisite, and what the files hold before."""
    high = {}
    for number in range(draw(st.integers(2, size))):
        function, arguments = draw(states(root))
        if number and draw(st.integers(0, 5)) == 0:
            kind = draw(st.sampled_from(("require", "onchanges", "watch")))
            arguments = [*arguments, {kind: [f"s{draw(st.integers(0, number - 1))}"]}]
        high[f"s{number}"] = {function: arguments}
    return high, {name: draw(st.sampled_from(texts)) for name, texts in BEFORE.items() if draw(st.booleans())}


ONCE = {"phases": (Phase.generate,), "suppress_health_check": list(HealthCheck)}


def holds(machine, data, size):
    high, before = data.draw(trees(machine / "root", size))
    seed = data.draw(st.none() | st.integers(0, 999))
    serial = outcome(machine, high, before, concurrency=1)
    assert outcome(machine, high, before, concurrency=16, shuffle=seed) == serial
    assert outcome(machine, high, before, concurrency=1, shuffle=seed or 1) == serial


@pytest.mark.timeout(300)
@settings(max_examples=7, **ONCE)
@given(data=st.data())
def test_files_and_rows_are_those_of_a_serial_run(machine, data):
    holds(machine, data, 14)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=150, derandomize=False, **ONCE)
@given(data=st.data())
def test_files_and_rows_of_hundreds_of_trees(machine, data):
    holds(machine, data, 24)
