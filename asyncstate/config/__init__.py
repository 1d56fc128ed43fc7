"""Settings: Salt's minion options with types, and the sources they are read from.

An existing ``/etc/salt/minion`` works unchanged: names and defaults are Salt 3008's, and options unknown to
this package are kept and reach plugins through ``__opts__``. Later sources win: configuration files in the
order given (nested mappings are merged), the project's file, ``ASYNCSTATE_<OPTION>`` in the environment (its value is
YAML), flags of the command line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from asyncstate.config.files import (
    Project,
    default_files,
    find_project,
    main_file,
    parse_yaml,
    read_with_includes,
    require_own_project,
    require_own_tree,
    require_root_alone,
)
from asyncstate.config.settings import FIELDS, FIXED_OPTIONS, Settings, machine_state_dir
from asyncstate.config.values import ROOT_OPTIONS, checked, convert, copied, in_lower_case, is_list_of_texts, tolerated
from asyncstate.errors import ConfigError
from asyncstate.logs import get_logger
from asyncstate.nearest import near_miss

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import msgspec

__all__ = ["Settings", "default_files", "find_project", "load_settings"]

log: Final = get_logger(__name__)

_ENV_PREFIX = "ASYNCSTATE_"
_ENV_OF_THE_COMMAND_LINE = frozenset({"ASYNCSTATE_CONFIG"})
_FLAGS = {
    "file_roots": "--file-root",
    "pillar_roots": "--pillar-root",
    "grains_override": "--grains",
    "grace_seconds": "--grace",
    "state_top": "--top",
}


@checked
def load_settings(
    files: Sequence[Path | str] | None = (),
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    project: Project | None = None,
    *,
    as_salt: bool = False,
) -> Settings:
    """Read configuration files, the environment and flags into Settings.

    A file may be a minion configuration (with its ``include`` and, if it is named ``minion``, ``minion.d/*.conf``) or a
    directory that contains one (``config.yaml`` or ``minion``); None means the default files of this machine.
    ``overrides`` are options by name; None means "not given". Raises ConfigError, which names the source and the
    option, for a file that cannot be read, a value of the wrong type, a misspelt name of a variable or an override,
    and, as root, for a file that others can change. ``trust_writable`` in the variables or overrides allows that (in a
    file it has no such effect).

    The configuration of a ``project`` comes after ``files``. Its folders are the roots if no source names
    ``file_roots``. Raises ConfigError for a project that another user could have put there.

    With ``as_salt``, a wrong value that Salt ignores is ignored, with a warning.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    variables = _from_environment(os.environ if environ is None else environ)
    trusts_all = _trusts_all(variables, overrides)
    if project is not None and not trusts_all:
        require_own_project(project)
    named = default_files(environ) if files is None else files
    for file in [*named, *([project.config] if project and project.config else [])]:
        path = main_file(os.fspath(file))
        values["conf_file"] = path
        for source, content in read_with_includes(path):
            if not trusts_all:
                require_root_alone(source)
            _warn_of_near_misses(content, source)
            _merge_into(values, content)
            origins.update(dict.fromkeys(content, f"file {source}"))
    for option, value, origin in variables:
        values[option] = value
        origins[option] = origin
    overrides = overrides or {}
    for option, value in overrides.items():
        if value is not None:
            flag = _FLAGS.get(option) or f"--{option.replace('_', '-')}"
            if option == "grains_override" and "grains_alone" in overrides:
                flag = "--for-machine"
            _refuse_misspelling(option, flag)
            values[option] = value
            origins[option] = f"flag {flag}"
    if project is not None and "file_roots" not in values and (layout := project.layout):
        if not trusts_all:
            require_own_project(layout)
        implied = {option: roots for option, roots in layout.roots().items() if option not in values}
        values.update(implied)
        origins.update(dict.fromkeys(implied, f"project {project.folder}"))
    settings = _build(values, origins, as_salt=as_salt)
    if project is not None and not trusts_all:
        of_project = (f"project {project.folder}", f"file {project.folder}{os.sep}")
        for option, roots in (("file_roots", settings.file_roots), ("pillar_roots", settings.pillar_roots)):
            if origins.get(option, "").startswith(of_project):
                require_own_tree(project, [folder for folders in roots.values() for folder in folders])
    return settings


def _build(values: Mapping[str, Any], origins: dict[str, str], *, as_salt: bool = False) -> Settings:
    known: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    wrong: list[str] = []
    for option, value in values.items():
        field = FIELDS.get(option)
        if option == "grains_override" and value is not None:
            known[option] = convert(option, value, dict[Any, Any], origins.get(option, ""))
        elif field is None:
            is_text = option in EXTRA_TEXTS and value is not None
            extra[option] = convert(option, value, str, origins.get(option, "")) if is_text else value
        elif value is not None:  # an empty value in a file means the default
            try:
                known[option] = _typed(option, value, field.type, origins.get(option, ""))
            except ConfigError as error:
                if not as_salt or option not in _SALT_IGNORES_MISTAKES:
                    wrong.append(str(error))
                    continue
                log.warning("%s: ignored, as Salt does", error)
                known[option] = tolerated(value, field.type, field.default)
    if wrong:
        raise ConfigError("\n".join(wrong))
    known["state_dir"] = known.get("state_dir") or machine_state_dir()
    settings = Settings(**known, extra=extra, origins=origins)
    for kind in _of_extras(extra):
        settings.of(kind)
    return settings


def _of_extras(options: Iterable[str]) -> list[type[msgspec.Struct]]:
    """Return the settings of extras, if one of these options, which have no field here, may be theirs."""
    if all(map(_is_known, options)):
        return []
    from asyncstate import extend  # noqa: PLC0415 - most configurations have none

    return extend.settings()


EXTRA_TEXTS = frozenset(
    {"append_domain", "config_dir", "environment", "extension_modules", "gpg_keydir", "master", "user"}
)
"""Custom options that this package reads, too."""
_SALT_IGNORES_MISTAKES = frozenset(
    "state_output log_level log_granular_levels top_file_merging_strategy backup_mode disabled_requisites".split()
)


def _typed(option: str, value: Any, wanted: Any, origin: str) -> Any:
    if option in ROOT_OPTIONS:
        return value  # may have several forms, see normalise_roots
    if is_list_of_texts(wanted) and isinstance(value, str):
        value = [value]
    try:
        return convert(option, value, wanted, origin)
    except ConfigError as error:
        try:
            return convert(option, in_lower_case(value), wanted, origin)
        except ConfigError:
            raise error from None


def _trusts_all(variables: list[tuple[str, Any, str]], overrides: Mapping[str, Any] | None) -> bool:
    value = (overrides or {}).get("trust_writable")
    if value is None:
        value = next((value for option, value, _ in variables if option == "trust_writable"), False)
    return value is True


def _merge_into(target: dict[str, Any], update: Mapping[str, Any]) -> None:
    for key, value in update.items():
        mine = target.get(key)
        if isinstance(mine, dict) and isinstance(value, Mapping):
            _merge_into(mine, value)
        else:
            target[key] = copied(value)


def _from_environment(environ: Mapping[str, str]) -> list[tuple[str, Any, str]]:
    """Return (option, value, origin) for each variable that begins with ``ASYNCSTATE_``, sorted by name."""
    found = []
    for variable in sorted(environ):
        if not variable.startswith(_ENV_PREFIX) or variable in _ENV_OF_THE_COMMAND_LINE:
            continue
        option = variable.removeprefix(_ENV_PREFIX).lower()
        _refuse_misspelling(option, variable)
        value = parse_yaml(environ[variable], variable)
        field = FIELDS.get(option)
        if field is not None and field.type in (str, str | None) and not isinstance(value, str):
            value = environ[variable]  # ASYNCSTATE_ID=0123 is text, although YAML reads a number
        found.append((option, value, f"environment {variable}"))
    return found


def _is_known(option: str) -> bool:
    """Whether an option is the engine's own or, without effect, Salt's: its name is right, and no extra's."""
    if option in FIELDS or option in FIXED_OPTIONS or option == "grains_override":
        return True
    from asyncstate.config.without_effect import INSTEAD  # noqa: PLC0415 - most configurations have no other options

    return option in INSTEAD


def _misspelt(options: Iterable[str]) -> dict[str, str]:
    """Return the options whose names are probably slips, each with the name that is meant."""
    unknown = [option for option in options if not _is_known(option)]
    known = {*FIELDS, *(name for kind in _of_extras(unknown) for name in kind.__struct_fields__)}
    return {option: meant for option in unknown if (meant := near_miss(option, known))}


def _refuse_misspelling(option: str, written: str) -> None:
    for meant in _misspelt([option]).values():
        raise ConfigError(f"{written}: there is no option {option!r}. Did you mean {meant!r}?")


def _warn_of_near_misses(content: Mapping[str, Any], source: str) -> None:
    for option, meant in _misspelt(content).items():
        log.warning("%s: unknown option %r is kept as a custom one. Did you mean %r?", source, option, meant)
