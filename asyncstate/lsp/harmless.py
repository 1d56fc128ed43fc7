"""What templates may call while somebody writes them: functions that only read, and change nothing.

Everything else is a command of a half-written text. A stand-in takes its place, and what was left out is kept, by the
file whose template named it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Self

from jinja2 import ChainableUndefined

from asyncstate.errors import RenderError
from asyncstate.load.functions import FunctionMap, ModuleView

_READING: Final = {
    "config": "backup_mode dot_vals get items manage_mode merge option valid_fileproto",
    "cp": "envs is_cached list_master list_master_dirs list_master_symlinks list_minion list_states",
    "data": "get has_key items keys load values",
    "defaults": "deepcopy get merge update",
    "disk": "blkid fstype get_fstype_from_path inodeusage percent usage",
    "environ": "get has_value item items",
    "file": "access basename contains contains_glob contains_regex directory_exists dirname file_exists get_gid"
    " get_group get_hash get_mode get_sum get_uid get_user gid_to_group group_to_gid is_link join lstat normpath pardir"
    " path_exists_glob read readdir readlink search uid_to_user user_to_uid",
    "grains": "equals filter_by get has_value item items ls",
    "group": "getent info",
    "hashutil": "base64_b64decode base64_b64encode base64_decodestring base64_encodestring digest digest_file"
    " github_signature hmac_compute hmac_signature md5_digest sha256_digest sha512_digest",
    "jinja": "import_json import_yaml load_map",
    "locale": "get_locale list_avail",
    "match": "compound data filter_by glob grain grain_pcre ifelse ipcidr list pcre pillar pillar_pcre search_by",
    "mount": "active fstab is_mounted swaps",
    "network": "calc_net convert_cidr default_route get_fqdn get_hostname get_route hw_addr ifacestartswith"
    " in_subnet interface interface_ip interfaces ip_addrs ip_addrs6 ip_in_subnet ip_networks ip_networks6 iphexval"
    " is_loopback is_private routes subnets subnets6",
    "pillar": "data fetch file_exists filter_by get item items keys ls obfuscate raw",
    "pkg": "available_version file_dict file_list info_installed latest_version list_pkgs owner version version_cmp",
    "pkg_resource": "pack_pkgs pack_sources parse_targets stringify version version_clean",
    "ps": "get_pid_list num_cpus pgrep total_physical_memory",
    "random": "get_str hash rand_int sample seed shadow_hash shuffle str_encode",
    "service": "available disabled enabled get_all get_disabled get_enabled get_running missing status",
    "shadow": "info",
    "slsutil": "banner boolstr deserialize dir_exists file_exists findup merge merge_all path_exists renderer serialize"
    " update",
    "status": "cpuinfo diskusage loadavg meminfo nproc time uptime version",
    "sys": "argspec doc list_functions list_modules list_state_functions list_state_modules state_argspec state_doc",
    "sysctl": "get",
    "test": "arg arg_clean arg_repr arg_type assertion echo exception false kwarg outputter ping provider true version",
    "timezone": "get_hwclock get_offset get_zone get_zonecode zone_compare",
    "user": "getent info list_groups list_users primary_group",
}
READING: Final = frozenset(
    f"{module}.{function}" for module, functions in _READING.items() for function in functions.split()
)
"""Bundled execution functions that change nothing, on this host or any other."""

_NETWORK_FILTERS: Final = ("http_query", "dns_check")


class LeftOut:
    """A `Restraint`. ``by_file`` has what was not called or run in its templates, by path."""

    def __init__(self) -> None:
        self.by_file: dict[str, dict[str, None]] = {}
        self._file = ""

    def functions(self, functions: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """Return the functions with stand-ins for those that may do more than read."""
        self._file = path or self._file  # a text without a file is one that a template of the last file renders
        return _Functions(functions, self._file, self) if isinstance(functions, FunctionMap) else functions

    def filters(self, path: str) -> Mapping[str, Callable[..., Any]]:
        """Return stand-ins for the filters that ask other hosts."""
        file = path or self._file
        return {name: _stand_in(self, name, file) for name in _NETWORK_FILTERS}

    def refuse_program(self, renderer: str, path: str) -> None:
        """Raise RenderError."""
        self.note(renderer, path or self._file)
        raise RenderError(f"the renderer '{renderer}' would run this text as a program", file=path, line=1)

    def note(self, name: str, path: str) -> None:
        """Keep what was left out."""
        self.by_file.setdefault(path, {})[name] = None


class _Functions(Mapping[str, Callable[..., Any]]):
    """Execution functions for the templates of one file."""

    def __init__(self, functions: FunctionMap, path: str, left_out: LeftOut) -> None:
        self._functions = functions
        self._path = path
        self._left_out = left_out

    def __getitem__(self, name: str) -> Callable[..., Any]:
        function = self._functions[name]
        stand_in = _stand_in(self._left_out, name, self._path)
        if name not in READING or not self._functions.is_bundled(name):
            return stand_in

        def call(*args: Any, **kwargs: Any) -> Any:
            return (stand_in if any(map(_is_elsewhere, (*args, *kwargs.values()))) else function)(*args, **kwargs)

        return call

    def __getattr__(self, module: str) -> ModuleView:
        getattr(self._functions, module)
        return ModuleView(self, module)

    def __missing_reason__(self, name: str) -> str:
        return self._functions.__missing_reason__(name)

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __bool__(self) -> bool:
        return True


def _is_elsewhere(value: Any) -> bool:
    """Return whether an argument is a URL of something outside the tree."""
    return isinstance(value, str) and "://" in value and not value.startswith(("salt://", "file://"))


def _stand_in(left_out: LeftOut, name: str, path: str) -> Callable[..., Any]:
    def stand_in(*_args: Any, **_kwargs: Any) -> _Unknown:
        left_out.note(name, path)
        return _Unknown(name=name)

    return stand_in


class _Unknown(ChainableUndefined):
    """The value of a call that was left out. Whatever a template does with it gives such a value, or nothing."""

    __slots__ = ()

    def __call__(self, *_args: Any, **_kwargs: Any) -> Self:  # type: ignore[override]
        """Return a value that is not known either."""
        return self

    def __str__(self) -> str:
        return "unknown"

    def __int__(self) -> int:  # type: ignore[override]  # Jinja's raises
        return 0

    def __float__(self) -> float:  # type: ignore[override]
        return 0.0

    def _unchanged(self, *_other: Any) -> Self:
        return self

    def _no(self, _other: Any) -> bool:
        return False

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _unchanged  # type: ignore[assignment]  # Jinja's raise
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _unchanged  # type: ignore[assignment]
    __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __pos__ = _unchanged  # type: ignore[assignment]
    __lt__ = __le__ = __gt__ = __ge__ = _no  # type: ignore[assignment]
    __contains__ = _no
