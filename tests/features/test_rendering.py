"""Rendering, pillar, grains and the file roots: what an SLS sees, and what it may say."""

import pytest
from tables import beside

from asyncstate.errors import PillarError

TABLES = beside(__file__)

SHOW = "a: {x.run: [{v: %s}]}\n"


def value(tree, expression, **settings):
    """What an expression in an SLS is, as the state gets it."""
    return tree.write({"a.sls": SHOW % expression}).low(**settings)["a"]["v"]


@pytest.mark.feature("F001", "F015")
@pytest.mark.parametrize(
    ("text", "settings"),
    TABLES["renderers"],
)
def test_renderers(sls, text, settings):
    (name,) = sls(text).order(**settings)
    assert name in {"a{{b}}", "a", "2", "aa"}


@pytest.mark.feature("F002", "B3")
def test_an_unknown_renderer(sls):
    (issue,) = sls("#!jinga|yaml\na: x.run\n").errors()
    assert "jinga" in issue.message
    assert (issue.file.rpartition("/")[2], issue.line) == ("a.sls", 1)


@pytest.mark.feature("F003", "F013", "F014")
@pytest.mark.parametrize(
    ("text", "message"),
    TABLES["render errors"],
)
def test_render_errors(sls, text, message):
    issues = sls(f"ok: x.run\n{text}").errors()
    assert any(message in issue.message for issue in issues), issues
    assert all(issue.file.endswith("a.sls") and issue.line in {2, 3, 4} for issue in issues)
    assert issues[0].message.startswith("Rendering SLS ")


@pytest.mark.feature("F003")
def test_jinja_with_do_and_loop_controls(tree):
    expression = "{% set l = [] %}{% for i in range(9) %}{% if i == 3 %}{% break %}{% endif %}{% do l.append(i) %}{% endfor %}{{ l }}"
    assert value(tree, expression) == [0, 1, 2]


@pytest.mark.feature("F004", "F005")
def test_imports_of_templates(tree):
    tree.write(TABLES["imports of templates"])
    low = tree.low("p.q.r", grains={"role": "web"})["a"]
    assert (low["v"], low["u"], low["m"]) == ("w web e p.q.r", "up", "m web e p.q.r")
    assert tree.order("b") == ["included"]
    assert tree.errors("c")


@pytest.mark.feature("F006")
def test_variables_of_the_place(tree):
    names = "sls slspath tpldir slsdotpath tpldot slscolonpath sls_path tplfile".split()
    values = ", ".join(f"'{{{{ {name} }}}}'" for name in names)
    text = f"{{{{ sls }}}}: {{x.run: [{{v: [{values}]}}]}}\n"
    tree.write({"a.sls": text, "p/q/init.sls": text, "p/q/r.sls": text})
    low = tree.low("a p.q p.q.r")
    assert {name: each["v"] for name, each in low.items()} == {
        "a": ["a", "", ".", "", "", "", "", "a.sls"],
        "p.q": ["p.q", "p/q", "p/q", "p.q", "p.q", "p:q", "p_q", "p/q/init.sls"],
        "p.q.r": ["p.q.r", "p/q", "p/q", "p.q", "p.q", "p:q", "p_q", "p/q/r.sls"],
    }
    assert value(tree, "{{ tplpath }}").endswith("/salt/a.sls")
    assert value(tree, "{{ env is defined }}") is False
    assert value(tree, "{{ saltenv }}") == "base"


@pytest.mark.feature("F007")
def test_calls_of_execution_functions(tree):
    assert value(tree, "{{ salt['test.echo'](1) }}") == 1
    assert value(tree, "{{ salt.test.echo(2) }}") == 2
    assert value(tree, "{{ ['test.echo' in salt, 'no.such' in salt] }}") == [True, False]
    assert value(tree, "{{ salt['cmd.run']('echo hi | cat') }}") == "hi | cat"
    assert value(tree, "{{ salt['pillar.get']('a:b', 3) }}", pillar={"a": {"b": 4}}) == 4


@pytest.mark.feature("F008")
def test_serializer_tags(tree):
    tree.write({"d.yaml": "k: {{ 1 + 1 }}\n", "d.json": '{"k": 3}', "d.txt": "text"})
    assert value(tree, "{% import_yaml 'd.yaml' as d %}{{ d.k }}") == 2
    assert value(tree, "{% import_json 'd.json' as d %}{{ d.k }}") == 3
    assert value(tree, "{% import_text 'd.txt' as d %}{{ d }}") == "text"
    assert value(tree, "{% load_yaml as d %}{a: [1]}{% endload %}{{ d.a[0] }}") == 1
    assert value(tree, "{% load_json as d %}[4]{% endload %}{{ d[0] }}") == 4
    assert value(tree, "{% profile as 'p' %}5{% endprofile %}") == 5
    assert value(tree, "{{ {'a': None}|yaml }}") == {"a": None}
    assert value(tree, "{{ 'a: 1'|load_yaml }}") == {"a": 1}


@pytest.mark.feature("F009")
@pytest.mark.parametrize(
    ("expression", "result"),
    TABLES["what formulas use of jinja"],
)
def test_what_formulas_use_of_jinja(tree, expression, result):
    assert value(tree, expression) == result


@pytest.mark.feature("F011")
def test_yaml_dialect(tree):
    text = "[0644, 010, 08, 0o644, 0x1F, yes, off, y, 12:30:45, 1e3, 2001-01-01, 1_000, !!binary aGk=]"
    assert value(tree, text) == [
        644, 10, "08", "0o644", 31, True, False, "y", 45045, "1e3", "2001-01-01", 1000, b"hi",
    ]  # fmt: skip
    assert value(tree, "{<<: {a: 1, b: 2}, b: 3}") == {"a": 1, "b": 3}


@pytest.mark.feature("F012")
@pytest.mark.parametrize("text", ["a: x.run\na: y.run\n", "a:\n  x.run:\n    - v:\n        k: 1\n        k: 2\n"])
def test_a_key_twice(sls, text):
    (issue,) = sls(text).errors()
    assert "found conflicting ID '" in issue.message
    assert issue.line == text.count("\n")


@pytest.mark.feature("F017")
def test_jinja_options(tree):
    trimmed = "{% set x = 1 %}\n{{ 'a: x.run' }}"
    assert tree.write({"a.sls": '#jinja2: {"trim_blocks": true, "variable_start_string": "<<", "variable_end_string": ">>"}\n'
                               "<< 'a' >>: x.run\n"}).order() == ["a"]  # fmt: skip
    assert tree.write({"a.sls": trimmed}).order(jinja_sls_env={"trim_blocks": True}) == ["a"]
    target = tree.base / "out"
    tree.write(
        {
            "t.j2": "%% set x = 3\n{{ x }}",
            "a.sls": f"{target}: {{file.managed: [{{source: 'salt://t.j2', template: jinja}}]}}\n",
        }
    )
    assert tree.rows(jinja_env={"line_statement_prefix": "%%"})[str(target)]["result"] is True
    assert target.read_text().strip() == "3"


@pytest.mark.feature("F018")
def test_names_of_sls_files(tree):
    tree.write(
        {"a.sls": "file: x.run\n", "a/init.sls": "folder: x.run\n", "a/b.sls": "b: x.run\n", "c/init.sls": "c: x.run\n"}
    )
    assert tree.order("a") == ["file"]
    assert tree.order("c") == ["c"]
    assert tree.order("a/b") == ["b"]
    assert tree.order("a.*") == ["b"]
    assert tree.low("a/b")["b"]["__sls__"] == "a/b"


@pytest.mark.feature("F019")
@pytest.mark.parametrize("text", ["", "\n \n", "# only words\n", "{% if false %}a: x.run{% endif %}\n"])
def test_an_sls_of_nothing(tree, text):
    tree.write({"a.sls": text, "b.sls": "include: [a]\nb: x.run\n"})
    assert tree.order() == []
    assert tree.order("b") == ["b"]


@pytest.mark.feature("F020", "F021")
def test_pillar(tree):
    tree.write(TABLES["pillar"])
    assert value(tree, "{{ pillar | json }}") == {"d": {"a": 1, "b": 2}, "l": [2], "inside": {"v": 7}}
    assert value(tree, "{{ pillar.l }}", pillar_merge_lists=True) == [1, 2]
    assert value(tree, "{{ pillar.d }}", pillar_source_merging_strategy="overwrite") == {"b": 2}
    assert value(tree, "{{ pillar.d }}", pillar={"d": {"a": 9}}) == {"a": 9, "b": 2}


def test_pillar_files_do_not_see_what_is_merged_over_them(tree):
    """The pillar of ``salt-call state.apply pillar=…``, whose files read the pillar themselves."""
    tree.write(
        {
            "pillar/top.sls": "base: {'*': [p], 'I@x:over': [q]}\n",
            "pillar/p.sls": "y: {{ pillar.get('x', 'none') }}\nz: {{ salt['pillar.get']('d:b', 'none') }}\n",
            "pillar/q.sls": "q: 1\n",
        }
    )
    recorded = {"d": {"b": 2}, "x": "over", "y": "none", "z": "none"}
    assert value(tree, "{{ pillar | json }}", pillar={"x": "over", "d": {"b": 2}}) == recorded


@pytest.mark.feature("F020")
@pytest.mark.parametrize("text", ["{{ nothing.here }}\n", "a: [\n", "[a]\n"])
def test_a_pillar_that_does_not_render(tree, text):
    tree.write({"a.sls": "a: x.run\n", "pillar/top.sls": "base: {'*': [one]}\n", "pillar/one.sls": text})
    with pytest.raises(PillarError) as caught:
        tree.report()
    assert "SLS 'one'" in str(caught.value) or "one" in str(caught.value)
    assert tree.log == []


@pytest.mark.feature("F020")
def test_a_pillar_override_must_be_a_mapping(run_here, tree):
    done = run_here("apply", "--pillar", "[1]", "--file-root", tree.base / "salt")
    assert done.returncode == 1
    assert "mapping" in done.stderr + done.stdout


@pytest.mark.feature("F022")
def test_grains(tree):
    tree.write({"_grains/mine.py": "def mine():\n    return {'from': 'custom', 'only': 'custom'}\n"})
    assert value(tree, "{{ grains['from'] }}", grains={"from": "config"}) == "config"
    assert value(tree, "{{ grains['from'] }}", grains={"from": "config"}, grains_override={"from": "flag"}) == "flag"
    assert value(tree, "{{ grains['only'] }}") == "custom"
    for name in (
        "os",
        "os_family",
        "kernel",
        "osarch",
        "num_cpus",
        "id",
        "host",
        "fqdn",
        "cpuarch",
        "init",
        "ipv4",
        "path",
    ):
        assert value(tree, f"{{{{ grains['{name}'] is defined }}}}") is True, name
    assert value(tree, "{{ grains.id }}") == "here"


@pytest.mark.feature("F023")
def test_salt_urls_look_through_all_roots(tree):
    for name, text in (("one", "one"), ("two", "two")):
        (tree.base / name).mkdir()
        (tree.base / name / f"{name}.txt").write_text(text)
        (tree.base / name / "both.txt").write_text(text)
    (tree.base / "dev").mkdir()
    (tree.base / "dev" / "d.txt").write_text("dev")
    out = tree.base / "out"
    urls = ["salt://one.txt", "salt://two.txt", "salt://both.txt", "salt://d.txt?saltenv=dev"]
    (tree.base / "one" / "a.sls").write_text(
        "".join(f"{out}{n}: {{file.managed: [{{source: '{url}'}}]}}\n" for n, url in enumerate(urls))
    )
    roots = {"base": [str(tree.base / "one"), str(tree.base / "two")], "dev": [str(tree.base / "dev")]}
    assert set(tree.rows(file_roots=roots).results.values()) == {True}
    assert [(tree.base / f"out{n}").read_text() for n in range(4)] == ["one", "two", "one", "dev"]
