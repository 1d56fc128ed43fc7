"""Rendering, pillar, grains and the file roots: what an SLS sees, and what it may say."""

import pytest

from asyncstate.errors import PillarError


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
