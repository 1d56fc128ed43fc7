"""Prefetch offers of states: only sources that are certainly used and can be verified."""

import pytest
from asyncstate.states import archive, file, git, pkg
from plugin_harness import PluginHarness
from tables import beside

TABLES = beside(__file__)

URL, HASH = "https://h.example.org/a.tar.gz?token=x", "0" * 64


def low(fun, name="/srv/a", **arguments):
    return {"name": name, "fun": fun, "__env__": "base", **arguments}


def one(found):
    (fetch,) = found
    return fetch


def test_a_managed_file_with_a_hash():
    fetch = one(file.mod_prefetch(low("managed", source=URL, source_hash=f"sha256={HASH}", verify_ssl=False)))
    wanted = {"path": URL, "source_hash": f"sha256={HASH}", "saltenv": "base", "has_hash": "/srv/a"}
    assert fetch["arguments"] == {**wanted, "verify_ssl": False}
    assert fetch["function"] == "cp.prefetch"
    assert fetch["what"] == "https://h.example.org/a.tar.gz"
    assert not fetch.get("reads")


@pytest.mark.parametrize(
    "arguments",
    [
        {"source": URL},
        {"source": URL, "source_hash": "https://h.example.org/sums"},
        {"source": URL, "source_hash": "/srv/sums"},
        {"source": URL, "source_hash": HASH, "skip_verify": True},
        {"source": URL, "source_hash": HASH, "use_etag": True},
        {"source": URL, "source_hash": HASH, "create": False},
        {"source": "salt://a", "source_hash": HASH},
        {"source": "/srv/b", "source_hash": HASH},
        {"source": "ftp://h/a", "source_hash": HASH},
        {"source": [URL, "salt://b"], "source_hash": HASH},
        {"source": URL, "source_hash": HASH, "contents": "x"},
        {"source": URL, "source_hash": HASH, "name": "~/a"},
        {"source": 3, "source_hash": HASH},
        {},
    ],
)
def test_no_fetch_without_a_url_with_a_hash_that_is_needed(arguments):
    assert file.mod_prefetch(low("managed", **arguments)) == []


def test_the_other_forms_of_a_source():
    assert one(file.mod_prefetch(low("managed", source=[{URL: HASH}])))["arguments"]["source_hash"] == HASH
    assert one(file.mod_prefetch(low("managed", source=[URL], source_hash=HASH)))["arguments"]["path"] == URL
    assert one(file.mod_prefetch(low("cached", URL, source_hash=HASH)))["arguments"]["path"] == URL
    kept = one(file.mod_prefetch(low("managed", source=URL, source_hash=HASH, replace=False, template="jinja")))
    assert kept["arguments"]["exists"] == "/srv/a"
    assert "has_hash" not in kept["arguments"]
    assert file.mod_prefetch(low("absent", source=URL, source_hash=HASH)) == []


def test_an_archive():
    fetch = one(archive.mod_prefetch(low("extracted", source=URL, source_hash=HASH, if_missing="/srv/a/x")))
    assert fetch["arguments"]["exists"] == "/srv/a/x"
    assert archive.mod_prefetch(low("extracted", source=URL, source_hash=HASH, skip_files_list_verify=True)) == []


def test_a_repository():
    fetch = one(git.mod_prefetch(low("latest", URL, target="/srv/a", https_user="u", https_pass="p")))
    wanted = {"url": URL, "target": "/srv/a", "https_user": "u", "https_pass": "p"}
    assert (fetch["function"], fetch["arguments"]) == ("git.prefetch", wanted)
    assert "path:/etc/gitconfig" in fetch["reads"]
    assert "path:/srv/r/**" in one(git.mod_prefetch(low("cloned", "file:///srv/r", target="/srv/a")))["reads"]


@pytest.mark.parametrize("arguments", TABLES["a repository that is not fetched ahead"])
def test_a_repository_that_is_not_fetched_ahead(arguments):
    assert git.mod_prefetch({**low("latest", URL, target="/srv/a"), **arguments}) == []


@pytest.fixture
def packages(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.salt["pkg.prefetch"] = lambda orders: True

    def offered(**arguments):
        with harness.calling():
            return pkg.mod_prefetch({**low("installed", "nginx"), **arguments})

    return offered


def test_packages(packages):
    fetch = one(packages(version="1.0", refresh=False))
    assert fetch["arguments"] == {"name": "nginx", "version": "1.0", "refresh": False}
    assert fetch["what"] == "packages: nginx"
    assert fetch["together"]
    assert "path:/etc/apt/**" in fetch["reads"]
    assert one(packages(pkgs=["curl", {"vim": "2"}]))["what"] == "packages: curl, vim"


@pytest.mark.parametrize("arguments", TABLES["packages that are not fetched ahead"])
def test_packages_that_are_not_fetched_ahead(packages, arguments):
    assert packages(**arguments) == []


def test_no_packages_without_a_manager_that_can(tmp_path):
    with PluginHarness(tmp_path).calling():
        assert pkg.mod_prefetch(low("installed", "nginx")) == []
