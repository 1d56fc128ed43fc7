"""Renderings after a change: renewed where it matters, kept elsewhere."""

import os

import pytest

from asyncstate.config import Settings
from asyncstate.extras.editor.compiling import early, whole
from asyncstate.extras.editor.messages import Compiled, Found, Job
from asyncstate.extras.editor.render_cache import Renderings

FILES = {
    "salt/top.sls": "base: {'*': [web, db, base]}\n",
    "salt/web.sls": "{% from 'map.jinja' import name %}\nweb-{{ name }}:\n  test.nop: []\n",
    "salt/map.jinja": "{% set name = 'a' %}\n",
    "salt/db.sls": "db:\n  test.nop:\n    - name: {{ pillar['port'] }}\n",
    "salt/base.sls": "base:\n  test.nop:\n    - name: {{ salt['environ.get']('KEPT', 'none') }}\n",
    "pillar/top.sls": "base: {'*': [p]}\n",
    "pillar/p.sls": "port: p80\nother: 1\n",
}


@pytest.fixture
def tree(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    settings = Settings(
        file_roots={"base": [str(tmp_path / "salt")]},
        pillar_roots={"base": [str(tmp_path / "pillar")]},
        cachedir=str(tmp_path / "cache"),
        state_dir=str(tmp_path / "state"),
    )
    kept = Renderings()

    def compiled(*, changed=False, kept=kept, **texts):
        """Return the names of all states, and the findings, after a look with these texts."""
        job = Job(1, {}, {str(tmp_path / name.replace("__", "/")): text for name, text in texts.items()})
        if changed:
            kept.forget()
        list(early(job, settings, kept, lambda: False))
        states, found = [], []
        for answer in whole(job, settings, kept):
            states += [state.name for state in answer.states] if isinstance(answer, Compiled) else []
            found += answer.findings if isinstance(answer, Found) else []
        return states, {(each.rule, each.message) for each in found}

    compiled.folder = tmp_path
    return compiled


UNUSED = {
    ("unused-pillar", "no SLS file looks at pillar key 'other'; templates of managed files are not known before a run")
}


def test_a_look_says_the_same_of_what_is_kept(tree):
    assert tree() == tree() == (["web-a", "p80", "none"], UNUSED)
    left_out = {"salt/db.sls": "{% set x = salt['cmd.run']('x') %}" + FILES["salt/db.sls"]}
    assert tree(**left_out) == tree(**left_out)


def test_what_a_change_concerns_is_rendered_again(tree):
    tree()
    assert tree(**{"salt/web.sls": "own:\n  test.nop: []\n"})[0] == ["own", "p80", "none"]
    assert tree(**{"salt/map.jinja": "{% set name = 'b' %}\n"})[0] == ["web-b", "p80", "none"]
    assert tree(**{"pillar/p.sls": "port: p81\n"})[0] == ["web-a", "p81", "none"]
    assert tree()[0] == ["web-a", "p80", "none"]


def test_what_lies_elsewhere_is_looked_at_with_the_disk(tree, monkeypatch):
    tree()
    monkeypatch.setitem(os.environ, "KEPT", "now")
    (tree.folder / "salt/map.jinja").write_text("{% set name = 'c' %}\n")
    assert tree()[0] == ["web-a", "p80", "none"]
    assert tree(changed=True)[0] == ["web-c", "p80", "now"]


def test_another_process_has_the_same_renderings(tree, monkeypatch):
    tree()
    monkeypatch.setitem(os.environ, "KEPT", "now")
    monkeypatch.setattr(os, "getpid", lambda: 1)
    assert tree()[0] == ["web-a", "p80", "none"]


def test_a_template_that_changes_the_pillar_is_rendered_every_time(tree):
    change = "{% do pillar.update({'port': 'p90'}) %}\nweb:\n  test.nop: []\n"
    assert tree(**{"salt/web.sls": change})[0] == tree(**{"salt/web.sls": change})[0] == ["web", "p90", "none"]
    assert tree()[0] == ["web-a", "p80", "none"]


LOOKS = {
    "item": "{{ pillar['port'] }}",
    "attribute": "{{ pillar.port }}",
    "get": "{{ pillar.get('port') }}",
    "in": "{{ 'new' in pillar }}",
    "loop": "{% for key, value in pillar.items() %}{{ key }}{{ value }}{% endfor %}",
    "keys": "{{ pillar | join(' ') }}",
    "count": "{{ pillar | length }}",
    "json": "{{ pillar | tojson | replace('\"', '') | replace(':', '') }}",
    "copy": "{{ pillar.copy().new }}",
    "opts": "{{ opts.pillar.port }}",
    "pillar.get": "{{ salt['pillar.get']('port') }}",
    "pillar.items": "{{ salt['pillar.items']().port }}",
    "pillar.keys": "{{ salt['pillar.keys']('deep') }}",
    "config.get": "{{ salt['config.get']('new', 'none') }}",
    "match.pillar": "{{ salt['match.pillar']('port:p80') }}",
    "text in text": "{{ salt['slsutil.renderer'](string='x {{ pillar.port }}', default_renderer='jinja') }}",
    "import": "{% from 'own.jinja' import name with context %}{{ name }}",
}
PILLARS = ["port: p81\ndeep: {a: 1}\n", "port: p80\nnew: 1\ndeep: {a: 1}\n", "port: p80\ndeep: {b: 1}\n", "new: 2\n"]


@pytest.mark.parametrize("look", LOOKS)
def test_a_change_of_the_pillar_concerns_what_read_it(tree, look):
    (tree.folder / "salt/own.jinja").write_text("{% set name = pillar.port %}")
    (tree.folder / "salt/db.sls").write_text(f"db:\n  test.nop:\n    - name: {LOOKS[look]}\n")
    seen = set()
    for pillar in [*PILLARS, *PILLARS[::-1]]:
        texts = {"pillar/p.sls": pillar}
        found = tree(**texts)
        assert found == tree(kept=Renderings(), **texts)
        seen.add(str(found))
    assert len(seen) > 1


def test_a_change_of_a_pillar_file_is_no_change_of_the_others(tree, monkeypatch):
    (tree.folder / "pillar/top.sls").write_text("base: {'*': [p, q]}\n")
    (tree.folder / "pillar/q.sls").write_text("kept: {{ salt['environ.get']('KEPT', 'none') }}\n")
    (tree.folder / "salt/db.sls").write_text("db:\n  test.nop:\n    - name: {{ pillar.port }}{{ pillar.kept }}\n")
    assert tree()[0] == ["web-a", "p80none", "none"]
    monkeypatch.setitem(os.environ, "KEPT", "now")
    assert tree(**{"pillar/p.sls": "port: p81\n"})[0] == ["web-a", "p81none", "none"]
    assert tree(**{"pillar/q.sls": "kept: other\n"})[0] == ["web-a", "p80other", "none"]
    assert tree(changed=True)[0] == ["web-a", "p80now", "now"]
