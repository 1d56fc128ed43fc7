"""Forecasts of apt's work for each of several states are made only where certain, and apt itself must agree."""

import pytest
from apt_root import AptRoot, needs_apt
from asyncstate.modules.aptpkg import _candidates
from asyncstate.modules.aptpkg._foresight import Offer, Shop, System, facts, foreseen, names_of, reverse_provides
from hypothesis import given
from hypothesis import strategies as st
from plugin_harness import PluginHarness
from tables import beside

from asyncstate.errors import CommandExecutionError

OLD = {"shell": "1"}


def fields(name, given):
    return {"Package": name, "Version": "2", **given}


def shares(offers, orders, *, installed=OLD, provided=(), recommends=True):
    """Return the names that each order brings; ``offers`` has the fields of each package."""
    offers = {name: fields(name, given) for name, given in offers.items()}

    def ask(names):
        provided = {each: given.get("Provides", "").replace(",", " ").split() for each, given in offers.items()}
        others = {name: [each for each, them in provided.items() if name in them] for name in names}
        return Offer({name: offers[name] for name in names if name in offers}, others)

    system = System(installed, provided, recommends=recommends, shop=Shop(ask))
    found = foreseen([dict.fromkeys(order) if isinstance(order, str) else order for order in orders], system)
    assert all(change["old"] == "" for share in found for change in share.values())
    return ["".join(sorted(share)) for share in found]


@pytest.mark.parametrize("row", beside(__file__))
def test_who_brings_what(row):
    assert shares(row["offers"], row["orders"], provided=["there, there-2 (= 2.1)"]) == row["brings"]


def test_recommended_packages_only_where_they_are_installed():
    assert shares({"a": {"Recommends": "d"}, "d": {}}, ["a"], recommends=False) == ["a"]


def test_the_output_of_apt_cache():
    text = "Package: a\nVersion: 2\nDescription: x\n Depends: no\nDepends: b,\n c\n\nPackage: d\nVersion: 1\n\nN: x\n"
    a, d = {"Package": "a", "Version": "2", "Depends": "b,"}, {"Package": "d", "Version": "1"}
    assert facts(text) == {"a": a, "d": d}
    followed = "a\n |Depends: b\n  Depends: <v>\n    d\nb\n<v>\n<e:any>\nf:i386\n"
    assert names_of(followed) == ["a", "b", "v"]
    shown = "Package: v\nVersions: \n\nReverse Depends: \n  x,v\nReverse Provides: \na 2 (= )\na 1 (= )\nb 1 (= 2)\n"
    assert reverse_provides(shown + shown.replace(": v", ": w")) == {"v": {"a", "b"}, "w": {"a", "b"}}
    assert reverse_provides("") == {}


class AptCache:
    """The programs of apt and dpkg, for sources whose packages need others; ``ran`` lists the programs called."""

    def __init__(self, tmp_path, needs, recommends=None):
        self.needs = needs
        self.recommends = recommends or {}
        self.recommended = "true"
        self.ran = []
        self.harness = PluginHarness(tmp_path)
        self.harness.grains.update(osarch="amd64")
        self.harness.salt["cmd.run_all"] = self.run_all
        for name in ("aptpkg", "pkg_resource"):
            self.harness.load("modules", name)

    def foresee(self, *orders):
        """Return the names that each order brings, and how often apt-cache was called for that."""
        self.ran.clear()
        found = self.harness.call("pkg.foresee", list(map(list, orders)))
        return [sorted(share) for share in found], self.ran.count("apt-cache")

    def run_all(self, command, **_):
        self.ran.append(command[0])
        return {"pid": 1, "retcode": 0, "stdout": self.answer(command), "stderr": ""}

    def answer(self, command):
        words, names = command, []
        if "--" in command:
            end = command.index("--")
            words, names = command[:end], command[end + 1 :]
        match words:
            case ["apt-config", *_]:
                return f"wanted='{self.recommended}'"
            case ["apt-cache", "depends", "--recurse", *options]:
                found = [name for name in names if name in self.needs]
                for name in found:  # which grows
                    below = [*self.needs.get(name, ())]
                    below += () if "--no-recommends" in options else self.recommends.get(name, ())
                    found += [each for each in dict.fromkeys(below) if each not in found]
                return "".join(f"{name}\n  Depends: x\n" if name in self.needs else f"<{name}>\n" for name in found)
            case ["apt-cache", "show", "--no-all-versions"]:
                return "\n".join(self.stanza(name) for name in names if name in self.needs)
            case ["apt-cache", "showpkg"]:
                return "".join(f"Package: {name}\nVersions: \n\nReverse Provides: \n" for name in names)
        return ""

    def stanza(self, name):
        depends, recommends = (", ".join(which.get(name, ())) for which in (self.needs, self.recommends))
        return f"Package: {name}\nVersion: 1\nDepends: {depends}\nRecommends: {recommends}\n"


NAMES = st.sampled_from("abcdefgh")
NEEDS = st.dictionaries(NAMES, st.lists(NAMES, max_size=3, unique=True))


@given(NEEDS, NEEDS, st.lists(st.lists(NAMES, min_size=1, max_size=2, unique=True), min_size=1, max_size=5))
def test_apt_is_called_as_often_for_any_packages(tmp_path_factory, needs, recommends, orders):
    apt = AptCache(tmp_path_factory.mktemp("apt"), needs, recommends)
    offers = {
        name: {"Depends": ", ".join(needs[name]), "Recommends": ", ".join(recommends.get(name, ()))} for name in needs
    }
    expected = [list(share) for share in shares(offers, map("".join, orders), installed={})]
    found, calls = apt.foresee(*orders)
    assert found == expected
    assert calls <= 3
    assert apt.foresee(*orders) == (expected, 0), "the answer is kept"


@pytest.mark.parametrize("count", [2, 40])
@pytest.mark.parametrize("deep", [1, 40])
def test_neither_many_packages_nor_deep_dependencies_need_more_calls(tmp_path, count, deep):
    chain = {f"c{number}": [f"c{number + 1}"] for number in range(deep)} | {f"c{deep}": []}
    apt = AptCache(tmp_path, {**chain, **{f"p{number}": ["c0"] for number in range(count)}})
    found, calls = apt.foresee(*([f"p{number}"] for number in range(count)))
    assert (len(found), len(found[0]), calls) == (count, deep + 2, 2)


def test_orders_in_doubt_are_not_asked_for_again(tmp_path):
    apt = AptCache(tmp_path, {name: ["gone"] for name in "abc"})
    assert [apt.foresee(*rest) for rest in (["a", "b", "c"], ["b", "c"], ["c"])] == [([], 3), ([], 0), ([], 0)]


def test_apt_is_asked_again_when_the_offer_may_be_another(tmp_path, monkeypatch):
    sources = tmp_path / "sources"
    sources.mkdir()
    monkeypatch.setattr(_candidates, "_SOURCES", (str(sources),))
    apt = AptCache(tmp_path, {"a": [], "b": []}, {"a": ["b"]})
    assert apt.foresee("a") == ([["a", "b"]], 2)
    apt.recommended = "false"
    assert apt.foresee("a") == ([["a"]], 2)
    apt.needs["a"] = ["b"]
    assert apt.foresee("a") == ([["a"]], 0)
    (sources / "new.list").touch()
    assert apt.foresee("a") == ([["a", "b"]], 2)
    apt.needs["a"] = []
    apt.harness.call("pkg.refresh_db")
    assert apt.foresee("a") == ([["a"]], 2)


def test_packages_of_another_architecture_are_in_doubt(tmp_path):
    assert AptCache(tmp_path, {"a": [], "b:i386": []}).foresee("a", ["b:i386"]) == ([["a"]], 2)


@pytest.fixture
def apt(tmp_path):
    made = AptRoot(tmp_path)
    made.package("sun", Depends="light", Recommends="moon | star")
    made.package("lamp", Provides="light")
    made.package("moon")
    made.package("star", Conflicts="moon")
    made.package("sick", postinst="exit 1")
    made.harness.call("pkg.refresh_db")
    return made


@needs_apt
def test_apt_does_what_was_foreseen(apt):
    [expected, rest] = apt.harness.call("pkg.foresee", [["sun"], [{"lamp": "1.0"}]])
    assert expected == {name: {"old": "", "new": "1.0"} for name in ("lamp", "moon", "sun")}
    assert rest == {}
    assert apt.harness.call("pkg.install_foreseen", expected, [{"sun": None}]) == expected


@needs_apt
@pytest.mark.parametrize(("pinned", "brings"), [("*", "moon"), ("1.0", "lamp")])
def test_what_counts_is_the_version_that_apt_would_install(apt, pinned, brings):
    apt.package("orbit", "1.0", Depends="lamp")
    apt.package("orbit", "2.0", Depends="moon")
    pin = f"Package: orbit\nPin: version {pinned}\nPin-Priority: 1001\n"
    (apt.root / "etc/apt/preferences.d/orbit").write_text(pin)
    apt.harness.call("pkg.refresh_db")
    apt.ran.clear()
    [expected] = apt.harness.call("pkg.foresee", [["orbit"]])
    assert expected.keys() == {"orbit", brings}
    assert [command[1] for command in apt.ran if command[0] == "apt-cache"] == ["depends", "show"]
    assert apt.harness.call("pkg.install_foreseen", expected, [{"orbit": None}]) == expected


@needs_apt
@pytest.mark.parametrize("more", [{}, {"star": {"old": "", "new": "1.0"}}])
def test_apt_does_nothing_else(apt, more):
    expected = {"sun": {"old": "", "new": "1.0"}, **more}
    assert apt.harness.call("pkg.install_foreseen", expected, [{"sun": None}]) is None
    assert apt.installed() == {}
    assert apt.harness.call("pkg.install_foreseen", expected, [{"gone": None}]) is None


@needs_apt
def test_the_folder_for_temporary_files_may_have_any_name(apt, tmp_path, monkeypatch):
    folder = tmp_path / "a b'$(c)"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    expected = {"lamp": {"old": "", "new": "1.0"}}
    assert apt.harness.call("pkg.install_foreseen", expected, [{"lamp": None}]) == expected
    assert not [*folder.iterdir()]


@needs_apt
def test_what_fails_after_apt_agreed_is_an_error(apt):
    with pytest.raises(CommandExecutionError) as error:
        apt.harness.call("pkg.install_foreseen", {"sick": {"old": "", "new": "1.0"}}, [{"sick": None}])
    assert error.value.info["changes"] == {}
