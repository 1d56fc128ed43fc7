import os

import pytest
from memory_files import MemoryFileClient
from messages import match
from tables import beside

from asyncstate.data.urls import parse_salt_url
from asyncstate.errors import RenderError
from asyncstate.sources.fileclient import LocalFileClient, SlsFile

TABLES = beside(__file__)


@pytest.fixture
def tree(tmp_path):
    files = "one/a.sls one/p/init.sls one/p/q.sls one/p.sls one/init.sls one/x.conf one/b.c.sls one/.git/hook.sls"
    for name in f"{files} two/a.sls two/z.sls dev/only.sls outside/secret.sls".split():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "one/empty").mkdir()
    return tmp_path


@pytest.fixture
def client(tree):
    return LocalFileClient({"base": [str(tree / "one"), str(tree / "two")], "dev": [str(tree / "dev")]})


@pytest.mark.parametrize(("url", "expected"), TABLES["parse salt url"])
def test_parse_salt_url(url, expected):
    assert [*parse_salt_url(url)] == expected


def test_the_first_root_wins(client, tree):
    assert {path: client.find(path, "base") for path in TABLES["found"]} == {
        path: found and f"{tree}/{found}" for path, found in TABLES["found"].items()
    }
    assert client.find("a.sls", "dev") is None
    assert client.find("a.sls", "nowhere") is None
    assert client.envs() == ["base", "dev"]
    assert client.roots("base") == [f"{tree}/one", f"{tree}/two"]
    assert client.roots("nowhere") == []


def test_symlinks_out_of_the_root_are_followed_unless_switched_off(tree):
    (tree / "one/link").symlink_to(tree / "outside")
    (tree / "one/inner").symlink_to("p")
    roots = {"base": [str(tree / "one")]}
    follows = LocalFileClient(roots)
    assert follows.find("link/secret.sls", "base") == f"{tree}/one/link/secret.sls"
    assert "link.secret" in follows.list_states("base")
    assert follows.list_symlinks("base") == {"inner": "p"}
    stays = LocalFileClient.from_opts({"file_roots": roots, "fileserver_followsymlinks": False})
    assert stays.find("link/secret.sls", "base") is None
    assert stays.find("inner/q.sls", "base") == f"{tree}/one/inner/q.sls"
    assert "link.secret" not in stays.list_states("base")
    assert "link" in stays.list_dirs("base")


def test_symlinks_can_be_left_out(tree):
    (tree / "one/link").symlink_to("a.sls")
    client = LocalFileClient({"base": [str(tree / "one")]}, ignore_symlinks=True)
    assert "link" not in client.list_files("base")
    assert client.list_symlinks("base") == {}


def test_a_directory_that_contains_itself_ends(tree):
    (tree / "one/p/loop").symlink_to("..")
    (tree / "one/self").symlink_to("self")
    client = LocalFileClient({"base": [str(tree / "one")]})
    assert "p.q" in client.list_states("base")
    assert "p/loop" in client.list_dirs("base")
    assert "self" in client.list_files("base")


def test_listings(client):
    assert client.list_states("base") == ["a", "b.c", "init", "p", "p.q", "z"]
    assert ".git/hook.sls" in client.list_files("base")
    assert "x.conf" in client.list_files("base")
    assert client.list_dirs("base") == [".git", "empty", "p"]
    assert client.list_empty_dirs("base") == ["empty"]
    assert client.list_states("nowhere") == []


def test_listings_are_read_once(client, tree):
    before = client.list_files("base")
    (tree / "one/late.sls").touch()
    assert client.list_files("base") is before
    assert client.find("late.sls", "base") is not None


def test_ignored_files(tree):
    roots = {"base": [str(tree / "one")]}
    opts = {"file_roots": roots, "file_ignore_glob": ["*.conf"], "file_ignore_regex": [r"/\.git($|/)", r"^\.git"]}
    client = LocalFileClient.from_opts(opts)
    assert client.find("x.conf", "base") is None
    assert client.find(".git/hook.sls", "base") is None
    assert not [path for path in client.list_files("base") if "git" in path or path.endswith(".conf")]


@pytest.mark.parametrize(("sls", "found"), TABLES["SLS names"].items())
def test_sls_file(client, tree, sls, found):
    expected = found and SlsFile(sls, "base", f"{tree}/one/{found}", found)
    assert client.sls_file(sls, "base") == expected


def test_a_folder_is_an_sls_where_no_file_has_its_name(client, tree):
    (tree / "one/p.sls").unlink()
    assert client.sls_file("p", "base") == SlsFile("p", "base", f"{tree}/one/p/init.sls", "p/init.sls")


def test_expand(client):
    assert client.expand(["a", "p.*", "gone", "none*", "[bz]*"], "base") == ["a", "p.q", "gone", "none*", "b.c", "z"]


def test_dynamic_environment(tree):
    client = LocalFileClient({"base": [str(tree / "one")], "__env__": [f"{tree}/__env__"]})
    assert client.roots("dev") == [f"{tree}/dev"]
    assert client.find("only.sls", "dev") == f"{tree}/dev/only.sls"
    for outward in ("..", "../one", "dev/../../one", "x\0y"):
        assert client.roots(outward) == []
        assert client.find("only.sls", outward) is None


def test_read(client, tree):
    assert client.read(client.find("a.sls", "base")) == b"one/a.sls"
    with pytest.raises(RenderError, match=r"Cannot read .*/p: Is a directory") as caught:
        client.read(f"{tree}/one/p")
    assert caught.value.file == f"{tree}/one/p"


def test_memory_client():
    client = MemoryFileClient({"base": {"top.sls": "a", "p/init.sls": b"b", "p/q.sls": "c"}, "dev": {}})
    assert client.envs() == ["base", "dev"]
    assert client.roots("base") == ["/memory/base"]
    file = client.sls_file("p", "base")
    assert file == SlsFile("p", "base", "/memory/base/p/init.sls", "p/init.sls")
    assert client.read(file.path) == b"b"
    assert client.read(client.find("top.sls", "base")) == b"a"
    assert client.list_states("base") == ["p", "p.q", "top"]
    assert client.list_dirs("base") == ["p"]
    assert client.expand(["p*"], "base") == ["p", "p.q"]
    assert client.find("../x", "base") is None
    with pytest.raises(RenderError, match="no such file in memory"):
        client.read("/memory/base/gone")


def test_what_is_no_text_of_a_tree_is_not_read(tree, client):
    os.mkfifo(tree / "one/pipe")
    with open(tree / "one/large", "wb") as file:
        file.truncate(2**26 + 1)
    for path, sentence in (
        (tree / "one/pipe", "irregular"),
        ("/dev/zero", "irregular"),
        (tree / "one/large", "large-text"),
    ):
        with pytest.raises(RenderError, match=match(sentence, path=path)):
            client.read(str(path))
