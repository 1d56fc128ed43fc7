"""Trust in plugins: root runs only plugins that no other account can write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asyncstate.errors import ConfigError
from asyncstate.filesystem import writable_below
from asyncstate.load.search_path import FOLDER_OPTIONS, plugin_folders

if TYPE_CHECKING:
    from collections.abc import Mapping

    from asyncstate.dunders import FileRoots

_CODE = (".py", ".so")
_MOST_NAMED = 5


def require_trusted_plugins(opts: Mapping[str, Any], file_client: FileRoots) -> None:
    """Raise ConfigError, as root, if others can change plugins of the tree or of the folders that options name.

    The option ``trust_writable`` allows it. Installed and bundled plugins are as safe as this program itself.
    """
    if opts.get("trust_writable") is True:
        return
    found = writable_plugins(opts, file_client)
    if found:
        named = "".join(f"\n{path}: {user}" for path, user in found[:_MOST_NAMED])
        more = f"\nand {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        raise ConfigError(
            "root does not run plugins that others can change. Give them and their folders to root (chown root, "
            f"chmod go-w), or use --trust-writable. Who can change what:{named}{more}"
        )


def writable_plugins(opts: Mapping[str, Any], file_client: FileRoots) -> list[tuple[str, str]]:
    """Return the plugins, and folders of plugins, that accounts other than root can change, each with the account."""
    folders = {
        folder.path: None
        for kind in (*FOLDER_OPTIONS, "interfaces")
        for folder in plugin_folders(kind, opts, file_client)
    }
    return [entry for folder in folders for entry in writable_below(folder, _CODE)]
