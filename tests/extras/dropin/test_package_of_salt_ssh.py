"""``state.pkg`` with an archive made by salt-ssh's own code, in the environment of a real Salt."""

from __future__ import annotations

import hashlib
import json
import subprocess
import textwrap

import pytest
from installed_salt import installed_salt

pytestmark = pytest.mark.salt

PACK = """
import json, shutil, sys
from salt import config, fileclient, loader, state
from salt.client.ssh import state as ssh

root = sys.argv[1]
opts = config.minion_config(root + "/conf/minion")
opts.update(file_client="local", grains=loader.grains(opts), pillar={"port": 80, "names": ["a", "b"]})
of_salt = state.HighState(opts)
high, errors = of_salt.render_highstate({"base": ["app"]})
for step in (of_salt.state.reconcile_extend, of_salt.state.requisite_in):
    high, more = step(high)
    errors += more
errors += of_salt.state.verify_high(high)
chunks, more = of_salt.state.compile_high_data(of_salt.state.apply_exclude(high))
assert not errors + more, errors + more
files = ssh.lowstate_file_refs(chunks, "salt://app/map.jinja")
client = fileclient.get_file_client(opts)
shutil.move(ssh.prep_trans_tar(client, chunks, files, opts["pillar"], "box", {"rack": "r7"}), root + "/package.tgz")
"""

TREE = {
    "app/init.sls": """
        include: [app.more]
        conf:
          file.managed:
            - name: ROOT/out/conf
            - source: salt://app/conf
            - template: jinja
            - context: {extra: given}
            - makedirs: true
            - require: [{mine: own}]
            - watch_in: [{cmd: command}]
        folder:
          file.recurse: [{name: ROOT/out/folder}, {source: salt://app/folder}]
        command:
          cmd.wait: [{name: echo waited}]
          test.nop: [{onchanges: [{file: conf}]}, {order: last}]
        several:
          test.succeed_with_changes: [{names: [x, y: [{order: 1}]]}]
        fails:
          test.fail_without_changes: []
        held back:
          test.nop: [{require: [{test: fails}]}]
        any of them:
          test.nop: [{require_any: [{test: fails}, {test: several}]}, {unless: "false"}]
        before:
          cmd.run: [{name: "true"}, {prereq: [{file: folder}]}]
        listening:
          test.succeed_with_changes: [{listen: [{file: conf}]}]
        script:
          cmd.script: [{name: salt://app/script.sh}]
        """,
    "app/more.sls": "own:\n  mine.told: []\n",
    "app/conf": '{% from "app/map.jinja" import twice %}{{ twice(pillar.port) }} {{ extra }} {{ salt["own.hello"]() }} é\n',
    "app/map.jinja": "{% macro twice(n) %}{{ n * 2 }}{% endmacro %}",
    "app/folder/below/file": "below\n",
    "app/script.sh": "#!/bin/sh\necho scripted\n",
    "_modules/own.py": "def hello():\n    return 'hello ' + __pillar__['names'][0]\n",
    "_states/mine.py": (
        "def told(name):\n"
        "    return {'name': name, 'changes': {}, 'result': True, 'comment': __grains__['rack'] + __salt__['own.hello']()}\n"
    ),
}


@pytest.fixture(scope="module")
def salt(checkout):
    return installed_salt(checkout)


@pytest.fixture
def package(tmp_path, salt):
    for name, text in TREE.items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).replace("ROOT", str(tmp_path)), encoding="utf-8")
    (tmp_path / "conf").mkdir()
    options = {"id": "box", "root_dir": str(tmp_path / "salt"), "file_roots": {"base": [str(tmp_path / "tree")]}}
    (tmp_path / "conf" / "minion").write_text(json.dumps(options))
    subprocess.run([salt, "-c", PACK, tmp_path], check=True, capture_output=True, text=True)
    return tmp_path / "package.tgz"


@pytest.mark.timeout(200)
def test_a_package_of_salt_ssh_is_applied(root, salt_call, package):
    here = package.parent
    digest = hashlib.sha256(package.read_bytes()).hexdigest()
    words = ["--out=json", "--retcode-passthrough", "state.pkg", package, digest, "sha256"]
    dry = json.loads(salt_call(*words, "test=True").out)["local"]
    assert not (here / "out").exists()
    done = salt_call(*words)
    rows = json.loads(done.out)["local"]
    assert done.code == 2
    by_name = {(tag.split("_|-")[0], row["name"]): row for tag, row in rows.items()}
    assert {name for name, row in by_name.items() if row["result"] is False} == {
        ("test", "fails"),
        ("test", "held back"),
    }
    assert by_name["mine", "own"]["comment"] == "r7hello a"
    assert by_name["cmd", "echo waited"]["changes"]["stdout"] == "waited"
    assert by_name["cmd", "true"]["changes"]["retcode"] == 0
    assert by_name["cmd", "salt://app/script.sh"]["changes"]["stdout"] == "scripted"
    assert next(iter(rows)) == "test_|-several_|-y_|-succeed_with_changes"
    assert list(rows)[-2:] == ["test_|-command_|-command_|-nop", "test_|-listener_listening_|-listening_|-mod_watch"]
    assert (here / "out/conf").read_text(encoding="utf-8") == "160 given hello a é\n"
    assert (here / "out/folder/below/file").read_text() == "below\n"
    assert dry.keys() <= rows.keys()
