"""A scratch root with an rpm database and a local repository of its own: dnf and zypper for real, nothing installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from plugin_harness import PluginHarness

PLATFORM_TOOLS = Path(__file__).parents[2] / "build" / "platform-tools"
"""Where .ci/platform-tools unpacks what cannot be installed beside Debian's own."""

SPEC = """
Name: {name}
Version: {version}
Release: {release}
{epoch}Summary: {name} for tests
License: MIT
Group: sky
BuildArch: noarch
{fields}
%description
{name} for tests
%install
mkdir -p %{{buildroot}}/usr/share/{name} %{{buildroot}}/etc
echo {version} > %{{buildroot}}/usr/share/{name}/version
echo setting = 1 > %{{buildroot}}/etc/{name}.conf
%files
/usr/share/{name}
%config(noreplace) /etc/{name}.conf
{scripts}
"""


class RpmRoot:
    """``harness`` runs the bundled ``pkg`` modules against the scratch root; ``ran`` lists the commands."""

    def __init__(self, tmp_path: Path, module: str) -> None:
        self.folder = tmp_path
        self.root = tmp_path / "root"
        self.repository = tmp_path / "repository"
        self.repository.mkdir()
        self.sources = self.root / ("etc/zypp/repos.d" if module == "zypperpkg" else "etc/yum.repos.d")
        self.sources.mkdir(parents=True)
        (self.sources / "local.repo").write_text(
            f"# packages of the tests\n[local]\nname=local\nbaseurl=file://{self.repository}\nenabled=1\ngpgcheck=0\n"
        )
        plugins = self.root / "etc/dnf/plugins"
        plugins.mkdir(parents=True)
        (plugins / "versionlock.conf").write_text(f"[main]\nenabled=1\nlocklist={plugins}/versionlock.list\n")
        (plugins / "versionlock.list").touch()
        self.ran: list[list[str]] = []
        self.harness = PluginHarness(tmp_path)
        self.harness.grains.update(
            os_family="Suse" if module == "zypperpkg" else "RedHat", osarch="x86_64", cpuarch="x86_64"
        )
        self.harness.salt["cmd.run_all"] = self.run_all
        for name in (module, "rpm_lowpkg", "pkg_resource", "config"):
            self.harness.load("modules", name)
        self.harness.load("states", "pkg")

    def run_all(self, command, *, env=None, **_):
        self.ran.append(list(command))
        done = subprocess.run(
            [command[0], *self._options(command[0]), *command[1:]],
            env={
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                "PYTHONPATH": str(PLATFORM_TOOLS / "usr/lib/python3/dist-packages"),
                **(env or {}),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return {"pid": 1, "retcode": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip()}

    def _options(self, program: str) -> list[str]:
        if program == "dnf":
            settings = {
                "pluginpath": PLATFORM_TOOLS / "usr/lib/python3/dist-packages/dnf-plugins",
                "pluginconfpath": self.root / "etc/dnf/plugins",
                "reposdir": self.sources,
                "cachedir": f"{self.root}/var/cache/dnf",
                "gpgcheck": 0,
            }
            return [f"--installroot={self.root}", "--releasever=1", *(f"--setopt={k}={v}" for k, v in settings.items())]
        return ["--root", str(self.root)]

    def package(self, name, version="1.0", release="1", *, epoch="", scripts="", **fields):
        """Put a package into the repository; ``refresh_db`` makes it known. Returns the path of its file."""
        build = self.folder / "build"
        build.mkdir(exist_ok=True)
        spec = build / f"{name}.spec"
        lines = "".join(f"{key}: {value}\n" for key, value in fields.items())
        number = f"Epoch: {epoch}\n" if epoch else ""
        spec.write_text(
            SPEC.format(name=name, version=version, release=release, epoch=number, fields=lines, scripts=scripts)
        )
        defines = {"_topdir": build, "_rpmdir": self.repository, "_rpmfilename": "%{NAME}-%{VERSION}-%{RELEASE}.rpm"}
        options = [word for key, value in defines.items() for word in ("--define", f"{key} {value}")]
        subprocess.run(["rpmbuild", "-bb", "--quiet", *options, str(spec)], check=True, capture_output=True)
        shutil.rmtree(self.repository / "repodata", ignore_errors=True)
        subprocess.run(["createrepo_c", "-q", str(self.repository)], check=True, capture_output=True)
        return self.repository / f"{name}-{version}-{release}.rpm"

    def base(self):
        """Install a first package, ``sky``: zypper cannot read a database without any."""
        assert self.run_all(["rpm", "--install", "--nosignature", str(self.package("sky"))])["retcode"] == 0

    def commands(self, word):
        """The commands that do ``word``."""
        return [command for command in self.ran if word in command]

    def installed(self):
        """Name and version of what rpm has."""
        return self.harness.call("pkg.list_pkgs", use_context=False)
