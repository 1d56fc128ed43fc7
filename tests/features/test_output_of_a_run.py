"""The output of all commands of a run is bounded, and a row shows the same at any concurrency."""

import json
import re

import pytest

STATES = 40


@pytest.fixture
def words(tmp_path, monkeypatch):
    lines = [
        f"c{n}: {{cmd.run: [name: 'head -c 100000 /dev/zero | tr \\\\0 {chr(97 + n % 26)}', shell: /bin/sh]}}"
        for n in range(STATES)
    ]
    (tmp_path / "out.sls").write_text("\n".join([*lines, "small: {cmd.run: [name: echo all of it]}"]) + "\n")
    (tmp_path / "config.yaml").write_text("output_memory: 1\n")
    return ("apply", "out", "--file-root", tmp_path, "--config", tmp_path / "config.yaml", "--out", "json")


def test_the_commands_of_a_run_share_what_it_shows(words, run_here, tmp_path):
    shown = []
    for slots in ("1", "16"):
        done = run_here(*words, "-j", slots)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout) < (1 << 20) + 2000 * STATES
        rows = {row["__id__"]: row["changes"]["stdout"] for row in json.loads(done.stdout).values()}
        assert rows.pop("small") == "all of it"
        for text in rows.values():
            left_out, path = re.search(
                r"\[\.\.\. (\d+) bytes left out; the whole, 100000 bytes, is in (.*) ", text
            ).groups()
            assert len(text) - len(re.search(r"\n\[.*\]\n", text)[0]) + int(left_out) == 100000
            with open(path) as file:
                assert set(file.read()) == {text[0]}
        shown.append({id_: re.sub(r"/\S+\.output", "", text) for id_, text in rows.items()})
    assert shown[0] == shown[1]
