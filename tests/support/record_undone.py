"""Record which states Salt changes in the third apply of each tree: ``python tests/support/record_undone.py SALT_CALL``.

Run it as root: tests/recorded/undone/trees.yaml has trees for a scratch folder, some with owners. The IDs go into
answers.json beside it; those recorded already are kept. Each tree has a configuration and a root of its own.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

FOLDER = Path(__file__).parents[1] / "recorded" / "undone"
TREE = {"tree/one": "one\n", "tree/sub/two": "two\n"}


def trees(root):
    """Return the trees for a scratch folder, and lay out the files that they name."""
    for name, text in TREE.items():
        path = Path(root) / "salt" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return yaml.safe_load((FOLDER / "trees.yaml").read_text().replace("{root}", str(root)))


def changing(salt_call, name):
    """Return the IDs whose states change something in the third apply."""
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        tree = trees(root)[name]
        (Path(root) / "salt" / "s.sls").write_text(yaml.safe_dump(tree, sort_keys=False))
        config = {
            "root_dir": root,
            "file_roots": {"base": [f"{root}/salt"]},
            "pillar_roots": {"base": []},
            "id": "recorder",
        }
        (Path(root) / "minion").write_text(yaml.safe_dump(config))
        command = [
            salt_call,
            "--local",
            "--config-dir",
            root,
            "--out",
            "json",
            "--log-level",
            "quiet",
            "state.apply",
            "s",
        ]
        for _ in range(3):
            answer = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        rows = json.loads(answer)["local"].values()
    failed = [row for row in rows if row["result"] is not True]
    if failed:
        raise SystemExit(f"{name}: {failed}")
    return sorted(row["__id__"] for row in rows if row["changes"])


if __name__ == "__main__":
    names = yaml.safe_load((FOLDER / "trees.yaml").read_text())
    kept = FOLDER / "answers.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}
    answers = {name: known[name] if name in known else changing(sys.argv[1], name) for name in names}
    kept.write_text(json.dumps(answers, indent=1) + "\n")
