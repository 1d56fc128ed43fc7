from __future__ import annotations

import io
import subprocess
import weakref
from collections import OrderedDict

import pytest
from memory_files import MemoryFileClient
from messages import match, said
from tables import beside

from asyncstate.errors import RenderError
from asyncstate.render import RenderContext, Rendered, decode, parse_pipe, render_sls, render_text
from asyncstate.sources.fileclient import LocalFileClient

TABLES = beside(__file__)


def context(files=None, **fields):
    files = MemoryFileClient({"base": files or {}})
    return RenderContext(
        **{"salt": {}, "grains": {}, "pillar": {}, "opts": {}, "fileclient": files, **fields}  # type: ignore[arg-type]
    )


def render(text, **fields):
    ctx = context({"p/q.sls": text}, **fields)
    return render_sls(ctx.fileclient.sls_file("p.q", "base"), ctx)


@pytest.mark.parametrize(("text", "data"), TABLES["pipes"])
def test_pipes(text, data):
    assert render(text).data == data


def test_the_option_renderer_is_the_default():
    assert render("a: '{{ 1 }}'\n", opts={"renderer": "yaml"}).data == {"a": "{{ 1 }}"}
    assert render("#!jinja|yaml\na: {{ 1 }}\n", opts={"renderer": "json"}).data == {"a": 1}


@pytest.mark.parametrize("name", ["mako", ""])
def test_an_unknown_renderer_is_told_which_there_are(name):
    with pytest.raises(
        RenderError, match=f'^The renderer "{name}" is not available. Known are: gpg, jinja, json, py, '
    ):
        render(f"#!jinja|{name}\na: 1\n")


def test_black_and_white_lists(caplog):
    assert render("#!jinja|yaml\na: '{{ 1 }}'\n", opts={"renderer_blacklist": ["jinja"]}).data == {"a": "{{ 1 }}"}
    assert said("renderer-refused", name="jinja") in caplog.text
    assert render("#!jinja|yaml\na: '{{ 1 }}'\n", opts={"renderer_whitelist": ["yaml"]}).data == {"a": "{{ 1 }}"}
    with pytest.raises(RenderError, match=match("no-renderer", pipe="py")):
        render("#!py\n", opts={"renderer_blacklist": ["py"]})


def test_stages_carry_their_arguments():
    stages = parse_pipe(" yaml -o x | jinja -s ", context())
    assert [(stage.name, stage.argline) for stage in stages] == [("yaml", "-o x"), ("jinja", "-s")]


@pytest.mark.parametrize(
    ("raw", "line", "why"),
    [
        (b"a: 1\nb: \xff\n", 2, "'utf-8' codec can't decode byte 0xff in position 8: invalid start byte"),
        (b"\x7fELF\x00\xff\xfe\n", 1, said("binary") + ": 'utf-8' codec can't decode"),
        (b"a\nb\x00", 2, said("binary") + ": it holds a NUL"),
    ],
)
def test_what_is_no_text_is_refused(raw, line, why):
    with pytest.raises(RenderError) as caught:
        decode(raw, "/srv/a.sls")
    assert str(caught.value).startswith(why)
    assert (caught.value.file, caught.value.line) == ("/srv/a.sls", line)


def test_a_document_of_another_format_is_no_matter_of_the_stack():
    with pytest.raises(RenderError, match="nested too deeply"):
        render("#!json\n" + "[" * 100_000)


def test_a_file_that_vanished(tmp_path):
    (tmp_path / "a.sls").write_text("a: 1")
    client = LocalFileClient({"base": [str(tmp_path)]})
    file = client.sls_file("a", "base")
    assert render_sls(file, context(fileclient=client)).data == {"a": 1}
    (tmp_path / "a.sls").unlink()
    with pytest.raises(RenderError) as caught:
        render_sls(file, context(fileclient=client))
    assert caught.value.file == str(tmp_path / "a.sls")


@pytest.mark.parametrize("row", TABLES["lines of keys"])
def test_lines_of_keys_count_in_the_source(row):
    rendered = render(row["sls"])
    keys = [key for key in row if key != "sls"]
    assert {key: rendered.line_of(*key.split()) for key in keys} == {key: row[key] for key in keys}


def test_ordered_data_prints_in_its_order():
    data = render("z: 1\na: {y: 1, b: 2}\n", ordered=True).data
    assert type(data) is type(data["a"]) is OrderedDict
    assert render("x: '{{ pillar|yaml }}'\n", pillar=data).data == {"x": "{z: 1, a: {y: 1, b: 2}}"}


@pytest.mark.parametrize(("text", "pipe", "result"), TABLES["text that is no file"])
def test_text_that_is_no_file(text, pipe, result):
    assert render_text(text, context(), pipe) == result


def test_third_party_renderers():
    seen = {}

    def shout(data, saltenv, sls, **kwargs):
        seen.update(kwargs, text=data.read(), saltenv=saltenv, sls=sls)
        return io.StringIO(seen["text"].replace("loud", "LOUD"))

    def wrap(data, saltenv="base", sls="", **kwargs):
        return {"wrapped": data}

    data = render(
        "#!jinja|shout -x y|yaml|wrap\na: loud\n",
        renderers={"shout": shout, "wrap": wrap},
        extra={"mine": 1},
        rendered_sls={"base:top"},
    ).data
    assert data == {"wrapped": {"a": "LOUD"}}
    assert (seen["saltenv"], seen["sls"], seen["argline"], seen["context"]) == ("base", "p.q", "-x y", {"mine": 1})
    assert (seen["tmplpath"], seen["rendered_sls"]) == ("/memory/base/p/q.sls", {"base:top"})
    assert set(seen["renderers"]) == {"shout", "wrap"}


def test_a_third_party_renderer_that_fails():
    def broken(*_args, **_kwargs):
        raise ValueError("bad input")

    with pytest.raises(
        RenderError, match=match("renderer-failed", name="broken", error="ValueError: bad input")
    ) as caught:
        render("#!broken\n", renderers={"broken": broken})
    assert caught.value.file == "/memory/base/p/q.sls"


def test_places_of_an_sls():
    files = {"a.sls": "x: {{ [sls, slspath, tpldir, tpldot, slsdotpath, slscolonpath, sls_path, tplfile]|json }}"}
    files["p/q/init.sls"] = files["p/q/r.sls"] = files["a.sls"]
    ctx = context(files)

    def places(sls):
        return render_sls(ctx.fileclient.sls_file(sls, "base"), ctx).data["x"]

    assert places("a") == ["a", "", ".", "", "", "", "", "a.sls"]
    assert places("p.q") == ["p.q", "p/q", "p/q", "p.q", "p.q", "p:q", "p_q", "p/q/init.sls"]
    assert places("p.q.r") == ["p.q.r", "p/q", "p/q", "p.q", "p.q", "p:q", "p_q", "p/q/r.sls"]


def test_text_with_an_sls_name_alone_has_its_place():
    text = "{{ sls }} {{ slspath }} {{ tpldir is defined }}"
    assert render_text(text, context(sls="p.q"), "jinja", template_env="jinja_sls_env") == "p.q p/q False"


def test_secrets_and_rendered_sls_are_shared_by_derived_contexts():
    ctx = context({"a.sls": "{% do rendered_sls.add('base:b') %}"})
    render_sls(ctx.fileclient.sls_file("a", "base"), ctx)
    assert ctx.rendered_sls == {"base:b"}


class TestPy:
    def test_names_it_sees(self):
        text = (
            "#!py\nimport json as salt\nopts = None\n"
            "def run():\n"
            "    assert salt.__name__ == 'json'\n"
            "    return [__salt__['m.f'](), __grains__, pillar, __opts__ == opts, __env__, sls, saltenv, context]\n"
        )
        data = render(text, salt={"m.f": lambda: 7}, grains={"g": 1}, pillar={"p": 2}, extra={"c": 3}).data
        assert data == [7, {"g": 1}, {"p": 2}, True, "base", "p.q", "base", {"c": 3}]

    def test_dataclasses_work(self):
        text = "#!py\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    x: 'int' = 1\ndef run():\n    return {'x': A().x}\n"
        assert render(text).data == {"x": 1}

    def test_nothing_is_a_file_without_states(self):
        assert render("#!py\ndef run():\n    pass\n").data == {}


@pytest.fixture(scope="module")
def key_directory(gpg_home):
    """A key ring with one key and no passphrase."""
    gpg(gpg_home, *"--passphrase= --quick-generate-key test@example.org future-default default never".split())
    return gpg_home


def gpg(home, *words, text=""):
    command = ["gpg", "--homedir", str(home), "--batch", "--quiet", *words]
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout


def encrypt(home, text):
    return gpg(home, *"--trust-model always -ea -r test@example.org".split(), text=text)


class TestGpg:
    def test_messages_in_data_are_decrypted_and_remembered(self, key_directory):
        cipher = encrypt(key_directory, "s3cret\n")
        folded = "".join(f"\n  {line}" for line in cipher.splitlines())
        text = f'#!yaml|gpg\na: |{folded}\nb: [1, {{c: "x={cipher.replace(chr(10), chr(92) + "n")}"}}]\nd: plain\n'
        secrets: set[str] = set()
        rendered = render(text, opts={"gpg_keydir": str(key_directory)}, secrets=secrets)
        assert rendered.data == {"a": "s3cret", "b": [1, {"c": "x=s3cret"}], "d": "plain"}
        assert secrets == {"s3cret"}
        assert rendered.line_of("d") == len(text.splitlines())

    def test_text_may_be_decrypted_before_yaml(self, key_directory):
        text = f"#!gpg|yaml\n{encrypt(key_directory, 'a: {b: 1, c: [hunter2, yes, v]}')}"
        secrets: set[str] = set()
        rendered = render(text, opts={"gpg_keydir": str(key_directory)}, secrets=secrets)
        assert rendered.data == {"a": {"b": 1, "c": ["hunter2", True, "v"]}}
        assert secrets == {"a: {b: 1, c: [hunter2, yes, v]}", "hunter2"}

    def test_what_cannot_be_decrypted(self, key_directory, tmp_path):
        cipher = encrypt(key_directory, "x")
        text = "#!yaml|gpg\na: |" + "".join(f"\n  {line}" for line in cipher.splitlines())
        opts = {"config_dir": str(tmp_path)}
        (tmp_path / "gpgkeys").mkdir(mode=0o700)
        with pytest.raises(RenderError, match="Could not decrypt cipher") as caught:
            render(text, opts=opts)
        assert caught.value.file == "/memory/base/p/q.sls"
        assert render(text, opts={**opts, "gpg_decrypt_must_succeed": False}).data == {"a": cipher.rstrip()}

    def test_without_the_program(self, monkeypatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(RenderError, match="GPG unavailable"):
            render("#!yaml|gpg\na: 1\n")

    def test_other_values_stay(self, key_directory):
        text = "#!yaml|gpg\na: !!binary /w==\nb: 1\nc: {1: [x]}\n"
        assert render(text).data == {"a": b"\xff", "b": 1, "c": {1: ["x"]}}


def test_who_holds_the_lines_does_not_hold_the_data():
    """The chunks of a plan find their lines on request; the high data is gone by then."""

    class Data(dict):
        """A dict that can be watched."""

    rendered = Rendered(Data(web={}))
    line_of, data = rendered.line_of, weakref.ref(rendered.data)
    del rendered
    assert data() is None
    assert line_of("web") == 0
