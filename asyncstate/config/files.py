"""Configuration files: finds them, and reads them with the files they include."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any

from asyncstate.errors import ConfigError, PathRefused
from asyncstate.value import Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SYSTEM_CONFIG = "/etc/asyncstate/config.yaml"
PROJECT_CONFIG = "asyncstate.yaml"


class Project(Value):
    """A folder with a tree of its own.

    It has a configuration file, ``asyncstate.yaml``, or a ``salt/`` with ``top.sls``, or both.
    """

    folder: str
    config: str = ""

    @property
    def marker(self) -> str:
        """The file that makes the folder a project."""
        return self.config or os.path.join(self.folder, "salt", "top.sls")

    @property
    def layout(self) -> Project | None:
        """The same folder without its configuration, None if it has no ``salt/top.sls``."""
        alone = Project(self.folder)
        return alone if os.path.isfile(alone.marker) else None

    def roots(self) -> dict[str, Any]:
        """Return the roots that the layout of the folder implies."""
        pillar = os.path.join(self.folder, "pillar")
        return {
            "file_roots": {"base": [os.path.join(self.folder, "salt")]},
            "pillar_roots": {"base": [pillar] if os.path.isdir(pillar) else []},
        }


def find_project(start: str | None = None) -> Project | None:
    """Return the project of ``start``, by default the working directory: the nearest one from there upwards."""
    try:
        folder = os.path.abspath(start or os.getcwd())
    except FileNotFoundError:  # the working directory was removed
        return None
    while True:
        for project in (Project(folder, os.path.join(folder, PROJECT_CONFIG)), Project(folder)):
            if os.path.isfile(project.marker):
                return project
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def require_own_project(project: Project) -> None:
    """Raise ConfigError for a project that another user could have put there to have commands run.

    Root uses none that others can change. Another user needs a folder that he or root owns, not writable for all.
    """
    from asyncstate.filesystem import who_can_change  # noqa: PLC0415 - start-up time: most folders have no project

    marker = project.marker
    found = os.stat(project.folder)
    user = who_can_change(marker)
    if not user and os.geteuid() != 0 and (found.st_uid not in {0, os.geteuid()} or found.st_mode & stat.S_IWOTH):
        user = "everybody" if found.st_mode & stat.S_IWOTH else f"user {found.st_uid}"
    if user:
        mine = "root does" if os.geteuid() == 0 else "you do"
        raise ConfigError(
            f"{marker}: {mine} not use a project that {user} can change. If you trust it, add --trust-writable; "
            "else change to another folder."
        )


def require_own_tree(project: Project, roots: Iterable[str]) -> None:
    """Raise ConfigError if others can change files or folders in the roots of a project that was found, not named."""
    from asyncstate.filesystem import writable_below  # noqa: PLC0415 - as above

    for root in roots:
        for path, user in writable_below(root, ("",)):
            raise ConfigError(
                f"{path}: root does not use a project, {project.folder}, in which {user} can change this. If you trust "
                f"it, name its roots (--file-root {root}); else: chown root, chmod go-w"
            )


def default_files(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the default configuration files that exist: the system's, then the user's."""
    return [path for path in default_candidates(environ) if os.path.isfile(path)]


def default_candidates(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the paths of the default configuration files, whether they exist or not."""
    environ = os.environ if environ is None else environ
    home = environ.get("HOME") or os.path.expanduser("~")
    for base in (environ.get("XDG_CONFIG_HOME", ""), os.path.join(home, ".config")):
        if os.path.isabs(base):  # a file in the working directory may be anybody's
            return [SYSTEM_CONFIG, os.path.join(base, "asyncstate", "config.yaml")]
    return [SYSTEM_CONFIG]


def main_file(path: str) -> str:
    """Return the file of a configuration that is named by its file or its directory. Raises ConfigError."""
    path = _absolute(path)
    if not os.path.isdir(path):
        return path
    for name in ("config.yaml", "minion"):
        if os.path.isfile(os.path.join(path, name)):
            return os.path.join(path, name)
    raise ConfigError(f"{path}: the directory contains neither config.yaml nor minion")


def _absolute(path: str) -> str:
    """Return an absolute path. ``..`` stays: after a link it leads elsewhere than the text says."""
    parts = [part for part in path.split(os.sep) if part not in {"", os.curdir}]
    return os.path.join(os.sep if os.path.isabs(path) else os.getcwd(), *parts)


def read_with_includes(path: str, seen: frozenset[str] = frozenset()) -> list[tuple[str, dict[str, Any]]]:
    """Return the file and those it includes, lowest precedence first. A file that includes itself is read once."""
    content = _read_file(path)
    result = [(path, content)]
    patterns = ["minion.d/*.conf"] if os.path.basename(path) == "minion" and not seen else []
    if isinstance(default := content.get("default_include"), str):
        patterns = [default]
    named = content.get("include") or []
    patterns += [named] if isinstance(named, str) else named
    for pattern in patterns:
        where = os.path.join(os.path.dirname(path), os.path.expanduser(str(pattern)))
        import glob  # noqa: PLC0415 - hardly any configuration includes others

        for found in map(os.path.normpath, sorted(glob.glob(where))):
            if found not in seen | {path}:
                result += read_with_includes(found, seen | {path})
    return result


def require_root_alone(path: str) -> None:
    """As root, refuse a file that others can change, because they could make root run anything."""
    from asyncstate.filesystem import who_can_change  # noqa: PLC0415 - start-up time: --help reads no configuration

    try:
        user = who_can_change(path)
    except OSError:
        return  # an inherited descriptor (/dev/fd/63) has no path that others could change
    if user:
        raise ConfigError(
            f"{path}: root does not follow configuration that {user} can change. Give the file and its folders to root "
            "(chown root, chmod go-w), or use --trust-writable."
        )


def _read_file(path: str) -> dict[str, Any]:
    from asyncstate.filesystem import read_input  # noqa: PLC0415 - start-up time: --help reads no configuration

    try:
        text = read_input(path).decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the configuration: {error.strerror}") from None
    except PathRefused as error:
        raise ConfigError(str(error)) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text: {error.reason} at byte {error.start}") from None
    content = parse_yaml(text, path)
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a mapping of options, got {type(content).__name__}")
    return {str(key): value for key, value in content.items()}


def parse_yaml(text: str | bytes, source: str) -> Any:
    """Parse a text as YAML. Raises ConfigError, which names the source and the line."""
    import yaml  # noqa: PLC0415 - start-up time: --help reads no configuration

    from asyncstate.data.standard_yaml import load_standard_yaml  # noqa: PLC0415

    try:
        return load_standard_yaml(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise ConfigError(f"{source}:{line}: not valid YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: not valid YAML: {error}") from None
