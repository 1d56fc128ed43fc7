"""What is rendered again after a change, and what is not."""

import os

import pytest

from asyncstate.config import Settings
from asyncstate.lsp.compiling import early, whole
from asyncstate.lsp.kept import Renderings
from asyncstate.lsp.messages import Compiled, Found, Job

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

    def compiled(*, changed=False, **texts):
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


def test_a_template_that_changes_the_pillar_is_rendered_every_time(tree):
    change = "{% do pillar.update({'port': 'p90'}) %}\nweb:\n  test.nop: []\n"
    assert tree(**{"salt/web.sls": change})[0] == tree(**{"salt/web.sls": change})[0] == ["web", "p90", "none"]
    assert tree()[0] == ["web-a", "p80", "none"]
