"""Record what Salt does with services in each environment: ``python tests/support/record_services.py SALT ROOTS [NAME…]``.

SALT is the folder of an environment with Salt; ROOTS a folder where throw-away Debians are built or kept. Run it as root.
NAME.json beside tests/recorded/services/cases.yaml gets the answers in the environment of that name:

- ``booted``: systemd is process 1;
- ``offline``: systemd is installed and not booted, as in an image that is being built, a chroot or a container;
- ``absent``: System V init, without systemd;
- ``booted_user``, ``offline_user``: the first two, asked by a user without rights.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from debian_machine import DebianMachine
from recording import write_lines

RECORDED = Path(__file__).parents[1] / "recorded" / "services"
CHECKOUT = Path(__file__).parents[2]
ENVIRONMENTS = {
    "booted": ("debian-systemd", ""),
    "offline": ("debian-systemd", ""),
    "absent": ("debian", ""),
    "booted_user": ("debian-systemd", "nobody"),
    "offline_user": ("debian-systemd", "nobody"),
}
PACKAGES = {"debian-systemd": ("systemd", "dbus"), "debian": ()}


def cases():
    return yaml.safe_load((RECORDED / "cases.yaml").read_text())


def root_of(name, roots):
    """Return the folder of the Debian that an environment needs, built if it is not yet there."""
    kind = ENVIRONMENTS[name][0]
    subprocess.run([CHECKOUT / ".ci/debian-root", roots / kind, *PACKAGES[kind]], check=True)
    return roots / kind


def answers(name, base, *, python="python3", ask="ours", more=()):
    """Return the answers of Salt or (``ask``) ours in an environment."""
    with tempfile.TemporaryDirectory() as work:
        machine = DebianMachine(base, Path(work) / "machine", CHECKOUT, more, systemd=name.startswith("booted"))
        with machine:
            if machine.systemd:
                machine.until("systemctl", "is-system-running", "--wait", "--quiet")
            inside = "/opt/asyncstate/tests/support/services_inside.py"
            user = [ENVIRONMENTS[name][1]] if ENVIRONMENTS[name][1] else []
            said = machine.run(str(python), inside, ask, *user, stdin=json.dumps(cases()), timeout=1200)
    return json.loads(said)


def main():
    salt, roots = Path(sys.argv[1]), Path(sys.argv[2])
    python = salt / "bin" / "python"
    more = (salt, python.resolve().parents[1])
    for name in sys.argv[3:] or ENVIRONMENTS:
        found = answers(name, root_of(name, roots), python=python, ask="salt", more=more)
        write_lines(RECORDED / f"{name}.json", found)


if __name__ == "__main__":
    main()
