"""Makes a minimal Debian in a folder, with Salt and the libraries of asyncstate in it, once.

``mmdebstrap`` installs the packages, through the mirror and with no other network; the archive keys are this machine's.
pip of the Python that runs this fetches the tools, with this machine's own settings.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from throwaway.mirror import Mirror

PORT = 3142
SALT = "/opt/salt/bin/salt-call"
NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--ipc", "--uts", "--propagation=private")

_HERE = Path(__file__).parent
_CHECKOUT = _HERE.parent.parent
_PACKAGES = (
    "python3,python3-venv,ca-certificates,procps,iproute2,kmod,lsb-release,gnupg,curl,adduser,"
    "init-system-helpers,debconf-utils"
)
_PROXY = f'Acquire::http::Proxy "http://127.0.0.1:{PORT}";'
_HOSTS = "127.0.0.1 localhost shaken\n"
_SPACE_FOR_PIP = "/wheels"


class Tree(NamedTuple):
    """A version of asyncstate: its name, and the folder on this machine that has it."""

    name: str
    folder: Path

    @property
    def place(self) -> str:
        """Where a room shows it."""
        return f"/opt/trees/{self.name}"

    @property
    def command(self) -> list[str]:
        """The command that starts it in a room."""
        return [f"/opt/asyncstate-{self.name}/bin/python", "-m", "asyncstate"]


def needed() -> str:
    """Return why no system can be made here; empty if one can."""
    if os.geteuid() != 0:
        return "only root can make a root for another system"
    absent = [name for name in ("mmdebstrap", "unshare", "mount", "chroot", "pivot_root") if not shutil.which(name)]
    return f"not found: {', '.join(absent)} (apt-get install mmdebstrap util-linux coreutils)" if absent else ""


@contextlib.contextmanager
def own_network(mirror: Mirror, command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a command that reaches the mirror, at port `PORT` of its own loopback device, and no other network.

    ``command`` begins with ``unshare --net …``; what it starts comes after. ``options`` are for Popen.
    """
    ours, theirs = socket.socketpair()
    at = command.index("--") + 1
    wrapped = [sys.executable, str(_HERE / "network.py"), str(theirs.fileno()), str(PORT)]
    with (
        ours,
        subprocess.Popen([*command[:at], *wrapped, *command[at:]], pass_fds=[theirs.fileno()], **options) as process,
    ):
        theirs.close()
        sent, descriptors, _flags, _from = socket.recv_fds(ours, 1, 1)
        if not sent:
            raise SystemExit(f"{command[0]} could not make a network of its own: exit code {process.wait()}")
        try:
            with mirror.listening(socket.socket(fileno=descriptors[0])):
                yield process
        except BaseException:
            process.kill()  # and with it all that is in its namespaces
            raise


def make_root(folder: Path, mirror: Mirror, trees: Sequence[str], suite: str) -> Path:
    """Return the root below ``folder``; make it if it is not there."""
    root = folder / f"root-{suite}"
    if not root.exists():
        new = folder / f"new-{suite}"
        if new.exists():
            shutil.rmtree(new)
        _bootstrap(new, mirror, suite)
        _stand_ins(new)
        _install_tools(new, folder / "wheels", trees)
        new.rename(root)
    return root


def make_tree(folder: Path, name: str, checkout: Path, root: Path) -> Tree:
    """Copy a version of asyncstate and compile its Python files with the Python of the root. Returns the copy."""
    if not (checkout / "asyncstate" / "__main__.py").is_file():
        raise SystemExit(f"{checkout} is not a checkout of asyncstate")
    place = folder / "trees" / name
    if place.exists():
        shutil.rmtree(place)
    for part in ("asyncstate", "states", "modules"):
        shutil.copytree(checkout / part, place / part, ignore=shutil.ignore_patterns("__pycache__"))
    tree = Tree(name, place)
    # Times of files are dates of a checkout: what counts is the content.
    compiling = ["python3", "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash", tree.place]
    _in_root(root, {str(place): tree.place}, compiling)
    return tree


def _bootstrap(root: Path, mirror: Mirror, suite: str) -> None:
    command = ["unshare", "--net", "--", "mmdebstrap", "--variant=minbase", f"--include={_PACKAGES}"]
    log = root.with_suffix(".log")
    with log.open("wb") as output:
        made = [*command, f"--aptopt={_PROXY}", suite, str(root)]
        with own_network(mirror, made, stdin=subprocess.DEVNULL, stdout=output, stderr=output) as process:
            code = process.wait()
    if code:
        raise SystemExit(f"mmdebstrap ended with {code}; {log} says why")


def _stand_ins(root: Path) -> None:
    """Give the root a systemctl that answers, and the folder by which programs know that systemd runs.

    It lies where the scripts of packages look, and stays there when a package brings the real one.
    """
    for program in (_HERE / "stand_in").iterdir():
        for path in (f"/bin/{program.name}", f"/usr/bin/{program.name}"):
            divert = ["dpkg-divert", "--local", "--no-rename", "--divert", f"{path}.real", "--add", path]
            _in_root(root, {}, divert)
        shutil.copy(program, root / "usr/bin" / program.name)
    (root / "run/systemd/system").mkdir(parents=True, exist_ok=True)
    (root / "etc/hosts").write_text(_HOSTS, encoding="utf-8")


def _install_tools(root: Path, wheels: Path, trees: Sequence[str]) -> None:
    project = tomllib.loads((_CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    _checked([sys.executable, "-m", "pip", "wheel", "-q", "-w", str(wheels), "salt", *project["dependencies"]])
    wanted = {"salt": ["salt"], **{f"asyncstate-{name}": project["dependencies"] for name in trees}}
    for name, packages in wanted.items():
        _in_root(root, {}, ["python3", "-m", "venv", f"/opt/{name}"])
        pip = [f"/opt/{name}/bin/pip", "install", "-q", "--no-index", "--find-links", _SPACE_FOR_PIP, *packages]
        _in_root(root, {str(wheels): _SPACE_FOR_PIP}, pip)
    for name in trees:
        (packages_of,) = (root / f"opt/asyncstate-{name}/lib").glob("python3*/site-packages")
        (packages_of / "tree.pth").write_text(f"/opt/trees/{name}\n", encoding="utf-8")


def _in_root(root: Path, binds: dict[str, str], command: list[str]) -> None:
    """Run a command in the root itself, to change it; ``binds`` are folders of this machine and where it sees them."""
    script = ["set -e", f"mount -t proc proc '{root}/proc'"]
    script += [f"mkdir -p '{root}{place}'; mount --bind '{folder}' '{root}{place}'" for folder, place in binds.items()]
    script.append(f"exec chroot '{root}' \"$@\"")
    environ = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
    }
    _checked([*NAMESPACES, "--net", "--", "sh", "-c", "; ".join(script), "sh", *command], env=environ)


def _checked(command: list[str], **options: Any) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False, **options)
    if done.returncode:
        raise SystemExit(
            f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-2000:].decode(errors='replace')}"
        )
