"""The context of the cursor, marked by ^."""

import pytest

from asyncstate.extras.editor.context import context

CASES = {
    "inc^": ("id", "inc"),
    "a:\n  pkg.in^st:": ("state", "pkg.in"),
    "a:\n  ^": ("state", ""),
    "a: pkg.^": ("state", "pkg."),
    "a:\n  pkg.installed:\n    - ver^": ("argument", "ver", {"function": "pkg.installed"}),
    "a:\n  pkg.installed:\n  - ^": ("argument", "", {"function": "pkg.installed"}),
    "a:\n  pkg:\n    - installed\n    - ^": ("argument", "", {"function": "pkg.installed"}),
    "a:\n  pkg:\n    - inst^": ("function", "inst", {"function": "pkg"}),
    "a:\n  file.managed:\n    - makedirs: T^": ("value", "T", {"keyword": "makedirs"}),
    "a:\n  pkg.installed:\n    - require:\n      - s^": ("module", "s", {"keyword": "require"}),
    "a:\n  pkg.installed:\n    - require:\n      - service: 'ng^inx'": ("target", "ng", {"module": "service"}),
    "a:\n  pkg.installed:\n    - watch_in:\n      - sls: we^": ("include", "we", {"module": "sls"}),
    "a:\n  pkg.installed:\n    - require: [{pkg: a}, {service: n^": ("target", "n", {"module": "service"}),
    "a:\n  pkg.installed:\n    - require: [{^": ("module", ""),
    "a:\n  pkg.installed:\n    - require: [n^": ("target", "n", {"module": ""}),
    "a:\n  pkg.installed:\n    - require: [b, ^]": ("target", "", {"module": ""}),
    "a:\n  pkg.installed:\n    - require: [b]^": ("", ""),
    "a:\n  pkg.installed:\n    - require: [\n      {service: n^},\n    ]": ("target", "n", {"module": "service"}),
    "a:\n  pkg.installed:\n    - require: [\n  ^\n    ]": ("target", "", {"module": ""}),
    "a:\n  pkg.installed: [{ver^": ("argument", "ver", {"function": "pkg.installed"}),
    "a:\n  pkg: [installed, {ver^sion: 1}]": ("argument", "ver", {"function": "pkg.installed", "dash": True}),
    "a: {pkg.in^": ("state", "pkg.in"),
    "a: {pkg.installed: [{require: [{'service': 'n^'}]}]}": ("target", "n", {"module": "service"}),
    "a: {file.managed: [{makedirs: T^": ("value", "T", {"keyword": "makedirs"}),
    "include: [a, we^]": ("include", "we"),
    "extend:\n  ^": ("extended", ""),
    "extend:\n  a:\n    pkg:\n      - require:\n        - file: /^": ("target", "/", {"module": "file"}),
    "include:\n  - we^": ("include", "we"),
    "a:\n  file.managed:\n    - source: salt://a/b^.conf": ("salt", "a/b"),
    "{% set x = 'salt://a^' %}": ("salt", "a"),
    "{% import 'm^": ("template", "m"),
    "x: {{ pillar.get('a:b^": ("pillar", "a:b"),
    "x: {{ salt['pillar.get'](\"a^": ("pillar", "a"),
    "x: {{ pillar['a']['b^": ("pillar", "b", {"above": ("a",)}),
    "{% if pillar.a.b^ %}": ("pillar", "b", {"above": ("a",)}),
    "{% set a =\n  grains['o^'] %}": ("grain", "o"),
    "x: {{ pillar.get('a\ny:\n  p^": ("state", "p"),
    "a:\n  cmd.run:\n    - name: |\n        x: ^": ("", ""),
    "a: b # sal^": ("", ""),
    "#!py\na:\n  pkg.^": ("", ""),
    "x: {{ 1 + ^": ("", ""),
}


@pytest.mark.parametrize("marked", CASES)
def test_context(marked):
    kind, prefix, *more = CASES[marked]
    before, _, after = marked.partition("^")
    here = context(before + after, before.count("\n"), len(before.rpartition("\n")[2]))
    assert (here.kind, here.prefix) == (kind, prefix)
    for name, value in (more[0] if more else {}).items():
        assert getattr(here, name) == value
