"""The git states on the real execution module and real repositories below a temporary directory."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from plugin_harness import PluginHarness
from tables import beside

TABLES = beside(__file__)

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="there is no git here")

AUTHOR = {
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "n@example.org",
    "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "n@example.org",
}


class Repo:
    """A repository to be cloned, or a clone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.path), *arguments]
        return subprocess.check_output(command, text=True, stderr=subprocess.STDOUT, env={**os.environ, **AUTHOR})

    def commit(self, name: str, text: str) -> str:
        (self.path / name).write_text(text)
        self("add", name)
        self("commit", "-qm", f"{name} {text}")
        return self.head

    @property
    def head(self) -> str:
        return self("rev-parse", "HEAD").strip()

    @property
    def branch(self) -> str:
        return self("rev-parse", "--abbrev-ref", "HEAD").strip()


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text('[protocol "file"]\n  allow = always\n')
    monkeypatch.setenv("HOME", str(home))
    harness = PluginHarness(tmp_path)
    harness.load("modules", "cmd")
    harness.load("modules", "git")
    harness.load("states", "git")
    return harness


@pytest.fixture
def source(plugins, tmp_path):
    """Two commits on main, the first tagged v1, the second v2 (annotated); a third on dev."""
    path = tmp_path / "source"
    subprocess.run(["git", "init", "-q", "-b", "main", str(path)], check=True)
    repo = Repo(path)
    repo.commit("a", "1")
    repo("tag", "v1")
    repo.commit("a", "2")
    repo("tag", "-a", "-m", "second", "v2")
    repo("checkout", "-qb", "dev")
    repo.commit("d", "d")
    repo("checkout", "-q", "main")
    return repo


@pytest.fixture
def clone(source, tmp_path):
    subprocess.run(["git", "clone", "-q", str(source.path), str(tmp_path / "target")], check=True)
    return Repo(tmp_path / "target")


@pytest.fixture
def latest(plugins, source, tmp_path):
    def run(test=False, **arguments):
        return plugins.state(
            "git.latest", test=test, **{"name": str(source.path), "target": str(tmp_path / "target"), **arguments}
        )

    return run


@pytest.mark.feature("F196")
def test_a_first_clone(plugins, source, tmp_path):
    target = tmp_path / "target"
    dry, row, again = plugins.three_runs("git.latest", name=str(source.path), target=str(target))
    new = f"{source.path} => {target}"
    assert (dry["result"], dry["changes"]) == (None, {"new": new})
    assert dry["comment"] == f"Repository {source.path} would be cloned to {target}"
    assert row["changes"] == {"new": new, "revision": {"old": None, "new": source.head}}
    assert row["comment"] == f"{source.path} cloned to {target}"
    assert (again["result"], again["changes"]) == (True, {})
    assert again["comment"] == f"Repository {target} is up-to-date"


@pytest.mark.parametrize(("arguments", "wanted"), TABLES["a first clone at a revision"])
def test_a_first_clone_at_a_revision(latest, source, tmp_path, arguments, wanted):
    commit, branch, comment = wanted
    row = latest(**arguments)
    assert row["result"] is True, row["comment"]
    target = Repo(tmp_path / "target")
    assert target.head == source("rev-parse", commit).strip()
    assert target.branch == branch
    short = {"dev7": source("rev-parse", "dev")[:7], "v17": source("rev-parse", "v1")[:7]}
    assert comment.format(**short) in row["comment"]
    again = latest(**arguments)
    assert (again["result"], again["changes"]) == (True, {})


@pytest.mark.parametrize(
    ("function", "arguments", "said"), TABLES["what git refuses is refused before anything is made"]
)
def test_what_git_refuses_is_refused_before_anything_is_made(plugins, source, function, arguments, said):
    plugins.opts["foresight"] = True
    target = source.path.parent / "target"
    place = {"name": str(target)} if function == "present" else {"name": str(source.path), "target": str(target)}
    for test in (True, False):
        row = plugins.state(f"git.{function}", test=test, **place, **arguments)
        assert (row["result"], row["comment"], row["changes"]) == (False, said, {})
        assert not target.exists()


@pytest.mark.parametrize("branch", ["a", "a/b", "a-b", "v1.2", "@a", "a@b", "ä"])
def test_names_that_git_takes_for_a_branch(latest, tmp_path, branch):
    assert latest(branch=branch)["result"] is True
    assert Repo(tmp_path / "target").branch == branch


@pytest.mark.parametrize("shared", ["group", 660, "0770", "TRUE", True, 2, 0])
def test_who_may_use_a_repository(plugins, tmp_path, shared):
    assert plugins.state("git.present", name=str(tmp_path / "x"), shared=shared)["result"] is True


def test_a_fast_forward(latest, source, clone):
    old, new = source.head, source.commit("a", "3")
    source("tag", "v3")
    dry = latest(test=True)
    assert (dry["result"], dry["changes"]) == (None, {"revision": {"old": old, "new": new}})
    assert clone.head == old
    row = latest()
    assert row["changes"] == {"revision": {"old": old, "new": new}, "new_tags": ["v3"]}
    assert row["comment"] == (
        f"{source.path} was fetched, resulting in updated refs. "
        f"Repository was fast-forwarded to remote HEAD ({new[:7]})."
    )
    assert clone.head == new
    assert latest()["changes"] == {}


def test_head_may_have_to_stay(latest, source, clone):
    old = source.head
    new = source.commit("a", "3")
    row = latest(rev="main", update_head=False)
    assert (row["result"], row["changes"]) == (True, {})
    assert row["comment"] == (
        f"origin/main ({new[:7]}) is already present and local HEAD ({old[:7]}) does not match, but "
        "update_head=False. HEAD has not been updated locally."
    )
    assert clone.head == old
    assert clone("cat-file", "-t", new).strip() == "commit"


def test_what_is_no_fast_forward_must_be_forced(latest, source, clone):
    old, new = clone.commit("q", "q"), source.commit("a", "3")
    row = latest(rev="main")
    assert row["result"] is False
    assert f"Repository would be updated to {new[:7]}, but this is not a fast-forward merge." in row["comment"]
    assert "Changes already made: " in row["comment"]
    assert clone.head == old
    row = latest(rev="main", force_reset=True)
    assert row["changes"] == {"forced update": True, "revision": {"old": old, "new": new}}
    assert clone.head == new


@pytest.mark.parametrize(
    ("force_reset", "result", "kept"), [(False, True, True), ("remote-changes", True, True), (True, True, False)]
)
def test_uncommitted_changes(latest, clone, force_reset, result, kept):
    (clone.path / "a").write_text("local")
    row = latest(force_reset=force_reset)
    assert row["result"] is result
    assert ((clone.path / "a").read_text() == "local") is kept
    assert ("but with uncommitted changes" in row["comment"]) is kept


def test_uncommitted_changes_are_not_lost_to_another_branch(latest, clone):
    (clone.path / "a").write_text("local")
    row = latest(rev="dev", branch="dev", force_reset="remote-changes")
    assert row["result"] is False
    assert row["comment"] == (
        "Local branch 'main' has uncommitted changes. Set 'force_checkout' to True to discard them and proceed."
    )
    row = latest(rev="dev", branch="dev", force_reset="remote-changes", force_checkout=True)
    assert row["result"] is True
    assert (clone.branch, (clone.path / "a").read_text()) == ("dev", "2")


def test_a_tag_that_moved(latest, source, clone):
    source("tag", "-f", "v1", "main")
    row = latest(rev="v1")
    assert row["result"] is False
    assert "'v1' is a tag, but the remote SHA1 for this tag" in row["comment"]
    assert latest(rev="v1", force_reset=True)["result"] is True
    assert clone("rev-parse", "v1") == source("rev-parse", "main")


@pytest.mark.parametrize("sync", [True, False])
def test_tags_the_remote_deleted(latest, source, clone, sync):
    source("tag", "-d", "v1")
    row = latest(sync_tags=sync)
    assert ("v1" in clone("tag")) is not sync
    assert row["changes"] == ({"deleted_tags": ["v1"]} if sync else {})


@pytest.mark.feature("F196")
def test_tags_that_are_not_fetched_are_no_change(latest, source, clone):
    source("checkout", "-q", "--detach")
    source.commit("z", "z")
    source("tag", "aside")
    source("checkout", "-q", "main")
    assert latest(fetch_tags=False)["changes"] == {}
    assert "aside" not in clone("tag")


def test_another_address(latest, source, clone, tmp_path):
    shutil.copytree(source.path, tmp_path / "moved")
    clone("remote", "set-url", "origin", str(tmp_path / "moved"))
    dry = latest(test=True)
    assert dry["comment"].endswith(f"Remote 'origin' would be changed from {tmp_path}/moved to {source.path}")
    row = latest()
    assert (row["result"], row["changes"]) == (True, {})
    assert clone("remote", "get-url", "origin").strip() == str(source.path)
    dry = latest(test=True, remote="up")
    assert "Remote 'up' would be set to" in dry["comment"]


def test_a_dry_run_knows_that_another_remote_is_a_change(plugins, latest, source, clone):
    plugins.opts["foresight"] = True
    dry, real = latest(test=True, remote="up"), latest(remote="up")
    assert (dry["result"], real["result"]) == (None, True)
    assert dry["changes"] == real["changes"] == {"new": f"{source.path} => up"}


def test_a_target_that_is_something_else(latest, source, tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    (target / "mine").write_text("x")
    (target / "link").symlink_to(tmp_path / "source")
    row = latest()
    assert row["result"] is False
    assert "exists, is non-empty and is not a git repository" in row["comment"]
    dry = latest(test=True, force_clone=True)
    assert dry["changes"]["forced clone"] is True
    assert (target / "mine").exists()
    row = latest(force_clone=True)
    assert row["changes"]["forced clone"] is True
    assert sorted(path.name for path in target.iterdir()) == [".git", "a"]
    assert (source.path / "a").exists()


@pytest.mark.parametrize(("kind", "words"), [("bare", "as bare repository"), ("mirror", "as mirror")])
def test_without_a_working_tree(latest, source, tmp_path, kind, words):
    assert words in latest(**{kind: True})["comment"]
    assert (tmp_path / "target" / "HEAD").exists()
    source.commit("a", "3")
    again = latest(**{kind: True})
    assert again["result"] is True
    assert "was fetched, resulting in updated refs" in again["comment"]
    assert "would be fetched" in latest(test=True, **{kind: True})["comment"]


def test_history_may_be_cut_off(latest, source, tmp_path):
    row = latest(name=f"file://{source.path}", rev="main", depth=1)
    assert row["result"] is True
    assert Repo(tmp_path / "target")("rev-list", "--count", "HEAD").strip() == "1"


def test_submodules(latest, source, tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path / "part")], check=True)
    Repo(tmp_path / "part").commit("p", "p")
    source("submodule", "--quiet", "add", str(tmp_path / "part"), "part")
    source("commit", "-qm", "with a part")
    assert latest(submodules=True)["result"] is True
    assert (tmp_path / "target/part/p").read_text() == "p"


@pytest.mark.parametrize(("arguments", "comment"), TABLES["what makes no sense"])
def test_what_makes_no_sense(latest, arguments, comment):
    row = latest(**arguments)
    assert (row["result"], row["changes"]) == (False, {})
    assert comment in row["comment"]


@pytest.mark.feature("F196")
def test_no_password_is_shown(plugins, tmp_path):
    said = []

    def refuse(command, **options):
        assert options["env"]["GIT_TERMINAL_PROMPT"] == "0"
        said.append(command)
        return {"retcode": 128, "stdout": "", "stderr": f"fatal: unable to access '{command[-1]}': denied"}

    plugins.salt["cmd.run_all"] = refuse
    arguments = {
        "name": "https://host/app.git",
        "target": str(tmp_path / "t"),
        "https_user": "u",
        "https_pass": "s/cret",
    }
    row = plugins.state("git.latest", **arguments)
    assert said[0][-1] == "https://u:s%2Fcret@host/app.git"
    assert "https://<redacted>@host/app.git" in row["comment"]
    row = plugins.state(
        "git.cloned", **{**arguments, "name": "https://u:hidden@host/app.git", "https_user": None, "https_pass": None}
    )
    assert "hidden" not in str(row)
    assert "cret" not in str(row)


def test_keys_are_tried_in_turn(plugins, tmp_path):
    plugins.salt_file("key", "secret")
    (tmp_path / "local").write_text("other")
    keys = []

    def ssh(command, env, **options):
        path = env["GIT_SSH_COMMAND"].rpartition(" -i ")[2]
        keys.append((Path(path).read_text(), Path(path).stat().st_mode & 0o077 if "asyncstate-git" in path else 0))
        return {"retcode": 0 if len(keys) == 2 else 128, "stdout": "", "stderr": "Permission denied"}

    plugins.salt["cmd.run_all"] = ssh
    assert plugins.call("git.remote_refs", "git@host:a.git", identity=[str(tmp_path / "local"), "salt://key"]) == {}
    assert keys == [("other", 0), ("secret", 0)]


def test_cloned(plugins, source, tmp_path):
    arguments = {"name": str(source.path), "target": str(tmp_path / "target")}
    dry, row, again = plugins.three_runs("git.cloned", **arguments)
    assert dry["result"] is None
    assert row["changes"] == dry["changes"] == {"new": f"{source.path} => {tmp_path}/target"}
    assert again["comment"] == f"Repository already exists at {tmp_path}/target"
    dry, row, again = plugins.three_runs("git.cloned", branch="dev", **arguments)
    assert dry["comment"] == "Branch would be changed to 'dev'"
    assert row["changes"] == {"branch": {"old": "main", "new": "dev"}}
    assert again["comment"].endswith("and is checked out to branch 'dev'")
    assert plugins.state("git.cloned", branch="gone", **arguments)["result"] is False


@pytest.mark.parametrize("rev", ["v1", "v2", "dev", "hash"])
def test_detached(plugins, source, tmp_path, rev):
    commit = source("rev-parse", "v1" if rev == "hash" else rev + "^{commit}").strip()
    arguments = {"name": str(source.path), "target": str(tmp_path / "target"), "rev": commit if rev == "hash" else rev}
    dry, row, again = plugins.three_runs("git.detached", **arguments)
    assert dry["result"] is None
    assert (row["result"], row["changes"]) == (True, {"HEAD": {"old": None, "new": commit}})
    assert Repo(tmp_path / "target").head == commit
    assert (again["result"], again["changes"]) == (True, {})
    assert again["comment"] == "Already checked out at correct revision"


@pytest.mark.parametrize("wanted", ["tip", "history", "nowhere"])
@pytest.mark.parametrize("is_here", [False, True])
def test_a_dry_run_says_whether_it_knows_that_there_is_such_a_commit(plugins, source, tmp_path, wanted, is_here):
    target = tmp_path / "target"
    history, tip = source.commit("a", "7"), source.commit("a", "8")
    if is_here:
        subprocess.run(["git", "clone", "-q", source.path, target], check=True)
    commit = {"tip": tip, "history": history, "nowhere": "4" * 40}[wanted]
    arguments = {"name": str(source.path), "target": str(target), "rev": commit}
    plugins.opts["foresight"] = True
    dry = plugins.state("git.detached", test=True, **arguments)
    unknown = [f"whether {source.path} has the commit {commit} is known when it was fetched"]
    seen = wanted == "tip" or (is_here and wanted == "history")
    assert dry.get("warnings", []) == ([] if seen else unknown)
    assert plugins.state("git.detached", **arguments)["result"] is (wanted != "nowhere")


def test_a_dry_run_knows_that_an_empty_repository_has_no_head(plugins, tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path / "empty"], check=True)
    plugins.opts["foresight"] = True
    arguments = {"name": str(tmp_path / "empty"), "target": str(tmp_path / "target"), "rev": "HEAD"}
    for test in (True, False):
        row = plugins.state("git.detached", test=test, **arguments)
        assert (row["result"], row["comment"]) == (False, "Revision 'HEAD' does not exist")


def test_detached_throws_local_changes_away_only_if_told(plugins, source, clone):
    (clone.path / "a").write_text("local")
    arguments = {"name": str(source.path), "target": str(clone.path), "rev": "v1"}
    row = plugins.state("git.detached", **arguments)
    assert row["result"] is False
    assert "would be overwritten by checkout" in row["comment"]
    assert plugins.state("git.detached", hard_reset=True, **arguments)["result"] is True
    assert (clone.path / "a").read_text() == "1"


def test_present(plugins, tmp_path):
    path = tmp_path / "new"
    dry, row, again = plugins.three_runs("git.present", name=str(path), shared="group")
    assert (dry["result"], dry["comment"]) == (None, "New bare repository would be created")
    assert (row["changes"], row["comment"]) == ({"new": str(path)}, f"Initialized bare repository in {path}")
    assert again == {"name": str(path), "result": True, "comment": "", "changes": {}}
    (tmp_path / "other").mkdir()
    (tmp_path / "other/x").write_text("x")
    row = plugins.state("git.present", name=str(tmp_path / "other"), bare=False)
    assert row["result"] is False
    row = plugins.state("git.present", name=str(tmp_path / "other"), bare=False, force=True)
    assert row["changes"] == {"new": str(tmp_path / "other"), "forced init": True}
    assert [each.name for each in (tmp_path / "other").iterdir()] == [".git"]


@pytest.mark.parametrize(("before", "arguments", "after"), TABLES["config set"])
def test_config_set(plugins, clone, before, arguments, after):
    for value in before:
        clone("config", "--add", "app.key", value)
    dry, row, again = plugins.three_runs("git.config_set", name="app.key", repo=str(clone.path), **arguments)
    assert dry["changes"] == {"old": before or None, "new": after}
    assert row["changes"] == {"app.key": {"old": before or None, "new": after}}
    assert (again["result"], again["changes"]) == (True, {})
    assert clone("config", "--get-all", "app.key").split() == after


def test_config_of_a_user(plugins, tmp_path):
    arguments = {"name": "user.email", "global": True}
    row = plugins.state("git.config_set", value="a@example.org", **arguments)
    assert row["comment"] == "Global key 'user.email' was added as 'a@example.org'"
    row = plugins.state("git.config_unset", **arguments)
    assert row["changes"] == {"user.email": ["a@example.org"]}


@pytest.mark.parametrize(("arguments", "result", "left"), TABLES["config unset"])
def test_config_unset(plugins, clone, arguments, result, left):
    for key, value in (("one", "x"), ("many", "y"), ("many", "z")):
        clone("config", "--add", f"app.{key}", value)
    dry, row, again = plugins.three_runs("git.config_unset", repo=str(clone.path), **arguments)
    assert row["result"] is result
    assert bool(row["changes"]) is (dry["result"] is None)
    found = subprocess.run(
        ["git", "-C", clone.path, "config", "--get-regexp", "app"], check=False, capture_output=True, text=True
    )
    assert " ".join(line.split()[1] for line in found.stdout.splitlines()) == left
    assert again["changes"] == {}


@pytest.mark.parametrize(("function", "arguments"), TABLES["settings that make no sense"])
def test_settings_that_make_no_sense(plugins, function, arguments):
    row = plugins.state(function, name="a.b", **arguments)
    assert (row["result"], row["changes"]) == (False, {})


@pytest.mark.parametrize(
    "value", [" a ", "a\n", "\n\n", "a\nb", "a\x0cb\x85c", "\u2028", '"', "#x", "a=b", "", "\\", "\t", "=", " "]
)
def test_any_value_is_set_once(plugins, clone, value):
    dry, real, again = plugins.three_runs("git.config_set", name="app.key", repo=str(clone.path), value=value)
    assert (dry["result"], real["result"]) == (None, True), real["comment"]
    assert (again["result"], again["changes"]) == (True, {})
    assert plugins.call("git.config_get_regexp", "app.*", cwd=str(clone.path)) == {"app.key": [value]}
    dry, real, again = plugins.three_runs("git.config_unset", name="app.key", repo=str(clone.path))
    assert (dry["result"], real["result"], again["changes"]) == (None, True, {})
