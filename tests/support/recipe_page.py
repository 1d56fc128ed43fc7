"""docs/recipes.md in pieces: its recipes by title, and the files in each."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

_PAGE = (Path(__file__).parents[2] / "docs" / "recipes.md").read_text(encoding="utf-8")

RECIPES: dict[str, str] = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", _PAGE, re.DOTALL | re.MULTILINE))


def blocks(title: str) -> list[str]:
    """Return the files of a recipe."""
    return re.findall(r"^```\w+\n(.*?)^```", RECIPES[title], re.DOTALL | re.MULTILINE)


def github_script() -> str:
    """Return what the job of GitHub runs, each step in a shell of its own: ``bash -e``, as GitHub has it."""
    (job,) = yaml.safe_load(blocks("GitHub Actions")[0])["jobs"].values()
    steps = [step["run"] for step in job["steps"] if "run" in step]
    return "".join(f"bash -e <<'STEP' || exit\n{step}\nSTEP\n" for step in steps)


def gitlab_script() -> str:
    """Return what the job of GitLab runs: all lines in one shell, which ends with the first that fails."""
    return "\n".join(["set -eo pipefail", *yaml.safe_load(blocks("GitLab CI")[0])["states"]["script"]])
