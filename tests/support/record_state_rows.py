"""Record what Salt itself returns for the calls in tests/recorded/state_rows/*.yaml: ``python tests/support/record_state_rows.py [NAME…]``.

Run it as root where salt is installed, in a mount namespace of its own and with /etc and the accounts in it set up by
hand (``unshare -m``): the calls are made for real. A case is a few files below a scratch folder, ``{root}`` in the
arguments, and one state call, which is made in a dry run and then twice; commands may come before and afterwards. NAME.json beside the cases gets the rows, and
the files afterwards. ``home: true`` gives the user ``worker`` the folder ``{root}/home``.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from recording import filled, minion_options, write_lines

CASES = Path(__file__).parents[1] / "recorded" / "state_rows"
ROOT = Path("/tmp/state-rows")


def cleaned(value, root, mark="{root}"):
    """Put ``{root}`` in place of the scratch folder, everywhere in a row."""
    return json.loads(json.dumps(value).replace(str(root), mark))


def lay_out(case, root):
    """Make the folders and files of a case."""
    for name in case.get("folders", []):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name, text in case.get("files", {}).items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(filled(text, {"{root}": root}))


def files_of(root):
    """Return the text of every file below the scratch folder but Salt's own, and of what begins with a dot."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_file() and not name.startswith(("salt/", "home/.bash", "home/.profile")):
            found[name] = path.read_text()
    return found


def essence(row):
    """Reduce a row to what must be equal."""
    comment = row["comment"]
    if "Traceback" in comment:
        comment = comment.splitlines()[-1]
    return [row["result"], row["changes"], comment]


def record(case):
    """Make one case's calls with Salt."""
    import salt.client

    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir(mode=0o755)
    (ROOT / "salt/tree").mkdir(parents=True)
    if case.get("home"):
        (ROOT / "home").mkdir()
        shutil.chown(ROOT / "home", "worker", "worker")
    lay_out(case, ROOT)
    for path in (ROOT / "home").rglob("*"):
        shutil.chown(path, "worker", "worker")
    for name, text in case.get("tree", {}).items():
        (ROOT / "salt/tree" / name).write_text(text)
    arguments = [{key: value} for key, value in filled(case["arguments"], {"{root}": ROOT}).items()]
    (ROOT / "salt/tree/the_case.sls").write_text(yaml.safe_dump({"the case": {case["state"]: arguments}}))
    opts = minion_options(ROOT / "salt", ROOT / "salt/tree", **filled(case.get("opts", {}), {"{root}": ROOT}))
    os.environ["HOME"] = "/root"
    caller = salt.client.Caller(mopts=opts)
    for command in case.get("before", []):
        subprocess.run(filled(command, {"{root}": ROOT}), shell=True, check=True)
    rows = []
    for test in (True, False, False):
        answer = caller.cmd("state.apply", "the_case", test=test)
        rows.append(essence(next(iter(answer.values()))) if isinstance(answer, dict) else [False, {}, str(answer)])
    for command in case.get("afterwards", []):
        subprocess.run(filled(command, {"{root}": ROOT}), shell=True, check=False)
    return {"rows": cleaned(rows, ROOT), "after": cleaned(files_of(ROOT), ROOT)}


def main():
    names = sys.argv[1:] or [path.stem for path in sorted(CASES.glob("*.yaml"))]
    for name in names:
        cases = yaml.safe_load((CASES / f"{name}.yaml").read_text())
        recorded = {title: record(case) for title, case in cases.items()}
        write_lines(CASES / f"{name}.json", recorded)


if __name__ == "__main__":
    main()
