"""Every change that users notice has a fragment in changelog/: the gate and the commit hook, on histories made here."""

import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def repository(checkout, tmp_path):
    """A repository with the check and one commit in it; ``commit(path, …)`` adds one, ``check(…)`` asks."""
    root = tmp_path / "repository"
    (root / ".ci").mkdir(parents=True)
    shutil.copy(checkout / ".ci" / "changelog", root / ".ci")
    return Repository(root)


class Repository:
    def __init__(self, root):
        self.root = root
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("README.md", message="A beginning")

    def git(self, *words):
        settings = {
            "user.name": "A",
            "user.email": "a@localhost",
            "commit.gpgsign": "false",
            "core.hooksPath": "/nowhere",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        done = subprocess.run(["git", *options, *words], cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def write(self, *paths):
        for path in paths:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            with (self.root / path).open("a") as file:
                file.write(f"{path}\n")
        self.git("add", "--all")

    def commit(self, *paths, message="A change"):
        self.write(*paths)
        self.git("commit", "--quiet", "--message", message)

    def check(self, *arguments, env=None):
        command = [sys.executable, self.root / ".ci" / "changelog", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", env=env)


@pytest.mark.parametrize("path", ["asyncstate/run/engine.py", "states/cron.py", "modules/cmd/__init__.py"])
def test_commits_that_users_may_notice_and_no_word_are_named(repository, path):
    repository.commit(path, message="The order of rows is another")
    done = repository.check("HEAD~1")
    assert done.returncode == 1
    assert "The order of rows is another" in done.stderr
    assert "changelog/README.md" in done.stderr
    assert "Changelog: none, a move" in done.stderr


def test_a_sentence_or_a_reason_in_the_range_is_enough(repository):
    repository.commit("states/cron.py")
    repository.commit("changelog/+rows.fix.md")
    assert repository.check("HEAD~2").returncode == 0
    assert repository.check("HEAD~1").returncode == 0
    repository.commit("states/cron.py", message="A name\n\nOnly inside.\n\nChangelog: none, a name nobody sees")
    assert repository.check("HEAD~1").returncode == 0


@pytest.mark.parametrize("message", ["A\n\nChangelog: none", "A\n\nChangelog: none,", "Changelog none, a move"])
def test_a_reason_has_words(repository, message):
    repository.commit("states/cron.py", message=message)
    assert repository.check("HEAD~1").returncode == 1


@pytest.mark.parametrize("path", ["changelog/README.md", "changelog/+rows.fixes.md", "changelog/deep/+rows.fix.md"])
def test_what_is_no_sentence_does_not_count(repository, path):
    repository.commit("states/cron.py", path)
    assert repository.check("HEAD~1").returncode == 1


def test_what_users_do_not_run_needs_nothing(repository):
    repository.commit("tests/test_a.py", "docs/cli.md", "asyncstate.md")
    assert repository.check("HEAD~1").returncode == 0


def test_a_mere_move_needs_nothing(repository):
    repository.commit("states/cron.py", "changelog/+a.fix.md")
    (repository.root / "states/cron.py").rename(repository.root / "states/tab.py")
    repository.commit()
    assert repository.check("HEAD~1").returncode == 0
    (repository.root / "states/tab.py").unlink()
    repository.commit()
    assert repository.check("HEAD~1").returncode == 1


def test_without_a_base_it_is_the_branch_the_release_or_everything(repository):
    repository.commit("states/cron.py", "changelog/+a.fix.md")
    assert repository.check().returncode == 0
    repository.git("tag", "v1")
    repository.commit("states/cron.py", message="After the release")
    assert "After the release" in repository.check().stderr
    repository.commit("changelog/+b.fix.md")
    assert repository.check().returncode == 0
    repository.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repository.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    repository.commit("modules/cmd.py", message="On the branch")
    done = repository.check()
    assert "On the branch" in done.stderr
    assert "After the release" not in done.stderr


def test_the_hook_reads_what_is_staged_and_the_message(repository, tmp_path):
    message = tmp_path / "message"
    message.write_text("A change\n")
    assert repository.check("--message", message).returncode == 0
    repository.write("states/cron.py")
    assert repository.check("--message", message).returncode == 1
    message.write_text("A change\n\nChangelog: none, a comment\n")
    assert repository.check("--message", message).returncode == 0
    message.write_text("A change\n")
    repository.write("changelog/+a.feature.md")
    assert repository.check("--message", message).returncode == 0


def test_where_there_is_no_history_it_says_so(repository, tmp_path):
    shutil.rmtree(repository.root / ".git")
    assert "no history here" in repository.check().stdout
    inside = Repository(tmp_path)  # a copy that lies in somebody else's repository
    inside.commit("states/cron.py")
    done = repository.check()
    assert (done.returncode, "no history here" in done.stdout) == (0, True)


def test_where_there_is_no_git_it_says_so(repository):
    done = repository.check(env={"PATH": "/nowhere"})
    assert (done.returncode, done.stdout) == (0, "changelog: no history here, nothing is checked\n")


def test_a_shallow_clone_says_that_it_cannot_know(repository, tmp_path):
    repository.commit("states/cron.py")
    subprocess.run(
        ["git", "clone", "--quiet", "--depth=1", f"file://{repository.root}", tmp_path / "shallow"],
        check=True,
        capture_output=True,
    )
    repository.root = tmp_path / "shallow"
    done = repository.check("HEAD~1")
    assert (done.returncode, "shallow" in done.stdout) == (0, True)
    assert repository.check().returncode == 0


def test_the_gate_and_the_hooks_run_it(checkout):
    assert (
        '\nstep "what users notice has a sentence in changelog/" .ci/changelog\n' in (checkout / ".ci/run").read_text()
    )
    assert ".ci/changelog --message" in (checkout / ".pre-commit-config.yaml").read_text()
