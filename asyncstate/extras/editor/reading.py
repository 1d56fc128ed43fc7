"""Execution functions that only read, and the subset that reads this machine."""

from __future__ import annotations

import re
from typing import Final

from asyncstate.load.restrained import INDEPENDENT

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

_CALL: Final = re.compile(r"\bsalt(?:\.|\[['\"])(?P<name>\w+\.\w+)")


def asks_machine(text: str) -> bool:
    """Return whether a template calls a function that reads this machine, outside of the tree."""
    return any(
        found["name"] in READING and found["name"] not in INDEPENDENT
        for found in (_CALL.finditer(text) if "salt" in text else ())
    )
