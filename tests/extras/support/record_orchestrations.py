"""Record in which order Salt runs the steps of orchestrations: ``python tests/extras/support/record_orchestrations.py``.

``ASYNCSTATE_SALT_CALL`` is the ``salt-call`` to ask. The orchestrations have the shape of public ones. Their steps are
stand-ins (`STEPS`), which write when they begin and end; a step whose ID ends with "fails" fails.
tests/recorded/orchestrations.json has for each the SLS, and what was written in the order of Salt.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

RECORDED = Path(__file__).parents[2] / "recorded" / "orchestrations.json"

STEPS = """
import time

__virtualname__ = "salt"


def __virtual__():
    return __virtualname__


def _write(line):
    with open(__pillar__["log"], "a") as log:
        print(line, file=log)


def _step(name):
    step = __low__["__id__"]
    _write("begin " + step)
    time.sleep(__pillar__["slow"] if step.startswith("beside") else __pillar__["quick"])
    _write("end " + step)
    return {"name": name, "result": not step.endswith("fails"), "changes": {"did": step}, "comment": ""}


def state(name, **kwargs):
    return _step(name)


function = runner = parallel_runners = wait_for_event = wheel = state
"""

ORCHESTRATIONS = {
    "rebuild": """
destroy: {salt.function: [{name: cmd.run}, {tgt: 'hv*'}, {arg: [destroy]}]}
wipe: {salt.function: [{name: cmd.run}, {tgt: 'hv*'}, {arg: [wipe]}]}
forget: {salt.wheel: [{name: key.delete}, {match: 'vm*'}]}
pick: {salt.runner: [{name: manage.up}, {kwarg: {tgt: 'hv*'}}]}
deploy: {salt.parallel_runners: [{runners: {one: [{name: state.orchestrate}]}}]}
configure: {salt.state: [{tgt: 'vm*'}, {highstate: true}]}
""",
    "new machine": """
deploy it: {salt.runner: [{name: cloud.profile}, {prof: small}, {instances: [web9]}]}
pause: {salt.function: [{tgt: master}, {name: test.sleep}, {kwarg: {length: 60}}]}
first states: {salt.state: [{tgt: web9}, {tgt_type: list}, {sls: [sync, network]}]}
wait for reboot: {salt.wait_for_event: [{name: salt/minion/*/start}, {id_list: [web9]}]}
tell: {salt.state: [{tgt: master}, {sls: [blast]}]}
join domain: {salt.state: [{tgt: web9}, {sls: [domain]}]}
highstate: {salt.state: [{tgt: web9}, {highstate: true}]}
""",
    "cluster upgrade": """
haproxy: {salt.state: [{tgt: 'admin*'}, {batch: 1}, {sls: [haproxy]}]}
admin: {salt.state: [{tgt: 'admin*'}, {highstate: true}, {require: [haproxy]}]}
mark: {salt.function: [{tgt: '*'}, {name: grains.setval}, {arg: [updating, true]}]}
key: {salt.state: [{tgt: 'ca*'}, {sls: [key]}]}
sync pillar: {salt.runner: [{name: saltutil.sync_pillar}]}
update pillar: {salt.function: [{tgt: '*'}, {name: saltutil.refresh_pillar}, {require: [key]}]}
update grains: {salt.function: [{tgt: '*'}, {name: saltutil.refresh_grains}]}
update mine: {salt.function: [{tgt: '*'}, {name: mine.update}, {require: [update pillar, update grains]}]}
{% for node in ('m1', 'm2') %}
{{ node }} stop: {salt.state: [{tgt: {{ node }}}, {sls: [stop]}]}
{{ node }} reboot: {salt.function: [{tgt: {{ node }}}, {name: system.reboot}, {require: [{salt: {{ node }} stop}]}]}
{{ node }} wait: {salt.wait_for_event: [{name: salt/minion/*/start}, {require: [{salt: {{ node }} reboot}]}]}
{{ node }} unmark: {salt.function: [{tgt: {{ node }}}, {name: grains.setval}, {require: [{salt: {{ node }} wait}]}]}
{% endfor %}
""",
    "install images": """
synchronize: {salt.function: [{name: saltutil.sync_all}, {tgt: '*'}]}
install: {salt.state: [{tgt: '*'}, {sls: [yomi]}]}
wait: {salt.wait_for_event: [{name: salt/minion/*/start}, {require: [{salt: install}]}]}
control plane: {salt.state: [{tgt: a}, {sls: [control_plane]}]}
send: {salt.function: [{name: mine.send}, {tgt: a}]}
join: {salt.state: [{tgt: b}, {sls: [join]}]}
delete: {salt.function: [{name: mine.delete}, {tgt: '*'}]}
""",
    "a failure stops the rest": """
check: {salt.function: [{name: test.ping}, {tgt: master}, {failhard: true}]}
removal fails: {salt.runner: [{name: replace.disk}, {failhard: true}]}
restore: {salt.state: [{tgt: 'store*'}, {sls: restore}, {failhard: true}]}
wait: {salt.state: [{tgt: master}, {sls: wait}, {failhard: true}]}
""",
    "an empty inventory": """
inventory:
  test.fail_without_changes: [{failhard: true}]
sync: {salt.function: [{name: saltutil.sync_all}, {tgt: [a, b]}, {tgt_type: list}]}
prepare: {salt.state: [{tgt: [a, b]}, {tgt_type: list}, {sls: prepare}]}
""",
    "failures without requisites": """
update fails: {salt.state: [{tgt: '*'}, {sls: update}]}
restart: {salt.function: [{name: service.restart}, {tgt: '*'}, {require: [{salt: update fails}]}]}
report: {salt.runner: [{name: test.arg}, {onfail: [{salt: update fails}]}]}
check: {salt.state: [{tgt: '*'}, {sls: check}]}
""",
    "commands between steps": """
render: {cmd.run: [{name: 'echo render >> {{ pillar.log }}'}]}
apply map: {salt.runner: [{name: cloud.map_run}, {require: [{cmd: render}]}]}
sync: {salt.function: [{name: saltutil.sync_all}, {tgt: '*'}]}
load: {salt.function: [{name: saltutil.refresh_pillar}, {tgt: '*'}, {require: [{salt: apply map}]}]}
build: {salt.state: [{tgt: '*'}, {highstate: true}, {batch: 1}, {require: [{salt: load}]}]}
note: {cmd.run: [{name: 'echo note >> {{ pillar.log }}'}]}
backend: {salt.state: [{tgt: vault}, {sls: backend}]}
""",
    "load balancers first": """
balancers: {salt.state: [{tgt: 'lb*'}, {sls: [keepalived, lvs]}]}
network: {salt.state: [{tgt: 'm*'}, {sls: [network]}, {require: [{salt: balancers}]}]}
reboot: {salt.function: [{tgt: 'm*'}, {name: system.reboot}, {onchanges: [{salt: network}]}]}
wait: {salt.wait_for_event: [{name: salt/minion/*/start}, {onchanges: [{salt: reboot}]}]}
first: {salt.state: [{tgt: m1}, {sls: [master]}, {require: [{salt: wait}]}]}
workers: {salt.state: [{tgt: 'w*'}, {sls: [worker]}, {require: [{salt: first}]}]}
masters: {salt.state: [{tgt: 'm2'}, {sls: [master]}, {require: [{salt: first}]}, {require_in: [{salt: workers}]}]}
""",
    "an order of its own": """
notify: {salt.runner: [{name: test.arg}, {order: last}]}
images: {salt.state: [{tgt: h0}, {sls: [registry]}]}
spread: {salt.state: [{tgt: '*'}, {sls: [pull]}]}
docker: {salt.state: [{tgt: '*'}, {sls: [docker]}, {order: 1}]}
monitor: {salt.state: [{tgt: h0}, {sls: [tick]}]}
""",
    "steps beside others": """
master: {salt.state: [{tgt: salt}, {highstate: true}]}
{% for uuid in ('x', 'y') %}
beside zeroize {{ uuid }}: {salt.runner: [{name: state.orchestrate}, {kwarg: {mods: zeroize}}, {parallel: true}]}
sleep {{ uuid }}: {salt.function: [{name: cmd.run}, {tgt: salt}, {arg: [sleep 1]}]}
{% endfor %}
provision: {salt.runner: [{name: state.orchestrate}, {require: [beside zeroize x, beside zeroize y]}]}
beside cleaning: {salt.runner: [{name: state.orchestrate}, {kwarg: {mods: clean}}, {parallel: true}]}
finish: {salt.function: [{name: mine.update}, {tgt: '*'}]}
""",
    "a check of each node": """
health: {module.run: [{name: test.ping}]}
{% for node in ('e1', 'e2') %}
sync {{ node }}: {salt.function: [{name: saltutil.sync_all}, {tgt: {{ node }}}]}
upgrade {{ node }}:
  salt.state: [{tgt: {{ node }}}, {sls: [etcd]}, {require: [{salt: sync {{ node }}}, {module: health}]}]
check {{ node }}: {module.run: [{name: test.echo}, {text: {{ node }}}, {require: [{salt: upgrade {{ node }}}]}]}
{% endfor %}
done: {salt.runner: [{name: test.arg}]}
""",
}


def recorded(sls):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "tree" / "_states").mkdir(parents=True)
        (root / "tree" / "_states" / "saltmod.py").write_text(STEPS)
        (root / "tree" / "orch.sls").write_text(sls)
        (root / "log").touch()
        (root / "minion").write_text(json.dumps({"root_dir": str(root), "file_client": "local", "id": "m"}))
        call = [os.environ["ASYNCSTATE_SALT_CALL"], "--local", "--config-dir", str(root), "--file-root"]
        call += [str(root / "tree"), "state.sls", "orch"]
        pillar = {"log": str(root / "log"), "quick": 0.05, "slow": 1.0}
        subprocess.run([*call[:-2], "saltutil.sync_states"], check=True, capture_output=True)
        subprocess.run([*call, f"pillar={json.dumps(pillar)}"], check=False, capture_output=True)
        return (root / "log").read_text().splitlines()


if __name__ == "__main__":
    found = {name: {"sls": sls, "log": recorded(sls)} for name, sls in ORCHESTRATIONS.items()}
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")
