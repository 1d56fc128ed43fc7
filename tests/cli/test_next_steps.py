"""Messages about trees say what was expected and the next step, also where their first sentence is Salt's."""

from __future__ import annotations

import pytest

from asyncstate.cli import main

LACKING = "import no_such_library_anywhere\n\n\ndef render(text, **kwargs):\n    return text\n"
PILLAR = {"pillar/top.sls": "base:\n  '*':\n    - app\n", "pillar/app.sls": "app: {port: 80}\n"}
CASES = {
    "a tab in YAML": ({"salt/s.sls": "web:\n  test.nop:\n\t- name: x\n"}, "s.sls:3 [E104]", "indented with a tab: YAML takes blanks only"),
    "a line indented below a value": (
        {"salt/s.sls": "web:\n  test.nop:\n    - name: x\n        order: 1\n"},
        "s.sls:4 [E104]",
        "the line above has a value already: indent this line as that one",
    ),
    **{
        f"the text {text}": (
            {"salt/s.sls": f"web:\n  test.nop:\n    - name: {text}\n    - order: 1\n"},
            "s.sls:3 [E104]",
            step,
        )
        for text, step in {
            "*/5": "put the text in quotes: * and & at its beginning",
            "*nothing": "put the text in quotes: * at its beginning",
            "!type x": "put the text in quotes: ! at its beginning",
            "|x": "put the text in quotes, or in lines of its own below | or >",
            "> x": "put the text in quotes, or in lines of its own below | or >",
            "- x": "put the text in quotes, or begin a list in the next line",
            "? x": "put the text in quotes: ? at its beginning",
            '"^\\s"': "in double quotes a backslash begins an escape: write single quotes",
            '"x" y': "something follows a closing quotation mark or bracket: put the whole text in quotes",
            "'it's'": "something follows a closing quotation mark or bracket: put the whole text in quotes",
            "[x] y": "something follows a closing quotation mark or bracket: put the whole text in quotes",
            "{x: 1} y": "something follows a closing quotation mark or bracket: put the whole text in quotes",
        }.items()
    },
    "two documents": (
        {"salt/s.sls": "web:\n  test.nop: []\n---\nx: test.nop\n"},
        "s.sls:3 [E104]",
        "a file has one document: remove this line",
    ),
    "a document that ends too early": (
        {"salt/s.sls": "web:\n  test.nop: []\n...\nx: test.nop\n"},
        "[E104]",
        "a file has one document: remove the line that ends it",
    ),
    "a number for the name of a required state": (
        {"salt/s.sls": "web:\n  test.nop:\n    - require: [{test: 80}]\n'80': test.nop\n"},
        "s.sls:3 [E306]",
        "put it in quotes",
    ),
    "a colon in a text": (
        {"salt/s.sls": "web:\n  test.nop:\n    - name: echo a: b\n"},
        "s.sls:3 [E104]",
        "a colon with a blank behind it begins a value: put the text in quotes",
    ),
    "a function without its colon": (
        {"salt/s.sls": "web:\n  test.nop\n    - name: x\n"},
        "s.sls:3 [E104]",
        "the colon after test.nop is missing",
    ),
    "an ID that is a number": ({"salt/s.sls": "# ports\n8080: {test.nop: []}\n"}, "s.sls:2 [E201]", "It may need to be quoted"),
    "a module that fails in a template": (
        {"salt/s.sls": "{{ salt['gone.f']() }}\n", "salt/_modules/gone.py": "def f():\n    return 1 / 0\n"},
        "s.sls:1 [E104]",
        "salt/_modules/gone.py:2",
    ),
    "data of another file that is no YAML": (
        {"salt/s.sls": "{% import_yaml 'd.yaml' as d %}\n", "salt/d.yaml": "a: 1\nb: [1\nc: 2\n"},
        "s.sls:1 [E104]",
        'in "d.yaml", line 3',
    ),
    "an SLS that does not exist": ({"salt/t.sls": "web: test.nop\n"}, "[E102]", "salt; write the file there, or correct the name"),
    "an item that is indented otherwise": (
        {"salt/s.sls": "web:\n  test.nop:\n    - name: x\n   - order: 1\n"},
        "s.sls:4 [E104]",
        "this line, or one above it, is indented otherwise than those it belongs to",
    ),
    "a bracket that is not closed": (
        {"salt/s.sls": "web:\n  test.nop: [name: x\n"},
        "[E104]",
        "a bracket or a brace is not closed, or a comma is missing",
    ),
    "a text that begins with a percent sign": (
        {"salt/s.sls": "web:\n  test.nop:\n    - name: %x\n"},
        "s.sls:3 [E104]",
        "put the text in quotes: no plain text begins with this character",
    ),
    "an include that is no list": (
        {"salt/s.sls": "include: b\nweb: test.nop\n", "salt/b.sls": "b: test.nop\n"},
        "s.sls:1 [E106]",
        "write each name as an item, with a dash",
    ),
    "an include that is nowhere": (
        {"salt/s.sls": "include: [zzqqxx]\nweb: test.nop\n"},
        "s.sls:1 [E103]",
        "salt; write the file there, or correct the name",
    ),
    "an ID without a function": (
        {"salt/s.sls": "web: nginx\n"},
        "s.sls:1 [E202]",
        "write the function below the ID: web: {module.function: [arguments]}",
    ),
    "a no-break space in the indentation": (
        {"salt/s.sls": "web:\n\N{NO-BREAK SPACE} test.nop:\n    - name: x\n"},
        "s.sls:2 [E202]",
        "a blank that is none for YAML, such as a no-break space",
    ),
    "a dash that is none": (
        {"salt/s.sls": "web:\n  test.nop:\n    \N{EN DASH} name: x\n"},
        "s.sls:2 [E204]",
        "write each as an item of a list, with a dash: - name: …",
    ),
    "a list of states": ({"salt/s.sls": "- web\n"}, "[E105]", "an SLS file is a mapping: write each state as ID: {module.function: [arguments]}"),
    "a missing argument": ({"salt/s.sls": "/x:\n  file.symlink: []\n"}, "s.sls:2 [E403]", "what it means: asyncstate doc file.symlink"),
    "arguments as a mapping": (
        {"salt/s.sls": "web:\n  file.managed:\n    name: /x\n"},
        "s.sls:2 [E204]",
        "the arguments are a mapping: write each as an item of a list, with a dash: - name: …",
    ),
    "arguments as a text": ({"salt/s.sls": "web:\n  test.nop: x\n"}, "s.sls:2 [E204]", "an item of a list, with a dash: - name: …"),
    "two states of one module": (
        {"salt/s.sls": "web:\n  test.nop: []\n  test.fail_without_changes: []\n"},
        "s.sls:1 [E209]",
        "give one of them another ID",
    ),
    "names that are no list": (
        {"salt/s.sls": "web:\n  test.nop:\n    - names: a\n"},
        "s.sls:3 [E212]",
        "write each name as an item: - names: [a, b]; for a single one, - name: a",
    ),
    "a division by nothing": ({"salt/s.sls": "{{ 1 / 0 }}\n"}, "s.sls:1 [E104]", "the divisor is 0 here: test it with {% if … %}"),
    "a variable that nothing sets": ({"salt/s.sls": "{{ port }}\n"}, "s.sls:1 [E104]", "set it above with {% set … %}, or import it"),
    "a number behind a text": ({"salt/s.sls": "{{ 'a' + 1 }}\n"}, "s.sls:1 [E104]", "~ joins any as text"),
    "an item that is not there": ({"salt/s.sls": "{{ [].pop() }}\n"}, "s.sls:1 [E104]", "or give a default"),
    "a number that is none": ({"salt/s.sls": "{{ 'x'.index('y') }}\n"}, "s.sls:1 [E104]", "asyncstate call pillar.items"),
    "a requisite without its module": (
        {"salt/s.sls": "web:\n  test.nop:\n    - require: db\ndb: test.nop\n"},
        "s.sls:3 [E301]",
        "write each state as an item, with its module: - require: [{file: ID}]",
    ),
    "a requisite with two modules": ({"salt/s.sls": "web:\n  test.nop:\n    - name: x\n    - require: [{file: a, pkg: b}]\n"}, "s.sls:4 [E302]"),
    "a requisite whose module has a dot": (
        {"salt/s.sls": "web:\n  test.nop:\n    - name: x\n    - require_in: [{test.nop: b}]\nb: test.nop\n"},
        "s.sls:4 [E303]",
    ),
    "a requisite to a list": (
        {"salt/s.sls": "web:\n  test.nop:\n    - name: x\n    - require_in: [{test: [b]}]\nb: test.nop\n"},
        "s.sls:4 [E304]",
    ),
    "arguments of a name that are no list": (
        {"salt/s.sls": "web:\n  test.nop:\n    - order: 1\n    - names: [{a: {order: 2}}]\n"},
        "s.sls:4 [E213]",
        "write each argument as an item, with a dash",
    ),
    "an include from an environment that is not there": (
        {"salt/s.sls": "include: [{bse: t}]\nweb: test.nop\n"},
        "s.sls:1 [E108]",
        "did you mean 'base'?",
    ),
    "an include from an environment that nothing is like": (
        {"salt/s.sls": "include: [{production: t}]\nweb: test.nop\n"},
        "s.sls:1 [E108]",
        "file_roots has base",
    ),
    "a misspelt template": (
        {"salt/s.sls": "{% from 'map.jinja' import web %}\n", "salt/maps.jinja": ""},
        "s.sls:1 [E104]",
        "did you mean 'maps.jinja'?",
    ),
    "a template that is nowhere": (
        {"salt/s.sls": "{% import_yaml 'zz/qq.yaml' as web %}\n"},
        "s.sls:1 [E104]",
        "correct the path, which begins at a file root, or add the file",
    ),
    "a misspelt name of a template": (
        {"salt/s.sls": "{% from 'map.jinja' import wbe %}\n{{ wbe.x }}\n", "salt/map.jinja": "{%- set web = {} %}"},
        "s.sls:2 [E104]",
        "did you mean 'web'?",
    ),
    "a misspelt macro of a template": (
        {"salt/s.sls": "{% from 'map.jinja' import hosts %}\n{{ hosts() }}\n", "salt/map.jinja": "{% macro host() %}{% endmacro %}"},
        "s.sls:2 [E104]",
        "did you mean 'host'?",
    ),
    "a requisite to an SLS that is not included": (
        {"salt/s.sls": "web:\n  test.nop:\n    - require: [{test: conf}]\n", "salt/b.sls": "'conf':\n  test.nop: []\n"},
        "s.sls:3 [E305]",
        "SLS 'b' declares 'conf' and is not included: include it",
    ),
    "an extension of an SLS that is not included": (
        {"salt/s.sls": "extend:\n  conf:\n    test: [{order: 1}]\n", "salt/b/init.sls": "conf:\n  test.nop: []\n"},
        "s.sls:2 [E217]",
        "SLS 'b' declares 'conf' and is not included: include it",
    ),
    "no pillar root": (
        {"salt/s.sls": "web:\n  test.nop:\n    - name: {{ pillar.hello }}\n"},
        "has no attribute 'hello'",
        "there is no pillar: no folder of pillar_roots exists",
    ),
    "a pillar root without a top file": (
        {"salt/s.sls": "web:\n  test.nop:\n    - name: {{ pillar['hello'] }}\n", "pillar/app.sls": "hello: x\n"},
        "has no attribute 'hello'",
        "the pillar is empty: there is no top.sls in",
    ),
    "a pillar for other machines": (
        {
            "salt/s.sls": "web:\n  test.nop:\n    - name: {{ pillar['hello'] }}\n",
            "pillar/top.sls": "base: {'other': [app]}\n",
            "pillar/app.sls": "hello: x\n",
        },
        "has no attribute 'hello'",
        "assigns no file with data to this machine, mine",
    ),
    "a misspelt key of the pillar": (
        {"salt/s.sls": "web:\n  test.nop:\n    - name: {{ pillar['app'].prot }}\n", **PILLAR},
        "has no attribute 'prot'",
        "did you mean 'port'? pillar:app has port",
    ),
    "a missing key of the pillar": (
        {"salt/s.sls": "web:\n  test.nop:\n    - name: {{ pillar.app.user.name }}\n", **PILLAR},
        "has no attribute 'user'",
        "pillar:app has port; for a key that may be missing, write pillar.app.get('user', DEFAULT)",
    ),
    "a misspelt grain": (
        {"salt/s.sls": "web:\n  test.nop:\n    - name: {{ grains.os_famly }}\n"},
        "has no attribute 'os_famly'",
        "did you mean 'os_family'?",
    ),
    "a missing file of the pillar": (
        {"salt/s.sls": "web: test.nop\n", **PILLAR, "pillar/top.sls": "base:\n  '*':\n    - ap\n"},
        "pillar/top.sls:3 [E507]",
        "did you mean 'app'?",
    ),
    "an error in the pillar": (
        {"salt/s.sls": "web: test.nop\n", **PILLAR, "pillar/app.sls": "app: {{ nothing.here }}\n"},
        "Please see master log for details.",
        "there is no master: pillar_safe_render_error: False in the configuration shows the whole error here",
    ),
    "a renderer that does not load": (
        {"salt/s.sls": "#!mine\nweb: test.nop\n", "salt/_renderers/mine.py": LACKING},
        'The renderer "mine" does not load',
        "No module named 'no_such_library_anywhere'",
    ),
    "a misspelt function": (
        {"salt/s.sls": "web:\n  file.mangaed: []\nx:\n  test.nop: []\n"},
        "did you mean 'file.managed'?",
        "States: 1 bundled, 1 missing (file.mangaed).",
    ),
    "an argument without a blank": (
        {"salt/s.sls": "web:\n  file.managed:\n    - contents:a\n"},
        "s.sls:2 [E207]",
        "a blank is missing behind the colon: - contents: a",
    ),
    "two functions": (
        {"salt/s.sls": "web:\n  file:\n    - managed\n    - absent\n"},
        "s.sls:2 [E207]",
        "keep one, and give the others an ID of their own",
    ),
    "no function": (
        {"salt/s.sls": "web:\n  file:\n    - contents: a\n"},
        "s.sls:2 [E206]",
        "write it behind the module, with a dot: file.FUNCTION",
    ),
    "an ID that stands twice": (
        {"salt/s.sls": "web: test.nop\nx: test.nop\nweb: test.nop\n"},
        "s.sls:3 [E104]",
        "a key stands twice in one mapping: rename one, or put together what is below both",
    ),
    "an extension of nothing": (
        {"salt/s.sls": "web: test.nop\nextend:\n  zz:\n    test: [{order: 1}]\n"},
        "s.sls:3 [E217]",
        "include the SLS file that declares 'zz', or remove it from extend",
    ),
    "a requisite that adds itself to nothing": (
        {"salt/s.sls": "web:\n  test.nop:\n    - onchanges_in: [{cmd: zz}]\n"},
        "s.sls:3 [E217]",
        "onchanges_in of 'web' names it: correct that, or remove it",
    ),
    "a name that is that of the state itself": (
        {"salt/s.sls": "/x: {file.exists: []}\nweb:\n  file.exists:\n    - name: /x\n    - require: [{file: /x}]\n"},
        "[E307]",
        "give the other one an ID of its own, and name that",
    ),
    "a listener to a state of another module": (
        {"salt/s.sls": "web:\n  test.nop:\n    - listen:\n      - file: x\nx: test.nop\n"},
        "s.sls:3 [E305]",
        "'x' is there, but as test: write '- test: x'",
    ),
    "a listener to nothing": (
        {"salt/s.sls": "web:\n  test.nop:\n    - listen_in:\n      - test: qqqqq\n"},
        "s.sls:3 [E305]",
        "declare it, or remove it from listen_in",
    ),
    "a misspelt listener": ({"salt/s.sls": "web: {test.nop: [{listen: [{test: wbe}]}]}\n"}, "s.sls:1 [E305]", "did you mean 'web'?"),
}  # fmt: skip


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


@pytest.mark.parametrize("name", CASES)
def test_a_message_says_what_was_expected_and_the_next_step(look, name):
    files, *expected = CASES[name]
    code, said = look(files, "check")
    assert code == 1
    for text in expected:
        assert text in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("[{name: a}, {order: frist}]", "did you mean 'first'?"),
        ("[{name: a}, {order: soon}]", "write a number, first or last"),
        ("[{name: a}, {name: b}]", "has more than one 'name'; only the last one counts"),
        (
            "[{require: [{test: x}]}, {require: [{test: x}]}]",
            "has more than one 'require' block; only the last one counts",
        ),
    ],
)
def test_what_counts_otherwise_than_it_is_written_is_a_warning(look, arguments, said):
    code, text = look({"salt/s.sls": f"web: {{test.nop: {arguments}}}\nx: test.nop\n"}, "check")
    assert (code, said in text) == (0, True)


def test_settings_without_effect_are_named_once_by_check_and_by_a_run(look, tmp_path):
    (tmp_path / "minion").write_text("gitfs_remotes: [https://example.org/x.git]\nfileserver_backend: [roots]\n")
    for command in ("check", "apply"):
        code, said = look({"salt/s.sls": "web: test.nop\n"}, command, "--config", str(tmp_path / "minion"))
        assert code == 0
        assert said.count("the option gitfs_remotes has no effect") == 1
        assert "keep a checkout (git clone, or a state of it)" in said
        assert "fileserver_backend" not in said


def test_a_provider_of_the_tree_that_does_not_load_is_named_once(look, caplog):
    text = "import no_such_library\n__virtualname__ = 'pkg'\n"
    for command in ("check", "apply"):
        tree = {"salt/s.sls": "v{{ salt['pkg.version_cmp']('1', '2') }}: test.nop\n", "salt/_modules/mypkg.py": text}
        caplog.clear()
        assert look(tree, command)[0] == 0
        assert (
            caplog.text.count("mypkg.py does not load, so a bundled module answers in its place: No module named") == 1
        )


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


def test_a_folder_of_plugins_that_are_not_loaded_is_named_by_check(look):
    tree = {
        "salt/s.sls": "web: test.nop\n",
        "salt/_returners/mine.py": "",
        "salt/_modules/mine.py": "",
        "salt/_tops/x": "",
    }
    code, said = look(tree, "check")
    assert code == 0
    assert said.count("the folder _returners has no effect") == 1
    assert "results are in the report" in said
    assert "_modules" not in said
    assert "_tops" not in said


@pytest.mark.parametrize("dry", [(), ("--test",)])
def test_an_error_in_the_template_of_a_file_names_the_template(look, tmp_path, dry):
    state = f"web:\n  file.managed:\n    - name: {tmp_path}/out\n    - source: salt://web.conf\n    - template: jinja\n"
    code, said = look(
        {"salt/s.sls": state, "salt/web.conf": "a\n{{ pillar.nothing }}\n"}, "apply", *dry, "--out", "yaml"
    )
    assert code == 2
    assert f"the error is in the template {tmp_path}/salt/web.conf, line 2" in " ".join(said.split())


TEMPLATED = {
    "file.managed": "source: salt://t",
    "file.managed of another": "source: salt://outer",
    "file.managed of a path": "source: {root}/salt/t",
    "file.recurse": "source: salt://folder",
    "file.append": "source: salt://t",
    "file.prepend": "source: salt://t",
    "file.blockreplace": "source: salt://t",
    "cmd.script": "source: salt://t",
}
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


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("single", "managed", "name=/nowhere/x"), 1, "did you mean 'file.managed'?"),
        (("single", "manged", "name=/nowhere/x"), 1, "did you mean 'file.managed'?"),
        (("call", "ping"), 1, "Did you mean 'test.ping'?"),
        (("call", "grains.get", "osfamly"), 0, "there is no 'osfamly' in the grains; did you mean 'os_family'?"),
        (("call", "grains.item", "os", "osfamly"), 0, "there is no 'osfamly' in the grains; did you mean 'os_family'?"),
        (("call", "pillar.get", "wbe:port"), 0, "there is no 'wbe' in the pillar; did you mean 'web'?"),
    ],
)
def test_a_function_or_a_key_that_is_not_there_has_the_nearest_name(look, arguments, code, told):
    tree = {"salt/s.sls": "", "pillar/top.sls": "base: {'*': [p]}", "pillar/p.sls": "web: {port: 80}"}
    assert look(tree, *arguments)[0] == code
    assert told in " ".join(look(tree, *arguments)[1].split())


@pytest.mark.parametrize("arguments", [("grains.get", "os"), ("pillar.get", "web:prt"), ("pillar.items", "wbe")])
def test_a_call_that_finds_its_key_says_nothing_more(look, arguments):
    tree = {"salt/s.sls": "", "pillar/top.sls": "base: {'*': [p]}", "pillar/p.sls": "web: {port: 80}"}
    assert "there is no" not in look(tree, "call", *arguments)[1]
