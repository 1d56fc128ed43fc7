from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncstate.modules import _apt_sources, _debian_version
from tests.plugin_harness import PluginHarness

DPKG = """\
install ok installed bash 5.2.15-2+b8 amd64
hold ok installed held 1.0 all
deinstall ok config-files gone 3:4.8 amd64
install ok half-installed broken 1 amd64
install ok installed libfoo 2 i386
install ok installed doubled 2 amd64
install ok installed doubled 1 amd64
not six words
"""


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.grains.update(cpuarch="x86_64", osarch="amd64")
    harness.load("modules", "aptpkg")
    harness.salt["cmd.run_stdout"] = lambda *_, **__: DPKG
    return harness


def test_list_pkgs(plugins):
    assert plugins.call("pkg.list_pkgs") == {"bash": "5.2.15-2+b8", "doubled": "1,2", "held": "1.0", "libfoo:i386": "2"}
    assert plugins.call("pkg.list_pkgs", removed=True) == {"gone": "3:4.8"}
    assert plugins.call("pkg.list_pkgs", versions_as_list=True)["doubled"] == ["2", "1"]


def test_version(plugins):
    assert plugins.call("pkg.version", "bash") == "5.2.15-2+b8"
    assert plugins.call("pkg.version", "none") == ""
    assert plugins.call("pkg.version", "bash", "none") == {"bash": "5.2.15-2+b8", "none": ""}
    assert plugins.call("pkg.version") == {}


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("1.0", "1.1", -1),
        ("1:1.0", "2.0", 1),
        ("1.0~rc1", "1.0", -1),
        ("1.0-1", "1.0-1", 0),
        ("1.0", "1.0-0", 0),
        ("1.0-1", "1.0-1+b1", -1),
        ("1.9", "1.10", -1),
        ("1.0a", "1.0+", -1),
        ("1.0~~", "1.0~", -1),
        ("x", "", 1),
    ],
)
def test_version_cmp(plugins, one, two, expected):
    assert plugins.call("pkg.version_cmp", one, two) == expected
    assert plugins.call("pkg.version_cmp", two, one) == -expected


def test_version_cmp_without_epoch(plugins):
    assert plugins.call("pkg.version_cmp", "1:1.0", "2.0", ignore_epoch=True) == -1


versions = st.from_regex(r"([0-2]:)?[0-9][0-9a.+~]{0,4}(-[0-9a~]{1,2})?", fullmatch=True)


@given(versions, versions, versions)
def test_versions_are_ordered(one, two, three):
    if _debian_version.compare(one, two) <= 0 and _debian_version.compare(two, three) <= 0:
        assert _debian_version.compare(one, three) <= 0
    assert _debian_version.compare(one, two) == -_debian_version.compare(two, one)


def test_versions_are_ordered_as_dpkg_does():
    pairs = [("1.0~a", "1.0"), ("1.0.", "1.0a"), ("2:0", "1:9"), ("0-1", "0"), ("1.0+b", "1.0-1"), ("1a~", "1a")]
    for one, two in pairs:
        older = subprocess.run(["dpkg", "--compare-versions", one, "lt", two], check=False).returncode == 0
        assert (_debian_version.compare(one, two) < 0) is older, (one, two)


def test_one_line_sources(tmp_path):
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(
        "# a comment\n\ndeb [arch=amd64 signed-by=/k.gpg] http://a.example/debian stable main extra # why\n"
        "# deb-src http://b.example stable main\n"
    )
    (tmp_path / "sources.list.d" / "ignored.txt").write_text("deb http://c.example stable main\n")
    on, off = _apt_sources.entries(str(tmp_path))
    assert (on["type"], on["uri"], on["dist"], on["comps"]) == (
        "deb", "http://a.example/debian", "stable", ["main", "extra"],
    )  # fmt: skip
    assert (on["architectures"], on["signedby"], on["enabled"]) == (["amd64"], "/k.gpg", True)
    assert (off["type"], off["enabled"], off["disabled"]) == ("deb-src", False, True)


def test_deb822_sources(tmp_path):
    (tmp_path / "sources.list.d").mkdir()
    file = tmp_path / "sources.list.d" / "d.sources"
    file.write_text(
        "Types: deb\n# a comment\nURIs: http://a.example\nSuites: one two\nComponents: main\n"
        "Signed-By: /k.gpg\n\nTypes: deb\nURIs: http://b.example\nSuites: x\n extra\nEnabled: no\n"
    )
    entries = list(_apt_sources.entries(str(tmp_path)))
    assert [(entry["uri"], entry["dist"], entry["enabled"]) for entry in entries] == [
        ("http://a.example", "one", True),
        ("http://a.example", "two", True),
        ("http://b.example", "x", False),
        ("http://b.example", "extra", False),
    ]
    assert entries[0]["line"] == "deb [signed-by=/k.gpg] http://a.example one main"
    assert entries[0]["suites"] == ["one", "two"]
    assert entries[0]["file"] == str(file)


def test_list_repos_by_uri(plugins, monkeypatch):
    monkeypatch.setattr(_apt_sources, "entries", lambda: iter([{"uri": "u", "dist": "a"}, {"uri": "u", "dist": "b"}]))
    assert plugins.call("pkg.list_repos") == {"u": [{"uri": "u", "dist": "a"}, {"uri": "u", "dist": "b"}]}


@pytest.mark.parametrize(("family", "loads"), [("Debian", True), ("RedHat", False)])
def test_only_debian_has_it(plugins, family, loads):
    from asyncstate.modules import aptpkg

    plugins.grains["os_family"] = family
    with plugins.calling():
        verdict = aptpkg.__virtual__()
    assert verdict == "pkg" if loads else verdict[0] is False
