"""All names of a path: through links that are there, and links that states make."""

import os
import posixpath
import tempfile
from pathlib import Path

import pytest
from bundled_states import edges_between
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import rows

from asyncstate.effects.links import LinkedPaths
from asyncstate.sources.machine import RealPaths


class Disk:
    """The links of a machine, as a dictionary."""

    def __init__(self, **links):
        self.links = {f"/{path.replace('_', '/')}": target for path, target in links.items()}

    def __call__(self, path):
        for _ in range(9):
            for link, target in self.links.items():
                if f"{path}/".startswith(f"{link}/"):
                    path = posixpath.normpath(posixpath.join(posixpath.dirname(link), target) + path[len(link) :])
        return path

    def target(self, path):
        return self.links.get(path, "")


NAMES = {
    "no link": ({}, {}, "path:/srv/a", set()),
    "no path": ({}, {"/srv/a": "b"}, "user:/srv/a", set()),
    "relative": ({}, {"/srv/current": "v1"}, "path:/srv/current/a", {"path:/srv/v1/a"}),
    "absolute": ({}, {"/srv/current": "/opt/v1"}, "path:/srv/current/a", {"path:/opt/v1/a"}),
    "upwards": ({}, {"/srv/a/current": "../v1"}, "path:/srv/a/current/b", {"path:/srv/v1/b"}),
    "the link itself": ({}, {"/srv/current": "v1"}, "path:/srv/current", {"path:/srv/v1"}),
    "a tree": ({}, {"/srv/current": "v1"}, "path:/srv/current/**", {"path:/srv/v1/**"}),
    "a name that begins alike": ({}, {"/srv/current": "v1"}, "path:/srv/currently", set()),
    "a chain": ({}, {"/a": "/b", "/b": "/c"}, "path:/a/x", {"path:/b/x", "path:/c/x"}),
    "there": ({"srv_current": "v1"}, {}, "path:/srv/current/a", {"path:/srv/v1/a"}),
    "there, and switched": ({"srv_current": "v1"}, {"/srv/current": "v2"}, "path:/srv/current/a", {"path:/srv/v1/a", "path:/srv/v2/a"}),
    "one that is there leads through one that is switched": (
        {"app": "/srv/current/app", "srv_current": "v1"},
        {"/srv/current": "v2"},
        "path:/app/x",
        {"path:/srv/current/app/x", "path:/srv/v1/app/x", "path:/srv/v2/app/x"},
    ),
    "a made link leads to one that is there": ({"var_run": "/run"}, {"/srv/pid": "/var/run/x"}, "path:/srv/pid", {"path:/var/run/x", "path:/run/x"}),
    "a link in a folder that has two names": ({"var_run": "/run"}, {"/var/run/now": "then"}, "path:/run/now/x", {"path:/run/then/x"}),
    "a relative one in a folder that has two names": (
        {"cur": "/opt/deep/v1"},
        {"/cur/data": "../data"},
        "path:/opt/deep/v1/data/x",
        {"path:/opt/deep/data/x"},
    ),
    "a circle": ({}, {"/a": "/b", "/b": "/a"}, "path:/a/x", {"path:/b/x"}),
    "to itself": ({}, {"/a": "/a"}, "path:/a/x", set()),
    "a tree with a link in it": ({}, {"/srv/current": "/opt/v1"}, "path:/srv/**", {"path:/opt/v1/**"}),
    "a tree with a link within it": ({}, {"/srv/current": "v1"}, "path:/srv/**", set()),
    "a made folder with marks": ({}, {"/srv/a": "b"}, "path:/srv/a?0700:u:u", {"path:/srv/b?0700:u:u"}),
    "a folder made below one that is there": ({}, {"/srv/a": "b"}, "path:/srv/a//c/d?0700:u:u", {"path:/srv/b//c/d?0700:u:u"}),
    "an entry": ({"etc_hosts": "/srv/hosts"}, {}, "path:/etc/hosts#web", {"path:/srv/hosts#web"}),
    "an entry with a hash": ({"etc_hosts": "/srv/hosts"}, {}, "path:/etc/hosts#web#1", {"path:/srv/hosts#web#1"}),
    "a folder with a hash": ({}, {"/srv/#1": "v1"}, "path:/srv/#1/a", {"path:/srv/v1/a"}),
    "the root": ({}, {"/srv/current": "/opt"}, "path:/**", set()),
    "without a target": ({}, {"/srv/a": ""}, "path:/srv/a/b", set()),
    "at a relative path": ({}, {"srv/a": "b"}, "path:/srv/a/c", set()),
    "not plain": ({}, {"/srv/current/": "v1"}, "path:/srv/x/../current//a", {"path:/srv/v1/a"}),
}  # fmt: skip


@pytest.mark.parametrize("case", NAMES)
def test_other_names(case):
    there, made, name, others = NAMES[case]
    paths = LinkedPaths(Disk(**there), made.items())
    assert paths.all_names((name,))[0] == name
    assert set(paths.all_names((name,))) - {"path:/srv/current/a"} - {name} == others - {name}


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


COPIES = {
    "a link of the tree": ({}, [("/srv/a", "v1")], [("/srv/b", "/srv/a")], "/srv/b/x", "/srv/v1/x"),
    "a link of the tree at its old place": ({}, [("/srv/a", "v1")], [("/srv/b", "/srv/a")], "/srv/a/x", "/srv/v1/x"),
    "a link that is there": ({"srv_a": "v1"}, [], [("/srv/b", "/srv/a")], "/srv/b/x", "/srv/v1/x"),
    "a relative link elsewhere": ({"srv_a": "v1"}, [], [("/opt/b", "/srv/a")], "/opt/b/x", "/opt/v1/x"),
    "a link in a folder": ({}, [("/srv/a/l", "/v1")], [("/opt/b", "/srv/a/")], "/opt/b/l/x", "/v1/x"),
    "twice": ({}, [("/a/l", "/v1")], [("/b", "/a"), ("/c/d", "/b")], "/c/d/l/x", "/v1/x"),
    "a link that is there, in a folder": ({"a_l": "v1"}, [], [("/b", "/a")], "/b/l/x", "/b/v1/x"),
    "a link that is there, twice": ({"a_l": "/v1"}, [], [("/b", "/a"), ("/c", "/b")], "/c/l/x", "/v1/x"),
    "into itself": ({}, [("/a/l", "/v1")], [("/a/b", "/a")], "/a/b/l/x", "/v1/x"),
    "of two copies": ({}, [("/a/l", "/v1"), ("/c/l", "/v2")], [("/b", "/a"), ("/d", "/c")], "/d/l/x", "/v2/x"),
    "of nothing, then of a link": ({}, [("/b/l", "/v1")], [("/b/x", "/e"), ("/c", "/b")], "/c/l/x", "/v1/x"),
    "a link that is there beside them": ({"srv_a": "v1"}, [], [("/c", "/b")], "/srv/a/x", "/srv/v1/x"),
    "a relative link from deeper down": ({"srv_data_a": "v1"}, [], [("/b", "/srv/data")], "/b/a/x", "/b/v1/x"),
    "out of a link": ({"l": "/data", "l_a_k": "/v1"}, [], [("/b", "/l/a")], "/b/k/x", "/v1/x"),
}


@pytest.mark.parametrize("case", COPIES)
def test_links_go_where_they_are_copied(case):
    there, made, copies, name, other = COPIES[case]
    paths = LinkedPaths(Disk(**there), made, copies)
    assert f"path:{other}" in paths.all_names((f"path:{name}",))


def test_what_is_no_link_has_no_other_name_for_its_copy():
    paths = LinkedPaths(Disk(), [("/a/l", "/v1"), ("/a-l", "/v2")], [("/b", "/c"), ("/d", "/a")])
    assert paths.all_names(("path:/b/x", "path:/d/x", "path:/d-l")) == ("path:/b/x", "path:/d/x", "path:/d-l")


def test_who_makes_a_link_touches_the_link_alone():
    paths = LinkedPaths(Disk(srv_current="v1", srv="/data"), [("/srv/current", "v2")])
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
ORDERED = {
    "both names": (CURRENT, "file.managed: [{name: /srv/v1/a}]", "file.append: [{name: /srv/current/a}]"),
    "the other way round": (CURRENT, "file.managed: [{name: /srv/current/a}]", "file.append: [{name: /srv/v1/a}]"),
    "a source": (CURRENT, "file.managed: [{name: /srv/v1/a}]", "file.managed: [{name: /b}, {source: /srv/current/a}]"),
    "a folder to work in": (ABSOLUTE, "file.managed: [{name: /opt/v1/a}]", "cmd.run: [{name: ls}, {cwd: /srv/current}]"),
    "a folder above": (ABSOLUTE, "file.managed: [{name: /opt/v1/a}]", "file.exists: [{name: /srv}]"),
    "a link by a command": (
        "cmd.run: [{name: ln -sfn v1 current}, {cwd: /srv}, {footprint: {links: {/srv/current: [v0, v1]}}}]",
        "file.managed: [{name: /srv/v1/a}]",
        "file.append: [{name: /srv/current/a}]",
    ),
    "a link by a command that tells of it": (
        "cmd.run: [{name: ln -sfn v1 /srv/current}]",
        "file.managed: [{name: /srv/v1/a}]",
        "file.append: [{name: /srv/current/a}]",
    ),
    "a hard link": ("file.hardlink: [{name: /srv/b}, {target: /srv/a}]", "file.append: [{name: /srv/a}]", "file.append: [{name: /srv/b}]"),
    "an alternative": (
        "alternatives.set: [{name: vi}, {path: /opt/vim}]",
        "file.managed: [{name: /opt/vim}]",
        "cmd.run: [{name: /etc/alternatives/vi}]",
    ),
    "an alternative by a command": (
        "cmd.run: [{name: update-alternatives --install /usr/bin/vi vi /opt/vim 10}]",
        "file.managed: [{name: /opt/vim}]",
        "file.exists: [{name: /usr/bin/vi}]",
    ),
    "a folder that a command binds": ("cmd.run: [{name: mount --bind /srv/a /a}]", "file.managed: [{name: /srv/a/x}]", "file.append: [{name: /a/x}]"),
    "a bound folder": (
        "mount.mounted: [{name: /a}, {device: /srv/a}, {fstype: none}, {opts: bind}]",
        "file.managed: [{name: /srv/a/x}]",
        "file.append: [{name: /a/x}]",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ORDERED)
def test_states_that_touch_one_file_under_two_names_keep_their_order(case):
    link, first, second = ORDERED[case]
    assert ("s1", "s2") in edges_between(link, first, second)
    assert ("s1", "s2") in edges_between(link, second, first)
    assert ("s1", "s2") not in edges_between("test.nop: []", first, second)


def test_a_release_is_switched_between_two_states():
    first, switch, second = (
        "file.managed: [{name: /srv/current/a}]",
        "file.symlink: [{name: /srv/current}, {target: v2}]",
        "file.managed: [{name: /srv/v1/a}]",
    )
    assert edges_between(first, switch, second, links=Disk(srv_current="v1")) == {("s0", "s1"), ("s0", "s2")}


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
    links = Disk() if made else Disk(srv_current="/opt/v1")
    through, direct = "file.append: [{name: /srv/new/a}]", "file.append: [{name: /opt/v1/a}]"
    states = ([link] if made else ["test.nop: []"]) + [moves, through, direct]
    assert ("s2", "s3") in edges_between(*states, links=links)


def test_a_link_does_not_touch_what_it_leads_to():
    assert edges_between("file.managed: [{name: /srv/v1/a}]", CURRENT) == set()


def test_a_path_that_begins_with_two_slashes_is_the_path_with_one():
    link, file = "file.symlink: [{name: //srv/x}, {target: //opt/y}]", "file.managed: [{name: /srv/x/z}]"
    assert edges_between(link, file) == edges_between(link.replace("//", "/"), file)
    assert ("s0", "s1") in edges_between(link, file)
