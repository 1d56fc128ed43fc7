"""Execution functions for templates under a restraint, which replaces some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from asyncstate.load.host import FunctionMap, ModuleView

_INDEPENDENT: Final = {
    "config": "backup_mode dot_vals get items manage_mode merge option valid_fileproto",
    "cp": "envs list_master list_master_dirs list_master_symlinks list_states",
    "defaults": "deepcopy get merge update",
    "dnsutil": "check_ip",
    "file": "basename dirname join normpath pardir",
    "grains": "equals fetch filter_by get has_value item items ls",
    "hashutil": "base64_b64decode base64_b64encode base64_decodestring base64_encodestring digest github_signature"
    " hmac_compute hmac_signature md5_digest sha256_digest sha512_digest",
    "jinja": "import_json import_yaml load_map",
    "log": "critical debug error exception info warning",
    "match": "compound data filter_by glob grain grain_pcre ifelse ipcidr list pcre pillar pillar_pcre search_by",
    "network": "calc_net convert_cidr ip_in_subnet iphexval is_loopback is_private reverse_ip",
    "pillar": "data fetch filter_by get item items keys ls obfuscate raw",
    "pkg_resource": "sort_pkglist stringify",
    "random": "get_str hash rand_int sample seed shuffle str_encode",
    "slsutil": "banner boolstr deserialize dir_exists file_exists findup merge merge_all path_exists renderer serialize"
    " update",
    "test": "arg arg_clean arg_repr arg_type assertion echo exception false kwarg outputter ping rand_str random_hash"
    " raise_exception true version",
}
INDEPENDENT: Final = frozenset(f"{module}.{name}" for module, names in _INDEPENDENT.items() for name in names.split())
"""Bundled functions that depend only on their arguments, the tree, pillar, grains, options or chance."""


class RestrainedFunctions(Mapping[str, Callable[..., Any]]):
    """The functions of a `FunctionMap`, some of them replaced by a restraint; modules also as attributes."""

    def __init__(self, functions: FunctionMap) -> None:
        self._functions = functions

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._functions[name]

    def __contains__(self, name: object) -> bool:
        return name in self._functions

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, module: str) -> ModuleView:
        getattr(self._functions, module)
        return ModuleView(self, module)

    def __missing_reason__(self, name: str) -> str:
        return self._functions.__missing_reason__(name)
