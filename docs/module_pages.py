"""Hook of mkdocs: pages that are made when the site is built: one for each bundled module, and one of all codes.

``asyncstate doc`` and ``asyncstate explain`` print the same text. Nothing of it is kept in the repository.
"""
# ruff: noqa: INP001 - a script beside the pages it makes

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the site is built from a checkout

from mkdocs.structure.files import File

from docs.bundled import bundled_modules
from docs.page_texts import codes_page, page

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

SECTIONS = {"states": "States", "modules": "Execution modules"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, and a section of the navigation for each kind."""
    navigation = config.nav if isinstance(config.nav, list) else []
    files.append(File.generated(config, "codes.md", content=codes_page()))
    navigation.append({"Codes of mistakes": "codes.md"})
    for kind, title in SECTIONS.items():
        section = []
        for name, providers in bundled_modules(kind).items():
            path = f"{kind}/{name}.md"
            files.append(File.generated(config, path, content=page(kind, name, providers)))
            section.append({name: path})
        navigation.append({title: section})
    return files
