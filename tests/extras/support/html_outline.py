"""The elements and the text of a page, for tests of reports."""

from __future__ import annotations

from html.parser import HTMLParser


class Outline(HTMLParser):
    """Notes elements and text; fails on an element that is not closed."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.elements = []
        self.text = ""

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in {"meta", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
