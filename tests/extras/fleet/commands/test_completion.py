"""Shell completion of hosts in the commands of a fleet."""

from __future__ import annotations

from asyncstate.extras.completion.shell import completions


def offered(*words):
    return [item.value for item in completions(words[:-1], words[-1])]


def test_targets_are_completed_from_a_roster(tmp_path):
    (tmp_path / "roster").write_text("web1: {host: 10.0.0.1}\nweb2: {host: 10.0.0.2}\ndb1: {host: 10.0.0.3}\n")
    way = ("fleet", "apply", "--ssh", str(tmp_path / "roster"), "--target")
    assert offered(*way, "we") == ["web1", "web2"]
    assert offered(*way, "L@db1,web1,w") == ["L@db1,web1,web1", "L@db1,web1,web2"]
    assert offered(*way, "G@os:Debian and d") == ["G@os:Debian and db1"]
