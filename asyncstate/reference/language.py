"""The language of SLS files, one page a word: for ``asyncstate doc requisites``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

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


def topic_of(word: str) -> str:
    """Return the topic that teaches a word, also of a form such as require_in or watch_any; "" if none does."""
    word = _OTHER_WORDS.get(word, word)
    if word in TOPICS:
        return word
    stem, _, form = word.rpartition("_")
    return stem if form in {"in", "any", "all"} and stem in TOPICS else ""


def topic_text(topic: str) -> str:
    """Return the page of a topic. Its first line is the title; lines indented by four spaces are SLS."""
    return (_FOLDER / f"{topic}.txt").read_text(encoding="utf-8")
