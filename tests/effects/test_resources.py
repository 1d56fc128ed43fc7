"""Names of resources: equal spellings, and the places along a path."""

from tables import rows

from asyncstate.effects.resources import Resources, folders_above, is_plain, plain_path


@rows(
    ("path", "spelt"),
    [
        ("/", "/"),
        ("/a/b", "/a/b"),
        ("/a/b/", "/a/b"),
        ("//a", "/a"),
        ("/a//b", "/a/b"),
        ("//a//b/", "/a/b"),
        ("/X//b", "/X/b"),
        ("/a/./b", "/a/b"),
        ("/a/../b", "/b"),
        ("/a/.b", "/a/.b"),
        ("a//b", "a//b"),
        ("user:www", "user:www"),
    ],
)
def test_all_spellings_of_a_path_are_one(path, spelt):
    assert plain_path(path) == spelt


@rows(
    ("path", "above"),
    [("/a/b/c", ["/a/b", "/a"]), ("/a", []), ("/", []), ("a/b", ["a"]), ("/a//b", ["/a"]), ("/X/b", ["/X"])],
)
def test_folders_above_a_path(path, above):
    assert list(folders_above(path)) == above


@rows(
    ("name", "places"),
    [
        ("path:/", ["path:/"]),
        ("path:/a/b", ["path:/", "path:/a", "path:/a/b"]),
        ("path:/a/**", ["path:/", "path:/a"]),
        ("path:/f#k/l", ["path:/", "path:/f", "path:/f#k", "path:/f#k/l"]),
        ("path:/f#k#l", ["path:/", "path:/f", "path:/f#k#l"]),
        ("path:/d#k/f#l", ["path:/", "path:/d", "path:/d#k", "path:/d#k/f#l"]),
        ("path:/#k", ["path:/", "path:/#k"]),
        ("path:/f#", ["path:/", "path:/f#"]),
        ("grains", ["grains"]),
        ("grains#k/l", ["grains", "grains#k", "grains#k/l"]),
        ("grains#k#l", ["grains", "grains#k#l"]),
        ("#k", ["#k"]),
        ("k#", ["k#"]),
    ],
)
def test_a_resource_is_below_all_that_holds_it(name, places):
    ((found, _, _),) = Resources().placed([name], [])
    assert [place.name for place in found] == places
    assert is_plain(found) == (len(places) == 1 and name != "path:/")
