"""The lint findings of a tree, without the ones silenced by comments or settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from asyncstate.extras.analyse.lint import lint
from asyncstate.model.rules import RULES, Silenced
from asyncstate.sources.fileclient import LocalFileClient, OtherTexts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from asyncstate.config import Settings
    from asyncstate.extras.analyse.lint import Finding
    from asyncstate.model.plan import Plan


def tree_findings(
    plan: Plan,
    settings: Settings,
    unused_pillar: list[str],
    *,
    read: Callable[[str], str],
    rules: Collection[str] = RULES.keys(),
    texts: Mapping[str, str] | None = None,
) -> list[Finding]:
    """Return the findings of some rules by place, without ``ignore_rules`` and the ones silenced by comments.

    ``plan`` is for display; ``unused_pillar`` are the unread keys; ``read`` returns the text of a file, and ``texts``
    replace files of the pillar, by path.
    """
    wanted = set(rules) - set(settings.ignore_rules)
    silenced = Silenced(read)
    return [
        finding
        for finding in lint(plan, _places(settings, unused_pillar, texts or {}))
        if finding.rule in wanted and not silenced.holds(finding.rule, finding.file, finding.line, finding.code)
    ]


def _places(settings: Settings, keys: list[str], texts: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """Return the file and line of each key at the left margin of a pillar file; "" and 0 if there is none."""
    found: dict[str, tuple[str, int]] = dict.fromkeys(keys, ("", 0))
    client = OtherTexts(LocalFileClient.from_opts(settings.opts(), "pillar_roots"), texts)
    files = [(env, file) for env in client.envs() for file in client.list_files(env) if file.endswith(".sls")]
    for env, file in files if keys else ():
        path = client.find(file, env)
        for number, line in enumerate(client.read(path).splitlines() if path else (), 1):
            key = line.split(b":")[0].strip(b"'\"").decode(errors="replace")
            if path and found.get(key) == ("", 0):
                found[key] = (path, number)
    return found
