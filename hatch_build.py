"""Build hook: the top-level plugin trees are installed as ``asyncstate.states`` and ``asyncstate.modules``."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PluginTrees(BuildHookInterface):
    """Put the plugin trees into the wheel; an editable install finds them through ``asyncstate/__init__.py``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the trees to a standard wheel only: an editable one would get a copy that goes stale."""
        if version == "standard":
            build_data["force_include"]["states"] = "asyncstate/states"
            build_data["force_include"]["modules"] = "asyncstate/modules"
