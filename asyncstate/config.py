"""Settings: Salt's minion options with types, and the sources they are read from.

An existing ``/etc/salt/minion`` works unchanged: names and defaults are those of Salt 3008, and options that this
package does not know are kept and reach plugins through ``__opts__``. Later sources win: configuration files in the
order given (nested mappings are merged), ``ASYNCSTATE_<OPTION>`` in the environment (its value is YAML), flags of the
command line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import msgspec

from asyncstate.errors import ConfigError, PathRefused
from asyncstate.logs.loggers import get_logger
from asyncstate.model.rules import RULES
from asyncstate.nearest import nearest

if TYPE_CHECKING:
    import logging

log: logging.Logger = get_logger(__name__)

ENV_PREFIX = "ASYNCSTATE_"
_ENV_OF_THE_COMMAND_LINE = frozenset({"ASYNCSTATE_CONFIG"})
_SYSTEM_CONFIG = Path("/etc/asyncstate/config.yaml")
_NEAR = 0.86

_AtLeastZero = Annotated[int, msgspec.Meta(ge=0)]
_Roots = dict[str, list[str]]

_ROOT_OPTIONS = ("file_roots", "pillar_roots")
_DEFAULT_ROOTS = {"file_roots": "/srv/salt", "pillar_roots": "/srv/pillar"}
_UNDER_ROOT_DIR = ("cachedir", "state_dir", "pki_dir", "log_file")
_PATH_LISTS = ("states_dirs", "module_dirs", "utils_dirs", "grains_dirs", "render_dirs")
_FLAGS = {"file_roots": "--file-root", "pillar_roots": "--pillar-root", "grains_override": "--grains"}
_OWN_FIELDS = frozenset({"extra", "origins", "grains_override"})


class Settings(msgspec.Struct, kw_only=True):
    """Every option under its Salt name. Times are in seconds, directories are absolute paths.

    Create it directly (``Settings(file_roots={"base": ["srv/salt"]})``) or with `load_settings`. Relative roots are
    resolved against the working directory. ``id``, ``cachedir``, ``state_dir`` and ``concurrency`` get this machine's
    values if they are not given. Raises ConfigError for a value of the wrong type.
    """

    id: str = ""
    conf_file: str = str(_SYSTEM_CONFIG)
    root_dir: str = "/"
    cachedir: str = ""
    state_dir: str = ""
    pki_dir: str = "/etc/salt/pki/minion"
    log_file: str = "/var/log/asyncstate/asyncstate.log"
    log_level: str = "warning"
    log_granular_levels: dict[str, str] = {}

    file_client: str = "local"
    file_roots: _Roots = {}
    pillar_roots: _Roots = {}
    fileserver_followsymlinks: bool = True
    fileserver_ignoresymlinks: bool = False
    file_ignore_glob: list[str] = []
    file_ignore_regex: list[str] = []

    saltenv: str | None = None
    pillarenv: str | None = None
    pillarenv_from_saltenv: bool = False
    state_top: str = "top.sls"
    state_top_saltenv: str | None = None
    top_file_merging_strategy: str = "merge"
    env_order: list[str] = []
    default_top: str = "base"
    nodegroups: dict[str, str | list[str]] = {}

    pillar: dict[str, Any] = {}
    pillar_source_merging_strategy: Literal["smart", "recurse", "list", "aggregate", "overwrite", "none"] = "smart"
    pillar_merge_lists: bool = False
    pillar_includes_override_sls: bool = False
    pillar_safe_render_error: bool = True
    pillar_opts: bool = False
    ext_pillar: list[Any] = []
    grains: dict[str, Any] = {}
    grains_override: dict[str, Any] = {}
    grains_deep_merge: bool = False
    grains_blacklist: list[str] = []

    renderer: str = "jinja|yaml"
    renderer_blacklist: list[str] = []
    renderer_whitelist: list[str] = []
    jinja_env: dict[str, Any] = {}
    jinja_sls_env: dict[str, Any] = {}
    jinja_trim_blocks: bool = False
    jinja_lstrip_blocks: bool = False
    allow_undefined: bool = False

    states_dirs: list[str] = []
    module_dirs: list[str] = []
    utils_dirs: list[str] = []
    grains_dirs: list[str] = []
    render_dirs: list[str] = []
    disable_modules: list[str] = []
    trust_writable: bool = False
    providers: dict[str, str] = {}
    smi_validate: bool | Literal["off", "warn", "raise"] = False
    smi_strict: bool = False
    smi_visible_stubs: bool = False
    smi_require: list[str] = []

    test: bool = False
    failhard: bool = False
    state_auto_order: bool = True
    state_aggregate: bool | list[str] | str | None = None
    disabled_requisites: list[str] | str = []
    global_state_conditions: dict[str, Any] | None = None
    concurrency: _AtLeastZero = 0
    implicit_order: Literal["none", "footprint", "learned", "strict"] = "footprint"
    strict_arguments: bool = False
    ignore_rules: list[str] = []
    duplicate_ids: Literal["error", "first"] = "error"
    lanes: dict[str, Annotated[int, msgspec.Meta(ge=1)]] = {}
    timeout: float | None = None
    grace_seconds: Annotated[float, msgspec.Meta(ge=0)] = 30.0
    event_loop: Literal["auto", "asyncio", "uvloop"] = "auto"

    state_output: str = "full"
    state_output_diff: bool = False
    state_verbose: bool = True
    backup_mode: str = ""
    hash_type: str = "sha256"

    extra: dict[str, Any] = {}
    """Options without a field in this class, as they were given."""
    origins: dict[str, str] = {}
    """For each option that was set: the file, environment variable or flag it comes from."""

    def __post_init__(self) -> None:
        """Fill in the values that depend on this machine, and make paths absolute."""
        self.root_dir = os.path.abspath(self.root_dir)
        for option in _ROOT_OPTIONS:
            origin = self.origins.get(option, "")
            roots = _normalise_roots(option, getattr(self, option), origin)
            setattr(self, option, roots or {"base": [_DEFAULT_ROOTS[option]]})
        self.cachedir = self.cachedir or _user_directory("/var/cache/asyncstate", "XDG_CACHE_HOME", ".cache")
        self.state_dir = self.state_dir or _user_directory("/var/lib/asyncstate", "XDG_STATE_HOME", ".local/state")
        for option in _UNDER_ROOT_DIR:
            setattr(self, option, _under(self.root_dir, getattr(self, option)))
        for option in _PATH_LISTS:
            base = _base_directory(self.origins.get(option, ""))
            setattr(self, option, [os.path.abspath(os.path.join(base, path)) for path in getattr(self, option)])
        self.id = self.id or _minion_id(self.conf_file)
        self.concurrency = self.concurrency or min(32, 4 * (os.cpu_count() or 1))
        if self.pillarenv is None and self.pillarenv_from_saltenv:
            self.pillarenv = self.saltenv

    def validate(self) -> None:
        """Check types, names of rules, and that the configured roots exist.

        Raises ConfigError for a wrong type, and for an environment none of whose roots exists. A pillar root named in a
        configuration file may be missing, as in Salt; so may the default roots.
        """
        for option, field in _FIELDS.items():
            _convert(option, getattr(self, option), field.type, self.origins.get(option, ""))
        for rule in self.ignore_rules:
            if rule not in RULES:
                near = nearest(rule, RULES)
                hint = f"Did you mean {near!r}?" if near else f"There are: {', '.join(RULES)}."
                place = _place(self.origins.get("ignore_rules", ""))
                raise ConfigError(f"{place}ignore_rules: there is no rule {rule!r}. {hint}")
        for option in _ROOT_OPTIONS:
            origin = self.origins.get(option, "")
            if option == "pillar_roots" and _origin_file(origin):
                continue
            for saltenv, roots in getattr(self, option).items():
                _check_roots(option, saltenv, roots, origin)

    def opts(self) -> dict[str, Any]:
        """Return a new dict with every option under its Salt name, unknown ones included.

        Plugins see it as ``__opts__``, templates as ``opts``. ``grains`` and ``pillar`` are the configured ones; a
        runtime replaces them by those it gathered.
        """
        opts: dict[str, Any] = _copy(_FIXED_OPTIONS)
        opts["user"] = _user_name()
        opts.update(_copy(self.extra))
        opts.update({name: _copy(getattr(self, name)) for name in _FIELDS})
        opts["file_client"] = "local"  # also if a minion's file names a master: there is none here
        opts["extension_modules"] = opts.get("extension_modules") or os.path.join(self.cachedir, "extmods")
        return opts


_FIELDS = {field.name: field for field in msgspec.structs.fields(Settings) if field.name not in _OWN_FIELDS}

_FIXED_OPTIONS: dict[str, Any] = {
    "__cli": "salt-call",
    "__role": "minion",
    "local": True,
    "user": "root",  # replaced by the user of this process
    "master": "salt",
    "autoload_dynamic_modules": True,
    "decrypt_pillar": [],
    "decrypt_pillar_default": "gpg",
    "decrypt_pillar_delimiter": ":",
    "decrypt_pillar_renderers": ["gpg"],
    "file_buffer_size": 262144,
    "fileserver_backend": ["roots"],
    "state_events": False,
    "state_queue": False,
    "state_output_profile": True,
    "use_master_when_local": False,
    "whitelist_modules": [],
}
"""Salt's defaults of options that this package never reads, for plugins that do."""


def default_files(environ: Mapping[str, str] | None = None) -> list[Path]:
    """Return the default configuration files that exist: the system's, then the user's."""
    environ = os.environ if environ is None else environ
    home = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".config")
    return [path for path in (_SYSTEM_CONFIG, Path(home, "asyncstate", "config.yaml")) if path.is_file()]


def load_settings(
    files: Sequence[Path | str] = (),
    overrides: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """Read configuration files, the environment and flags into Settings.

    A file may be a minion configuration (with its ``include`` and, if it is named ``minion``, ``minion.d/*.conf``) or a
    directory that contains one (``config.yaml`` or ``minion``). ``overrides`` are options by name; None means "not
    given". Raises ConfigError, which names the source and the option, for a file that cannot be read, a value of the
    wrong type, a misspelt name of a variable or an override, and, as root, for a file that others can change.
    ``trust_writable`` in the variables or overrides allows that (in a file it has no such effect).
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    variables = _from_environment(os.environ if environ is None else environ)
    for file in files:
        path = _main_file(Path(file))
        values["conf_file"] = str(path)
        for source, content in _read_with_includes(path):
            if not _trusts_all(variables, overrides):
                _require_root_alone(source)
            _warn_of_near_misses(content, source)
            _merge_into(values, content)
            origins.update(dict.fromkeys(content, f"file {source}"))
    for option, value, origin in variables:
        values[option] = value
        origins[option] = origin
    for option, value in (overrides or {}).items():
        if value is not None:
            flag = _FLAGS.get(option) or f"--{option.replace('_', '-')}"
            _refuse_misspelling(option, flag)
            values[option] = value
            origins[option] = f"flag {flag}"
    return _build(values, origins)


def _build(values: Mapping[str, Any], origins: dict[str, str]) -> Settings:
    known: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for option, value in values.items():
        field = _FIELDS.get(option)
        if option == "grains_override" and value is not None:
            known[option] = _convert(option, value, dict[Any, Any], origins.get(option, ""))
        elif field is None:
            extra[option] = value
        elif value is not None:  # an empty value in a file means the default
            known[option] = _typed(option, value, field.type, origins.get(option, ""))
    return Settings(**known, extra=extra, origins=origins)


def _typed(option: str, value: Any, wanted: Any, origin: str) -> Any:
    if option in _ROOT_OPTIONS:
        return value  # may have several forms, see _normalise_roots
    if wanted == list[str] and isinstance(value, str):
        value = [value]
    return _convert(option, value, wanted, origin)


def _convert(option: str, value: Any, wanted: Any, origin: str) -> Any:
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        if get_origin(wanted) is Literal:
            raise ConfigError(
                f"{_place(origin)}{option}: expected {_one_of(get_args(wanted))}, got {value!r}"
            ) from None
        raise ConfigError(f"{_place(origin)}{option}: {_in_yaml_words(str(error))}") from None


def _one_of(choices: tuple[str, ...]) -> str:
    return f"{', '.join(choices[:-1])} or {choices[-1]}"


_YAML_WORDS = {"array": "a list", "object": "a mapping", "str": "text", "int": "a whole number", "float": "a number"}
_YAML_WORDS |= {"bool": "true or false", "null": "nothing"}


def _in_yaml_words(message: str) -> str:
    """Turn msgspec's "Expected `array`, got `int` - at `$['base']`" into YAML's terms: "expected a list, …"."""
    text, _, path = message.partition(" - at `$")

    def words(match: re.Match[str]) -> str:
        return " or ".join(_YAML_WORDS.get(name.strip(), name.strip()) for name in match[1].split("|"))

    text = re.sub(r"`([^`]*)`", words, text)
    text = text[:1].lower() + text[1:]
    return f"{text} (at {path.rstrip('`')})" if path else text


def _place(origin: str) -> str:
    return f"{origin.partition(' ')[2]}: " if origin else ""


def _origin_file(origin: str) -> str:
    return origin.removeprefix("file ") if origin.startswith("file ") else ""


def _base_directory(origin: str) -> str:
    """Return the base of relative paths: the folder of the file that names them, else the working directory."""
    try:
        return os.path.dirname(_origin_file(origin)) or os.getcwd()
    except FileNotFoundError:
        raise ConfigError("The working directory no longer exists. Change to one that does.") from None


def _normalise_roots(option: str, value: Any, origin: str) -> _Roots:
    """Make every root an absolute path, with ``~`` and globs expanded. A single root need not be a list."""
    if isinstance(value, Mapping):
        value = {name: [roots] if isinstance(roots, str) else (roots or []) for name, roots in value.items()}
    roots_by_env: dict[str | int | float, list[str]] = _convert(
        option, value, dict[str | int | float, list[str]], origin
    )
    base = _base_directory(origin)
    return {
        str(saltenv): [path for root in roots for path in _expand_root(root, base)]
        for saltenv, roots in roots_by_env.items()
    }


def _expand_root(root: str, base: str) -> list[str]:
    path = os.path.abspath(os.path.join(base, os.path.expanduser(root)))
    if not re.search(r"[*?\[]", path):
        return [path]
    import glob  # noqa: PLC0415 - hardly any configuration has globs in its roots

    return sorted(glob.glob(path)) or [path]


def _check_roots(option: str, saltenv: str, roots: list[str], origin: str) -> None:
    if saltenv == "__env__" or roots == [_DEFAULT_ROOTS[option]]:
        return
    missing = [root for root in roots if not os.path.isdir(root)]
    if missing and len(missing) == len(roots):
        what = "is not a directory" if os.path.exists(missing[0]) else "no such directory"
        raise ConfigError(
            f"{_place(origin)}{option}: environment {saltenv!r}: {', '.join(missing)}: {what}. "
            "Create it, or name the directory that contains the tree (relative paths start at "
            f"{_base_directory(origin)})."
        )
    for root in missing:
        log.warning("%s%s: %s (environment %r) does not exist and is left out", _place(origin), option, root, saltenv)


def _under(root_dir: str, path: str) -> str:
    """Put ``path`` below ``root_dir``, unless it is there already."""
    path = os.path.abspath(path)
    if root_dir in {"/", path} or path.startswith(root_dir + "/"):
        return path
    return root_dir + path


def _user_directory(system: str, variable: str, below_home: str) -> str:
    if os.geteuid() == 0:
        return system
    return os.path.join(os.environ.get(variable) or os.path.join(os.path.expanduser("~"), below_home), "asyncstate")


def _user_name() -> str:
    """Return the name of this process's user, or its number if it has no name."""
    if os.geteuid() == 0:
        return "root"
    import pwd  # noqa: PLC0415 - root, the common case, needs no look-up

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _minion_id(conf_file: str) -> str:
    """Return Salt's ``minion_id`` beside the configuration, else this machine's name, without a name server query."""
    try:
        stored = Path(conf_file).with_name("minion_id").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        stored = ""
    return stored or os.uname().nodename or "localhost"


def _main_file(path: Path) -> Path:
    if not path.is_dir():
        return path.absolute()
    for name in ("config.yaml", "minion"):
        if (path / name).is_file():
            return (path / name).absolute()
    raise ConfigError(f"{path}: the directory contains neither config.yaml nor minion")


def _read_with_includes(path: Path, seen: frozenset[Path] = frozenset()) -> list[tuple[Path, dict[str, Any]]]:
    """Return the file and those it includes, lowest precedence first. A file that includes itself is read once."""
    content = _read_file(path)
    result = [(path, content)]
    patterns = ["minion.d/*.conf"] if path.name == "minion" and not seen else []
    if isinstance(default := content.get("default_include"), str):
        patterns = [default]
    named = content.get("include") or []
    patterns += [named] if isinstance(named, str) else named
    for pattern in patterns:
        where = os.path.join(path.parent, os.path.expanduser(str(pattern)))
        import glob  # noqa: PLC0415 - hardly any configuration includes others

        for found in (Path(os.path.normpath(name)) for name in sorted(glob.glob(where))):
            if found not in seen | {path}:
                result += _read_with_includes(found, seen | {path})
    return result


def _trusts_all(variables: list[tuple[str, Any, str]], overrides: Mapping[str, Any] | None) -> bool:
    value = (overrides or {}).get("trust_writable")
    if value is None:
        value = next((value for option, value, _ in variables if option == "trust_writable"), False)
    return value is True


def _require_root_alone(path: Path) -> None:
    """As root, refuse a file that others can change, because they could make root run anything."""
    from asyncstate.filesystem import who_can_change  # noqa: PLC0415 - start-up time: --help reads no configuration

    try:
        user = who_can_change(str(path))
    except OSError:
        return  # an inherited descriptor (/dev/fd/63) has no path that others could change
    if user:
        raise ConfigError(
            f"{path}: root does not follow configuration that {user} can change. Give the file and its folders to root "
            "(chown root, chmod go-w), or use --trust-writable."
        )


def _read_file(path: Path) -> dict[str, Any]:
    from asyncstate.filesystem import read_input  # noqa: PLC0415 - start-up time: --help reads no configuration

    try:
        text = read_input(str(path)).decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the configuration: {error.strerror}") from None
    except PathRefused as error:
        raise ConfigError(str(error)) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text: {error.reason} at byte {error.start}") from None
    content = _parse_yaml(text, str(path))
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a mapping of options, got {type(content).__name__}")
    return {str(key): value for key, value in content.items()}


def _parse_yaml(text: str, source: str) -> Any:
    import yaml  # noqa: PLC0415 - start-up time: --help reads no configuration

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise ConfigError(f"{source}:{line}: not valid YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: not valid YAML: {error}") from None


def _merge_into(target: dict[str, Any], update: Mapping[str, Any]) -> None:
    for key, value in update.items():
        mine = target.get(key)
        if isinstance(mine, dict) and isinstance(value, Mapping):
            _merge_into(mine, value)
        else:
            target[key] = _copy(value)


def _from_environment(environ: Mapping[str, str]) -> list[tuple[str, Any, str]]:
    """Return (option, value, origin) for each variable that begins with `ENV_PREFIX`, sorted by name."""
    found = []
    for variable in sorted(environ):
        if not variable.startswith(ENV_PREFIX) or variable in _ENV_OF_THE_COMMAND_LINE:
            continue
        option = variable.removeprefix(ENV_PREFIX).lower()
        _refuse_misspelling(option, variable)
        value = _parse_yaml(environ[variable], variable)
        field = _FIELDS.get(option)
        if field is not None and field.type in (str, str | None) and not isinstance(value, str):
            value = environ[variable]  # ASYNCSTATE_ID=0123 is text, although YAML reads a number
        found.append((option, value, f"environment {variable}"))
    return found


def _nearest(option: str) -> str:
    if option in _FIELDS or option in _FIXED_OPTIONS or option == "grains_override":
        return ""
    import difflib  # noqa: PLC0415 - needed only for unknown names

    return next(iter(difflib.get_close_matches(option, _FIELDS, n=1, cutoff=_NEAR)), "")


def _refuse_misspelling(option: str, written: str) -> None:
    if nearest := _nearest(option):
        raise ConfigError(f"{written}: there is no option {option!r}. Did you mean {nearest!r}?")


def _warn_of_near_misses(content: Mapping[str, Any], source: Path) -> None:
    for option in content:
        if nearest := _nearest(option):
            log.warning("%s: unknown option %r is kept as a custom one. Did you mean %r?", source, option, nearest)


def _copy(value: Any) -> Any:
    """Copy dicts and lists, at every level; the other values are shared."""
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value
