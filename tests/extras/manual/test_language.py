"""Every word of the language has a page, and the examples of the pages run."""

from __future__ import annotations

import json
import os
import re

import pytest
import yaml

from asyncstate.extras.manual.language import TOPICS, page_of
from asyncstate.model.requisite import CONDITIONS, IN_SUFFIXED, REQUISITE_KEYWORDS, RUNTIME_KEYWORDS

NOT_WRITTEN = frozenset("fun state saltenv prereq_in cmd_opts_exclude runas_password".split())
"""What the engine writes into low data itself, and what only stands beside another word."""


def examples(topic):
    """Yield (name of the SLS file, text) of each example of a page."""
    before = ""
    for part in re.split(r"\n((?: {4}.*\n|\n(?= {4}))+)", page_of(topic).text):
        if part.lstrip("\n").startswith("    "):
            name = "other" if before.rstrip().endswith("other.sls is:") else "top" if topic == "top" else "lesson"
            yield name, re.sub("^ {4}", "", part, flags=re.MULTILINE)
        before = part


def test_every_word_of_the_language_is_taught():
    words = {*REQUISITE_KEYWORDS, *CONDITIONS, *IN_SUFFIXED, *RUNTIME_KEYWORDS} - NOT_WRITTEN
    words |= {"aggregate", "include", "exclude", "extend", "name", "names", "order"}
    assert {word for word in words if not word.startswith("__") and not page_of(word)} == set()
    assert page_of("require_in").topic == page_of("require_any").topic == "require"
    assert page_of("nonsense") is page_of("nonsense_in") is None


@pytest.mark.parametrize("topic", TOPICS)
def test_the_examples_of_a_page_run_twice(topic, run_here, tmp_path):
    if topic == "runas" and os.geteuid():
        pytest.skip("only root may run a command as another account")
    place = tmp_path / "lesson"
    place.mkdir()
    tree = tmp_path / "salt"
    tree.mkdir()
    for name in ("common", "debian", "web"):
        (tree / f"{name}.sls").write_text(f"{name}-is-here:\n  test.nop: []\n")
    texts: dict[str, str] = {}
    for name, text in examples(topic):
        texts[name] = texts.get(name, "") + text
    assert texts
    for name, text in texts.items():
        (tree / f"{name}.sls").write_text(text.replace("/tmp/lesson", str(place)))
    names = ["lesson"] if "lesson" in texts else []
    config = tmp_path / "config.yaml"
    config.write_text("lanes: {downloads: 1}\nduplicate_ids: error\n")
    config.chmod(0o600)
    if topic == "include":
        (tree / "lesson.sls").write_text(
            (tree / "lesson.sls").read_text() + "not-wanted:\n  test.fail_without_changes: []\n"
        )
    for _ in range(2):
        done = run_here("apply", *names, "--config", config, "--file-root", tree, "--out", "json")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "arning" not in done.stderr, done.stderr
        rows = json.loads(done.stdout)
        assert rows
        assert all(row["result"] is True for row in rows.values())
    if topic in RUN_AGAIN:
        return
    assert not any(row["changes"] for row in rows.values())


RUN_AGAIN = frozenset("parallel runas umask check_cmd retry fire_event reload_modules footprint timeout".split())
"""Whose examples have a command or a state that always changes something."""


@pytest.mark.parametrize("topic", TOPICS)
def test_a_page_has_a_title_fits_the_screen_and_names_what_exists(topic):
    page = page_of(topic)
    title = page.title
    empty, *lines = page.text.splitlines()
    assert re.match(rf"[a-z_., ]*\b{topic}\b|Requisites:|top.sls:", title)
    assert empty == ""
    assert max(map(len, lines)) <= 100
    named = re.findall(r"asyncstate doc ([a-z_]+)(?![a-z_.])", " ".join(lines))
    assert all(page_of(name) for name in named)
    assert any(line.startswith("See: ") for line in lines)


def test_the_examples_are_yaml_or_templates():
    for topic in TOPICS:
        for _, text in examples(topic):
            assert "{" in text or isinstance(yaml.safe_load(text), dict)
