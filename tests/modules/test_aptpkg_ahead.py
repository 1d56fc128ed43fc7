"""Packages downloaded ahead by apt, in a scratch root: what is fetched, when it is too early, what is left behind."""

import asyncio
import threading

import pytest
from apt_root import AptRoot, needs_apt
from asyncstate.modules.aptpkg import _ahead, _candidates

from asyncstate import Settings, StateRuntime, prefetch
from asyncstate.errors import CommandExecutionError, NotYet
from asyncstate.prefetch import Prefetched

pytestmark = needs_apt


@pytest.fixture
def apt(tmp_path, monkeypatch):
    root = AptRoot(tmp_path)
    root.package("shared")
    root.package("one", Depends="shared")
    root.package("two", version="1:2.0", Depends="shared")
    # Over file:, apt uses packages where they are; copy: makes it fetch them, as from the net.
    (root.root / "etc/apt/sources.list").write_text(f"deb [trusted=yes] copy:{root.repository} ./\n")
    root.ahead = Prefetched(str(tmp_path / "cache"))
    monkeypatch.setattr(_candidates, "age_of_lists", lambda: 0.0)
    monkeypatch.setattr(_ahead, "age_of_lists", lambda: 0.0)
    yield root
    root.ahead.close()
    assert not list((root.root / "var/cache").glob("prefetch*"))


def call(apt, function, *args, **kwargs):
    with apt.harness.calling() as context:
        context.prefetched = apt.ahead
        return apt.harness.salt[function](*args, **kwargs)


def archives(apt):
    return sorted(path.name for path in (apt.root / "var/cache/apt/archives").glob("*.deb"))


def ahead(apt):
    return sorted(path.name for path in (apt.root / "var/cache").glob("prefetch-apt-*/*.deb"))


def test_packages_are_fetched_apart_and_moved_when_they_are_installed(apt):
    call(apt, "pkg.refresh_db")
    assert call(apt, "pkg.prefetch", [{"name": "one"}, {"name": "two", "pkgs": ["two"]}]) is True
    assert ahead(apt) == ["one_1.0_amd64.deb", "shared_1.0_amd64.deb", "two_1%3a2.0_amd64.deb"]
    assert archives(apt) == []
    assert call(apt, "pkg.list_pkgs") == {}
    for file in apt.repository.glob("*.deb"):
        file.unlink()
    done = call(apt, "pkg.install", "one")
    assert list(done) == ["one", "shared"]
    assert archives(apt) == ["one_1.0_amd64.deb", "shared_1.0_amd64.deb"]
    assert ahead(apt) == ["two_1%3a2.0_amd64.deb"]
    call(apt, "pkg.install", "two")
    assert ahead(apt) == []


@pytest.mark.parametrize("keeps", [True, False])
def test_a_run_has_a_cache_of_the_lists_where_apt_keeps_none(apt, keeps):
    if not keeps:
        with open(apt.environ["APT_CONFIG"], "a") as config:
            config.write('Dir::Cache::pkgcache "";\nDir::Cache::srcpkgcache "";\n')
    call(apt, "pkg.refresh_db")
    assert call(apt, "pkg.latest_version", "one", refresh=False) == "1.0"
    assert list(call(apt, "pkg.install", "one")) == ["one", "shared"]
    apt.package("three")
    call(apt, "pkg.refresh_db")
    assert call(apt, "pkg.latest_version", "three", refresh=False) == "1.0"
    own = [path.name for path in (apt.root.parent / "cache").glob("prefetch-lists-*/*")]
    assert own == ([] if keeps else ["pkgcache.bin"])
    assert (apt.root / "var/cache/apt/pkgcache.bin").exists() == keeps
    apt.ahead.close()
    assert list((apt.root.parent / "cache").iterdir()) == []
    assert call(apt, "pkg.latest_version", "two", refresh=False) == "1:2.0", "after the run"


def test_what_is_installed_is_not_fetched(apt):
    call(apt, "pkg.refresh_db")
    call(apt, "pkg.install", "one")
    apt.ran.clear()
    assert call(apt, "pkg.prefetch", [{"name": "one"}, {"name": "shared", "version": "1.0"}]) is False
    assert not apt.commands("install")


def test_it_is_too_early_before_old_lists_are_refreshed(apt, monkeypatch):
    told = []
    apt.ahead.tell = told.append
    monkeypatch.setattr(_ahead, "age_of_lists", lambda: 1e9)
    with pytest.raises(NotYet):
        call(apt, "pkg.prefetch", [{"name": "one"}])
    assert call(apt, "pkg.prefetch", []) is False
    call(apt, "pkg.refresh_db")
    assert told == ["pkg.lists"]
    assert call(apt, "pkg.prefetch", [{"name": "one"}]) is True


def test_it_is_too_early_where_new_lists_may_know_a_package(apt):
    with pytest.raises(NotYet):
        call(apt, "pkg.prefetch", [{"name": "one"}])
    with pytest.raises(CommandExecutionError, match="Unable to locate package one"):
        call(apt, "pkg.prefetch", [{"name": "one", "refresh": False}])


def test_a_package_with_another_content_than_the_lists_say_is_not_fetched(apt):
    call(apt, "pkg.refresh_db")
    file = apt.repository / "one_1.0_amd64.deb"
    file.write_bytes(bytes(reversed(file.read_bytes())))
    with pytest.raises(CommandExecutionError):
        call(apt, "pkg.prefetch", [{"name": "one"}])
    assert "one_1.0_amd64.deb" not in ahead(apt)


def test_without_a_run_nothing_is_fetched(apt):
    apt.ahead = type("None", (), {"close": lambda self: None})()
    apt.harness.call("pkg.refresh_db")
    assert apt.harness.call("pkg.prefetch", [{"name": "one"}]) is False
    assert prefetch.folder("apt") == ""


@pytest.mark.slow
def test_a_run_fetches_the_packages_of_later_states_while_earlier_ones_work(apt, tmp_path, monkeypatch):
    for name, value in apt.environ.items():
        monkeypatch.setenv(name, value)
    fetched = threading.Event()
    grains = {"os_family": "Debian", "os": "Debian", "osarch": "amd64"}
    folders = {"cachedir": str(tmp_path / "cache"), "state_dir": str(tmp_path / "state")}
    roots = {"file_roots": {"base": [str(tmp_path)]}, "pillar_roots": {"base": [str(tmp_path)]}}
    tree = {
        "one": {"pkg.installed": []},
        "work": {"x.work": [{"require": [{"pkg": "one"}]}]},
        "two": {"pkg.installed": [{"require": [{"pkg": "one"}]}, {"order": "last"}]},
    }

    def work(name):
        return {"name": name, "result": fetched.wait(20), "changes": {}, "comment": ""}

    async def main():
        settings = Settings(grains_override=grains, **folders, **roots)
        async with StateRuntime(settings, states={"x.work": work}) as runtime:
            plan = await runtime.compile_data(tree)

            def observe(event):
                if getattr(event, "result", "") == "fetched":
                    fetched.set()

            async with runtime.run(plan, concurrency=1, lock=False, events=False, observers=[observe]) as run:
                pass
            return run.report

    report = asyncio.run(main())
    assert report.ok, report.rows
    assert ahead(apt) == []
    assert archives(apt) == ["one_1.0_amd64.deb", "shared_1.0_amd64.deb", "two_1%3a2.0_amd64.deb"]
