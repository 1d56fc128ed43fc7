"""Every argument of every bundled state is in its footprint, or here, with the reason why it names no resource."""

import inspect

import pytest
from bundled_states import state_module
from plugin_harness import PluginHarness

from tests.states.test_footprints import MODULES, functions_of

VALUES = (
    "/swept/here",
    "swept",
    "https://swept/here",
    ["/swept/here"],
    ["credentials=/swept/here"],
    {"PIP_CONSTRAINT": "/swept/here"},
    [{"certificate": "/swept/here"}],
    "minion",
    "0711",
    True,
    False,
    5,
)
BASES = (
    {},
    {"makedirs": True, "signature": True, "check_cmd": "/bin/true", "requirements": "/r", "persist": True},
)
POLICY = {"x509_signing_policies": {"swept": {"signing_private_key": "/swept/here"}}}

NO_RESOURCE = {
    "what the content is, or which part of it": """
        after algo append_if_not_found append_newline backslash_literal before bufsize char comment commented content
        contents contents_delimiter contents_newline count data dataset defaults context delimiter
        deserializer_opts digest encoded_data encoding encoding_errors encoding_type extensions flags header hostnames
        indent insert_after_match insert_before_match key_ignore_case key_values keysize location
        marker_end marker_start match multivar not_found_content passphrase pattern prepend prepend_if_not_found
        private_key_passphrase prune regex repl separator serializer serializer_opts serial_number
        signing_private_key_passphrase ssh_keys strict strip subject text uncomment value value_ignore_case value_regex
        enc fingerprint fingerprint_hash_type options no_spaces create_if_missing days_remaining days_valid not_after
        not_before ca_server include_expired new
    """,
    "when something is done, or how it is shown, counted or compared": """
        age age_size_logical_operator age_size_only allow_empty allow_test_mode_failure atomic changes checksum
        children_only clear_all client_timeout destructive disallow_copy_and_unlink
        error_on_absent exclude exclude_pat false_unsets full_path_match ignore_collisions
        ignore_comment_characters ignore_errors ignore_if_missing ignore_missing ignore_ordering ignore_whitespace
        include_empty include_pat init_delay keep_source match_on match_type matches max_depth maxdepth
        merge merge_if_exists new_file_diff ntype major minor older_than overwrite permanent preserve quiet
        reconnect refresh replace result retain rmdirs search_only sfun show_changed show_changes
        shutdown_timeout sig size skip_suggestions skip_translate skip_verify source_hash_name source_hash_update
        start status status_type string strptime_format subdir time_comparison timeout timezone trim_output unpause
        update_minion use_etag use_vt validate_ip_addrs verbose verify_ssl wait_for warnings watch_action watch_flags
        present boolean integer listing dictionary enforce_toplevel skip_files_list_verify list_options
        archive_format extract_perms use_cmd_unzip clean_parent encrypted hide_output sig_backend tmp_ext
        allow_symlink follow_symlinks followlinks rmlinks force_symlinks saltenv enable require password
    """,
    "modes, owners and attributes of the path itself": """
        atime mtime attrs file_mode sym_mode inherit_user_and_group selinux win_owner win_perms
        win_deny_perms win_inheritance win_perms_reset
    """,
    "the attributes of an account": """
        allow_gid_change allow_uid_change createhome date empty_password enforce_password expire fullname
        hash_password homephone inactdays loginclass maxdays mindays nologinit non_unique local other password_lock
        remove_groups roomnumber system unique usergroup warndays win_description win_homedrive win_logonscript
        win_profile workphone
    """,
    "which commits, and how they are fetched": """
        bare branch depth fetch_remote fetch_tags force_checkout force_clone force_fetch force_reset hard_reset
        https_pass https_user mirror output_encoding refspec_branch refspec_tag remote rev shared submodules sync_tags
        update_head
    """,
    "how pip and virtualenv do it": """
        allow_all_external allow_external allow_unverified clear distribute exists_action force_reinstall
        global_options ignore_installed install_options never_download no_binary no_cache_dir no_deps no_download
        no_index no_install no_use_wheel pip_exists_action pip_ignore_installed pip_no_cache_dir pip_upgrade
        pre_releases process_dependency_links prompt proxy system_site_packages trusted_host upgrade use_wheel
    """,
    "which packages: their database is one resource": """
        all allow_updates fromrepo ignore_epoch normalize pkg_verify reinstall update_holds
    """,
    "what a database has: all states of PostgreSQL keep their order": """
        allow_group_access cascade createdb createroles data_checksums db_password db_port db_user dbname
        default_password ext_version from_version grant_option if_exists if_not_exists inherit lc_collate lc_ctype
        locale login maintenance_db object_name object_type owner_recurse port privileges refresh_password replication
        restrict schema superuser tablespace valid_until wal_segsize
    """,
    "what a mount is like": """
        bind_mount_copy_active_opts device_name_regex dump extra_mount_ignore_fs_keys extra_mount_invisible_keys
        extra_mount_invisible_options extra_mount_translate_options fs_freq fs_mount fs_passno fs_vfstype fstype
        hidden_opts mount_by not_change pass_num
    """,
    "how a source is trusted, a host is written, a clock runs, a name is chosen": """
        aptkey hash_known_hosts insecure_registry priority utc
    """,
    "what the compiler finds for every state, whatever its module": "contents_grains contents_pillar dataset_pillar",
}
SPARED = {
    ("alias", "target"): "an address",
    ("archive", "clean"): "all below the target is written in any case",
    ("archive", "force"): "all below the target is written in any case",
    ("cron", "backup"): "a crontab has no file of its own",
    ("cron", "source_hash"): "it is a text here",
    ("cron.absent", "special"): "times are not compared",
    ("cron", "template"): "the compiler finds it",
    ("debconfmod", "template"): "the compiler finds it",
    ("docker_container", "force"): "the container is written in any case",
    ("docker_image", "force"): "the image is written in any case",
    ("file.recurse", "clean"): "all below the target is written in any case",
    ("file", "force"): "what is replaced is the path itself, written in any case",
    ("file.pruned", "recurse"): "all below the path is written in any case",
    ("file", "template"): "the compiler finds it",
    ("file.keyvalue", "key"): "a text in the file",
    ("file", "mode"): "the mode of the path itself, written in any case",
    ("file.line", "create"): "the path itself, written in any case",
    ("file.line", "backup"): "the name of the copy has the time in it",
    ("git", "force"): "all below the target is written in any case",
    ("grains", "force"): "the grain is written in any case",
    ("grains", "value"): "a grain",
    ("host", "clean"): "it is about entries of the same file",
    ("ini_manage.options_absent", "sections"): "the whole file is written in any case",
    ("mount.fstab_absent", "fs_file"): "it only tells entries of fstab apart",
    ("mount.mounted", "mount"): "the mount point is written in any case",
    ("pkg", "pkgs"): "which packages: their database is one resource",
    ("pkg", "version"): "which packages: their database is one resource",
    ("postgres_database", "template"): "a database, not a template",
    ("postgres_database", "owner"): "a role, not an account",
    ("postgres_schema", "owner"): "a role, not an account",
    ("postgres_tablespace", "owner"): "a role, not an account",
    ("postgres_tablespace", "options"): "settings",
    ("postgres_group", "groups"): "roles, not accounts",
    ("postgres_user", "groups"): "roles, not accounts",
    ("user", "force"): "whether the user is logged in",
}
SILENT = {word for words in NO_RESOURCE.values() for word in words.split()}


def is_named(module, low, argument):
    """Whether the footprint of a state changes with an argument."""
    for base in BASES:
        without = module.mod_footprint({**low, **base, argument: None})
        if any(module.mod_footprint({**low, **base, argument: value}) != without for value in VALUES):
            return True
    return False


def arguments_of(name):
    for function, call in functions_of(state_module(name)):
        for argument in inspect.signature(call).parameters:
            if argument not in {"name", "kwargs", "args", "kws"}:
                yield function, argument


@pytest.fixture
def calling(tmp_path):
    harness = PluginHarness(tmp_path)
    harness.pillar.update(POLICY)
    with harness.calling():
        yield


@pytest.mark.usefixtures("calling")
@pytest.mark.parametrize(
    "name", [each for each in MODULES if each not in {"cmd", "module", "salt", "stateconf", "test"}]
)
def test_every_argument_is_in_the_footprint_or_names_no_resource(name):
    module = state_module(name)
    unsaid, both = [], []
    for function, argument in arguments_of(name):
        low = {"state": name, "fun": function, "name": "/base/name", "__id__": "i"}
        if not {(name, argument), (f"{name}.{function}", argument)} & SPARED.keys():
            named = is_named(module, low, argument)
            if named is (argument in SILENT):
                (both if named else unsaid).append(f"{function}: {argument}")
    assert not unsaid, f"name what these touch in mod_footprint of {name}, or say here why they touch nothing"
    assert not both, "a footprint names these: spare the other modules that have them one by one"


def test_no_reason_is_left_over():
    known = [(name, function, argument) for name in MODULES for function, argument in arguments_of(name)]
    exact = {(each, argument) for name, function, argument in known for each in (name, f"{name}.{function}")}
    assert not set(SPARED) - exact, "these arguments are gone"
    assert not SILENT - {argument for _, _, argument in known}, "these arguments are gone"
