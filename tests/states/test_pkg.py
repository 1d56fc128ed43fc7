"""Package states against a real apt, in a scratch root with a local repository."""

import pytest
from apt_root import AptRoot, needs_apt
from asyncstate.modules import aptpkg
from tables import beside

from asyncstate.dunders import NOT_TOLD

TABLES = beside(__file__)

pytestmark = needs_apt


@pytest.fixture
def apt(tmp_path):
    return AptRoot(tmp_path)


def new(version, old=""):
    return {"new": version, "old": old}


def three_runs(apt, function, **arguments):
    """A dry run that leaves the packages alone, a real one, and a second one that finds nothing to do."""
    before = apt.installed()
    dry = apt.harness.state(function, test=True, **arguments)
    assert apt.installed() == before
    real = apt.harness.state(function, **arguments)
    count = len(apt.commands("install") + apt.commands("remove") + apt.commands("purge"))
    again = apt.harness.state(function, **arguments)
    assert len(apt.commands("install") + apt.commands("remove") + apt.commands("purge")) == count
    return dry, real, again


def test_installed_foretells_installs_and_is_content(apt):
    apt.package("sun", Depends="moon")
    apt.package("moon", "2.1")
    apt.harness.call("pkg.refresh_db")
    dry, real, again = three_runs(apt, "pkg.installed", name="sun")
    assert (dry["result"], dry["changes"]) == (None, {"sun": new("1.0")})
    assert dry["comment"] == "The following packages would be installed/updated: sun"
    assert (real["result"], real["changes"]) == (True, {"moon": new("2.1"), "sun": new("1.0")})
    assert real["comment"] == "The following packages were installed/updated: sun"
    assert again == {
        "name": "sun", "result": True, "changes": {}, "comment": "All specified packages are already installed",
    }  # fmt: skip
    assert (apt.root / "usr/share/sun/version").read_text() == "1.0"


def test_a_version_a_condition_and_latest(apt):
    for version in ("1.0", "1.5", "2.0"):
        apt.package("sun", version)
    apt.harness.call("pkg.refresh_db")
    dry, real, again = three_runs(apt, "pkg.installed", name="sun", version="1.0")
    assert dry["changes"] == real["changes"] == {"sun": new("1.0")}
    assert real["comment"] == "The following packages were installed/updated: sun=1.0"
    assert again["comment"] == "All specified packages are already installed and are at the desired version"
    dry, real, _ = three_runs(apt, "pkg.installed", name="sun", pkgs=[{"sun": ">=1.1,<2"}])
    assert dry["changes"] == real["changes"] == {"sun": new("1.5", "1.0")}
    assert real["comment"].endswith("sun>=1.1,<2")
    older = apt.harness.state("pkg.installed", name="sun", version="1.0", allow_updates=True)
    assert older["changes"] == {}
    dry, real, _ = three_runs(apt, "pkg.installed", name="sun", version="1.0")
    assert dry["changes"] == real["changes"] == {"sun": new("1.0", "1.5")}
    dry, real, again = three_runs(apt, "pkg.latest", name="sun")
    assert dry["changes"] == real["changes"] == {"sun": new("2.0", "1.0")}
    assert real["comment"] == "The following packages were successfully installed/upgraded: sun"
    assert again["comment"] == "Package sun is already up-to-date"


def test_the_lists_are_refreshed_once_in_a_run(apt):
    apt.package("sun")
    apt.package("moon")
    with apt.harness.calling():
        import asyncstate.states.pkg as states

        assert states.mod_init({"fun": "removed"}) is False
        assert states.mod_init({"fun": "installed"}) is True
    assert apt.harness.state("pkg.installed", name="sun")["result"] is True
    assert apt.harness.state("pkg.installed", name="moon")["result"] is True
    assert apt.refreshes() == 1
    apt.harness.state("pkg.latest", name="moon", refresh=True)
    assert apt.refreshes() == 2


def test_an_unknown_package_fails_and_the_known_one_beside_it_is_not_touched(apt):
    apt.package("sun")
    apt.harness.call("pkg.refresh_db")
    row = apt.harness.state("pkg.installed", name="both", pkgs=["sun", "nosuch"])
    assert row["result"] is False
    assert row["changes"] == {}
    assert row["comment"].startswith("Problem encountered installing package(s). Additional info follows:\n\nerrors:")
    assert "Unable to locate package nosuch" in row["comment"]
    assert apt.installed() == {}


def test_a_package_that_fails_half_way_shows_what_was_done(apt):
    apt.package("moon")
    apt.package("sun", postinst="exit 3", Depends="moon")
    apt.harness.call("pkg.refresh_db")
    row = apt.harness.state("pkg.installed", name="sun")
    assert (row["result"], row["changes"]) == (False, {"moon": new("1.0")})
    assert "Sub-process /usr/bin/dpkg returned an error code" in row["comment"]
    apt.package("sun", "1.1", Depends="moon")
    repaired = apt.harness.state("pkg.installed", name="sun", refresh=True)
    assert (repaired["result"], repaired["changes"]) == (True, {"sun": new("1.1")})


def test_removed_leaves_the_configuration_and_purged_does_not(apt):
    apt.package("sun")
    apt.harness.call("pkg.refresh_db")
    apt.harness.state("pkg.installed", name="sun")
    dry, real, again = three_runs(apt, "pkg.removed", name="sun")
    assert (dry["result"], dry["changes"]) == (None, {"sun": new("removed")})
    assert dry["comment"] == "The following packages will be removed: sun."
    assert (real["result"], real["changes"]) == (True, {"sun": {"new": "", "old": "1.0"}})
    assert real["comment"] == "All targeted packages were removed."
    assert again["comment"] == "All specified packages are already absent"
    assert (apt.root / "etc/sun.conf").exists()
    dry, real, again = three_runs(apt, "pkg.purged", name="both", pkgs=["sun", "moon"])
    assert dry["changes"] == {"sun": new("purged")}
    assert real["changes"] == {"removed": {"sun": {"new": "", "old": "1.0"}}, "installed": {}}
    assert real["comment"] == (
        "The following packages were not installed: moon The following packages were purged: sun."
    )
    assert again["comment"] == "None of the targeted packages are installed or partially installed"
    assert not (apt.root / "etc/sun.conf").exists()


def test_removing_another_version_does_nothing(apt):
    apt.package("sun")
    apt.harness.call("pkg.refresh_db")
    apt.harness.state("pkg.installed", name="sun")
    row = apt.harness.state("pkg.removed", name="sun", version="2.0")
    assert row["comment"] == "All specified packages (matching specified versions) are already absent"
    assert "sun" in apt.installed()


def test_sources_are_installed_from_files(apt):
    path = apt.package("sun", "3.0")
    dry, real, again = three_runs(apt, "pkg.installed", name="files", sources=[{"sun": str(path)}])
    assert dry["changes"] == {"sun": new("installed")}
    assert real["changes"] == {"sun": new("3.0")}
    assert again["comment"] == "All specified packages are already installed"
    missing = apt.harness.state("pkg.installed", name="files", sources=[{"moon": "salt://moon.deb"}])
    assert missing["result"] is False
    assert missing["comment"].startswith("An error was encountered while installing package(s): Unable to cache source")
    apt.harness.opts["foresight"] = True
    for test in (True, False):
        row = apt.harness.state("pkg.installed", test=test, name="sun", version=">")
        assert (row["result"], row["comment"]) == (False, "There is no version behind an operator: sun>")
        missing = apt.harness.state("pkg.installed", test=test, name="files", sources=[{"moon": "/no/moon.deb"}])
        assert missing["comment"].endswith("installing package(s): /no/moon.deb does not exist on minion")


def test_a_held_package_stays_and_an_explicit_wish_moves_it(apt):
    apt.package("sun")
    apt.harness.call("pkg.refresh_db")
    first = apt.harness.state("pkg.installed", name="sun", hold=True)
    assert first["changes"] == {"sun": {"new": "1.0\nhold", "old": "install"}}
    assert first["comment"].endswith("\nPackage sun is now being held.")
    apt.package("sun", "2.0")
    apt.harness.call("pkg.refresh_db")
    assert apt.harness.state("pkg.uptodate", name="all")["comment"] == "System is already up-to-date"
    moved = apt.harness.state("pkg.installed", name="sun", version="2.0")
    assert moved["changes"] == {"sun": new("2.0", "1.0")}
    assert apt.harness.call("pkg.get_selections", state="hold") == {"hold": ["sun"]}
    released = apt.harness.state("pkg.installed", name="sun", hold=False)
    assert released["changes"] == {"sun": {"old": "hold", "new": "install"}}
    assert released["comment"] == (
        "All specified packages are already installed.\nPackage sun is no longer being held."
    )


def test_held_and_unheld(apt):
    for name in ("sun", "moon"):
        apt.package(name)
    apt.harness.call("pkg.refresh_db")
    apt.harness.state("pkg.installed", name="both", pkgs=["sun", "moon"])
    dry = apt.harness.state("pkg.held", test=True, name="sun")
    assert (dry["result"], dry["comment"]) == (None, "The following package would be held: sun")
    real = apt.harness.state("pkg.held", name="sun")
    assert (real["result"], real["comment"]) == (True, "Package sun is now being held")
    assert real["changes"]["sun"]["changes"] == {"old": "install", "new": "hold"}
    assert apt.harness.state("pkg.held", name="sun")["comment"] == "No changes made"
    replaced = apt.harness.state("pkg.held", name="moon", replace=True)
    assert replaced["comment"] == "Package moon is now being held\nPackage sun is no longer being held."
    dry = apt.harness.state("pkg.unheld", test=True, name="moon")
    assert (dry["result"], dry["comment"]) == (None, "The following package would be unheld: moon")
    assert apt.harness.state("pkg.unheld", name="x", all=True)["comment"] == "Package moon is no longer being held."
    assert apt.harness.state("pkg.unheld", name="moon")["comment"] == "No changes made"
    bad = apt.harness.state("pkg.held", name="nosuch")
    assert (bad["result"], bad["comment"]) == (False, "Package nosuch was not held")


def test_uptodate_upgrades_all_or_those_named(apt):
    for name in ("sun", "moon"):
        apt.package(name)
    apt.harness.call("pkg.refresh_db")
    apt.harness.state("pkg.installed", name="both", pkgs=["sun", "moon"])
    for name in ("sun", "moon"):
        apt.package(name, "2.0")
    dry = apt.harness.state("pkg.uptodate", test=True, name="all", refresh=True)
    assert dry["changes"] == {"moon": new("2.0", "1.0"), "sun": new("2.0", "1.0")}
    assert (dry["result"], dry["comment"]) == (None, "System update will be performed")
    one = apt.harness.state("pkg.uptodate", name="one", pkgs=["sun"])
    assert one["changes"] == {"sun": new("2.0", "1.0")}
    rest = apt.harness.state("pkg.uptodate", name="all")
    assert (rest["comment"], rest["changes"]) == ("Upgrade ran successfully", {"moon": new("2.0", "1.0")})
    assert apt.harness.state("pkg.uptodate", name="all")["comment"] == "System is already up-to-date"


def test_reinstall_and_install_recommends(apt):
    apt.package("sun", Recommends="moon")
    apt.package("moon")
    apt.harness.call("pkg.refresh_db")
    row = apt.harness.state("pkg.installed", name="sun", install_recommends=False)
    assert row["changes"] == {"sun": new("1.0")}
    (apt.root / "usr/share/sun/version").unlink()
    again = apt.harness.state("pkg.installed", name="sun", reinstall=True)
    assert (again["result"], again["comment"]) == (True, "Package sun was reinstalled.")
    assert (apt.root / "usr/share/sun/version").exists()


@pytest.mark.parametrize(("arguments", "comment"), TABLES["bad arguments of installed"])
def test_bad_arguments_of_installed(apt, arguments, comment):
    row = apt.harness.state("pkg.installed", name="sun", **arguments)
    assert (row["result"], row["comment"], row["changes"]) == (False, comment, {})


def test_a_package_named_twice_is_a_mistake(apt):
    row = apt.harness.state("pkg.installed", name="sun", pkgs=["sun", {"sun": "1.0"}])
    assert row["result"] is False
    assert row["comment"].startswith("You are passing a list of packages that contains duplicated packages names")


def test_nothing_to_do_for_an_empty_list(apt):
    for function, comment in (
        ("installed", "No packages to install provided"),
        ("latest", "No packages to install provided"),
        ("downloaded", "No packages to download provided"),
        ("held", "No packages to be held provided"),
        ("unheld", "No packages to be unheld provided"),
    ):
        row = apt.harness.state(f"pkg.{function}", name="x", pkgs=[])
        assert (row["result"], row["comment"]) == (True, comment)
    assert apt.ran == []


def test_downloaded(apt, monkeypatch):
    import asyncstate.modules.aptpkg as module

    monkeypatch.setattr(module, "_ARCHIVES", str(apt.root / "var/cache/apt/archives"))
    path = apt.package("sun")
    apt.harness.call("pkg.refresh_db")
    dry = apt.harness.state("pkg.downloaded", test=True, name="sun")
    assert (dry["result"], dry["comment"]) == (None, "The following packages would be downloaded: sun")
    failed = apt.harness.state("pkg.downloaded", name="sun")  # apt does not copy what file: repositories hold
    assert failed["comment"] == "The following packages failed to download: sun"
    (apt.root / "var/cache/apt/archives" / path.name).write_bytes(path.read_bytes())
    done = apt.harness.state("pkg.downloaded", name="sun", version="1.0")
    assert done["comment"] == "All specified packages (matching specified versions) are already downloaded"
    assert apt.installed() == {}


def test_mod_watch_runs_the_state_again(apt):
    apt.package("sun")
    apt.harness.call("pkg.refresh_db")
    with apt.harness.calling():
        import asyncstate.states.pkg as states

        row = states.mod_watch("sun", sfun="installed")
        assert row["changes"] == {"sun": new("1.0")}
        assert states.mod_watch("sun", sfun="held")["comment"] == "pkg.held does not work with the watch requisite"


ORDERS = {
    "a name": {},
    "an unknown name": {"name": "earth"},
    "an unknown name among others": {"pkgs": ["sun", "earth"]},
    "a version": {"version": "1.0"},
    "a version that does not exist": {"version": "9.9"},
    "a pattern of versions": {"version": "1.*"},
    "a condition": {"version": ">0.5"},
    "a condition that none meets": {"version": ">5"},
    "what another provides": {"name": "light"},
    "what nothing provides": {"name": "dark"},
    "what needs something unknown": {"name": "broken"},
    "a pattern of names": {"name": "^su"},
    "a pattern of no names": {"name": "^xyz"},
    "another architecture": {"name": "sun:i386"},
    "its own architecture": {"name": "sun:amd64"},
    "the newest": {"version": "latest"},
    "a release that does not exist": {"fromrepo": "no-such-release"},
    "a version, not refreshed": {"version": "9.9", "refresh": False},
    "a name, refreshed": {"refresh": True},
    "the newest, refreshed": {"version": "latest", "refresh": True},
}


UNREFRESHED = {
    "a version that appears": {"version": "2.0"},
    "a version that exists nowhere": {"version": "9.9"},
    "a condition that a new version meets": {"version": ">1.5"},
    "a condition that none meets": {"version": ">5"},
    "a version that is there": {"version": "1.0"},
    "a version and any": {"pkgs": [{"sun": "2.0"}, "moon"]},
    "a version that exists nowhere and any": {"pkgs": [{"sun": "9.9"}, "moon"]},
}
"""Orders that refresh the lists: of these, the dry run knows only the old ones."""


@pytest.mark.feature("F112")
@pytest.mark.parametrize("refresh", [True, None])
@pytest.mark.parametrize("what", UNREFRESHED)
def test_a_dry_run_says_that_a_refresh_decides(apt, what, refresh):
    apt.harness.opts["foresight"] = True
    apt.package("sun")
    apt.package("moon")
    apt.harness.call("pkg.refresh_db")
    apt.package("sun", "2.0")
    order = {"name": "sun", "refresh": refresh, **UNREFRESHED[what]}
    apt.harness.context["pkg.refresh"] = True
    before = apt.refreshes()
    dry = apt.harness.state("pkg.installed", test=True, **order)
    dry_refreshed = apt.refreshes() > before
    apt.harness.context["pkg.refresh"] = True
    done = apt.harness.state("pkg.installed", **order)
    if NOT_TOLD in dry:
        assert (dry["result"], dry["changes"], dry_refreshed) == (None, {}, False)
        assert dry["comment"].startswith(
            "This cannot be told before the run has refreshed the lists of packages. Now: "
        )
    else:
        assert (dry["result"] is False) == (done["result"] is False), (dry, done)
    assert (NOT_TOLD in dry) == ("and any" not in what and "is there" not in what)


@pytest.mark.parametrize("test", [True, False])
def test_a_download_may_refresh_the_lists(apt, monkeypatch, test):
    monkeypatch.setattr(aptpkg, "_ARCHIVES", str(apt.root / "var/cache/apt"))
    apt.harness.opts["foresight"] = True
    row = apt.harness.state("pkg.downloaded", test=test, name="sun", version="2.0", refresh=True)
    assert (row["result"], NOT_TOLD in row) == ((None, True) if test else (False, False))
    assert apt.refreshes() == (0 if test else 1)


@pytest.mark.feature("F112")
@pytest.mark.parametrize(
    ("function", "what"),
    [
        *(("installed", what) for what in ORDERS),
        *((f, what) for f in ("latest", "downloaded") for what in ("an unknown name", "what needs something unknown")),
    ],
)
def test_what_a_dry_run_says_of_an_order_comes_true(apt, monkeypatch, function, what):
    monkeypatch.setattr(aptpkg, "_ARCHIVES", str(apt.root / "var/cache/apt"))
    apt.harness.opts["foresight"] = True
    apt.package("sun", Provides="light")
    apt.package("broken", Depends="dark")
    apt.harness.call("pkg.refresh_db")
    before = apt.installed()
    dry = apt.harness.state(f"pkg.{function}", test=True, **{"name": "sun", **ORDERS[what]})
    assert apt.installed() == before
    done = apt.harness.state(f"pkg.{function}", **{"name": "sun", **ORDERS[what]})
    assert (dry["result"] is False) == (done["result"] is False), (dry, done)
