"""Remote sources: archives over HTTP, git repositories, Python packages."""

import hashlib

import pytest

SERVER = "cd /srv/www && exec python3 -m http.server --bind 127.0.0.1 8080 >/dev/null 2>&1 &"


@pytest.fixture
def web(debian):
    """A web server in the machine, of /srv/www."""
    debian.run("mkdir", "-p", "/srv/www")
    debian.run("sh", "-c", SERVER)
    debian.until("python3", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/')")
    return "http://127.0.0.1:8080"


@pytest.fixture
def release(debian, web):
    """An archive on that server; returns its sha256."""
    debian.write("/tmp/app/app-1.0/bin/run", "#!/bin/sh\n", 0o755)
    debian.run("tar", "-czf", "/srv/www/app.tar.gz", "-C", "/tmp/app", "app-1.0")
    return hashlib.sha256((debian.root / "srv/www/app.tar.gz").read_bytes()).hexdigest()


def test_an_archive_over_http(debian, prove, web, release):
    prove(f"""
    /opt/app:
      archive.extracted:
        - source: {web}/app.tar.gz
        - source_hash: sha256={release}
        - user: games
        - options: --strip-components=1
        - enforce_toplevel: false
    """)
    assert debian.run("stat", "-c", "%U %a", "/opt/app/bin/run").strip() == "games 755"


def test_one_that_is_not_what_it_should_be_leaves_nothing(debian, web, release):
    wrong = "0" * 64
    rows = debian.apply(
        f"/opt/app: {{archive.extracted: [{{source: '{web}/app.tar.gz'}}, {{source_hash: sha256={wrong}}}]}}"
    )
    assert len(rows.failed) == 1
    assert not debian.succeeds("test", "-e", "/opt/app/app-1.0")


def test_a_file_over_http(debian, prove, web, release):
    prove(f"/etc/app.tar.gz: {{file.managed: [{{source: '{web}/app.tar.gz'}}, {{source_hash: sha256={release}}}]}}")
    missing = debian.apply(f"/etc/none: {{file.managed: [{{source: '{web}/none'}}, {{skip_verify: true}}]}}")
    assert len(missing.failed) == 1
    assert not debian.succeeds("test", "-e", "/etc/none")


GIT = "git -c user.name=n -c user.email=n@localhost -C /srv/work"


@pytest.fixture
def origin(debian):
    debian.run(
        "sh",
        "-c",
        "git config --system safe.directory '*'; git init -q --bare -b main /srv/code.git; git clone -q /srv/code.git /srv/work",
    )
    commit(debian, "one")


def commit(debian, word):
    debian.write("/srv/work/word", word)
    debian.run(
        "sh",
        "-c",
        f"{GIT} checkout -q -B main && {GIT} add -A && {GIT} commit -q -m {word} && {GIT} push -q origin main",
    )


def test_a_working_tree_follows_its_origin(debian, prove, origin):
    tree = "/srv/code.git: {git.latest: [{target: /opt/code}, {rev: main}, {branch: main}]}"
    prove(tree)
    commit(debian, "two")
    prove(tree)
    assert debian.read("/opt/code/word") == "two"
    debian.write("/opt/code/word", "edited here")
    commit(debian, "three")
    rows = debian.apply(tree)
    assert len(rows.failed) == 1
    assert debian.read("/opt/code/word") == "edited here"
    prove(tree.replace("{rev", "{force_reset: true}, {rev"))
    assert debian.read("/opt/code/word") == "three"


def test_a_clone_that_fails_leaves_nothing(debian):
    rows = debian.apply("/srv/none.git: {git.cloned: [{target: /opt/none}]}")
    assert len(rows.failed) == 1
    assert not debian.succeeds("test", "-e", "/opt/none/.git")


def test_a_python_environment_from_local_wheels(debian, prove):
    debian.write(
        "/tmp/src/pyproject.toml",
        '[project]\nname="tiny"\nversion="1.0"\n[build-system]\nrequires=["setuptools"]\nbuild-backend="setuptools.build_meta"\n',
    )
    debian.write("/tmp/src/tiny.py", "WORD = 1\n")
    debian.run("python3", "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", "/srv/wheels", "/tmp/src")
    prove("/opt/env: {virtualenv.managed: [{system_site_packages: false}, {python: /usr/bin/python3}]}")
    prove("tiny: {pip.installed: [{bin_env: /opt/env}, {no_index: true}, {find_links: /srv/wheels}]}")
    assert debian.run("/opt/env/bin/python", "-c", "import tiny; print(tiny.WORD)").strip() == "1"
