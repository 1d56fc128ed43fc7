"""Files of installed packages, read from fake databases of four package managers."""

import os
import subprocess
from pathlib import Path

import pytest
from tables import beside

from asyncstate.data.packages import PackageLists
from asyncstate.sources.packages.apk import Apk
from asyncstate.sources.packages.dpkg import Dpkg
from asyncstate.sources.packages.installed import InstalledPackages
from asyncstate.sources.packages.known import KnownPackages, known_packages
from asyncstate.sources.packages.pacman import Pacman
from asyncstate.sources.packages.rpm import Rpm

TABLES = beside(__file__)

STATUS = TABLES["status"]
PATHS = {
    "web": ["/.", "/etc", "/etc/default", "/etc/default/web", "/usr/sbin/webd", "/lib/systemd/system/web.service"],
    "web-common": ["/etc/web", "/etc/web/web.conf", "/var/lib", "/var/lib/pages"],
    "postfix": ["/etc/postfix/main.cf"],
}


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def dpkg(root):
    write(root / "status", STATUS)
    for name, paths in PATHS.items():
        write(root / "info" / f"{name if name != 'web' else 'web:amd64'}.list", "\n".join(paths))
    write(root / "info/web:amd64.postinst", "#!/bin/sh\nadduser --system www-data\n")
    return Dpkg(str(root))


def pacman(root):
    needs = {"web": "web-common=1\nmta>=2\nlibc6", "web-common": "", "postfix": ""}
    for name, paths in PATHS.items():
        folder = root / f"{name}-1:2.0-3"
        provides = "%PROVIDES%\nmta=2\n" if name == "postfix" else ""
        write(folder / "desc", f"%NAME%\n{name}\n\n%DEPENDS%\n{needs[name]}\n\n{provides}")
        listed = "\n".join(path[1:] for path in paths if path != "/.")
        write(folder / "files", f"%FILES%\netc/\n{listed}\n\n%BACKUP%\netc/elsewhere/x\tabc\n")
    write(root / "web-1:2.0-3/install", "post_install() { useradd www; }\n")
    write(root / "ALPM_DB_VERSION", "9\n")
    return Pacman(str(root))


def apk(root):
    needs = {
        "web": "D:so:libc.so.6 web-common=1 mta !old-web\n",
        "web-common": "",
        "postfix": "p:mta=2 cmd:sendmail=2\n",
    }
    records = []
    for name, paths in PATHS.items():
        files = "".join(
            f"F:{os.path.dirname(path)[1:]}\nR:{os.path.basename(path)}\n" for path in paths if path != "/."
        )
        records.append(f"C:Q1=\nP:{name}\nV:1\n{needs[name]}{files}")
    write(root / "installed", "\n".join(records))
    return Apk(str(root / "installed"))


def rpm(root):
    paths = {name: "".join(f"F{path}\\n" for path in listed) for name, listed in PATHS.items()}
    write(
        root / "rpm",
        "#!/bin/sh\n"
        'case "$1 $5" in\n'
        "'-qa '*) printf 'Pweb\\nDweb-common\\nDmta\\nD/bin/sh\\nVweb\\nPweb-common\\nVweb-common\\n"
        "Ppostfix\\nVmta\\n' ;;\n"
        f"*' web') printf '{paths['web']}S\\nSuseradd www\\n' ;;\n"
        f"*' web-common') printf '{paths['web-common']}S\\nS\\n' ;;\n"
        f"*' postfix') printf '{paths['postfix']}S\\nS\\n' ;;\n"
        "*) exit 1 ;;\nesac\n",
    )
    return Rpm(("/bin/sh", str(root / "rpm")))


DATABASES = {"dpkg": dpkg, "pacman": pacman, "apk": apk, "rpm": rpm}


@pytest.fixture(params=DATABASES)
def installed(request, tmp_path):
    return InstalledPackages(DATABASES[request.param](tmp_path))


def test_a_package_has_brought_its_own_files_and_those_of_what_it_needs(installed):
    web = installed.brings("web")
    assert {"/etc/default/web", "/etc/web", "/var/lib/pages", "/etc/postfix", "/etc/systemd"} <= web.places
    assert "/etc/elsewhere" not in web.places
    assert web.has("/etc/web")
    assert not web.has("/etc/nginx")
    assert web.runs("webd")
    assert not web.runs("nginx")
    assert web.accounts
    assert not web.lasting, "a later version may bring more"


def test_what_scripts_may_have_made_has_the_name_of_the_package(installed):
    common = installed.brings("web-common")
    assert common.has("/var/lib/web")
    assert common.has("/var/cache/pages")
    assert not common.has("/var/lib/other")


def test_a_package_implies_what_it_depends_on_and_a_name_what_provides_it(installed):
    assert installed.implied("mta") == {"postfix"}
    assert "web-common" in installed.implied("web")
    assert installed.implied("postfix") == installed.implied("none") == frozenset()


def test_a_recommended_package_is_not_implied(tmp_path):
    write(
        tmp_path / "status",
        "Package: a\nStatus: install ok installed\nDepends: b | c, d (>= 1)\nRecommends: e\n\n"
        + "\n\n".join(f"Package: {name}\nStatus: install ok installed\n" for name in "bde"),
    )
    (tmp_path / "info").mkdir()
    write(tmp_path / "rpm", "#!/bin/sh\nprintf 'Pa\\nDb\\nDd\\nRe\\nVa\\nPb\\nVb\\nPd\\nVd\\nPe\\nVe\\n'\n")
    for database in (Dpkg(str(tmp_path)), Rpm(("/bin/sh", str(tmp_path / "rpm")))):
        assert InstalledPackages(database).implied("a") == {"b", "d"}
        assert set(database.needs("a")) == {"b", "d", "e"}


def test_what_is_not_installed_is_not_known(installed):
    assert installed.brings("gone") is None
    assert installed.brings("mta") is None
    assert installed.brings("") is None


def test_a_package_with_an_architecture_is_the_same(tmp_path):
    assert InstalledPackages(dpkg(tmp_path)).brings("web:amd64").has("/etc/web")


def test_a_database_that_cannot_be_read_says_so(tmp_path):
    for made in (Dpkg, Pacman, Apk):
        with pytest.raises(OSError, match="none"):
            made(str(tmp_path / "none"))
    with pytest.raises(OSError, match="rpm"):
        Rpm(("/bin/false",))
    with pytest.raises(OSError, match="no-such"):
        Rpm(("/no-such-program",))


LISTS = PackageLists("#\n/etc/listed\n/etc/more\n\nweb 0 |\nelse* 1 |\n")


def test_a_list_and_a_database_add_up(tmp_path):
    installed = InstalledPackages(dpkg(tmp_path))
    known = KnownPackages(LISTS, lambda: installed)
    web = known.brings("web")
    assert web.has("/etc/listed")
    assert web.has("/etc/web")
    assert not web.has("/etc/more")
    assert web.runs("webd")
    assert web.accounts
    assert web.lasting
    assert known.brings("else").accounts
    assert known.brings("postfix").has("/etc/postfix")
    assert known.brings("neither") is None


def test_without_a_list_the_database_alone_is_asked_for_places(tmp_path):
    installed = InstalledPackages(dpkg(tmp_path))
    known = KnownPackages(None, lambda: installed)
    assert known.place("/etc/web/x") == "/etc/web"
    assert known.place("/etc/systemd/system/x.service") == "/etc/systemd"
    assert known.place("/etc/web.conf") is None
    assert known.place("/usr/share/x") is None
    assert KnownPackages(None, lambda: None).brings("web") is None


def test_systems_of_other_families_are_not_known():
    assert known_packages("Solaris") is None
    assert known_packages("RedHat") is not None


@pytest.mark.slow
@pytest.mark.skipif(not Path("/var/lib/dpkg/status").exists(), reason="needs dpkg")
def test_what_dpkg_says_of_this_machine_is_what_its_program_says():
    installed = InstalledPackages(Dpkg())
    listed = subprocess.run(["dpkg-query", "-W"], capture_output=True, text=True, check=True).stdout
    names = [line.split("\t")[0].partition(":")[0] for line in listed.splitlines()]
    assert len(names) > 50
    for name in names[::20]:
        files = subprocess.run(["dpkg", "-L", name], capture_output=True, text=True, check=True).stdout.splitlines()
        brings = installed.brings(name)
        for file in (line for line in files if line.startswith("/")):
            parts = file.split("/")
            if len(parts) > 3 and parts[1] == "etc" and parts[2] not in {"default", "logrotate.d", "init.d"}:
                assert brings.has(f"/etc/{parts[2]}"), file
            if len(parts) == 4 and parts[2] in {"bin", "sbin"} and parts[1] == "usr":
                assert brings.runs(parts[3]), file
