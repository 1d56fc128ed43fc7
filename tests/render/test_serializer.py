from __future__ import annotations

import logging

import pytest
from memory_files import MemoryFileClient
from record_answers import DATA, LIST, recorded
from tables import beside

from asyncstate.errors import RenderError
from asyncstate.render import render_jinja
from asyncstate.render.context import RenderContext

TABLES = beside(__file__)


def render(template):
    context = RenderContext(
        salt={},
        grains={},
        pillar={},
        opts={},
        fileclient=MemoryFileClient({"base": {}}),
        sls="a",
        extra={**DATA, "l": LIST},
    )
    return render_jinja(template, context)


ANSWERS = recorded("template")
BETTER = {
    "{{ 5|load_yaml }}": "Jinja syntax error: Unable to load yaml from 5; line 1",
    "{{ {}|xml }}": "Jinja syntax error: Value is empty. Cannot render as XML; line 1",
}
"""Where Salt has an error of Python's inside a library, we have the words of its other errors of that kind."""


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
    assert str(caught.value).startswith(BETTER.get(template, message[1:]))
    assert not str(caught.value).startswith(message[1:]) or template not in BETTER


def test_a_structure_that_holds_itself_is_searched_once():
    from asyncstate.render.serializer import undefined_in

    items: list[object] = [1]
    items.append({"again": items})
    assert undefined_in(items) == []


def test_profile_logs_the_time(caplog):
    with caplog.at_level(logging.DEBUG, "asyncstate"):
        render("{% profile as 'slow part' %}{% endprofile %}")
    assert "Time (in seconds) to render profile block 'slow part':" in caplog.text
