import pytest
from messages import said
from tables import beside

from asyncstate.data.commands.paths import Folders, named, normal, resolve, uncertainty
from asyncstate.data.commands.syntax import END, OPEN, TILDE, WILD

TABLES = beside(__file__)

HERE = Folders(("/w",), "~")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a", "/a"), ("//a/./b/../c/", "/a/c"), ("~/a/", "~/a"), ("~/", "~"), ("~u/./a", "~u/a"), ("/", "/")],
)
def test_a_normal_path(path, expected):
    assert normal(path) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("a", [("/w/a", False)]),
        ("../a", [("/a", False)]),
        (f"/r/{WILD}", [("/r", True)]),
        (f"x{WILD}", [("/w", True)]),
        (f"{TILDE}/x", [("~/x", False)]),
        (f"{TILDE}bob/x", [("~bob/x", False)]),
        (f"{OPEN}$X{END}", []),
        (f"/{OPEN}$X{END}", []),
        (f"/r/{OPEN}$X{END}/y", [("/r", True)]),
        ("file:///a", [("/a", False)]),
        ("file://localhost/a", [("/a", False)]),
    ],
)
def test_the_paths_of_a_word(word, expected):
    assert list(resolve(word, HERE)) == expected


def test_a_word_without_a_certain_folder_says_so():
    elsewhere = HERE.changed("-", perhaps=False)
    assert uncertainty("a", HERE) == uncertainty("/a", elsewhere) == ""
    assert uncertainty("a", elsewhere)
    assert uncertainty(f"{OPEN}$X{END}/a", HERE) == said("open-word", what="$X")


def test_a_folder_that_may_have_changed_is_both():
    assert HERE.changed("a", perhaps=True).paths == ("/w", "/w/a")
    assert HERE.changed("", perhaps=False).paths == ("~",)


def test_too_many_folders_are_not_certain():
    folders = HERE
    for name in "abcdefghij":
        folders = folders.changed(name, perhaps=True)
    assert not folders.certain


@pytest.mark.parametrize(
    ("path", "name"),
    TABLES["the name of a path"],
)
def test_the_name_of_a_path(path, name):
    assert named(path, tree=False) == name


def test_the_name_of_a_tree():
    assert named("/", tree=True) == "path:/**"
    assert named("/a", tree=True) == "path:/a/**"
