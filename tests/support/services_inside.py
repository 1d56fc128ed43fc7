"""Inside a throw-away Debian: services, and what Salt or we answer about them. See record_services.py.

``PYTHON services_inside.py (salt|ours) [USER] < cases.json`` prints the answers by title, and after each case what is
linked and what runs.
"""

import glob
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys

UNIT = """[Unit]
Description={name}
[Service]
ExecStart=/bin/sleep 3000{digit}
ExecReload=/bin/true
[Install]
WantedBy=multi-user.target
"""
SCRIPT = """#!/bin/sh
### BEGIN INIT INFO
# Provides: {name}
# Required-Start: $remote_fs
# Required-Stop: $remote_fs
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
# Short-Description: shines
### END INIT INFO
. /lib/lsb/init-functions
pid=/run/{name}.pid
case "$1" in
start) start-stop-daemon --start --oknodo --background --make-pidfile --pidfile $pid --exec /bin/sleep -- 3000{digit} ;;
stop) start-stop-daemon --stop --retry 5 --oknodo --remove-pidfile --pidfile $pid ;;
restart) $0 stop; $0 start ;;
reload|force-reload) : ;;
status) status_of_proc -p $pid /bin/sleep {name} ;;
esac
"""
UNITS = {"sun": 1, "star": 2}
SCRIPTS = {"moon": 3, "star": 4}
NAMES = ("sun", "moon", "star", "nova")
FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/lib/systemd/system", "/etc/init.d", *(f"/etc/rc{level}.d" for level in "0123456S"))  # fmt: skip
BOOTED = os.path.isdir("/run/systemd/system")
TREE = "/srv/salt"
KEYS = ("result", "changes", "comment", "warnings")


def reset():
    """Make the services as if they had just been installed."""
    for pid in running():
        os.kill(pid, signal.SIGKILL)
    for path in (path for folder in FOLDERS for path in glob.glob(f"{folder}/**", recursive=True)):
        if any(name in os.path.basename(path) for name in NAMES) and not os.path.isdir(path):
            os.unlink(path)
    for name in NAMES:
        if os.path.exists(f"/run/{name}.pid"):
            os.unlink(f"/run/{name}.pid")
    if not BOOTED:
        shutil.rmtree("/run/systemd", ignore_errors=True)  # a mask until the next boot made it
    if shutil.which("systemctl"):
        for name, digit in UNITS.items():
            with open(f"/lib/systemd/system/{name}.service", "w") as file:
                file.write(UNIT.format(name=name, digit=digit))
    for name, digit in SCRIPTS.items():
        with open(f"/etc/init.d/{name}", "w") as file:
            file.write(SCRIPT.format(name=name, digit=digit))
        os.chmod(f"/etc/init.d/{name}", 0o755)
    if BOOTED:
        subprocess.run(["systemctl", "daemon-reload"], check=True)
        subprocess.run(["systemctl", "reset-failed"], check=True)


def running():
    """Return the daemons of the services, by process."""
    found = {}
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path) as file:
                words = file.read().split("\0")
        except OSError:
            continue
        if words[0] == "/bin/sleep" and words[1].startswith("3000"):
            found[int(path.split("/")[2])] = words[1][4:]
    return found


def left():
    """Return what a case left behind: links, and daemons by their digit."""
    paths = (path for folder in FOLDERS for path in glob.glob(f"{folder}/**", recursive=True))
    links = sorted(path for path in paths if os.path.islink(path) and any(name in path for name in NAMES))
    return {"links": links, "running": sorted(running().values())}


def of_salt(title, case):
    """Ask Salt, in this process."""
    import salt.client
    import salt.config

    base = f"/tmp/salt-{os.geteuid()}"
    opts = salt.config.minion_config(None)
    opts.update(file_client="local", root_dir=base, cachedir=f"{base}/cache", pki_dir=f"{base}/pki", id="here")
    opts.update(sock_dir=f"{base}/sock", log_file=f"{base}/log", file_roots={"base": [TREE]})
    caller = salt.client.Caller(mopts=opts)
    if title == "calls":
        return [_answer(lambda call=call: caller.cmd(f"service.{call[0]}", *call[1:])) for call in case]
    return [_rows(caller.cmd("state.apply", "tested", test=test)) for test in (True, False, False)]


def of_ours(title, case):
    """Ask asyncstate, in processes of its own."""
    base = f"/tmp/ours-{os.geteuid()}"
    environ = {
        **os.environ,
        "ASYNCSTATE_CACHEDIR": f"{base}/cache",
        "ASYNCSTATE_STATE_DIR": f"{base}/state",
        "ASYNCSTATE_FORESIGHT": "false",  # Salt has none
        "HOME": "/tmp",
    }

    def ask(*words):
        command = [sys.executable, "-m", "asyncstate", *words, "--file-root", TREE, "--out", "json"]
        done = subprocess.run(command, capture_output=True, text=True, env=environ, check=False)
        return json.loads(done.stdout) if done.stdout.strip() else done.stderr

    if title == "calls":
        return [ask("call", f"service.{call[0]}", *call[1:]) for call in case]
    return [_rows(ask("apply", "tested", "--pillar-root", TREE, *words)) for words in (["--test"], [], [])]


def _answer(call):
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - recorded, whatever it is
        return f"{type(error).__name__}: {error}"


def _rows(answer):
    if not isinstance(answer, dict):
        return answer
    rows = {tag.split("_|-")[1]: row for tag, row in answer.items() if tag.startswith("service")}
    return {
        name: [row[key] for key in KEYS if key in row and (key != "warnings" or row[key])] for name, row in rows.items()
    }


def _as_user(user, ask, *arguments):
    """Ask in a process of its own: Salt keeps what it found out about the machine."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        if user:
            os.setgid(pwd.getpwnam(user).pw_gid)
            os.setuid(pwd.getpwnam(user).pw_uid)
        with os.fdopen(writing, "w") as file:
            json.dump(ask(*arguments), file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def main():
    os.chdir("/")
    os.environ["HOME"] = "/root"
    os.chmod("/root", 0o755)  # the interpreter may be in there
    user = sys.argv[2] if len(sys.argv) > 2 else ""
    ask = {"salt": of_salt, "ours": of_ours}[sys.argv[1]]
    if ask is of_salt:
        import salt.client  # once, for all processes
        import salt.config  # noqa: F401
    answers = {}
    for title, case in json.load(sys.stdin).items():
        reset()
        with open(f"{TREE}/tested.sls", "w") as file:
            json.dump({} if title == "calls" else case, file)
        answers[title] = {"answers": _as_user(user, ask, title, case), **left()}
    reset()
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
