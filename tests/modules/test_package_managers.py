"""The providers of ``pkg`` for dnf, zypper and pacman, from what the real programs answered; apk from what it prints."""

import contextlib

import pytest
from asyncstate.modules import (
    _alpm_versions,
    _package_transactions,
    _rpm_database,
    _rpm_versions,
    apkpkg,
    pacmanpkg,
    yumpkg,
    zypperpkg,
)
from plugin_harness import PluginHarness
from provider_scenarios import SCENARIOS, Player, play

from asyncstate.errors import CommandExecutionError, InvocationError

GRAINS = {
    "yumpkg": {"os_family": "RedHat"},
    "zypperpkg": {"os_family": "Suse"},
    "pacmanpkg": {"os_family": "Arch"},
    "apkpkg": {"os_family": "Alpine"},
    "aptpkg": {"os_family": "Debian"},
}


def harness_of(name, tmp_path, run_all):
    made = PluginHarness(tmp_path)
    made.grains.update(GRAINS[name], osarch="x86_64")
    made.salt["cmd.run_all"] = run_all
    lowpkg = ["rpm_lowpkg"] if name in {"yumpkg", "zypperpkg"} else []
    for module in (name, *lowpkg, "pkg_resource", "config"):
        made.load("modules", module)
    made.load("states", "pkg")
    return made


@pytest.fixture
def undisturbed(monkeypatch, tmp_path):
    """What is installed depends on the commands alone, and the locks of zypper are not this machine's."""
    for listing in (_rpm_database.LISTING, pacmanpkg._LISTING, apkpkg._LISTING):
        monkeypatch.setattr(listing, "_watched", ())
    monkeypatch.setattr(yumpkg._programs.shutil, "which", lambda name: f"/usr/bin/{name}" if name == "dnf" else None)
    monkeypatch.setattr(zypperpkg._locks, "_FILE", str(tmp_path / "locks"))


@pytest.mark.feature("F176")
@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_a_provider_does_what_it_did_with_the_real_program(name, tmp_path, undisturbed):
    player = Player.of(name)

    def run_all(command, **options):
        action = {"addlock", "removelock"} & set(command)
        if action:  # zypper keeps its locks in a file, which the provider reads
            lock = f"type: package\nsolvable_name: {command[-1]}\n" if "addlock" in action else ""
            (tmp_path / "locks").write_text(lock)
        return player(command, **options)

    play(SCENARIOS[name], harness_of(name, tmp_path, run_all))
    assert player.left == []


@pytest.mark.parametrize(
    ("name", "family", "loads"),
    [
        ("yumpkg", "RedHat", True), ("yumpkg", "Debian", False), ("zypperpkg", "Suse", True),
        ("zypperpkg", "RedHat", False), ("pacmanpkg", "Arch", True), ("pacmanpkg", "Suse", False),
        ("apkpkg", "Alpine", True), ("apkpkg", "Arch", False),
    ],
)  # fmt: skip
def test_which_provider_loads(name, family, loads, tmp_path, monkeypatch):
    module = {"yumpkg": yumpkg, "zypperpkg": zypperpkg, "pacmanpkg": pacmanpkg, "apkpkg": apkpkg}[name]
    monkeypatch.setattr("shutil.which", lambda program: f"/usr/bin/{program}")
    made = PluginHarness(tmp_path)
    made.grains["os_family"] = family
    with made.calling():
        verdict = module.__virtual__()
    assert (verdict == "pkg") is loads
    assert loads or verdict[0] is False


@pytest.mark.parametrize("name", ["yumpkg", "zypperpkg"])
def test_a_distribution_without_its_program(name, tmp_path, monkeypatch):
    module = {"yumpkg": yumpkg, "zypperpkg": zypperpkg}[name]
    monkeypatch.setattr("shutil.which", lambda _: None)
    made = PluginHarness(tmp_path)
    made.grains.update(GRAINS[name])
    with made.calling():
        assert module.__virtual__()[0] is False


# --- versions


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("1.0", "1.1"), ("1.9", "1.10"), ("1.0~rc1", "1.0"), ("1.0", "1.0^git1"), ("1.0^git1", "1.0.1"), ("1.0a", "1.0.1"),
        ("1.0-1", "1.0-2"), ("1.0-2", "1:0.1-1"), ("a", "1"), ("1.0~rc1", "1.0~rc2"),
    ],
)  # fmt: skip
def test_the_order_of_rpm(older, newer):
    assert _rpm_versions.compare(older, newer) == -1
    assert _rpm_versions.compare(newer, older) == 1
    assert _rpm_versions.compare(older, older) == 0


def test_what_rpm_versions_leave_out_does_not_count():
    assert _rpm_versions.compare("1.0", "1.0-3") == 0
    assert _rpm_versions.compare("1.0", "0:1.0-3") == 0
    assert _rpm_versions.compare("1.0", "1:1.0") == -1
    assert _rpm_versions.compare("1.0", "1:1.0", ignore_epoch=True) == 0
    assert _rpm_versions.compare("1.0", "1_0") == 0


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("1.0rc1", "1.0"), ("1.0", "1.0.1"), ("1.0a", "1.0"), ("1.0", "1.0.a"), ("1.9", "1.10"), ("1.0-1", "1.0-2"),
        ("9", "1:1"), ("1.a", "1.1"), ("1..0", "1...0"),
    ],
)  # fmt: skip
def test_the_order_of_pacman(older, newer):
    assert _alpm_versions.compare(older, newer) == -1
    assert _alpm_versions.compare(newer, older) == 1
    assert _alpm_versions.compare("1.0", "1.0-1") == 0
    assert _alpm_versions.compare("2:1.0", "1.0", ignore_epoch=True) == 0


# --- names


def test_names_with_an_architecture(tmp_path):
    made = harness_of("yumpkg", tmp_path, None)
    assert made.call("pkg.parse_arch", "glibc.i686") == {"name": "glibc", "arch": "i686"}
    assert made.call("pkg.parse_arch", "python3.11") == {"name": "python3.11", "arch": None}
    assert made.call("pkg.normalize_name", "glibc.x86_64") == "glibc"
    assert made.call("pkg.normalize_name", "glibc.noarch") == "glibc"
    assert made.call("pkg.normalize_name", "glibc.i686") == "glibc.i686"
    assert made.call("pkg.normalize_name", "python3.11") == "python3.11"
    with made.calling():
        line = _rpm_database.QUERY_FORMAT
        for field, value in {
            "%{NAME}": "glibc", "%{EPOCH}": "2", "%{VERSION}": "1.0", "%{RELEASE}": "3", "%{ARCH}": "i686",
            "%{INSTALLTIME}": "0",
        }.items():  # fmt: skip
            line = line.replace(field, value)
        assert _rpm_database.parsed(line)[:2] == ("glibc.i686", "2:1.0-3")
        assert _rpm_database.parsed("something else") is None


def test_what_a_hold_may_name():
    assert _package_transactions.named(None, ["a", {"b": 1}]) == {"a": None, "b": "1"}
    assert _package_transactions.named(None, None, [{"a": "/a.rpm"}]) == {"a": None}
    with pytest.raises(InvocationError, match="One of name, pkgs, or sources"):
        _package_transactions.named(None, None)
    with pytest.raises(InvocationError, match="Only one of pkgs or sources"):
        _package_transactions.named("a", ["a"], [{"a": "/a"}])


# --- what goes wrong


class Answers:
    """Answers commands by the words they hold; anything else succeeds and says nothing."""

    def __init__(self, *answers):
        self.answers = answers
        self.ran = []

    def __call__(self, command, **_):
        self.ran.append(list(command))
        for words, retcode, stdout, stderr in self.answers:
            if set(words.split()) <= set(command):
                return {"pid": 1, "retcode": retcode, "stdout": stdout, "stderr": stderr}
        return {"pid": 1, "retcode": 0, "stdout": "", "stderr": ""}


def test_dnf_without_the_plugin_that_keeps_packages(tmp_path, undisturbed):
    answers = Answers(("versionlock list", 1, "", "No such command: versionlock."))
    made = harness_of("yumpkg", tmp_path, answers)
    row = made.state("pkg.held", name="sun")
    assert (row["result"], row["comment"]) == (
        False, "Cannot proceed, python3-dnf-plugin-versionlock is not installed.",
    )  # fmt: skip


def test_dnf_leaves_what_is_kept_alone(tmp_path, undisturbed):
    answers = Answers(("versionlock list", 0, "sun-0:1.0-1.*\nsky-lark-1:2.0-1.*", ""))
    made = harness_of("yumpkg", tmp_path, answers)
    assert made.call("pkg.list_holds", full=False) == ["sun", "sky-lark"]
    with pytest.raises(CommandExecutionError) as caught:
        made.call("pkg.install", pkgs=["sun", "moon"])
    assert caught.value.info["errors"][0].startswith("The following package(s) could not be updated because they are")
    assert [command[-1] for command in answers.ran if "install" in command] == ["moon"]
    made.call("pkg.install", "sun", update_holds=True)
    actions = [" ".join(command[1:]) for command in answers.ran if "list" not in command][-3:]
    assert actions[0] == "versionlock delete sun"
    assert actions[1].endswith("install --best --allowerasing sun")


def test_the_locks_of_dnf5(tmp_path, undisturbed):
    text = "# Added by 'versionlock add' command on 2024-01-01\nPackage name: sun\nevr = 1.0-1"
    made = harness_of("yumpkg", tmp_path, Answers(("versionlock list", 0, text, "")))
    assert made.call("pkg.list_holds") == ["sun-1.0-1.*"]


def test_the_repositories_that_dnf_is_told_of(tmp_path, undisturbed):
    made = harness_of("yumpkg", tmp_path, answers := Answers())
    made.call("pkg.refresh_db", enablerepo=["a", "b"], disablerepo="c", setopt="x=1, y=2", check_update=False)
    assert answers.ran[-1][-5:] == [
        "--disablerepo=c", "--enablerepo=a", "--enablerepo=b", "--setopt=x=1", "--setopt=y=2",
    ]  # fmt: skip
    made.call("pkg.list_upgrades", refresh=False, fromrepo="local")
    assert answers.ran[-1][-2:] == ["--disablerepo=*", "--enablerepo=local"]


def test_zypper_that_does_not_answer_with_xml(tmp_path, undisturbed):
    made = harness_of("zypperpkg", tmp_path, Answers(("search", 7, "System management is locked", "")))
    with pytest.raises(CommandExecutionError, match="Zypper command failure: System management is locked"):
        made.call("pkg.list_repo_pkgs", "sun")
    evil = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY y "z">]><stream/>'
    made = harness_of("zypperpkg", tmp_path, Answers(("search", 0, evil, "")))
    with pytest.raises(CommandExecutionError, match="Zypper command failure"):
        made.call("pkg.list_repo_pkgs", "sun")


def test_a_capability_stands_for_the_one_package_that_provides_it(tmp_path, undisturbed):
    found = '<?xml version="1.0"?><stream><search-result><solvable name="sun" kind="package"/></search-result></stream>'
    answers = Answers(("search --provides", 0, found, ""), ("search", 104, "", "No matching items found."))
    made = harness_of("zypperpkg", tmp_path, answers)
    assert made.call("pkg.resolve_capabilities", ["light", {"light": "1"}], resolve_capabilities=True) == [
        "sun", {"sun": "1"},
    ]  # fmt: skip
    assert made.call("pkg.resolve_capabilities", ["light"]) == ["light"]


# --- repositories


@pytest.fixture(params=["yumpkg", "zypperpkg"])
def repositories(request, tmp_path, monkeypatch):
    folder = tmp_path / "repos.d"
    folder.mkdir()
    module = {"yumpkg": yumpkg, "zypperpkg": zypperpkg}[request.param]
    monkeypatch.setattr(module, "_REPOSITORIES", [str(folder)])
    made = harness_of(request.param, tmp_path, Answers())
    made.load("states", "pkgrepo")
    made.folder, made.kind = folder, request.param
    return made


def test_a_repository_is_added_changed_and_removed(repositories):
    (repositories.folder / "base.repo").write_text(
        "# from the installer\n[base]\nname=Base\n# a mirror nearby\nbaseurl=http://a/\n http://b/\nenabled=1\n\n[other]\nname=o\n"
    )
    call = repositories.call
    assert call("pkg.get_repo", "base")["baseurl"] == "http://a/\nhttp://b/"
    call("pkg.mod_repo", "base", baseurl="http://c/", gpgcheck=False)
    assert (repositories.folder / "base.repo").read_text() == (
        "# from the installer\n\n[base]\nname=Base\n# a mirror nearby\nbaseurl=http://c/\nenabled=1\ngpgcheck=0\n\n[other]\nname=o\n"
    )
    call("pkg.mod_repo", "local", name="Local", baseurl="file:///srv")
    assert (repositories.folder / "local.repo").exists()
    assert sorted(call("pkg.list_repos")) == ["base", "local", "other"]
    call("pkg.del_repo", "base")
    assert list(call("pkg.list_repos")) == ["other", "local"]
    call("pkg.del_repo", "local")
    assert not (repositories.folder / "local.repo").exists()
    assert call("pkg.get_repo", "local") == {}


def test_the_state_of_a_repository(repositories):
    arguments = {"name": "local", "humanname": "Local", "baseurl": "file:///srv", "gpgcheck": 0}
    assert repositories.state("pkgrepo.managed", test=True, **arguments)["result"] is None
    row = repositories.state("pkgrepo.managed", **arguments)
    assert (row["result"], row["changes"]) == (True, {"repo": "local"}), row
    assert repositories.state("pkgrepo.managed", **arguments)["changes"] == {}
    row = repositories.state("pkgrepo.managed", **{**arguments, "baseurl": "file:///opt"})
    assert row["changes"]["baseurl"] == {"old": "file:///srv", "new": "file:///opt"}
    assert repositories.state("pkgrepo.absent", name="local")["changes"] == {"repo": "local"}
    assert repositories.state("pkgrepo.absent", name="local")["changes"] == {}


def test_a_repository_that_cannot_be(repositories):
    with pytest.raises((CommandExecutionError, InvocationError)):
        repositories.call("pkg.mod_repo", "local", name="Local")
    for wrong in ({"baseurl": "http://a/", "mirrorlist": "http://b/"}, {"name": ""}):
        with pytest.raises((CommandExecutionError, InvocationError)):
            repositories.call("pkg.mod_repo", "local", **{"name": "Local", "baseurl": "http://a/", **wrong})
    with pytest.raises((CommandExecutionError, InvocationError), match="is not the name of a repository"):
        repositories.call("pkg.mod_repo", "../evil", name="Evil", baseurl="http://a/")
    assert list(repositories.folder.iterdir()) == []


def test_nothing_in_a_repository_makes_another_one(repositories):
    evil = "[evil]\nbaseurl=http://evil/"
    good = {"repo": "local", "name": "Local", "baseurl": "http://a/"}
    attempts = [{"repo": f"a]\nbaseurl=http://x/\n{evil}\n[b"}, {"baseurl": f"http://a/\f{evil}"}]
    attempts += [{"gpgkey": f"x\r{evil}"}, {"gpgkey": "a\0b"}, {"x=1\ngpgcheck": "0"}, {"\n[evil]\nx": "0"}]
    for each in attempts:
        with pytest.raises((CommandExecutionError, InvocationError)):
            repositories.call("pkg.mod_repo", **{**good, **each})
    assert list(repositories.folder.iterdir()) == []
    repositories.call("pkg.mod_repo", **{**good, "baseurl": f"http://a:1/\n{evil}"})
    assert list(repositories.call("pkg.list_repos")) == ["local"]
    (repositories.folder / "local.repo").write_text("[local]\nname=a\f[evil]\nbaseurl=http://a/\n")
    assert list(repositories.call("pkg.list_repos")) == ["local"]


# --- apk, which Debian does not have


APK = "apk --no-progress --wait 600"


class Apk:
    """An apk with two repositories; prints what apk 2.14 prints."""

    def __init__(self):
        self.installed = {"musl": "1.2.4-r2", "py3-yaml": "6.0-r1"}
        self.available = {"sun": ["1.0-r0", "1.5-r1", "2.0-r0"], "musl": ["1.2.4-r2"]}
        self.ran = []

    def __call__(self, command, **_):
        assert " ".join(command).startswith(APK)
        action, *arguments = command[4:]
        self.ran.append([action, *arguments])
        return {"pid": 1, "retcode": 0, "stderr": "", "stdout": "", **getattr(self, f"_{action}")(arguments)}

    def _info(self, arguments):
        if arguments == ["--verbose"]:
            return {"stdout": "\n".join(f"{name}-{version}" for name, version in self.installed.items())}
        if arguments[0] == "--who-owns":
            owner = "symlink target is owned by musl-1.2.4-r2" if arguments[1] == "/lib/libc.so" else ""
            return {"stdout": f"{arguments[1]} {owner}" if owner else "", "retcode": 0 if owner else 1}
        if arguments[0] == "--contents":
            return {"stdout": "lib/libc.so\nlib/ld-musl.so\n"}
        return {
            "stdout": {"--description": "the C library", "--webpage": "https://x", "--size": "622592"}[arguments[1]]
        }

    def _search(self, arguments):
        names = [each for each in arguments if not each.startswith("--")] or list(self.available)
        return {"stdout": "\n".join(f"{name}-{v}" for name in names for v in self.available.get(name, []))}

    def _version(self, arguments):
        if arguments[0] == "-l":
            return {"stdout": "Installed:                Available:\nmusl-1.2.4-r2           < 1.2.5-r0"}
        order = _rpm_versions.compare(*(each.replace("-r", ".") for each in arguments[1:]))
        return {"stdout": {-1: "<", 0: "=", 1: ">"}[order]} if "?" not in arguments[1] else {"stdout": "?"}

    def _update(self, arguments):
        return {
            "stdout": "fetch https://a/main/x86_64/APKINDEX.tar.gz\nfetch https://a/community/x86_64/APKINDEX.tar.gz",
            "stderr": "WARNING: Ignoring https://a/community/x86_64/APKINDEX.tar.gz: temporary error",
            "retcode": 1,
        }

    def _add(self, arguments):
        for each in arguments[1:]:
            name, _, version = each.partition("=")
            if name not in self.available or (version and version not in self.available[name]):
                return {"retcode": 1, "stdout": f"ERROR: unable to select packages:\n  {name} (no such package)"}
            self.installed[name] = version or self.available[name][-1]
        return {}

    def _del(self, arguments):
        for each in arguments:
            self.installed.pop(each, None)
        return {}

    def _upgrade(self, arguments):
        self.installed["musl"] = "1.2.5-r0"
        return {}

    def _fix(self, arguments):
        return {}

    def _fetch(self, arguments):
        return {}


@pytest.fixture
def alpine(tmp_path, undisturbed):
    made = harness_of("apkpkg", tmp_path, apk := Apk())
    made.apk = apk
    for name in ("normalize_name", "parse_arch", "hold", "list_repos"):
        assert f"pkg.{name}" not in made.salt
    return made


def test_apk_installs_and_removes(alpine):
    state, call = alpine.state, alpine.call
    assert call("pkg.list_pkgs") == {"musl": "1.2.4-r2", "py3-yaml": "6.0-r1"}
    assert state("pkg.installed", test=True, name="sun", refresh=False)["result"] is None
    row = state("pkg.installed", name="sun", version="<2", refresh=False)
    assert row["changes"] == {"sun": {"old": "", "new": "1.5-r1"}}, row
    assert ["add", "--upgrade", "sun=1.5-r1"] in alpine.apk.ran
    assert state("pkg.installed", name="sun", version="<2", refresh=False)["changes"] == {}
    assert state("pkg.installed", name="sun", version="1.5", refresh=False)["changes"] == {}
    assert state("pkg.latest", name="sun", refresh=False)["changes"] == {"sun": {"old": "1.5-r1", "new": "2.0-r0"}}
    assert state("pkg.latest", name="sun", refresh=False)["changes"] == {}
    row = state("pkg.installed", name="nosuch", refresh=False)
    assert (row["result"], row["changes"]) == (False, {})
    assert "no such package" in row["comment"]
    assert state("pkg.removed", name="sun")["changes"] == {"sun": {"old": "2.0-r0", "new": ""}}
    assert state("pkg.removed", name="sun")["changes"] == {}
    call("pkg.install", "musl", reinstall=True)
    assert ["fix", "--reinstall", "musl"] in alpine.apk.ran
    assert call("pkg.install", "sun", downloadonly=True) == {}
    assert alpine.apk.ran[-2] == ["fetch", "--recursive", "--output", "/var/cache/apk", "sun"]


def test_apk_tells_what_it_knows(alpine):
    call = alpine.call
    assert call("pkg.refresh_db") == {
        "https://a/main/x86_64/APKINDEX.tar.gz": True,
        "https://a/community/x86_64/APKINDEX.tar.gz": False,
    }
    assert call("pkg.list_upgrades", refresh=False) == {"musl": "1.2.5-r0"}
    assert call("pkg.upgrade", refresh=False) == {"musl": {"old": "1.2.4-r2", "new": "1.2.5-r0"}}
    assert call("pkg.list_repo_pkgs", "sun") == {"sun": ["2.0-r0", "1.5-r1", "1.0-r0"]}
    assert call("pkg.owner", "/lib/libc.so", "/nowhere") == {"/lib/libc.so": "musl", "/nowhere": ""}
    assert call("pkg.file_dict", "musl", "sun") == {
        "errors": ["package sun is not installed"], "packages": {"musl": ["/lib/libc.so", "/lib/ld-musl.so"]},
    }  # fmt: skip
    assert call("pkg.info_installed", "musl")["musl"]["url"] == "https://x"
    assert call("pkg.version_cmp", "1.0-r1", "1.0") == 0
    with pytest.raises(CommandExecutionError, match="cannot compare"):
        call("pkg.version_cmp", "?", "1.0")
    row = alpine.state("pkg.held", name="musl")
    assert row["comment"].startswith("No any function to get the list of held packages available.")


@pytest.mark.parametrize(
    "asked", [{"name": "-y"}, {"name": "a,--root=/x"}, {"pkgs": ["a", "-y"]}, {"pkgs": [{"-y": "1"}]}]
)
def test_no_option_is_taken_for_a_package(tmp_path, asked):
    harness = PluginHarness(tmp_path)
    harness.load("modules", "pkg_resource")
    with pytest.raises(CommandExecutionError, match="begins with a dash"):
        harness.call("pkg_resource.parse_targets", **asked)


@pytest.mark.parametrize("name", ["-y", "--setopt=pluginpath=/tmp/x", "a\nb"])
def test_no_option_is_taken_for_a_package_by_what_does_not_install(tmp_path, name):
    """Options of dnf name folders of plugins, those of rpm programs to run."""
    for function in (_package_transactions.checked_name, lambda each: _package_transactions.named(each, None)):
        with pytest.raises(CommandExecutionError, match="cannot be the name of a package"):
            function(name)
    ran = []
    run_all = lambda command, **_: ran.append(command) or {"retcode": 0, "stdout": "", "stderr": ""}  # noqa: E731
    for provider in ("yumpkg", "aptpkg", "apkpkg"):
        harness = harness_of(provider, tmp_path, run_all)
        for function in ("latest", "held"):
            with contextlib.suppress(CommandExecutionError):
                assert harness.state(f"pkg.{function}", name=name)["result"] is False
        with pytest.raises(CommandExecutionError):
            harness.call("pkg.upgrade", pkgs=[name])
    assert not any(name in word for command in ran for word in command)
