"""Races of a run as data."""

from __future__ import annotations

import json

from traced_calls import strace_or_skip


def test_races_are_written_as_data(run_cli, tmp_path, tmp_path_factory):
    strace_or_skip()
    tree = tmp_path / "tree"
    tree.mkdir()
    place = tmp_path_factory.mktemp("shared")
    (place / "out").touch()
    (tree / "race.sls").write_text(
        f"a: {{cmd.run: [{{name: 'X={place}; echo > $X/out'}}, {{parallel: True}}]}}\n"
        f"b: {{cmd.run: [{{name: 'X={place}; cat $X/out'}}]}}\n"
    )
    file = tmp_path / "races.json"
    done = run_cli("apply", "race", "--file-root", str(tree), "--out", "jsonl", "--trace-effects", "--races", str(file))
    assert done.returncode == 0
    assert f"race on {place}/out" in done.stderr
    data = json.loads(file.read_text())
    (race,) = data["races"]
    assert (race["earlier"]["id"], race["later"]["id"], race["later"]["line"]) == ("a", "b", 2)
    assert race["contacts"][0]["path"] == f"{place}/out"
    assert json.loads(done.stdout.splitlines()[-1])["races"] == data["races"]
