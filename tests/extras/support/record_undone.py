"""Record what each tree still does in its third apply by Salt: ``python tests/extras/support/record_undone.py SALT_CALL``.

Run it as root, with git: tests/recorded/undone/trees.yaml has trees for a scratch folder, some with owners. The IDs of
the states that change something or fail go into answers.json beside it; those recorded already are kept. Each tree has a
configuration, a root, mounts, a network and accounts of its own.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml
from third_apply import OWN_ACCOUNTS

FOLDER = Path(__file__).parents[2] / "recorded" / "undone"
TREE = {"tree/one": "one\n", "tree/sub/two": "two\n", "more/one": "another\n", "more/three": "three\n"}
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIHJ1bm5pbmd0aGVzYW1ldGVzdGluZXZlcnlvcmRlcjA"
HISTORY = (
    "init -q -b main",
    "commit -q --allow-empty -m one",
    "tag v1",
    "checkout -q -b side",
    "commit -q --allow-empty -m side",
    "checkout -q main",
    "add f",
    "commit -q -m two",
    "tag v2",
)
"""What git is asked to make the repository."""


TEXT = (FOLDER / "trees.yaml").read_text().replace("{root}", "/the-root").replace("{key}", KEY)
TREES = yaml.load(TEXT, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def tree_of(name, root):
    """Return a tree for a scratch folder, and lay out the files that it names."""
    for place, text in TREE.items():
        path = Path(root) / "salt" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return json.loads(json.dumps(TREES[name]).replace("/the-root", str(root)))


def make_sources(root, *, repository=True):
    """Make what the trees unpack and clone: an archive, and a repository with two tags and a branch beside them."""
    folder = Path(root) / "repo"
    folder.mkdir()
    (folder / "f").write_text("a\n")
    with tarfile.open(Path(root) / "a.tar", "w") as archive:
        archive.add(folder / "f", "top/f")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in HISTORY if repository else ():
        subprocess.run(["git", "-C", folder, *who, *command.split()], check=True)


def third_apply(salt_call, name):
    """Return the IDs whose states change something in the third apply, and those whose states fail."""
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        os.environ.update(HOME=root, GIT_CONFIG_GLOBAL=f"{root}/.gitconfig", GIT_CONFIG_SYSTEM=f"{root}/none")
        tree = tree_of(name, root)
        make_sources(root)
        (Path(root) / "salt" / "s.sls").write_text(yaml.safe_dump(tree, sort_keys=False))
        config = {
            "root_dir": root,
            "file_roots": {"base": [f"{root}/salt"]},
            "pillar_roots": {"base": []},
            "id": "recorder",
        }
        (Path(root) / "minion").write_text(yaml.safe_dump(config))
        command = f"{salt_call} --local --config-dir {root} --out json --log-level quiet state.apply s".split()
        return undone(json.loads(thrice(command, root))["local"].values())


def thrice(command, root):
    """Run a command three times with mounts, a network and accounts of its own; return the last output."""
    script = OWN_ACCOUNTS.format(own=f"{root}/own") + '"$@" > /dev/null; "$@" > /dev/null; exec "$@"'
    contained = ["unshare", "--mount", "--net", "sh", "-c", script, "sh", *command]
    return subprocess.run(contained, capture_output=True, text=True, check=False).stdout


def undone(rows):
    """Return the IDs of the rows of states that change something, and of those that fail."""
    return {
        "changed": sorted({row["__id__"] for row in rows if row["changes"] and row["result"]}),
        "failed": sorted({row["__id__"] for row in rows if row["result"] is not True}),
    }


if __name__ == "__main__":
    kept = FOLDER / "answers.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    answers = {name: known[name] if name in known else third_apply(sys.argv[1], name) for name in TREES}
    kept.write_text(json.dumps(answers, indent=1) + "\n")
