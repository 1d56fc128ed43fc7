"""The language of SLS files, one page a word: for ``asyncstate doc requisites``."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

TOPICS: Final = tuple(
    """requisites require watch onchanges onfail prereq listen use onlyif unless creates check_cmd retry timeout order
    failhard parallel aggregate footprint runas umask no_log fire_event reload_modules names include extend top jinja
    pillar grains test fleet_order""".split()
)
"""The pages, in the order in which one might read them."""

_FOLDER = Path(__file__).resolve().parent / "topics"
_OTHER_WORDS = {
    "exclude": "include",
    "exclusive": "parallel",
    "fleet_lane": "fleet_order",
    "lane": "parallel",
    "match": "top",
    "name": "names",
    "onfail_stop": "onfail",
    "prerequired": "prereq",
    "reload_grains": "reload_modules",
    "reload_pillar": "reload_modules",
    "requisite": "requisites",
}


class Page(NamedTuple):
    """The page of a topic. In its text, lines indented by four spaces are SLS."""

    topic: str
    title: str
    text: str


def page_of(word: str) -> Page | None:
    """Return the page that teaches a word, also of a form such as require_in or watch_any; None if none does."""
    topic = _OTHER_WORDS.get(word, word)
    stem, _, form = topic.rpartition("_")
    if topic not in TOPICS and form in {"in", "any", "all"}:
        topic = stem
    if topic not in TOPICS:
        return None
    title, _, text = (_FOLDER / f"{topic}.txt").read_text(encoding="utf-8").partition("\n")
    return Page(topic, title, text)
