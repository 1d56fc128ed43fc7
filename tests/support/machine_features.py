"""States that change a machine's accounts, packages, services and kernel, and the throw-away root in which pairs of them run.

Accounts and packages are changed by the real programs; systemctl, mount, crontab and the like are stood for by those of
``machine_programs``, which keep their state in files. ``bare`` is the machine at first, ``made`` has what the features make.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, NamedTuple

from apt_root import put_package

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIHJ1bm5pbmd0aGVzYW1ldGVzdGluZXZlcnlvcmRlcjAw"
PROGRAMS = Path(__file__).parent / "machine_programs"
UNIT = "[Service]\nExecStart=/bin/sleep 3000\n[Install]\nWantedBy=multi-user.target\n"
SWAP_SPACE = f"{' ' * 4086}SWAPSPACE2"
"""A page with the mark that mkswap writes at its end."""
FOLDERS = ("etc", "home", "mnt", "opt", "root", "run", "srv", "var")
"""All that the features change; each pair finds it as it was."""
MAKE = r"""
groupadd -g 4713 crew
useradd -m -u 4711 app
echo 'app text' > /home/app/.profile
apt-get -q -y install sun=0.9 >/dev/null
touch /etc/systemd/system/own.service
systemctl enable sun.service && systemctl start sun.service
echo '# app
* * * * * /bin/true' | crontab -u app -
install -o app -g crew /dev/null /srv/owned
mkdir -p /mnt/m /srv/folder
echo '/srv/disk /mnt/m ext4 defaults 0 0' >> /etc/fstab
mount -t ext4 /srv/disk /mnt/m
swapon /srv/swapfile
echo 1 > /run/fake/settings/net/shaken
modprobe shaken
echo '192.0.2.7 shaken.example.com' >> /etc/hosts
echo 'web: app' >> /etc/aliases
update-alternatives --quiet --install /opt/ed ed /opt/one 10
"""


class Feature(NamedTuple):
    """One state of a machine, in a family of those that can meet."""

    name: str
    function: str
    arguments: dict[str, Any]

    def declaration(self, *more: dict[str, Any]) -> dict[str, Any]:
        return {self.function: [{key: value} for key, value in self.arguments.items()] + list(more)}


def _feature(function: str, what: str = "", **arguments: Any) -> Feature:
    return Feature(f"{function}: {what}" if what else function, function, arguments)


def _file(function: str, name: str, what: str = "", **arguments: Any) -> Feature:
    return _feature(f"file.{function}", what or name, name=name, **arguments)


def _command(name: str, **arguments: Any) -> Feature:
    return _feature("cmd.run", name, name=name, **arguments)


ACCOUNTS = [
    _feature("user.present", name="app"),
    _feature("user.present", "number", name="app", uid=4712),
    _feature("user.present", "in a group", name="app", groups=["crew"]),
    _feature("user.present", "main group", name="app", gid="crew"),
    _feature("user.present", "home", name="app", home="/srv/folder/app"),
    _feature("user.present", "shell", name="app", shell="/bin/dash", fullname="App"),
    _feature("user.present", "without home", name="app", createhome=False),
    _feature("user.absent", name="app"),
    _feature("user.absent", "purge", name="app", purge=True, force=True),
    _feature("group.present", name="crew"),
    _feature("group.present", "number", name="crew", gid=4720),
    _feature("group.present", "members", name="crew", members=["app"]),
    _feature("group.present", "one more", name="crew", addusers=["app"]),
    _feature("group.present", "one less", name="crew", delusers=["app"]),
    _feature("group.absent", name="crew"),
]
OF_ACCOUNTS = [
    _file("managed", "/srv/owned", "of a user", contents="x", user="app"),
    _file("managed", "/srv/owned", "of a group", contents="x", group="crew"),
    _file("managed", "/srv/owned", "of a number", contents="x", user=4711),
    _file("directory", "/srv/folder", "of a user", user="app", group="crew", recurse=["user", "group"]),
    _file("managed", "/home/app/.profile", contents="text", makedirs=True),
    _file("append", "~app/.profile", text="more"),
    _file("exists", "/home/app/.profile"),
    _file("missing", "/home/app"),
    _file("absent", "/home/app"),
    _file("managed", "/etc/skel/.profile", contents="of the skeleton", makedirs=True),
    _file("managed", "/srv/known", "if there is a user", contents="x", onlyif="id app"),
    _file("managed", "/srv/unknown", "if there is no user", contents="x", unless="getent passwd app"),
    _command("id > /srv/folder/who", runas="app"),
    _command("useradd app"),
    _command("id app"),
    _command("userdel app"),
    _command("groupadd crew"),
    _command("chown app /srv/owned"),
    _feature("ssh_auth.present", name=KEY, enc="ssh-ed25519", user="app"),
    _feature("ssh_auth.absent", name=KEY, enc="ssh-ed25519", user="app"),
    _feature("ssh_known_hosts.present", name="h.example.com", key=KEY, enc="ssh-ed25519", user="app"),
    _feature("cron.present", name="/bin/true", user="app", minute="5"),
    _feature("cron.absent", name="/bin/true", user="app"),
    _feature("cron.env_present", name="MAILTO", value="x", user="app"),
    _feature("cron.env_absent", name="MAILTO", user="app"),
    _feature("cron.file", name="salt://table", user="app"),
    _feature("git.config_set", **{"name": "user.name", "value": "x", "user": "app", "global": True}),
]
PACKAGES = [
    _feature("pkg.installed", name="sun"),
    _feature("pkg.installed", "version", name="sun", version="1.0"),
    _feature("pkg.installed", "with another", name="moon"),
    _feature("pkg.installed", "of a repository", name="star"),
    _feature("pkg.latest", name="sun"),
    _feature("pkg.removed", name="sun"),
    _feature("pkg.purged", name="sun"),
    _feature("pkg.installed", "held", name="sun", hold=True),
    _feature("pkg.held", name="sun"),
    _feature("pkg.unheld", name="sun"),
    _feature("pkg.uptodate", name="all"),
    _feature("pkgrepo.managed", name="deb [trusted=yes] file:/more ./", file="/etc/apt/sources.list.d/more.list"),
    _feature("pkgrepo.absent", name="deb [trusted=yes] file:/more ./", file="/etc/apt/sources.list.d/more.list"),
    _feature("user.present", "of a package", name="sund", system=True),
    _feature("user.absent", "of a package", name="sund"),
]
OF_PACKAGES = [
    _file("managed", "/etc/sun.conf", contents="mine\n"),
    _file("replace", "/etc/sun.conf", pattern="setting = .*", repl="setting = 2"),
    _file("exists", "/etc/sun.conf"),
    _file("missing", "/etc/sun.conf"),
    _file("absent", "/etc/sun.conf"),
    _file("managed", "/opt/sun/more", contents="x"),
    _file("managed", "/srv/sun", "of its user", contents="x", user="sund"),
    _command("cat /etc/sun.conf"),
    _command("apt-get -q -y install sun"),
    _command("test -e /opt/sun/sun"),
    _feature("alternatives.install", name="ed", link="/opt/ed", path="/opt/sun/sun", priority=50),
]
SERVICES = [
    _feature("service.running", name="sun"),
    _feature("service.running", "at boot", name="sun", enable=True),
    _feature("service.dead", name="sun"),
    _feature("service.dead", "not at boot", name="sun", enable=False),
    _feature("service.enabled", name="sun"),
    _feature("service.disabled", name="sun"),
    _feature("service.masked", name="sun"),
    _feature("service.unmasked", name="sun"),
    _feature("service.running", "unit of the tree", name="own", enable=True),
    _feature("service.enabled", "unit of the tree", name="own"),
    _feature("service.dead", "unit of the tree", name="own"),
    _feature("service.masked", "unit of the tree", name="own"),
]
OF_SERVICES = [
    _file("managed", "/etc/systemd/system/own.service", contents=UNIT),
    _file("absent", "/etc/systemd/system/own.service"),
    _file("absent", "/etc/systemd/system/sun.service"),
    _command("systemctl start sun.service"),
    _command("systemctl stop sun.service"),
    _feature("module.run", "restart", **{"service.restart": [{"name": "sun"}]}),
]
KERNEL = [
    _feature("mount.mounted", name="/mnt/m", device="/srv/disk", fstype="ext4", mkmnt=True),
    _feature("mount.mounted", "of a folder that is there", name="/mnt/m", device="/srv/disk", fstype="ext4"),
    _feature("mount.mounted", "other options", name="/mnt/m", device="/srv/disk", fstype="ext4", opts="noatime"),
    _feature("mount.mounted", "not now", name="/mnt/m", device="/srv/disk", fstype="ext4", mount=False),
    _feature("mount.unmounted", name="/mnt/m", device="/srv/disk"),
    _feature("mount.unmounted", "for good", name="/mnt/m", device="/srv/disk", persist=True),
    _feature("mount.fstab_present", name="/srv/disk", fs_file="/mnt/m", fs_vfstype="ext4"),
    _feature("mount.fstab_absent", name="/srv/disk", fs_file="/mnt/m"),
    _feature("mount.swap", name="/srv/swapfile"),
    _feature("mount.swap", "of the tree", name="/srv/swap"),
    _file("managed", "/srv/swap", contents=SWAP_SPACE),
    _file("directory", "/mnt/m"),
    _file("managed", "/mnt/m/x", contents="x"),
    _file("absent", "/srv/disk"),
    _file("touch", "/srv/disk"),
    _command("mount /mnt/m"),
    _command("umount /mnt/m"),
    _command("swapoff /srv/swapfile"),
    _file("append", "/etc/fstab", text="/srv/disk /mnt/m ext4 defaults 0 0"),
    _feature("sysctl.present", name="net.shaken", value=1),
    _feature("sysctl.present", "other", name="net.shaken", value=2),
    _feature("sysctl.present", "own file", name="net.shaken", value=1, config="/etc/sysctl.d/own.conf"),
    _file("managed", "/etc/sysctl.d/own.conf", contents="net.shaken = 2\n", makedirs=True),
    _feature("kmod.present", name="shaken"),
    _feature("kmod.present", "for good", name="shaken", persist=True),
    _feature("kmod.absent", name="shaken"),
    _feature("kmod.absent", "for good", name="shaken", persist=True),
    _file("append", "/etc/modules-load.d/salt_managed.conf", text="shaken", makedirs=True),
    _file("directory", "/srv/given", user="nobody"),
    _feature("mount.swap", "of a user", name="/srv/given/swap"),
    _feature("mount.mounted", "of a user", name="/srv/given/m", device="/srv/disk", fstype="ext4", mkmnt=True),
    _feature("alternatives.install", "of a user", name="ed", link="/srv/given/ed", path="/opt/one", priority=10),
    _command("modprobe shaken"),
    _command("rmmod shaken"),
]
OTHERS = [
    _feature("host.present", name="shaken.example.com", ip="192.0.2.7"),
    _feature("host.present", "other", name="shaken.example.com", ip="192.0.2.8", clean=True),
    _feature("host.absent", name="shaken.example.com", ip="192.0.2.7"),
    _feature("host.only", name="192.0.2.7", hostnames=["other.example.com"]),
    _file("managed", "/etc/hosts", contents="127.0.0.1 localhost\n"),
    _command("getent hosts shaken.example.com"),
    _feature("alias.present", name="web", target="app"),
    _feature("alias.present", "other", name="web", target="other"),
    _feature("alias.absent", name="web"),
    _file("absent", "/etc/aliases"),
    _feature("alternatives.install", name="ed", link="/opt/ed", path="/opt/two", priority=50),
    _feature("alternatives.set", name="ed", path="/opt/one"),
    _feature("alternatives.set", "other", name="ed", path="/opt/two"),
    _feature("alternatives.remove", name="ed", path="/opt/one"),
    _feature("alternatives.auto", name="ed"),
    _file("managed", "/opt/two", contents="two"),
    _file("exists", "/opt/ed"),
    _command("cat /opt/ed"),
    _feature("timezone.system", name="UTC", utc=True),
    _feature("timezone.system", "other", name="Etc/GMT", utc=True),
    _file("symlink", "/etc/localtime", target="/usr/share/zoneinfo/Etc/GMT", force=True),
]
FAMILIES = {
    "accounts": [*ACCOUNTS, *OF_ACCOUNTS],
    "packages": [*PACKAGES, *OF_PACKAGES, *SERVICES[:4]],
    "services": [*SERVICES, *OF_SERVICES],
    "kernel": KERNEL,
    "others": OTHERS,
}
"""States of one family can meet; those of two do not, but where a family has some of another's."""


def build_root(root: Path) -> None:
    """Make the bare machine in an empty folder. It has packages to install, in two repositories."""
    texts = {
        "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
        "etc/shadow": "root:*:19000:0:99999:7:::\nnobody:*:19000:0:99999:7:::\n",
        "etc/group": "root:x:0:\nnogroup:x:65534:\n",
        "etc/gshadow": "root:*::\nnogroup:*::\n",
        "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
        "etc/hosts": "127.0.0.1 localhost\n",
        "etc/os-release": "ID=debian\nNAME=Debian\nVERSION_ID=12\nVERSION_CODENAME=bookworm\n",
        "etc/fstab": "",
        "etc/aliases": "",
        "etc/login.defs": "UID_MIN 1000\nUID_MAX 60000\nSYS_UID_MIN 100\nSYS_UID_MAX 999\nUSERGROUPS_ENAB yes\n",
        "etc/apt/sources.list": "deb [trusted=yes] file:/repository ./\n",
        "etc/apt/apt.conf": 'APT::Sandbox::User "root";\nAPT::Architecture "amd64";\nAPT::Architectures:: "amd64";\n',
        "srv/disk": "disk",
        "srv/swapfile": SWAP_SPACE,
        "opt/one": "one",
        "run/fake/mounts": "/dev/root / ext4 rw 0 0\n",
        "run/fake/mountinfo": "1 1 0:1 / / rw - ext4 /dev/root rw\n",
        "run/fake/swaps": "Filename Type Size Used Priority\n",
        "run/fake/modules": "",
        "run/fake/settings/net/shaken": "0\n",
        "var/lib/dpkg/status": "",
        "var/lib/dpkg/available": "",
        "tree/table": "5 * * * * /bin/false\n",
    }
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for folder in (
        *("etc/alternatives", "etc/ssl/certs", "etc/ca-certificates", "etc/systemd/system", "etc/sysctl.d", "etc/skel"),
        *(
            "etc/apt/sources.list.d",
            "etc/apt/preferences.d",
            "etc/apt/trusted.gpg.d",
            "run/systemd/system",
            "home",
            "mnt",
        ),
        *("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/alternatives", "var/lib/apt/lists/partial"),
        *(
            "var/cache/apt/archives/partial",
            "var/log/apt",
            "var/spool/cron/crontabs",
            "run/fake/active",
            "root",
            "var/mail",
        ),
    ):
        (root / folder).mkdir(parents=True, exist_ok=True)
    shutil.copytree(PROGRAMS, root / "programs")
    files = {"etc/sun.conf": "setting = 1\n", "opt/sun/sun": "shines", "etc/systemd/system/sun.service": UNIT}
    account = "id sund >/dev/null 2>&1 || useradd --system sund"
    (root / "repository").mkdir()
    (root / "more").mkdir()
    for version in ("0.9", "1.0"):
        put_package(root / "repository", "sun", version, files, {"postinst": account})
    put_package(root / "repository", "moon", "1.0", {"opt/moon": "moon"}, {}, Depends="sun")
    put_package(root / "more", "star", "1.0", {"opt/star": "star"}, {})
    shutil.rmtree(root / "build")
