"""Process 1 of a throw-away Debian (debian_machine.py): it sets the stage, goes in, and takes in orphans, as init does.

Arguments: the built root, an empty folder to work in, the folders of our code and of the libraries it needs; more
folders, which are in it under the same names; and ``--systemd`` first if the root's own systemd is to be process 1.
"""

import os
import signal
import socket
import subprocess
import sys

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


def build(root: str, work: str, code: str, libraries: str, *more: str) -> str:
    """Mount everything; return the folder that becomes /."""
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", work)
    for name in ("upper", "work", "merged"):
        os.mkdir(f"{work}/{name}")
    merged = f"{work}/merged"
    mount("-t", "overlay", "-o", f"lowerdir={root},upperdir={work}/upper,workdir={work}/work", "overlay", merged)
    same = [(folder, f"{merged}{folder}") for folder in more]
    for source, target in ((code, f"{merged}/opt/asyncstate"), (libraries, f"{merged}/opt/python"), *same):
        os.makedirs(target)
        mount("--bind", "-o", "ro", source, target)
    mount("-t", "proc", "proc", f"{merged}/proc")
    hold_kernel_settings(f"{merged}/proc/sys", f"{work}/net")
    mount("-t", "sysfs", "-o", "ro", "sysfs", f"{merged}/sys")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", f"{merged}/run")
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", f"{merged}/tmp")
    mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", f"{merged}/dev")
    for name in DEVICES:
        open(f"{merged}/dev/{name}", "w").close()
        mount("--bind", f"/dev/{name}", f"{merged}/dev/{name}")
    os.mkdir(f"{merged}/dev/shm")
    os.chmod(f"{merged}/dev/shm", 0o1777)
    os.symlink("/proc/self/fd", f"{merged}/dev/fd")
    return merged


def hold_kernel_settings(settings: str, own: str) -> None:
    """Make the settings of the kernel read-only, but for those of the network, which the machine has of its own."""
    os.mkdir(own)
    mount("--bind", f"{settings}/net", own)
    mount("--bind", "-o", "ro", settings, settings)
    mount("--bind", own, f"{settings}/net")


def take_in_orphans() -> None:
    """Wait for every process that loses its parent: a service that ended would look alive as a zombie."""
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
        signal.sigwait({signal.SIGCHLD})


if __name__ == "__main__":
    systemd = sys.argv[1] == "--systemd"
    if not systemd:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    inside = build(*sys.argv[1 + systemd :])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    socket.sethostname("throwaway")
    os.chroot(inside)
    os.chdir("/")
    for folder in ("/run/lock", "/srv/salt", "/srv/pillar"):
        os.makedirs(folder, exist_ok=True)
    os.write(1, b"up\n")
    if systemd:
        mount("-t", "cgroup2", "cgroup2", "/sys/fs/cgroup")
        os.execve("/lib/systemd/systemd", ["systemd", "--log-target=null"], {"container": "unshare"})
    take_in_orphans()
