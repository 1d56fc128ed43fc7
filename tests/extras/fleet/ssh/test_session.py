"""Runs across hosts over ssh: the fate of hosts, of their temporary files, and of connections."""

import asyncio
import hashlib
import os
import stat
import time

import asyncssh
import msgspec
import pytest
from ssh_server import jump_over, write_known_hosts

from asyncstate.errors import FleetError
from asyncstate.extras.fleet.protocol import Options
from asyncstate.extras.fleet.ssh import bundle


async def test_a_state_waits_for_one_of_another_host_and_nothing_is_left_behind(place):
    place.write("tree/db.sls", "database:\n  cmd.run:\n    - name: echo db >> {{ pillar.log }}\n")
    place.write(
        "tree/web.sls",
        "site:\n  cmd.run:\n    - name: echo web >> {{ pillar.log }}\n"
        "    - require:\n      - {host: 'G@role:db', cmd: database}\n",
    )
    place.write("tree/top.sls", "base:\n  'db*': [db]\n  'web*': [web]\n")
    db = await place.host("db1", minion_opts={"grains": {"role": "db"}})
    web = await place.host("web1")
    log = place.folder / "log"
    _, end = await place.apply(options=Options(pillar={"log": str(log)}))
    assert end.exit_code == 0, place.gathered.ends
    assert log.read_text() == "db\nweb\n"
    assert (db.left, web.left) == ([], [])
    assert [each.returncode for host in (db, web) for each in host.programs] == [0, 0]


async def test_files_and_plugins_of_the_tree_come_from_the_operator(place):
    place.write(
        "tree/_states/mine.py",
        "def there(name):\n    return {'name': name, 'result': True, 'changes': {}, 'comment': __salt__['mine.words']()}\n",
    )
    place.write(
        "tree/_modules/mine.py", "def words():\n    return 'of ' + __grains__['id'] + ' ' + __grains__['own']\n"
    )
    place.write("tree/_grains/own.py", "def own():\n    return {'own': 'grain'}\n")
    place.write("tree/sub/conf.j2", "{% from 'sub/map.jinja' import port %}{{ grains.id }} {{ port }}\n")
    place.write("tree/sub/map.jinja", "{% set port = 80 %}")
    place.write("tree/big", "x" * (3 << 20))
    place.write(
        "tree/app.sls",
        "words:\n  mine.there: []\n"
        "{{ pillar.out }}/conf:\n  file.managed:\n    - source: salt://sub/conf.j2\n    - template: jinja\n"
        "{{ pillar.out }}/big:\n  file.managed:\n    - source: salt://big\n"
        "{{ pillar.out }}/tree:\n  file.recurse:\n    - source: salt://sub\n",
    )
    await place.host("a1")
    out = place.folder / "out"
    out.mkdir()
    _, end = await place.apply("app", options=Options(pillar={"out": str(out)}))
    assert end.exit_code == 0, (place.gathered.ends, place.gathered.comments())
    assert place.gathered.comments()["a1"]["words"] == "of a1 grain"
    assert (out / "conf").read_text() == "a1 80\n"
    assert (out / "big").stat().st_size == 3 << 20
    assert sorted(os.listdir(out / "tree")) == ["conf.j2", "map.jinja"]


async def test_a_host_has_the_renderers_of_extras_and_their_salt_for_plugins(place):
    place.write(
        "tree/_states/mine.py",
        "import salt.utils.stringutils\n"
        "def there(name):\n"
        "    said = salt.utils.stringutils.to_unicode(b'said')\n"
        "    return {'name': name, 'result': True, 'changes': {}, 'comment': said}\n",
    )
    place.write("tree/app.sls", "#!pyobjects\nMine.there('words')\n")
    await place.host("a1")
    _, end = await place.apply("app")
    assert end.exit_code == 0, (place.gathered.ends, place.gathered.comments())
    assert place.gathered.comments()["a1"]["words"] == "said"


async def test_mistakes_name_the_files_of_the_tree(place):
    place.write("tree/app.sls", "{% set x = 1 %}\na:\n  test.nop:\n    - require: nop\n")
    place.write("pillar/top.sls", "base:\n  'b1': [bad]\n")
    place.write("pillar/bad.sls", "a: {{ no_such() }}\n")
    await place.host("a1")
    await place.host("b1")
    _, end = await place.apply("app")
    assert end.exit_code == 1
    assert "salt://app.sls:4" in end.hosts["a1"].why
    assert "formed as a list" in end.hosts["a1"].why
    assert f"{place.pillar}/bad.sls" in end.hosts["b1"].why


async def test_only_hosts_that_the_target_fits_take_part(place):
    place.write("tree/app.sls", "a:\n  test.nop: []\n")
    a = await place.host("a1", minion_opts={"grains": {"role": "db"}})
    b = await place.host("b1", minion_opts={"grains": {"role": "web"}})
    _, end = await place.apply("app", target="a*")
    assert set(end.hosts) == {"a1"}
    assert (len(a.connections), len(b.connections)) == (1, 0)
    _, end = await place.apply("app", target="G@role:web and G@kernel:Linux")
    assert set(end.hosts) == {"b1"}
    for target, words in (
        ("a2", "did you mean 'a1'"),
        ("zzz", "the roster has a1, b1"),
        ("G@role:x", "has such grains"),
    ):
        with pytest.raises(FleetError, match=words):
            await place.apply("app", target=target)


async def test_a_host_key_that_is_not_known_or_has_changed_is_refused(place):
    place.write("tree/app.sls", "a:\n  test.nop: []\n")
    await place.host("good1")
    unknown, changed = await place.host("new1"), await place.host("old1")
    write_known_hosts(place.known, place.hosts["good1"])
    other = asyncssh.generate_private_key("ssh-ed25519")
    place.write("known_hosts", (place.folder / "known_hosts").read_text() + changed.known_hosts_line(other))
    session, end = await place.apply("app")
    assert set(end.hosts) == {"good1"}
    assert set(session.failed) == {"new1", "old1"}
    assert unknown.key.get_fingerprint() in session.failed["new1"]
    assert f"ssh-keyscan -p {unknown.port} 127.0.0.1 >> {place.known}" in session.failed["new1"]
    assert "has changed" in session.failed["old1"]
    assert changed.key.get_fingerprint() in session.failed["old1"]
    assert other.get_fingerprint() in session.failed["old1"]
    assert (unknown.programs, changed.programs) == ([], [])


async def test_an_empty_file_of_known_hosts_trusts_nobody(place):
    host = await place.host("a1")
    place.write("known_hosts", "")
    session, _ = await place.apply("app")
    assert "its host key is not known" in session.failed["a1"]
    assert host.programs == []


async def test_a_host_is_reached_over_jump_hosts_whose_keys_are_checked_too(place):
    place.write("tree/app.sls", "a:\n  test.nop: []\n")
    first, second = await place.host("jump1"), await place.host("jump2")
    place.roster.clear()
    behind = await place.host("a1", options=jump_over(first, second))
    _, end = await place.apply("app")
    assert end.exit_code == 0
    assert (first.passed_on, second.passed_on) == ([("127.0.0.1", second.port)], [("127.0.0.1", behind.port)])
    write_known_hosts(place.known, first, behind)
    session, _ = await place.apply("app")
    assert "jump host 127.0.0.1: its host key is not known" in session.failed["a1"]
    assert len(behind.programs) == 1


async def test_who_is_not_let_in_or_not_there_is_a_failure_with_its_name(place):
    host = await place.host("a1", server={"password": "right"})
    right, wrong = place.roster.pop(), host.entry("b1")
    place.roster += [right, msgspec.structs.replace(wrong, passwd="wrong")]
    gone = await place.host("gone1")
    await gone.stop()
    place.write("tree/app.sls", "a:\n  test.nop: []\n")
    session, end = await place.apply("app")
    assert set(end.hosts) == {"a1"}
    assert "is not let in" in session.failed["b1"]
    assert "wrong" not in session.failed["b1"]
    assert f"no connection to 127.0.0.1, port {gone.port}" in session.failed["gone1"]


def wait_for(there):
    until = time.monotonic() + 60
    while not there():
        assert time.monotonic() < until
        time.sleep(0.05)


SUDO = """#!/bin/sh
printf "%s\\n" "$*" | cut -c1-60 >> {log}
while [ "$1" != -- ]; do
  [ "$1" = -S ] && asks=1
  [ "$1" = -p ] && {{ printf %s "$2" >&2; read -r password; [ "$password" = {password} ] || {{ printf %s "$2" >&2; read -r password; exit 1; }}; }}
  shift
done
shift
exec "$@"
"""


async def test_sudo_gets_the_password_and_refusals_have_words(place):
    place.write("tree/app.sls", "a:\n  test.nop: []\n")
    programs, log = place.folder / "bin", place.folder / "sudo.log"
    programs.mkdir()
    (programs / "sudo").write_text(SUDO.format(log=log, password="secret"))
    (programs / "sudo").chmod(0o755)
    server = {"first": programs}
    await place.host("free1", server=server, sudo=True, sudo_user="deploy")
    await place.host("asked1", server={**server, "password": "secret"}, sudo=True)
    refused = await place.host("refused1", server={**server, "password": "other"}, sudo=True)
    session, end = await place.apply("app")
    assert end.exit_code == 0
    assert set(end.hosts) == {"free1", "asked1"}
    assert "sudo refuses the password" in session.failed["refused1"]
    assert refused.left == []
    asked = sorted(line.split(" --")[0] for line in log.read_text().splitlines())
    assert asked == ["-S -p asyncstate-asks-sudo: -u root", "-S -p asyncstate-asks-sudo: -u root", "-n -u deploy"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("", "it has no python3 in its PATH"),
        ("#!/bin/sh\nexit 3\n", "its shell does not start Python"),
        ("#!/bin/sh\necho broken >&2\nexit 3\n", "broken"),
    ],
)
async def test_a_host_without_a_python_says_so(place, script, words):
    programs = place.folder / "bin"
    programs.mkdir()
    os.symlink("/bin/sh", programs / "sh")
    if script:
        (programs / "python3").write_text(script)
        (programs / "python3").chmod(0o755)
    host = await place.host("a1", server={"path": str(programs)})
    session, _ = await place.apply("app")
    assert words in session.failed["a1"]
    assert host.left == []


async def test_a_python_of_another_kind_is_refused_before_anything_is_brought(place, monkeypatch):
    host = await place.host("a1")
    monkeypatch.setattr(bundle, "abi", lambda: "cpython-399-riscv64-linux-gnu")
    session, _ = await place.apply("app")
    assert "the runner of this machine needs one of the kind cpython-399-riscv64-linux-gnu" in session.failed["a1"]
    assert host.left == []


async def test_a_bundle_that_changes_on_the_way_is_not_run(place, monkeypatch):
    made = bundle.made

    async def other(cachedir):
        return bundle.Bundle((await made(cachedir)).content, "0" * 64)

    monkeypatch.setattr(bundle, "made", other)
    host = await place.host("a1")
    session, _ = await place.apply("app")
    assert "another checksum" in session.failed["a1"]
    assert host.left == []


async def test_what_is_kept_is_used_again_if_it_is_whole_and_private(place, monkeypatch):
    place.write("tree/app.sls", "a:\n  test.nop: []\n")
    host = await place.host("a1")
    kept = host.folder / "kept"
    _, end = await place.apply("app", keep=str(kept))
    assert end.exit_code == 0
    (file,) = kept.iterdir()
    assert file.name == f"asyncstate-{hashlib.sha256(file.read_bytes()).hexdigest()}.pyz"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    before = file.stat().st_ino
    _, end = await place.apply("app", keep=str(kept))
    assert (end.exit_code, file.stat().st_ino) == (0, before)
    file.write_bytes(b"print('planted')")
    _, end = await place.apply("app", keep=str(kept))
    assert end.exit_code == 0
    assert file.stat().st_size > 1000
    kept.chmod(0o755)
    session, _ = await place.apply("app", keep=str(kept))
    assert "is not a private folder" in session.failed["a1"]
    assert host.left == []


async def test_a_connection_that_breaks_makes_the_host_lost_and_leaves_nothing(place):
    place.write(
        "tree/slow.sls",
        "first:\n  cmd.run:\n    - name: touch {{ pillar.mark }}; exec sleep 600\n",
    )
    place.write("tree/next.sls", "after:\n  test.nop:\n    - require:\n      - {host: a1, cmd: first}\n")
    place.write("tree/top.sls", "base:\n  'a1': [slow]\n  'b1': [next]\n")
    host, other = await place.host("a1"), await place.host("b1")
    mark = place.folder / "mark"

    async def cut():
        await asyncio.to_thread(wait_for, mark.exists)
        host.cut()

    cutting = asyncio.ensure_future(cut())
    _, end = await place.apply(options=Options(pillar={"mark": str(mark)}))
    await cutting
    assert "lost" in end.hosts["a1"].why
    assert "Host a1 is lost" in place.gathered.comments()["b1"]["after"]
    assert [each.partition(":")[0] for each in place.said] == ["a1"]
    assert "the connection is lost" in place.said[0]
    for each in host.programs:
        await asyncio.wait_for(each.wait(), 60)
    assert (host.left, other.left) == ([], [])


async def test_the_pillar_of_a_host_is_on_no_stream_but_its_own(place, monkeypatch):
    from asyncstate.extras.fleet.ssh import operator_side

    sent = {}
    send = operator_side.OperatorSide.send

    async def noted(self, writer, number, word, value=None):
        sent.setdefault(self._host, []).append(repr(value))
        await send(self, writer, number, word, value)

    monkeypatch.setattr(operator_side.OperatorSide, "send", noted)
    place.write("pillar/top.sls", "base:\n  'a1': [a]\n  'b1': [b]\n")
    place.write("pillar/a.sls", "secret: only-of-a\n")
    place.write("pillar/b.sls", "secret: only-of-b\n")
    place.write("tree/app.sls", "state:\n  cmd.run:\n    - name: 'true # {{ pillar.secret }}'\n    - no_log: True\n")
    place.write(
        "tree/b.sls",
        "state:\n  cmd.run:\n    - name: 'true # {{ pillar.secret }}'\n    - no_log: True\n    - require: [{host: a1, cmd: state}]\n",
    )
    place.write("tree/top.sls", "base:\n  'a1': [app]\n  'b1': [b]\n")
    await place.host("a1")
    await place.host("b1")
    _, end = await place.apply()
    assert end.exit_code == 0
    streams = {host: "".join(values) for host, values in sent.items()}
    assert "only-of-a" in streams["a1"]
    assert "only-of-b" not in streams["a1"]
    assert "only-of-b" in streams["b1"]
    assert "only-of-a" not in streams["b1"]
