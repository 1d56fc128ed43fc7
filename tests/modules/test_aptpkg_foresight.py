"""What apt would install for each of several states is said only where it is certain, and apt itself must agree."""

import pytest
from apt_root import AptRoot, needs_apt
from asyncstate.modules.aptpkg._foresight import System, facts, foreseen, reverse_provides

from asyncstate.errors import CommandExecutionError

OLD = {"shell": "1"}


def fields(name, **given):
    return {"Package": name, "Version": "2", **{key.replace("_", "-"): value for key, value in given.items()}}


def shares(offers, orders, *, installed=OLD, provided=(), recommends=True):
    """Return the names that each order brings; ``offers`` has the fields of each package."""
    offers = {name: fields(name, **given) for name, given in offers.items()}

    def offered(names):
        return {name: offers[name] for name in names if name in offers}

    def providers(names):
        provided = {each: given.get("Provides", "").replace(",", " ").split() for each, given in offers.items()}
        return {name: [each for each, them in provided.items() if name in them] for name in names}

    system = System(installed, provided, recommends=recommends, offered=offered, providers=providers)
    found = foreseen([dict.fromkeys(order) if isinstance(order, str) else order for order in orders], system)
    assert all(change["old"] == "" for share in found for change in share.values())
    return ["".join(sorted(share)) for share in found]


@pytest.mark.parametrize(
    ("a", "b", "others", "found"),
    [
        ({}, {}, {}, ["a", "b"]),
        ({}, {"Depends": "d (>= 1), shell"}, {"d": {}}, ["a", "bd"]),
        ({"Pre_Depends": "d:any"}, {"Depends": "d"}, {"d": {}}, ["ad", "b"]),
        ({"Recommends": "d"}, {}, {"d": {"Depends": "e"}, "e": {}}, ["ade", "b"]),
        ({"Recommends": "gone, d"}, {}, {"d": {}}, ["ad", "b"]),
        ({"Depends": "gone"}, {}, {}, []),
        ({}, {"Depends": "gone | d"}, {"d": {}}, ["a", "bd"]),
        ({"Depends": "b"}, {}, {}, ["ab", ""]),
        ({"Depends": "d (>= 3) | e"}, {}, {"d": {}, "e": {}}, ["ae", "b"]),
        ({"Depends": "d | shell"}, {}, {"d": {}}, ["a", "b"]),
        ({"Depends": "shell (>= 2)"}, {}, {"shell": {}}, []),
        ({}, {"Recommends": "shell (>= 2)"}, {"shell": {}}, ["a"]),
        ({"Depends": "d | b"}, {}, {"d": {}}, ["ad"]),
        ({}, {"Depends": "d | a"}, {"d": {}}, ["a", "b"]),
        ({"Depends": "d | e, e"}, {}, {"d": {}, "e": {}}, []),
        ({"Depends": "d | v"}, {"Provides": "v"}, {"d": {"Provides": "v"}}, ["ad"]),
        ({"Depends": "v"}, {}, {"d": {"Provides": "v"}}, ["ad", "b"]),
        ({"Depends": "v"}, {}, {"d": {"Provides": "v"}, "e": {"Provides": "v"}}, []),
        ({"Depends": "v (>= 2)"}, {}, {"d": {"Provides": "v"}}, []),
        ({"Provides": "v"}, {"Depends": "v"}, {"d": {"Provides": "v"}}, ["a", "b"]),
        ({"Provides": "v (= 3)"}, {"Depends": "v (>= 2)"}, {"d": {"Provides": "v"}}, ["a", "b"]),
        ({}, {"Depends": "there, there-2 (>= 2)"}, {}, ["a", "b"]),
    ],
)
def test_who_brings_what(a, b, others, found):
    assert shares({"a": a, "b": b, **others}, ["a", "b"], provided=["there, there-2 (= 2.1)"]) == found


def test_what_ends_the_answer():
    assert shares({"a": {}, "b": {}}, ["a", "x", "b"]) == ["a"]
    assert shares({"a": {}, "b": {}}, ["a", {"b": "2"}]) == ["a", "b"]
    assert shares({"a": {}, "b": {}}, ["a", {"b": "1"}]) == ["a"]
    assert shares({"a": {}, "b": {}}, ["b", {"shell": "1"}, {"shell": "2"}]) == ["b", ""]


def test_what_is_asked_for_comes_first():
    mail = {"exim": {"Provides": "mta"}, "postfix": {"Provides": "mta"}, "cron": {"Recommends": "exim | mta"}}
    assert shares(mail, [{"cron": None, "postfix": None}]) == ["cronpostfix"]
    assert shares(mail, [{"cron": None}, {"postfix": None}]) == ["cronexim"]
    assert shares(mail, [{"cron": None}, {"exim": None}]) == ["cronexim", ""]


@pytest.mark.parametrize("later", [{"Provides": "clock"}, {"Provides": "clock", "Conflicts": "d"}])
def test_what_a_later_order_asks_for_and_would_do_for_an_earlier_one_ends_the_answer(later):
    offers = {"a": {"Recommends": "d | clock"}, "b": {}, "c": later, "d": {"Provides": "clock"}}
    assert shares(offers, ["a", "b", "c"]) == ["ad", "b"]
    assert shares(offers, ["a", "b", "d"]) == ["ad", "b", ""]
    assert shares(offers, ["c", "a", "b"]) == ["c", "a", "b"]


def test_recommended_packages_only_where_they_are_installed():
    assert shares({"a": {"Recommends": "d"}, "d": {}}, ["a"], recommends=False) == ["a"]


def test_the_output_of_apt_cache():
    text = "Package: a\nVersion: 2\nDescription: x\n Depends: no\nDepends: b,\n c\n\nPackage: a\nVersion: 1\n\nN: x\n"
    newer, older = {"Package": "a", "Version": "2", "Depends": "b,"}, {"Package": "a", "Version": "1"}
    assert facts(text) == {("a", "2"): newer, ("a", "1"): older}
    shown = "Package: v\nVersions: \n\nReverse Depends: \n  x,v\nReverse Provides: \na 2 (= )\na 1 (= )\nb 1 (= 2)\n"
    assert reverse_provides(shown + shown.replace(": v", ": w")) == {"v": {"a", "b"}, "w": {"a", "b"}}
    assert reverse_provides("") == {}


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
