"""Record what Salt itself returns for the trees of tests/recorded/salt_3008: ``python tests/support/record_salt.py`` where salt is installed.

Writes rows.json beside them. What differs from run to run is left out, and so are the tracebacks of exceptions.
"""

import json
import tempfile
from pathlib import Path

from recording import minion_options

TREES = Path(__file__).parents[1] / "recorded" / "salt_3008"


def comparable(rows):
    """Reduce rows to what must be equal, in the order of the run."""
    found = []
    for tag, row in sorted(rows.items(), key=lambda item: item[1]["__run_num__"]):
        comment = row["comment"]
        if comment.startswith("An exception occurred"):
            comment = comment.splitlines()[-1]
        before, failed, names = comment.partition("requisite failed: ")
        if failed:
            comment = before + failed + ", ".join(sorted(names.split(", ")))
        ran = row.get("__state_ran__", True)
        found.append([tag, row["result"], row["changes"], comment, ran, row.get("__sls__"), row["name"]])
    return found


def record():
    """Run every tree, live and in test mode."""
    import salt.client

    with tempfile.TemporaryDirectory() as folder:
        opts = minion_options(folder, TREES, states_dirs=[str(TREES / "_states")])
        caller = salt.client.Caller(mopts=opts)
        rows = {}
        for path in sorted(TREES.glob("*.sls")):
            for test in (False, True):
                answer = caller.cmd("state.apply", path.stem, test=test)
                rows[f"{path.stem}{' test' if test else ''}"] = comparable(answer)
    return rows


if __name__ == "__main__":
    text = ",\n".join(
        f"{json.dumps(name)}: [\n " + ",\n ".join(json.dumps(row) for row in rows) + "\n]"
        for name, rows in record().items()
    )
    (TREES / "rows.json").write_text(f"{{\n{text}\n}}\n")
