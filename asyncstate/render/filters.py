"""The filters and tests that Salt adds to Jinja, by name. Their code is in `asyncstate.data`.

The serializer filters (``yaml``, ``json``, ``load_yaml`` …) come with the extension in ``serializer``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from asyncstate.data import collection, date, digest, host, network, paths, text
from asyncstate.data.yaml import scalar

if TYPE_CHECKING:
    from collections.abc import Callable

FILTERS: Final[dict[str, Callable[..., Any]]] = {
    "check_whitelist_blacklist": text.check_whitelist_blacklist,
    "contains_whitespace": text.contains_whitespace,
    "human_to_bytes": text.human_to_bytes,
    "is_hex": text.is_hex,
    "quote": text.quote,
    "regex_escape": text.regex_escape,
    "regex_match": text.regex_match,
    "regex_replace": text.regex_replace,
    "regex_search": text.regex_search,
    "skip": text.skip,
    "str_to_num": text.to_num,
    "to_bool": text.to_bool,
    "to_bytes": text.to_bytes,
    "to_camelcase": text.to_camelcase,
    "to_num": text.to_num,
    "to_snake_case": text.to_snake_case,
    "uuid": text.uuid,
    "append_dict_key_value": paths.append_dict_key_value,
    "avg": collection.avg,
    "compare_dicts": collection.compare_dicts,
    "compare_lists": collection.compare_lists,
    "difference": collection.difference,
    "exactly_n_true": collection.exactly_n_true,
    "exactly_one_true": collection.exactly_one_true,
    "extend_dict_key_value": paths.extend_dict_key_value,
    "flatten": collection.flatten,
    "from_entries": collection.from_entries,
    "intersect": collection.intersect,
    "is_iter": collection.is_iter,
    "is_list": collection.is_list,
    "json_decode_dict": collection.encode_dict,
    "json_decode_list": collection.encode_list,
    "json_encode_dict": collection.encode_dict,
    "json_encode_list": collection.encode_list,
    "json_query": collection.json_query,
    "max": collection.largest,
    "method_call": collection.method_call,
    "min": collection.smallest,
    "mysql_to_dict": collection.mysql_to_dict,
    "sequence": collection.sequence,
    "set_dict_key_value": paths.set_dict_key_value,
    "sorted_ignorecase": collection.sorted_ignorecase,
    "substring_in_list": collection.substring_in_list,
    "symmetric_difference": collection.symmetric_difference,
    "to_entries": collection.to_entries,
    "traverse": paths.traverse,
    "union": collection.union,
    "unique": collection.unique,
    "update_dict_key_value": paths.update_dict_key_value,
    "base64_decode": digest.base64_decode,
    "base64_encode": digest.base64_encode,
    "hmac": digest.hmac_verify,
    "hmac_compute": digest.hmac_compute,
    "md5": digest.md5,
    "sha1": digest.sha1,
    "sha256": digest.sha256,
    "sha512": digest.sha512,
    "filter_by_networks": network.filter_by_networks,
    "ip_host": network.ip_host,
    "ipaddr": network.ipaddr,
    "ipv4": network.ipv4,
    "ipv6": network.ipv6,
    "ipwrap": network.ipwrap,
    "is_ip": network.is_ip,
    "is_ipv4": network.is_ipv4,
    "is_ipv6": network.is_ipv6,
    "mac_str_to_bytes": network.mac_str_to_bytes,
    "network_hosts": network.network_hosts,
    "network_size": network.network_size,
    "path_join": host.path_join,
    "yaml_dquote": scalar.yaml_dquote,
    "yaml_encode": scalar.yaml_encode,
    "yaml_squote": scalar.yaml_squote,
}
"""Filters whose result depends on the arguments alone: Jinja may evaluate them when it compiles a template."""

CHANGING: Final[dict[str, Callable[..., Any]]] = {
    "random_sample": collection.random_sample,
    "random_shuffle": collection.random_shuffle,
    "date_format": date.strftime,
    "strftime": date.strftime,
    "rand_str": digest.random_hash,
    "random_hash": digest.random_hash,
    "random_str": digest.random_str,
    "dns_check": network.dns_check,
    "gen_mac": network.gen_mac,
    "http_query": network.http_query,
    "file_hashsum": host.file_hashsum,
    "get_uid": host.get_uid,
    "is_bin_file": host.is_bin_file,
    "is_empty": host.is_empty,
    "is_text_file": host.is_text_file,
    "list_files": host.list_files,
    "which": host.which,
}
"""Filters that depend on the clock, this host, the network or chance: each rendering calls them again."""


def equalto(value: Any, other: Any) -> bool:
    """Return whether two values are equal (the ``equalto`` test)."""
    return bool(value == other)


TESTS: Final[dict[str, Callable[..., bool]]] = {
    "equalto": equalto,
    "list": collection.is_list,
    "match": text.matches,
}
