"""A real sshd on loopback, with keys of its own, which lets this account in: OpenSSH's, or none if it is not there.

As root it runs in a mount namespace, where the account and the folder that sshd separates its rights with are made.
`.ci/server-tools` unpacks Debian's package into build/server-tools.
"""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[3]
UNPACKED = ROOT / "build" / "server-tools"
PATIENCE = 60.0


def program():
    """The path of sshd, None if there is none."""
    for path in (UNPACKED / "usr/sbin/sshd", Path("/usr/sbin/sshd"), Path("/usr/local/sbin/sshd")):
        if os.access(path, os.X_OK):
            return path
    found = shutil.which("sshd")
    return Path(found) if found else None


def _environment():
    libraries = ":".join(str(path.parent) for path in sorted(UNPACKED.glob("usr/lib/**/libwrap.so.0")))
    return (
        {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LD_LIBRARY_PATH": libraries}
        if libraries
        else {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
    )


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def keygen(path, kind="ed25519"):
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path], check=True)
    return path


USER = pwd.getpwuid(os.geteuid()).pw_name


SUDO = """
mount -t overlay -o lowerdir={tools}/usr:/usr overlay /usr
mount -t overlay -o lowerdir={own}/etc:{tools}/etc:/etc overlay /etc
for each in /var/lib /var/cache /var/tmp; do mount -t tmpfs tmpfs $each; done
mkdir -p /run/home /run/thin /run/sudo; chmod 700 /run/thin; chown 65501 /run/home
install -m 644 {folder}/authorized_keys /run/keys
"""
"""What makes Debian's sudo, and the account `DEPLOY` who may use it, part of a mount namespace. /run is an empty one."""
DEPLOY = "deploy"
SSHD = "sshd:x:65500:65534::/run/sshd:/usr/sbin/nologin\n"


def sudo_setup(folder, rule, password):
    """Return the `mounts` of an `Sshd` with real sudo, whose account `DEPLOY` has a password and this rule for sudo."""
    own = folder.parent / f"{folder.name}-sudo"
    (own / "etc" / "pam.d").mkdir(parents=True)
    crypted = subprocess.run(
        ["perl", "-e", "print crypt(shift, '$6$salted$')", password], check=True, capture_output=True, text=True
    ).stdout
    files = {
        "passwd": f"{DEPLOY}:x:65501:65534::/run/home:/bin/sh\n",
        "shadow": f"{DEPLOY}:{crypted}:19000:0:99999:7:::\n",
        "sudoers": f"Defaults env_reset, secure_path=/usr/local/bin:/usr/bin:/bin\n{DEPLOY} {rule}\n",
        "pam.d/sudo": "auth required pam_unix.so\naccount required pam_unix.so\nsession required pam_permit.so\n",
    }
    for name, text in files.items():
        real = Path("/etc", name)
        before = real.read_text() if name in {"passwd", "shadow"} else ""
        if name == "passwd" and "\nsshd:" not in before:
            before += SSHD
        (own / "etc" / name).write_text(before + text)
    for name, mode in (("shadow", 0o600), ("sudoers", 0o440)):
        (own / "etc" / name).chmod(mode)
    return SUDO.format(tools=UNPACKED, own=own, folder=folder)


class Sshd:
    """``path`` stands first in the PATH of what is run there.

    ``mounts`` are lines of sh that root runs first, in the server's mount namespace. ``network`` is what starts a
    program in the network of the server, whose address there is ``address``. ``keys`` is where sshd finds who may come.
    """

    def __init__(self, folder, client_key, *, path="", mounts="", network=(), address="127.0.0.1", keys=""):
        self.mounts = mounts
        self.network = list(network)
        self.address = address
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True)
        self.port = free_port()
        self.key = keygen(folder / "host_key")
        own_keys = folder / "authorized_keys"
        shutil.copy(f"{client_key}.pub", own_keys)
        own_keys.chmod(0o600)
        self.keys = keys or own_keys
        (folder / "tmp").mkdir(mode=0o700)
        (folder / "home").mkdir(mode=0o700)
        lines = {
            "Port": self.port, "ListenAddress": address, "HostKey": self.key, "PidFile": "none", "UsePAM": "no",
            "StrictModes": "no", "PasswordAuthentication": "no", "AuthorizedKeysFile": self.keys, "PermitRootLogin": "yes",
            "LogLevel": "VERBOSE", "AllowTcpForwarding": "yes", "UseDNS": "no",
            "SetEnv": f"TMPDIR={folder}/tmp HOME={folder}/home PATH={path}{':' if path else ''}/usr/local/bin:/usr/bin:/bin "
            f"ASYNCSTATE_CACHEDIR={folder}/cache",
        }  # fmt: skip
        (folder / "config").write_text("".join(f"{key} {value}\n" for key, value in lines.items()))
        self.process = None

    @property
    def known_hosts_line(self):
        return f"[{self.address}]:{self.port} {Path(f'{self.key}.pub').read_text()}"

    @property
    def tmp(self):
        """What runners have left."""
        return sorted(path.name for path in (self.folder / "tmp").iterdir())

    def start(self):
        command = [str(program()), "-D", "-e", "-f", str(self.folder / "config")]
        if os.geteuid() == 0:
            accounts = Path("/etc/passwd").read_text()
            if "\nsshd:" not in accounts:
                accounts += SSHD
            (self.folder / "passwd").write_text(accounts)
            accounts = f"mount --bind {self.folder}/passwd /etc/passwd\n" if "/etc:" not in self.mounts else ""
            script = (
                "set -e\nmount -t tmpfs -o mode=755 tmpfs /run\nmkdir -m 755 /run/sshd\n"
                f'{accounts}{self.mounts}\nexec "$@"'
            )
            command = ["unshare", "--mount", "sh", "-c", script, "sh", *command]
        command = [*self.network, *command]
        with open(self.folder / "log", "wb") as log:
            self.process = subprocess.Popen(
                command, env=_environment(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            if "Server listening on" in (self.folder / "log").read_text():
                return self
            time.sleep(0.05)
        raise AssertionError((self.folder / "log").read_text())

    def sessions(self):
        """The processes that serve connections now."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                except OSError:
                    continue
                if parent == self.process.pid:
                    found.append(int(entry.name))
        return found

    def cut(self):
        """Break all connections, as a network that is gone does."""
        for pid in self.sessions():
            os.kill(pid, signal.SIGKILL)

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE)


if __name__ == "__main__":
    base = Path(sys.argv[1])
    key = keygen(base / "id")
    hosts = [Sshd(base / name, key).start() for name in ("a", "b")]
    (base / "known_hosts").write_text("".join(each.known_hosts_line for each in hosts))
    (base / "roster").write_text(
        "".join(
            f"{each.folder.name}1:\n  host: 127.0.0.1\n  port: {each.port}\n  user: {USER}\n  priv: {key}\n"
            f"  minion_opts:\n    grains: {{role: {each.folder.name}}}\n"
            for each in hosts
        )
    )
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    try:
        signal.pause()
    finally:
        for each in hosts:
            each.stop()
