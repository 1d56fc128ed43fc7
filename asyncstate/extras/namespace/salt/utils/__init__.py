"""``salt.utils``: the submodules, and the functions that Salt 2018.3 moved from here to submodules."""

from __future__ import annotations

from asyncstate.extras.namespace.names import ModuleGetattr, submodules

_MOVED = {
    name or home.rpartition(".")[2]: home
    for line in """
        args.arg_lookup args.clean_kwargs args.invalid_kwargs args.shlex_split args.test_mode
        argspec=args.get_function_argspec
        data.compare_dicts data.compare_lists data.decode data.decode_dict data.decode_list data.exactly_n
        data.exactly_one data.filter_by data.is_dictlist data.is_iter data.is_list data.is_true data.mysql_to_dict
        data.repack_dictlist data.simple_types_filter data.subdict_match data.traverse_dict data.traverse_dict_and_list
        is_bin_str=stringutils.is_binary is_hex=stringutils.is_hex isorted=data.sorted_ignorecase
        substr_in_list=data.substr_in_list
        dateutils.date_cast date_format=dateutils.strftime
        decorators.memoize
        dictupdate.merge
        files.fopen files.flopen files.fpopen files.human_size_to_bytes files.mkstemp files.normalize_mode
        files.process_read_exception files.recursive_copy files.rm_rf files.safe_rm files.safe_walk
        files.st_mode_to_octal is_bin_file=files.is_binary is_empty=files.is_empty istextfile=files.is_text
        list_files=files.list_files is_fcntl_available=files.is_fcntl_available
        functools.alias_function functools.namespaced_function
        get_hash=hashutils.get_hash
        get_user=user.get_user get_uid=user.get_uid get_gid=user.get_gid get_group_list=user.get_group_list
        get_group_dict=user.get_group_dict get_gid_list=user.get_gid_list get_specific_user=user.get_specific_user
        network.gen_mac network.host_to_ips mac_str_to_bytes=network.mac_str_to_bytes
        path.check_or_die path.which path.which_bin path_join=path.join
        platform.is_darwin platform.is_freebsd platform.is_linux platform.is_netbsd platform.is_openbsd
        platform.is_proxy platform.is_smartos platform.is_sunos platform.is_aix platform.is_windows
        platform.is_fedora
        gen_state_tag=state.gen_tag check_state_result=state.check_result
        stringutils.build_whitespace_split_regex stringutils.check_whitelist_blacklist
        stringutils.contains_whitespace stringutils.dequote stringutils.expr_match stringutils.human_to_bytes
        stringutils.to_bytes stringutils.to_num stringutils.to_str stringutils.to_unicode str_to_num=stringutils.to_num
        compare_versions=versions.compare versions.kwargs_warn_until versions.version_cmp versions.warn_until
    """.split()
    for name, _, home in [line.rpartition("=")]
}

__getattr__: ModuleGetattr = submodules(__name__, _MOVED)
