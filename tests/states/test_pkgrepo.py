"""Package sources: the files apt reads, keys, and the states, in a scratch /etc/apt."""

import os
import shutil
import subprocess

import pytest
from apt_root import AptRoot, needs_apt
from asyncstate.modules.aptpkg import _keys, _sources
from fake_apt import FakeApt
from plugin_harness import PluginHarness

from asyncstate.errors import CommandExecutionError, PathRefused

LINE = "deb [trusted=yes] http://deb.example.org/sun stable main"


@pytest.fixture
def etc(tmp_path, monkeypatch):
    folder = tmp_path / "etc"
    (folder / "sources.list.d").mkdir(parents=True)
    monkeypatch.setattr(_sources, "SOURCES_LIST", str(folder / "sources.list"))
    monkeypatch.setattr(_sources, "SOURCES_PARTS", str(folder / "sources.list.d"))
    monkeypatch.setattr(_keys, "TRUSTED", str(folder / "trusted.gpg.d"))
    monkeypatch.setattr(_keys, "KEYRINGS", str(folder / "keyrings"))
    return folder


@pytest.fixture
def harness(tmp_path, etc):
    made = PluginHarness(tmp_path)
    made.grains.update(osarch="amd64", oscodename="bookworm")
    made.apt = FakeApt(made)
    for name in ("aptpkg", "pkg_resource"):
        made.load("modules", name)
    made.load("states", "pkgrepo")
    return made


def test_a_deb822_source(harness, etc):
    path = etc / "sources.list.d/sun.sources"
    line = f"deb [signed-by={etc}/keyrings/sun.gpg arch=amd64] http://deb.example.org/sun stable main extra"
    _, real, again = harness.three_runs("pkgrepo.managed", name=line, file=str(path))
    assert (real["result"], real["changes"]) == (True, {"repo": line})
    assert again["comment"].endswith("already configured")
    assert path.read_text() == (
        f"Types: deb\nURIs: http://deb.example.org/sun\nSuites: stable\nComponents: main extra\n"
        f"Signed-By: {etc}/keyrings/sun.gpg\nArchitectures: amd64\n"
    )
    (found,) = harness.call("pkg.list_repos")["http://deb.example.org/sun"]
    assert (found["signedby"], found["architectures"]) == (f"{etc}/keyrings/sun.gpg", ["amd64"])


STANZAS = """\
# Debian
Types: deb deb-src
URIs: http://deb.example.org/debian
Suites: bookworm bookworm-updates
Components: main
X-Note: kept
 over two lines

Types: deb
URIs: http://security.example.org
Suites: bookworm-security
Components: main
Enabled: no
"""


def test_a_suite_leaves_its_stanza_and_all_else_stays(harness, etc):
    path = etc / "sources.list.d/debian.sources"
    path.write_text(STANZAS)
    repos = harness.call("pkg.list_repos")
    assert len(repos["http://deb.example.org/debian"]) == 4
    assert repos["http://security.example.org"][0]["disabled"] is True
    row = harness.state("pkgrepo.absent", name="deb http://deb.example.org/debian bookworm-updates main")
    assert row["result"] is True
    assert path.read_text() == STANZAS.replace("bookworm bookworm-updates", "bookworm")


def test_without_apt_key_a_source_names_its_key(harness, etc):
    row = harness.state("pkgrepo.managed", name="deb http://deb.example.org/sun stable main", aptkey=False)
    assert (row["result"], row["comment"].partition("': ")[2]) == (
        False, "missing 'signedby' or 'trusted' option when apt-key is missing",
    )  # fmt: skip
    assert not (etc / "sources.list").exists()


@pytest.fixture(scope="module")
def key(gpg_home):
    base = ["gpg", "--batch", "--homedir", str(gpg_home)]
    subprocess.run(
        [*base, "--passphrase", "", "--quick-generate-key", "Sun <sun@example.org>", "ed25519", "sign"],
        check=True,
        capture_output=True,
    )
    armored = subprocess.run([*base, "--armor", "--export"], check=True, capture_output=True, text=True).stdout
    binary = subprocess.run([*base, "--export"], check=True, capture_output=True).stdout
    return armored, binary


def test_a_key_is_stored_where_the_source_says(harness, etc, key):
    armored, binary = key
    harness.salt_file("sun.asc", armored)
    ring = etc / "keyrings" / "sun.gpg"
    line = f"deb [signed-by={ring}] http://deb.example.org/sun stable main"
    dry, real, _ = harness.three_runs("pkgrepo.managed", name=line, key_url="salt://sun.asc")
    assert (dry["result"], real["result"]) == (None, True)
    assert ring.read_bytes() == binary
    (facts,) = harness.call("pkg.get_repo_keys").values()
    assert (facts["uid"], facts["file"]) == ("Sun <sun@example.org>", str(ring))
    row = harness.state("pkgrepo.absent", name=line, keyid=facts["keyid"][-8:])
    assert (row["result"], row["changes"]["keyid"]) == (True, facts["keyid"][-8:])
    assert not ring.exists()


def test_an_armored_keyring_and_a_key_for_all_sources(harness, etc, key):
    armored, binary = key
    ring = etc / "keyrings" / "sun.asc"
    line = f"deb [signed-by={ring}] http://deb.example.org/sun stable main"
    assert harness.state("pkgrepo.managed", name=line, key_text=armored)["result"] is True
    assert ring.read_text() == armored
    plain = "deb http://deb.example.org/moon stable main"
    assert harness.state("pkgrepo.managed", name=plain, key_text=armored)["result"] is True
    (stored,) = (etc / "trusted.gpg.d").iterdir()
    assert stored.read_bytes() == binary


@pytest.mark.skipif(not shutil.which("gpg"), reason="needs gpg")
def test_a_key_that_cannot_be_had_leaves_the_sources_alone(harness, etc):
    row = harness.state("pkgrepo.managed", name=LINE, key_url="salt://nosuch.asc")
    assert (row["result"], row["comment"].partition("': ")[2]) == (False, "Error: file not found: salt://nosuch.asc")
    harness.salt_file("bad.asc", "no key at all")
    row = harness.state("pkgrepo.managed", name=LINE, key_url="salt://bad.asc")
    assert row["comment"].endswith("holds no public key")
    assert not (etc / "sources.list").exists()
    with pytest.raises(CommandExecutionError, match="no keyring holds it"):
        harness.call("pkg.del_repo_key", keyid="DEADBEEF")


def test_lines_apt_does_not_understand_are_kept(harness, etc):
    path = etc / "sources.list"
    path.write_text(f"deb http://half\n#deb  [ trusted=yes ]  http://x y   z\n{LINE}\n")
    assert harness.state("pkgrepo.managed", name=f"{LINE} extra")["result"] is True
    assert path.read_text() == f"deb http://half\n#deb  [ trusted=yes ]  http://x y   z\n{LINE} extra\n"


@needs_apt
def test_a_source_brings_packages(tmp_path, etc, monkeypatch):
    apt = AptRoot(tmp_path)
    monkeypatch.setattr(_sources, "SOURCES_LIST", str(apt.root / "etc/apt/sources.list"))
    monkeypatch.setattr(_sources, "SOURCES_PARTS", str(apt.root / "etc/apt/sources.list.d"))
    (apt.root / "etc/apt/sources.list").write_text("")
    apt.harness.load("states", "pkgrepo")
    apt.package("sun")
    assert apt.harness.call("pkg.latest_version", "sun") == ""
    name = f"deb [trusted=yes] file:{apt.repository} ./"
    row = apt.harness.state("pkgrepo.managed", name=name, file=str(apt.root / "etc/apt/sources.list.d/own.list"))
    assert row["result"] is True, row["comment"]
    assert apt.harness.state("pkg.installed", name="sun")["changes"] == {"sun": {"new": "1.0", "old": ""}}
    assert apt.harness.state("pkgrepo.absent", name=name)["result"] is True
    assert apt.harness.call("pkg.latest_version", "sun", refresh=False, show_installed=True) == "1.0"


SOURCES = {
    "a source": {},
    "no address": {"name": "deb [trusted=yes] nowhere stable main"},
    "no address, not fetched": {"name": "deb [trusted=yes] nowhere stable main", "refresh": False},
    "no address, disabled": {"name": "deb [trusted=yes] nowhere stable main", "disabled": True},
    "an unknown method": {"name": "deb [trusted=yes] xyz://{r} ./"},
    "no component": {"name": "deb [trusted=yes] file:{r} stable"},
    "an option without a value": {"name": "deb [trusted=yes arch=] file:{r} ./"},
    "a keyring that is no path": {"name": "deb [trusted=yes signed-by=nope] file:{r} ./"},
    "an unknown option": {"name": "deb [trusted=yes nope=1] file:{r} ./"},
    "another word": {"name": "dep file:{r} ./"},
    "a file that apt reads": {"file": "{e}/sources.list.d/a.list"},
    "a stanza": {"file": "{e}/sources.list.d/a.sources"},
    "a file that apt does not read": {"file": "{e}/sources.list.d/a.conf"},
    "a file elsewhere": {"file": "{e}/a.list"},
    "a key that is not there": {"key_url": "salt://nope.gpg"},
    "a file that is no key": {"key_url": "{e}/sources.list"},
    "a text that is no key": {"key_text": "x"},
    "a key by its number alone": {"keyid": "0123456789ABCDEF"},
    "a keyring with a text that is no armor": {
        "name": "deb [trusted=yes signed-by={e}/keyrings/a.asc] file:{r} ./", "key_text": "x",
    },
    "two values of one option": {"name": "deb [trusted=yes] file:{r} ./", "before": "deb [trusted=no] file:{r} ./ #"},
    "beside a broken source": {"before": "deb [trusted=yes] nowhere stable main"},
}  # fmt: skip
"""Sources of a root; ``before`` is a line of another file there. ``{e}`` is its /etc/apt, ``{r}`` its repository."""


@needs_apt
@pytest.mark.feature("F112")
@pytest.mark.parametrize("what", SOURCES)
def test_what_a_dry_run_says_of_a_source_comes_true(tmp_path, monkeypatch, what):
    apt = AptRoot(tmp_path)
    etc = apt.root / "etc/apt"
    monkeypatch.setattr(_sources, "SOURCES_LIST", str(etc / "sources.list"))
    monkeypatch.setattr(_sources, "SOURCES_PARTS", str(etc / "sources.list.d"))
    monkeypatch.setattr(_keys, "TRUSTED", str(etc / "trusted.gpg.d"))
    monkeypatch.setattr(_keys, "KEYRINGS", str(etc / "keyrings"))
    apt.package("sun")
    apt.harness.opts["foresight"] = True
    apt.harness.salt["cp.cache_file"] = lambda path, _: path if path.startswith("/") else ""
    apt.harness.load("states", "pkgrepo")
    (etc / "sources.list").write_text("")
    given = {"name": "deb [trusted=yes] file:{r} ./", **SOURCES[what]}
    given = {key: str(value).format(e=etc, r=apt.repository) for key, value in given.items()}
    if before := given.pop("before", ""):
        (etc / "sources.list.d/before.list").write_text(f"{before}\n")
    given = {key: {"True": True, "False": False}.get(value, value) for key, value in given.items()}
    before = {path: path.read_text() for path in etc.rglob("*") if path.is_file()}
    dry = apt.harness.state("pkgrepo.managed", test=True, **given)
    assert {path: path.read_text() for path in etc.rglob("*") if path.is_file()} == before
    done = apt.harness.state("pkgrepo.managed", **given)
    assert (dry["result"] is False) == (done["result"] is False), (dry, done)


EVIL = "deb [trusted=yes] http://evil.example.org/ ./"


@pytest.mark.parametrize("kind", ["list", "sources"])
@pytest.mark.parametrize("test", [True, False])
def test_nothing_in_a_source_makes_another_one(harness, etc, kind, test):
    plain = "deb http://deb.example.org/sun stable main"
    path = etc / f"sources.list.d/sun.{kind}"
    attempts = [{"name": f"{plain}\n{EVIL}"}, {"name": f"{plain}\r{EVIL}"}, {"comments": f"x\n{EVIL}"}]
    attempts += [{"comments": [f"x\f{EVIL}"]}, {"architectures": ["amd64 trusted=yes"]}, {"architectures": "a]b"}]
    attempts += [{"comps": [f"main\n{EVIL}"]}, {"comps": ["main\nTrusted: yes"]}, {"dist": f"stable\n{EVIL}"}]
    for each in attempts:
        row = harness.state("pkgrepo.managed", test=test, file=str(path), **{"name": plain, **each})
        assert row["result"] is False, each
    assert not path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights that a user could make use of")
def test_a_key_is_not_written_where_a_users_link_leads(harness, etc, key, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "victim").mkdir()
    os.symlink(tmp_path / "victim", tmp_path / "home/keys")
    os.chown(tmp_path / "home", 65534, 65534)
    for ring in (tmp_path / "home/keys/sun.gpg", tmp_path / "home/keys/new/sun.asc"):
        line = f"deb [signed-by={ring}] http://deb.example.org/sun stable main"
        row = harness.state("pkgrepo.managed", name=line, key_text=key[0])
        assert row["result"] is False
        assert "Refusing to follow" in row["comment"]
    assert list((tmp_path / "victim").iterdir()) == []
    os.mkfifo(tmp_path / "home/x.gpg")
    with pytest.raises(PathRefused):
        harness.call("pkg.get_repo_keys", keydir=str(tmp_path / "home"))


def test_what_is_one_line_to_apt_stays_one(harness, etc):
    path = etc / "sources.list.d/sun.list"
    path.write_text(f"# no source\f{EVIL}\ndeb http://deb.example.org/sun stable main\n")
    row = harness.state("pkgrepo.managed", name="deb http://deb.example.org/sun stable main", disabled=True)
    assert row["result"] is True
    assert path.read_text() == f"# no source\f{EVIL}\n# deb http://deb.example.org/sun stable main\n"
    assert all("evil" not in uri for uri in harness.call("pkg.list_repos"))


@pytest.mark.parametrize("file", ["sources.list", "sources.list.d/x.list", "sources.list.d/x.sources"])
@pytest.mark.parametrize(
    "more", [{}, {"dist": "other"}, {"architectures": "amd64"}, {"disabled": True}, {"comps": "main,x"}]
)
@pytest.mark.parametrize(
    "name",
    [
        LINE,
        "deb [trusted=yes] http://f/ ./",
        "deb [trusted=yes arch=i386] http://a/b s main",
        "deb [trusted=yes] cdrom:[Debian GNU/Linux 12 - DLBD]/ bookworm main",
    ],
)
def test_what_is_configured_once_is_removed_once(harness, etc, name, more, file):
    common = {"name": name, "file": str(etc / file), "refresh": False, **more}
    dry, real, again = harness.three_runs("pkgrepo.managed", **common)
    if "./" in name and "comps" in more:  # apt takes no components with a path
        return
    # A stanza keeps its suites, and its addresses have no blanks.
    if file.endswith(".sources") and ("dist" in more or "cdrom" in name):
        assert real["result"] is False
        return
    assert (dry["result"], real["result"], again["changes"]) == (None, True, {}), (real, again)
    assert again["result"] is True
    dry, real, again = harness.three_runs("pkgrepo.absent", **common)
    assert (dry["result"], real["result"], bool(real["changes"])) == (None, True, True), real
    assert (again["result"], again["changes"]) == (True, {})
