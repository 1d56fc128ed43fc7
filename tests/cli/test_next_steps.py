"""Messages about trees say what was expected and the next step, also where their first sentence is Salt's."""

from __future__ import annotations

import pytest
from messages import said as said_of
from tables import beside

from asyncstate.cli import main

TABLES = beside(__file__)


@pytest.fixture
def look(tmp_path, monkeypatch, capfd):
    """Run a command on a tree; return its exit code and all that it said."""
    for name in ("HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("ASYNCSTATE_ID", "mine")
    monkeypatch.setattr(
        "asyncstate.config.values.DEFAULT_ROOTS", dict.fromkeys(("file_roots", "pillar_roots"), "/gone")
    )

    def call(files, *words):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        pillar = ("--pillar-root", str(tmp_path / "pillar")) if (tmp_path / "pillar").is_dir() else ()
        sls = () if words[0] in {"single", "call"} else ("s",)
        code = main([*words, *sls, "--file-root", str(tmp_path / "salt"), *pillar])
        out, errors = capfd.readouterr()
        return code, out + errors

    return call


def test_a_provider_of_the_tree_that_does_not_load_is_named_once(look, caplog):
    text = "import no_such_library\n__virtualname__ = 'pkg'\n"
    for command in ("check", "apply"):
        tree = {"salt/s.sls": "v{{ salt['pkg.version_cmp']('1', '2') }}: test.nop\n", "salt/_modules/mypkg.py": text}
        caplog.clear()
        assert look(tree, command)[0] == 0
        assert caplog.text.count(said_of("provider-fell-back", file="mypkg.py")) == 1


@pytest.mark.parametrize("command", ["check", "apply"])
@pytest.mark.parametrize("text", ["#!py\ndef run():\n    raise MemoryError\n", "{{ salt['mine.f']() }}\n", "#!mine\n"])
def test_memory_that_runs_out_before_any_state_is_one_sentence_and_one_code(look, text, command):
    tree = {
        "salt/s.sls": text,
        "salt/_modules/mine.py": "def f():\n    raise MemoryError\n",
        "salt/_renderers/mine.py": "def render(text, *args, **kwargs):\n    raise MemoryError\n",
    }
    code, said = look(tree, command)
    assert (code, "asyncstate: memory ran out" in said) == (70, True)


@pytest.mark.parametrize("dry", [(), ("--test",)])
def test_an_error_in_the_template_of_a_file_names_the_template(look, tmp_path, dry):
    state = f"web:\n  file.managed:\n    - name: {tmp_path}/out\n    - source: salt://web.conf\n    - template: jinja\n"
    code, said = look(
        {"salt/s.sls": state, "salt/web.conf": "a\n{{ pillar.nothing }}\n"}, "apply", *dry, "--out", "yaml"
    )
    assert code == 2
    assert said_of("template-of-a-file", path=f"{tmp_path}/salt/web.conf", line=2) in " ".join(said.split())


TEMPLATED = TABLES["templated"]
"""Ways in which a state renders a template: a file of its own, or what that imports."""


@pytest.mark.parametrize("way", TEMPLATED)
def test_an_annotation_of_an_error_in_a_template_stands_at_its_line(look, tmp_path, way):
    name = tmp_path / ("new" if way == "file.recurse" else "out")
    (tmp_path / "out").touch()
    source = TEMPLATED[way].format(root=tmp_path)
    state = f"web: {{{way.split()[0]}: [name: {name}, {source}, template: jinja, append_if_not_found: true]}}\n"
    state = state.replace(", append_if_not_found: true", "") if "block" not in way else state
    broken = "a\n{{ pillar.nothing }}\n"
    tree = {"salt/s.sls": state, "salt/t": broken, "salt/folder/f": broken, "salt/outer": "{% import 't' as t %}"}
    code, said = look(tree, "apply", "--out", "github")
    assert code == 2
    (error,) = (line for line in said.splitlines() if line.startswith("::error"))
    file = "folder/f" if way == "file.recurse" else "t"
    assert error.startswith(f"::error file={tmp_path}/salt/{file},line=2,title="), error


def test_a_misspelt_grain_has_the_nearest_name(look):
    code, said = look({"salt/s.sls": "web:\n  test.nop:\n    - name: {{ grains.os_famly }}\n"}, "check")
    assert (code, "did you mean 'os_family'?" in said) == (1, True)
