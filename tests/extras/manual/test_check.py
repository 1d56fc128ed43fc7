"""check reports wrong values, too."""

from __future__ import annotations

import re

import pytest

from tests.cli.test_check import run, tree  # noqa: F401 - fixtures


def test_a_broken_pillar_and_a_broken_target_hide_no_wrong_value(run, tree, tmp_path):  # noqa: F811
    text = "a:\n  test.nopp: []\n  file.managed:\n    - mode: rwx\n    - require: [{pkg: gone}]\n"
    files = {
        "tree/top.sls": "base:\n  '*': [a, b]\n  'os:x': [{match: grian}, c]\n",
        "tree/a.sls": text,
        "tree/b.sls": f"{{{{ pillar.port }}}}: test.nop\n{text.replace('a:', 'b:')}",
        "tree/c.sls": text.replace("a:", "c:"),
        "pillar/top.sls": "base: {'*': [p, gone]}",
        "pillar/p.sls": "{{ 1 / 0 }}",
    }
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(content)
    said = run("check", "--pillar-root", tmp_path / "pillar").stdout
    found = re.findall(r"at \S+/(\S+):(\d+) \[(E\d+)\]", said)
    of_tree = [(f"{name}.sls", *place) for name in "ac" for place in (("2", "E401"), ("3", "E411"), ("4", "E410"))]
    assert sorted(found) == sorted(
        [("p.sls", "1", "E508"), ("top.sls", "1", "E507"), ("top.sls", "3", "E115"), *of_tree]
    )


@pytest.mark.parametrize("wrong", ["1s", "-1", ".nan", "[5]"])
def test_a_time_limit_that_is_none_is_a_mistake_of_any_state(run, tree, wrong):  # noqa: F811
    (tree / "_states" / "plain.py").write_text('def run(name):\n    return {"result": True, "changes": {}}\n')
    (tree / "limited.sls").write_text(f"a:\n  plain.run:\n    - timeout: {wrong}\n")
    done = run("check", "limited")
    assert done.returncode == 1
    assert re.search(
        r"'timeout' of 'plain.run' must be a number of seconds, not .*\n.*limited.sls:3 \[E418\]", done.stdout
    )
