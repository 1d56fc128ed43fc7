"""All names of a path: through links that are there, and links that states make."""

import json
import os
import posixpath
import tempfile
from pathlib import Path

import pytest
from bundled_states import edges_between
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import beside, rows

from asyncstate.effects.links import LinkedPaths
from asyncstate.sources.machine import RealPaths

TABLES = beside(__file__)


class Disk:
    """The links of a machine, as a dictionary."""

    def __init__(self, links):
        self.links = links

    def __call__(self, path):
        for _ in range(9):
            for link, target in self.links.items():
                if f"{path}/".startswith(f"{link}/"):
                    path = posixpath.normpath(posixpath.join(posixpath.dirname(link), target) + path[len(link) :])
        return path

    def target(self, path):
        return self.links.get(path, "")


@pytest.mark.parametrize("case", TABLES["other names"].values(), ids=TABLES["other names"])
def test_other_names(case):
    name, paths = case["name"], LinkedPaths(Disk(case.get("there", {})), case.get("made", {}).items())
    assert paths.all_names((name,))[0] == name
    assert set(paths.all_names((name,))) - {"path:/srv/current/a", name} == {*case["others"]} - {name}


def test_a_link_that_grows_may_lead_anywhere():
    paths = LinkedPaths(None, [("/a", "/a/a"), ("/b", "/a/b")])
    assert paths.all_names(("path:/a/x", "path:/a#entry")) == ("path:/a/x", "path:/a#entry", "path:/**")


def test_what_a_link_that_grows_makes_may_be_any_folder():
    grows = "file.symlink: [{name: /a}, {target: /a/a}]"
    makes = "file.managed: [{name: /a/x/y}, {makedirs: true}]"
    assert ("s1", "s2") in edges_between(grows, makes, "file.managed: [{name: /b/c}]")


def test_who_makes_a_link_in_a_folder_that_grows_may_make_it_anywhere():
    paths = LinkedPaths(None, [("/a", "/a/a")])
    assert paths.all_names(("path:/a/l",), own=["/a/l"]) == ("path:/a/l", "path:/**")


@rows(("depth", "other"), [(63, f"path:/b{'/x' * 63}"), (64, "path:/**")])
def test_a_link_leads_anywhere_where_its_paths_are_very_deep(depth, other):
    name = f"path:/a{'/x' * depth}"
    assert LinkedPaths(None, [("/a", "/b")]).all_names((name,)) == (name, other)


@rows(
    ("count", "folder", "expected"),
    [
        (63, "/X/", None),
        (64, "/X/", {"path:/X/**", "path:/c/**"}),
        (64, "/", {"path:/**", "path:/c/**"}),
        (511, "/X/", {"path:/X/**", "path:/c/**"}),
        (512, "/X/", {"path:/**"}),
    ],
)
def test_a_link_with_many_targets_leads_to_all_of_them(count, folder, expected):
    targets = ["/c/v0", *(f"{folder}v{number}" for number in range(1, count))]
    found = LinkedPaths(None, [("/a", target) for target in targets]).all_names(("path:/a",))
    assert set(found) == {"path:/a", *(expected or (f"path:{target}" for target in targets))}


def test_the_root_and_a_link_to_itself_have_no_other_name():
    assert LinkedPaths(RealPaths()).all_names(("path:/**",)) == ("path:/**",)
    assert LinkedPaths(None, [("/a", "/a")]).all_names(("path:/a/**",)) == ("path:/a/**",)


def covered(path, names):
    above = [f"path:{path[:end]}/**" for end in range(len(path)) if path[end] == "/"]
    return not {f"path:{path}", *above}.isdisjoint(names)


@pytest.mark.parametrize("case", TABLES["copies"].values(), ids=TABLES["copies"])
def test_links_go_where_they_are_copied(case):
    paths = LinkedPaths(Disk(case.get("there", {})), case.get("made", {}).items(), case["copies"].items())
    assert f"path:{case['other']}" in paths.all_names((f"path:{case['name']}",))


def test_what_is_no_link_has_no_other_name_for_its_copy():
    paths = LinkedPaths(Disk({}), [("/a/l", "/v1"), ("/a-l", "/v2"), ("/azl", "/v3")], [("/b", "/c"), ("/d", "/a")])
    asked = ("path:/b/x", "path:/d/x", "path:/d-l", "path:/dzl")
    assert paths.all_names(asked) == asked


def test_who_makes_a_link_touches_the_link_alone():
    paths = LinkedPaths(Disk({"/srv/current": "v1", "/srv": "/data"}), [("/srv/current", "v2")])
    assert set(paths.all_names(("path:/srv/current", "path:/srv/v2"), own=["/srv/current"])) == {
        "path:/srv/current",
        "path:/data/current",
        "path:/srv/v2",
        "path:/data/v2",
    }


@pytest.mark.parametrize(("target", "folder"), [("/usr/bin/y{}", "/usr/bin"), ("/opt/y{}/bin/x", "/opt"), ("/y{}", "")])
def test_links_of_a_tree_that_are_many_count_by_their_folders(target, folder):
    made = [(f"/etc/alternatives/x{number}", target.format(number)) for number in range(100)]
    names = LinkedPaths(None, made).all_names(("path:/etc/**",))
    assert f"path:{folder}/**" in names
    assert len(names) < 40


@rows(
    ("count", "folders", "expected"),
    [(32, 1, None), (33, 1, {"path:/t/0/**"}), (33, 32, {f"path:/t/{number}/**" for number in range(32)})],
)
def test_up_to_32_targets_or_folders_count_one_by_one(count, folders, expected):
    targets = [f"/t/{number % folders}/x{number}" for number in range(count)]
    paths = LinkedPaths(None, [(f"/etc/a/x{number}", target) for number, target in enumerate(targets)])
    found = set(paths.all_names(("path:/etc/**",))) - {"path:/etc/**"}
    assert found == (expected or {f"path:{target}/**" for target in targets})


FOLDERS = st.sampled_from(["a", "b", "c"])
TARGETS = st.builds(
    lambda up, parts: "../" * up + "/".join(parts), st.integers(0, 2), st.lists(FOLDERS, min_size=1, max_size=2)
)


@settings(max_examples=25)
@given(
    st.dictionaries(st.lists(FOLDERS, min_size=1, max_size=2).map("/".join), TARGETS, max_size=4),
    st.lists(FOLDERS, min_size=1, max_size=4).map("/".join),
    st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_where_a_path_really_leads_is_among_its_names(links, path, already):
    """Links of a real folder, some of them there when the tree is compiled."""
    with tempfile.TemporaryDirectory() as base:
        root = Path(os.path.realpath(base)) / "x" / "y"
        root.mkdir(parents=True)
        laid = [(link, target, first) for (link, target), first in zip(links.items(), already, strict=False)]
        made = []
        for link, target, first in sorted(laid, key=lambda each: not each[2]):
            place = root / link
            if os.path.lexists(place) or any(part.is_symlink() for part in place.parents):
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            if first:
                place.symlink_to(target)
            else:
                made.append((str(place), target))
        paths = LinkedPaths(RealPaths(), made)
        known = paths.all_names((f"path:{root}/{path}",))
        for place, target in made:
            if not os.path.lexists(place):
                os.symlink(target, place)
        assert covered(os.path.realpath(root / path), known)


CURRENT = "file.symlink: [{name: /srv/current}, {target: v1}]"
ABSOLUTE = "file.symlink: [{name: /srv/current}, {target: /opt/v1}]"


@pytest.mark.parametrize("case", TABLES["ordered"].values(), ids=TABLES["ordered"])
def test_states_that_touch_one_file_under_two_names_keep_their_order(case):
    link, first, second = (json.dumps(state)[1:-1] for state in case)
    assert ("s1", "s2") in edges_between(link, first, second)
    assert ("s1", "s2") in edges_between(link, second, first)
    assert ("s1", "s2") not in edges_between("test.nop: []", first, second)


def test_a_release_is_switched_between_two_states():
    first, switch, second = (
        "file.managed: [{name: /srv/current/a}]",
        "file.symlink: [{name: /srv/current}, {target: v2}]",
        "file.managed: [{name: /srv/v1/a}]",
    )
    assert edges_between(first, switch, second, links=Disk({"/srv/current": "v1"})) == {("s0", "s1"), ("s0", "s2")}


@pytest.mark.parametrize(
    "moves",
    [
        "file.rename: [{name: /srv/new}, {source: /srv/current}]",
        "file.copy: [{name: /srv/new}, {source: /srv/current}]",
        "cmd.run: [{name: mv /srv/current /srv/new}]",
        "cmd.run: [{name: cp -a current new}, {cwd: /srv}]",
        "cmd.run: [{name: rsync -a /srv/current/ /srv/new}]",
    ],
)
@pytest.mark.parametrize("made", [True, False])
def test_a_link_that_is_moved_still_leads_there(moves, made):
    link = "file.symlink: [{name: /srv/current}, {target: /opt/v1}]"
    links = Disk({} if made else {"/srv/current": "/opt/v1"})
    through, direct = "file.append: [{name: /srv/new/a}]", "file.append: [{name: /opt/v1/a}]"
    states = ([link] if made else ["test.nop: []"]) + [moves, through, direct]
    assert ("s2", "s3") in edges_between(*states, links=links)


def test_a_link_does_not_touch_what_it_leads_to():
    assert edges_between("file.managed: [{name: /srv/v1/a}]", CURRENT) == set()


def test_a_path_that_begins_with_two_slashes_is_the_path_with_one():
    link, file = "file.symlink: [{name: //srv/x}, {target: //opt/y}]", "file.managed: [{name: /srv/x/z}]"
    assert edges_between(link, file) == edges_between(link.replace("//", "/"), file)
    assert ("s0", "s1") in edges_between(link, file)
