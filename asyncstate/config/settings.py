"""The options, their defaults and their types. Names and defaults are those of Salt 3008.

Annotations are not postponed here: msgspec would compile the text of each, which took a twentieth of a start.
"""

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec

from asyncstate.config.files import SYSTEM_CONFIG
from asyncstate.config.values import (
    ROOT_OPTIONS,
    Roots,
    base_directory,
    check_roots,
    convert,
    copied,
    normalise_roots,
    origin_file,
    prefix_of,
)
from asyncstate.errors import ConfigError
from asyncstate.model.requisite import REFERENCES
from asyncstate.model.rules import RULES

PREFETCH_PLACES = 3
"""The number of prefetches at once with ``prefetch: true``."""
JOURNALED = True
"""Whether runs are kept in the journal by default."""

if TYPE_CHECKING:
    _Rule = str
    _RequisiteWord = str
else:
    _Rule = Literal[tuple(RULES)]
    _RequisiteWord = Literal[REFERENCES]

_LogLevel = Literal["all", "garbage", "trace", "debug", "profile", "info", "warning", "error", "critical", "quiet"]
_AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]
_AtLeastZero = Annotated[int, msgspec.Meta(ge=0)]
_UNDER_ROOT_DIR = ("cachedir", "state_dir", "pki_dir", "log_file")
_PATH_LISTS = ("states_dirs", "module_dirs", "utils_dirs", "grains_dirs", "render_dirs")
_OWN_FIELDS = frozenset({"extra", "origins", "grains_override"})

Extended = TypeVar("Extended", bound=msgspec.Struct)
"""The options of an extra, as in `asyncstate.extend.Extra`."""


class Settings(msgspec.Struct, kw_only=True):
    """Every option under its Salt name. Times are in seconds, directories are absolute paths.

    Create it directly (``Settings(file_roots={"base": ["srv/salt"]})``) or with `load_settings`. Relative roots are
    resolved against the working directory. ``id``, ``cachedir`` and ``concurrency`` get this machine's values if they
    are not given. So does ``state_dir`` in `load_settings`; settings that a program creates directly have a journal of
    their own, in ``state`` of their ``cachedir``, else in ``programs`` of this machine's. Raises ConfigError for a
    value of the wrong type.
    """

    id: str = ""
    conf_file: str = SYSTEM_CONFIG
    root_dir: str = "/"
    cachedir: str = ""
    state_dir: str = ""
    pki_dir: str = "/etc/salt/pki/minion"
    log_file: str = "/var/log/asyncstate/asyncstate.log"
    log_level: _LogLevel = "warning"
    log_granular_levels: dict[str, _LogLevel] = {}

    file_client: str = "local"
    file_roots: Roots = {}
    pillar_roots: Roots = {}
    fileserver_followsymlinks: bool = True
    fileserver_ignoresymlinks: bool = False
    file_ignore_glob: list[str] = []
    file_ignore_regex: list[str] = []

    saltenv: str | None = None
    pillarenv: str | None = None
    pillarenv_from_saltenv: bool = False
    state_top: str = "top.sls"
    state_top_saltenv: str | None = None
    top_file_merging_strategy: Literal["merge", "merge_all", "same"] = "merge"
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
    grains_alone: bool = False
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
    render_timeout: Annotated[float, msgspec.Meta(ge=0)] = 10.0

    states_dirs: list[str] = []
    module_dirs: list[str] = []
    utils_dirs: list[str] = []
    grains_dirs: list[str] = []
    render_dirs: list[str] = []
    disable_modules: list[str] = []
    trust_writable: bool = False
    salt_python: str | bool = "auto"
    providers: dict[str, str] = {}
    smi_validate: bool | Literal["off", "warn", "raise"] = False
    smi_strict: bool = False
    smi_visible_stubs: bool = False
    smi_require: list[str] = []

    test: bool = False
    foresight: bool = True
    failhard: bool = False
    state_auto_order: bool = True
    state_aggregate: bool | list[str] | str | None = None
    disabled_requisites: list[_RequisiteWord] = []
    global_state_conditions: dict[str, str | list[str]] | None = None
    concurrency: _AtLeastOne = 0  # replaced by this machine's value
    implicit_order: Literal["none", "footprint", "learned", "strict", "file"] = "footprint"
    strict_arguments: bool = False
    ignore_rules: list[_Rule] = []
    duplicate_ids: Literal["error", "first"] = "error"
    lanes: dict[str, Annotated[int, msgspec.Meta(ge=1)]] = {}
    prefetch: bool | _AtLeastZero = True
    timeout: Annotated[float, msgspec.Meta(gt=0)] | None = None
    grace_seconds: Annotated[float, msgspec.Meta(ge=0)] = 30.0
    event_loop: Literal["auto", "asyncio", "uvloop"] = "auto"
    journal: bool | Literal["on", "off", "required"] | None = None
    traces: bool | Literal["auto", "on", "off"] = "auto"
    journal_sync: Literal["normal", "full"] = "normal"
    output_memory: Annotated[int, msgspec.Meta(ge=1)] = 256
    journal_keep_runs: Annotated[int, msgspec.Meta(ge=1)] = 100
    journal_keep_days: Annotated[float, msgspec.Meta(ge=0)] = 90.0

    state_output: Literal[
        "full", "full_id", "terse", "terse_id", "mixed", "mixed_id", "changes", "changes_id", "filter", "filter_id",
        "brief", "brief_id",
    ] = "full"  # fmt: skip
    state_output_diff: bool = False
    new_file_diff: bool = False
    state_verbose: bool = True
    http_connect_timeout: Annotated[float, msgspec.Meta(gt=0)] = 20.0
    http_request_timeout: Annotated[float, msgspec.Meta(ge=0)] = 3600.0
    http_max_body: _AtLeastOne = 100 << 30
    backup_mode: Literal["", "minion", "master", "both"] = ""
    hash_type: Literal["md5", "sha1", "sha224", "sha256", "sha384", "sha512"] = "sha256"

    extra: dict[str, Any] = {}
    """Options without a field in this class, as they were given."""
    origins: dict[str, str] = {}
    """The source of each option that was set: the file, environment variable or flag."""

    def __post_init__(self) -> None:
        """Check the given values, fill in those that depend on this machine, and make paths absolute."""
        for field in _FIELDS_FROM_LAST:
            value = getattr(self, field.name)
            if isinstance(value, os.PathLike):
                setattr(self, field.name, value := os.fspath(value))
            is_of_factory = field.default is msgspec.NODEFAULT
            if (value or not isinstance(value, (dict, list))) if is_of_factory else value is not field.default:
                origin = self.origins.get(field.name, "") if field.name != "origins" else ""
                convert(field.name, value, field.type, origin)
        self.root_dir = os.path.abspath(self.root_dir)
        for option in ROOT_OPTIONS:
            origin = self.origins.get(option, "")
            setattr(self, option, normalise_roots(option, getattr(self, option), origin))
        if not self.state_dir:  # the last run of a command of this machine is not a program's
            own = self.cachedir and os.path.join(self.cachedir, "state")
            self.state_dir = own or os.path.join(machine_state_dir(), "programs")
        self.cachedir = self.cachedir or _user_directory("/var/cache/asyncstate", "XDG_CACHE_HOME", ".cache")
        for option in _UNDER_ROOT_DIR:
            setattr(self, option, _under(self.root_dir, getattr(self, option)))
        for option in _PATH_LISTS:
            base = base_directory(self.origins.get(option, ""))
            setattr(self, option, [os.path.abspath(os.path.join(base, path)) for path in getattr(self, option)])
        if self.grains_alone:
            self.id = str(self.grains_override.get("id") or "")  # a runtime wants one
        self.id = self.id or _minion_id(self.conf_file)
        domain = str(self.extra.get("append_domain") or "")
        if domain and not self.grains_alone and not self.id.endswith((domain, ".")):
            self.id = f"{self.id}.{domain}"
        if self.saltenv is None and self.extra.get("environment"):  # its old name
            self.saltenv = str(self.extra["environment"])
        self.concurrency = self.concurrency or min(32, 4 * (os.cpu_count() or 1))
        self.salt_python = _salt_python(self.salt_python, self.origins.get("salt_python", ""))
        if self.pillarenv is None and self.pillarenv_from_saltenv:
            self.pillarenv = self.saltenv

    @property
    def prefetch_places(self) -> int:
        """The number of prefetches at once, for states that come later."""
        return self.prefetch * PREFETCH_PLACES if isinstance(self.prefetch, bool) else self.prefetch

    @property
    def journaled(self) -> Literal["on", "off", "required"]:
        """The mode of the journal; ``required``: no run starts that cannot be kept."""
        if isinstance(self.journal, str):
            return self.journal
        return "on" if (JOURNALED if self.journal is None else self.journal) else "off"

    @property
    def traced(self) -> Literal["auto", "on", "off"]:
        """The mode of tracing; ``auto``: runs are traced if the environment names a collector."""
        if isinstance(self.traces, str):
            return self.traces
        return "on" if self.traces else "off"

    def validate(self) -> None:
        """Check values, and that the configured roots exist.

        Raises ConfigError for a wrong value, and for an environment none of whose roots exists. A pillar root named in
        a configuration file may be missing, as in Salt; so may the default roots.
        """
        for option, field in FIELDS.items():
            convert(option, getattr(self, option), field.type, self.origins.get(option, ""))
        for regex in self.file_ignore_regex:
            try:
                re.compile(regex)
            except re.error as error:
                raise self.wrong("file_ignore_regex", f"{regex!r} is not a regular expression: {error}") from None
        if self.extra:
            self._validate_extras()
        for option in ROOT_OPTIONS:
            origin = self.origins.get(option, "")
            if option == "pillar_roots" and self.file_of(option):
                continue
            for saltenv, roots in getattr(self, option).items():
                check_roots(option, saltenv, roots, origin)

    def file_of(self, option: str) -> str:
        """Return the file that an option comes from; "" if it comes from elsewhere."""
        return origin_file(self.origins.get(option, ""))

    def wrong(self, option: str, message: str) -> ConfigError:
        """Return the error that an option is wrong, which names its source."""
        return ConfigError(f"{prefix_of(self.origins.get(option, ''))}{option}: {message}")

    def of(self, kind: type[Extended]) -> Extended:
        """Return the options that an extra declares, from `extra`. Raises ConfigError for a value of the wrong type."""
        given = {
            field.name: convert(field.name, self.extra[field.name], field.type, self.origins.get(field.name, ""))
            for field in msgspec.structs.fields(kind)
            if self.extra.get(field.name) is not None
        }
        return kind(**given)

    def _validate_extras(self) -> None:
        from asyncstate import extend  # noqa: PLC0415 - most programs set no option of an extra

        for kind in extend.settings():
            if not self.extra.keys().isdisjoint(kind.__struct_fields__):
                self.of(kind).validate(self)

    def pillar_with(self, more: dict[str, Any]) -> dict[str, Any]:
        """Return the configured pillar with other data merged over it, as the settings say."""
        from asyncstate.data.merging import merged  # noqa: PLC0415 - few runs bring pillar data

        strategy, lists = self.pillar_source_merging_strategy, self.pillar_merge_lists
        return merged(self.pillar, more, strategy, self.renderer, lists)

    @staticmethod
    def split(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return those of some options that are settings, and all others."""
        known = {name: value for name, value in options.items() if name in FIELDS}
        return known, {name: value for name, value in options.items() if name not in known}

    def opts(self) -> dict[str, Any]:
        """Return a new dict with every option under its Salt name, unknown ones included.

        Plugins see it as ``__opts__``, templates as ``opts``. ``grains`` and ``pillar`` are the configured ones; a
        runtime replaces them by those it gathered.
        """
        opts: dict[str, Any] = copied(FIXED_OPTIONS)
        opts["user"] = user_name()
        opts.update(copied(self.extra))
        opts.update({name: copied(getattr(self, name)) for name in FIELDS})
        opts["file_client"] = "local"  # even if a minion's file names a master: there is none here
        opts["extension_modules"] = opts.get("extension_modules") or os.path.join(self.cachedir, "extmods")
        if self.grains_alone:
            opts.update({name: value for name, value in _OF_A_MACHINE.items() if name not in self.origins})
        return opts


_FIELDS = msgspec.structs.fields(Settings)
_FIELDS_FROM_LAST = [field for field in _FIELDS[::-1] if field.name not in ROOT_OPTIONS]
"""The roots have forms of their own, and ``origins`` holds the sources of the others."""
FIELDS = {field.name: field for field in _FIELDS if field.name not in _OWN_FIELDS}

FIXED_OPTIONS: dict[str, Any] = {
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


_OF_A_MACHINE: dict[str, Any] = {
    "user": "root",
    "conf_file": SYSTEM_CONFIG,
    "config_dir": os.path.dirname(SYSTEM_CONFIG),
    "cachedir": "/var/cache/asyncstate",
    "extension_modules": "/var/cache/asyncstate/extmods",
    "state_dir": "/var/lib/asyncstate",
    "concurrency": 0,
}
"""Options whose values differ by machine and user, replaced in a plan for another machine."""


def _under(root_dir: str, path: str) -> str:
    """Put ``path`` below ``root_dir``, unless it is there already."""
    path = os.path.abspath(path)
    if root_dir in {"/", path} or path.startswith(root_dir + "/"):
        return path
    return root_dir + path


def machine_state_dir() -> str:
    """Return the folder of the journal of this machine's commands: root's, or the user's."""
    return _user_directory("/var/lib/asyncstate", "XDG_STATE_HOME", ".local/state")


def _user_directory(system: str, variable: str, below_home: str) -> str:
    if os.geteuid() == 0:
        return system
    for base in (os.environ.get(variable, ""), os.path.join(os.path.expanduser("~"), below_home)):
        if os.path.isabs(base):  # elsewhere each working directory would have a lock and a journal of its own
            return os.path.join(base, "asyncstate")
    raise ConfigError(
        f"{user_name()} has no home: neither {variable} nor HOME is an absolute path, and no account has one. Set "
        "HOME, or the settings cachedir and state_dir."
    )


def _salt_python(given: str | bool, origin: str) -> str:
    """Return ``auto``, ``off`` or an absolute path; YAML reads a bare ``off`` as false."""
    if isinstance(given, bool):
        return "auto" if given else "off"
    if given in {"auto", "off"}:
        return given
    return os.path.abspath(os.path.join(base_directory(origin), os.path.expanduser(given)))


def user_name() -> str:
    """Return the name of this process's user, or its number if it has no name."""
    if os.geteuid() == 0:
        return "root"
    import pwd  # noqa: PLC0415 - root, the common case, needs no look-up

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


_LONGEST_ID = 4096


def _minion_id(conf_file: str) -> str:
    """Return Salt's ``minion_id`` beside the configuration, else this machine's name, without a name server query."""
    try:
        descriptor = os.open(
            os.path.join(os.path.dirname(conf_file), "minion_id"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        )
        with open(descriptor, encoding="utf-8") as file:  # at once, also if a pipe is there
            stored = file.read(_LONGEST_ID).strip()
    except (OSError, UnicodeDecodeError):
        stored = ""
    return stored or os.uname().nodename or "localhost"
