from __future__ import annotations

import logging

import pytest
from memory_files import MemoryFileClient
from messages import said
from record_answers import DATA, LIST, recorded
from tables import beside

from asyncstate.errors import RenderError
from asyncstate.render import render_jinja
from asyncstate.render.context import RenderContext

TABLES = beside(__file__)


def render(template):
    empty = {"salt": {}, "grains": {}, "pillar": {}, "opts": {}, "fileclient": MemoryFileClient({"base": {}})}
    return render_jinja(template, RenderContext(**empty, sls="a", extra={**DATA, "l": LIST}))


ANSWERS = recorded("template")
BETTER = {"{{ 5|load_yaml }}", "{{ {}|xml }}"}
"""Where Salt has an error of Python's inside a library, messages.yaml has the words of its other errors of that kind."""


@pytest.mark.parametrize(("template", "text"), [each for each in ANSWERS.items() if not each[1].startswith("!")])
def test_filters_print_what_salt_prints(template, text):
    assert render(template) == text


@pytest.mark.parametrize(("template", "text"), TABLES["tags"])
def test_tags(template, text):
    assert render(template) == text


@pytest.mark.parametrize(("template", "message"), [each for each in ANSWERS.items() if each[1].startswith("!")])
def test_errors_are_salts_or_better(template, message):
    with pytest.raises(RenderError) as caught:
        render(template)
    assert str(caught.value).startswith(message[1:]) is (template not in BETTER)


def test_a_structure_that_holds_itself_is_searched_once():
    from asyncstate.render.serializer import undefined_in

    items: list[object] = [1]
    items.append({"again": items})
    assert undefined_in(items) == []


def test_profile_logs_the_time(caplog):
    with caplog.at_level(logging.DEBUG, "asyncstate"):
        render("{% profile as 'slow part' %}{% endprofile %}")
    assert said("profile", block="slow part") in caplog.text
