"""Values that check calls wrong are those that a run rejects, and no others."""

from __future__ import annotations

import ast
import inspect
import os
import re
import textwrap

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from record_state_rows import CASES
from recorded_states import recorded
from tables import rows

from asyncstate.cli import main
from asyncstate.compile.low.lowstate import Draft
from asyncstate.config import Settings
from asyncstate.extras.manual.entries import entries, example_of
from asyncstate.extras.manual.judgements import DIGESTS
from asyncstate.extras.manual.kinds import KINDS, kind_of
from asyncstate.extras.manual.values import _OF_ALL_STATES, keywords_of, kinds_of, wrong_values
from asyncstate.runtime import StateRuntime
from docs.bundled import bundled_modules
from modules.file.hashes import HASHES
from states.cmd import _PASSED_ON

WRONG = {
    "time zone": "Europe/Berln",
    "package source": "deb https://x.org",
    "runner": "",
    "mode": "rw-r--r--",
    "path": "relative/path",
    "file": "relative/path",
    "mount point": "relative/path",
    "swap space": "relative/path",
    "key file": "relative/path",
    "web address": "ftp://example.org/x",
    "public key": "abc",
    "key line": "AAAA\nAAAA",
    "requirement": "x==",
    "requirements": ["x", "y >"],
    "passphrase": "",
    "name": "None",
    "source": "salt:/x",
    "hash": "abc",
    "boolean": "perhaps",
    "number": "many",
    "seconds": "5s",
    "integer": "many",
    "integers": [1, "many"],
    "regex": "(un",
    "pattern": ["E@(un"],
    "flags": ["MULTLINE"],
    "encoding": "utf9",
    "cron special": "@dayly",
    "address": "999.1.1.1",
    "attributes": "Q",
    "list": "vim",
    "entries": "vim",
    "variable": 80,
    "natural": -5,
    "day": "xx",
    "port": 70000,
    "key size": 256,
    "curve size": 2048,
    "bytes": "rubbish",
    "truth": "perhaps",
    "digest of a password": "geheim",
    "version": 1.2,
    "days": 99999999,
    "moment": "2030-13-01 00:00:00",
    "word": "a b",
    "account": "a b",
    "line": "two\nlines",
    "filled": "",
    "stateful": "maybe",
    "environment": ["A", {"B": [1]}],
    "place": "relative/path",
    "commands": 5,
    "lane": {"a": 1},
    "aggregate": 3,
    "mapping": 5,
    "texts": {"a": "b"},
    "renderer": "jinaj",
    "pillar key": "no:key",
    "grain key": "no:key",
}
"""A wrong value of each kind."""
OF_THE_HOST = {"renderer": "E419", "pillar key": "E423", "grain key": "E423"}
"""The kinds that are judged by what the host has, with their codes."""


def wrong_of(kind):
    """Return a wrong value of a kind, and the other arguments without which it is not judged."""
    word, _, condition = kind.partition("; ")[0].partition(" if ")
    more = dict(part.split("=") for part in condition.split(" and ")) if condition else {}
    if ": " not in word:
        return WRONG[word], more
    form = word.partition(": ")[0]
    return {"some of": ["zz"], "each one of": ["zz"], "keys of": {"zz": 1}}.get(form, "zz"), more


def code_of(kind):
    word = kind.partition("; ")[0].partition(" if ")[0]
    return OF_THE_HOST.get(word) or kind_of(word).code


def functions():
    """Yield (name, function) of every bundled state."""
    for name, providers in bundled_modules("states").items():
        for provider in providers:
            for function, func in provider.functions.items():
                yield f"{name}.{function}", func


FUNCTIONS = dict(functions())
ARGUMENTS = [
    (name, argument, kind) for name, func in FUNCTIONS.items() for argument, kind in kinds_of(name, func).items()
]


def draft_of(state, fun, name, args):
    return Draft(state, fun, "x", name, sls="s", env="base", args=args, order=None, included_from=())


def settings_of(root):
    (root / "f").touch()
    pillar = {"app": {"config": "port = 80", "encoded": "YQ==", "settings": {"port": 80}}}
    (root / "pillar").mkdir(exist_ok=True)
    (root / "pillar" / "top.sls").write_text("base: {'*': [app]}")
    (root / "pillar" / "app.sls").write_text(yaml.safe_dump(pillar))
    kept = {"cachedir": str(root / "cache"), "state_dir": str(root / "state")}
    return Settings(
        file_roots={"base": [str(root)]}, pillar_roots={"base": [str(root / "pillar")]}, journal="off", **kept
    )


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    with StateRuntime(settings_of(tmp_path_factory.mktemp("tree"))).open_sync() as opened:
        yield opened


@pytest.fixture(scope="module")
def codes_of(runtime):
    """Return the codes of what is wrong with the arguments of a function."""

    def look(function, /, **args):
        state, fun = function.split(".")
        names = {"user": "x", "group": "x", "http": "http://x", "ssh_auth": "AAAA"}
        name = args.pop("name", names.get(state, "/x"))
        return [issue.code for issue in wrong_values(draft_of(state, fun, name, args), runtime.host)]

    return look


def test_every_kind_of_an_entry_is_known_and_every_kind_is_used():
    written = {part.partition(" if ")[0] for entry in entries().values() for part in entry.kind.split("; ")} - {
        "",
        "any",
        *OF_THE_HOST,
    }
    assert [kind for kind in written if kind_of(kind) is None] == []
    words = {part.partition(" if ")[0] for _, _, kind in ARGUMENTS for part in kind.split("; ")} - {"any"}
    plain = {word for word in words if ": " not in word}
    assert plain | {*_OF_ALL_STATES.values()} == {*KINDS, *OF_THE_HOST} == {*WRONG}
    assert len(ARGUMENTS) > 300


def test_arguments_that_exclude_each_other_are_arguments():
    for key, entry in entries().items():
        for word in entry.excludes.split():
            module, _, name = key.rpartition(".")
            other = word.partition("=")[0]
            functions = [each for each in FUNCTIONS if f"{each}.".startswith(f"{module}.")]
            taken = [{*inspect.signature(inspect.unwrap(FUNCTIONS[each])).parameters} for each in functions]
            taken = [names | {*keywords_of(FUNCTIONS[each])} for each, names in zip(functions, taken, strict=True)]
            assert any({name, other} <= names for names in taken), (key, word)


@rows("name", FUNCTIONS)
def test_examples_and_defaults_have_no_wrong_value(codes_of, name):
    """What the documentation shows is right, for every argument that has a kind."""
    parameters = inspect.signature(inspect.unwrap(FUNCTIONS[name])).parameters
    for argument in kinds_of(name, FUNCTIONS[name]):
        example = example_of(name, argument).get(argument)
        default = parameters[argument].default if argument in parameters else None
        for value in [default, yaml.safe_load(example) if example and "{{" not in example else None]:
            if value is not None and value is not inspect.Parameter.empty:
                shown = example_of(name, argument)
                shown |= example_of(name, "name") if name == "timezone.system" else {}  # judges all names
                needs = {key: yaml.safe_load(each) for key, each in shown.items()}
                found = codes_of(name, **{"skip_verify": True, **needs, argument: value})
                assert [code for code in found if code != "E403"] == [], value  # it may need others


UNJUDGED = {
    "archive.extracted": "keep_source keep",
    "cmd.call": "retval",
    "cmd.run": "clean_env ignore_retcode output_encoding output_loglevel prepend_path redirect_stderr "
    "reset_system_locale rstrip stdin stdin_raw_newlines success_stderr success_stdout use_vt "
    "python_shell log_callback password",
    "cmd.script": "args",
    "cron.absent": "commented",
    "docker_container.running": "environment binds port_bindings command entrypoint restart_policy hostname extra_hosts network_mode "
    "cap_add ulimits send_signal",
    "docker_network.present": "driver options labels subnet gateway iprange aux_addresses ipam_pools",
    "file.accumulated": "require_in watch_in",
    "http.query": "string pcre list test_url",
    "module.run": "result retcode",
    "mount.mounted": "auto",
    "pkg.downloaded": "normalize skip_suggestions",
    "pkg.installed": "latest resolve_capabilities split_arch verify_ssl failhard downloadonly download_only env root "
    "options install_recommends only_upgrade force_yes force_conf_new cache_valid_time debconf "
    "allow_downgrades enablerepo disablerepo disableexcludes repo branch setopt cacheonly osarch "
    "all_versions no_recommends ignore_repo_failure no_repo_failure gpgautoimport sysupgrade",
    "pkg.uptodate": "obsoletes minimal dryrun novendorchange",
    "pkgrepo.absent": "keyid ppa copr",
    "pkgrepo.managed": "keyid key_text disabled enabled",
    "salt.parallel_runners": "kwarg",
    "salt.runner": "arg kwarg",
    "service.disabled": "root",
    "service.enabled": "root",
    "test.fail_with_changes": "comment",
    "test.fail_without_changes": "comment",
    "test.nop": "comment",
    "test.succeed_with_changes": "comment",
    "test.succeed_without_changes": "comment",
    "virtualenv.managed": "find_links symlinks upgrade pip",
    "x509.certificate_managed": "CN O subjectAltName basicConstraints keyUsage extendedKeyUsage algorithm",
    "x509.crl_managed": "certificate serial_number revocation_date cRLNumber",
    "x509.csr_managed": "algorithm",
    "x509.private_key_managed": "prereq cipher verbose text",
}
"""What the documentation of states names, beyond their parameters, that is no argument or may have any text."""


def test_every_keyword_that_a_state_documents_is_judged_or_may_have_any_value():
    kinds = {name: kinds_of(name, func) for name, func in FUNCTIONS.items()}
    left = {name: [word for word in keywords_of(func) if word not in kinds[name]] for name, func in FUNCTIONS.items()}
    assert {name: words for name, words in left.items() if words} == {
        name: words.split() for name, words in UNJUDGED.items()
    }
    assert ("file.directory", "mode", "mode") in ARGUMENTS


def _keywords_read(function):
    """Yield the keywords that the source of a function names as keys of its ``kwargs``."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))):
        match node:
            case ast.Call(func=ast.Attribute(ast.Name("kwargs"), "get" | "pop"), args=[ast.Constant(str(key)), *_]):
                yield key
            case ast.Subscript(ast.Name("kwargs"), ast.Constant(str(key)), ast.Load()):
                yield key
            case ast.Compare(ast.Constant(str(key)), [ast.In()], [ast.Name("kwargs")]):
                yield key


UNDOCUMENTED = {
    "docker_image.present": "sls",
    "file.managed": "env file_mode",
    "file.recurse": "env mode",
    "file.serialize": "env",
    "pkg.downloaded": "downloadonly",
    "pkg.latest": "sources",
    "pkgrepo.absent": "keyid_ppa",
}
"""Keywords that a state reads and does not name: old names, what is only refused, and texts of tests."""


def test_every_keyword_that_a_state_reads_is_documented():
    read = {
        name: sorted({*_keywords_read(func)} - {*keywords_of(func)})
        for name, func in FUNCTIONS.items()
        if not name.split(".")[1].startswith("mod_")
    }
    assert {name: words for name, words in read.items() if words} == {
        name: words.split() for name, words in UNDOCUMENTED.items()
    }


@rows(("name", "argument", "kind"), ARGUMENTS)
def test_a_wrong_value_of_each_argument_is_found(runtime, codes_of, name, argument, kind):
    if runtime.host.loaders["states"].find(name) is None:
        return  # the module does not load here
    value, more = wrong_of(kind)
    more |= {"source": "https://example.org/x"} if kind == "hash" else {}
    more |= {"source": "salt://f"} if kind == "renderer" else {}
    if name == "file.cached" and kind == "hash":
        more = {"name": "https://example.org/x"}
    found = codes_of(name, **more, **{argument: value})
    if kind == "hash" and "skip_verify" not in kinds_of(name, FUNCTIONS[name]):
        assert found == []  # it takes a digest, but does not need one
    else:
        assert code_of(kind) in found


NOT_FORESEEN = {
    "alternatives.install": "link path",  # update-alternatives refuses them
    "cmd.run": "env shell success_retcodes template",  # a dry run does not start the command
    "cmd.script": "env shell template",
    "cron.present": "minute hour daymonth month dayweek special",  # crontab refuses them
    "file.line": "location",  # the line goes nowhere, and the run says nothing
    "file.managed": "backup encoding_errors",  # no copy is kept; the text can be encoded
    "file.tidied": "time_comparison age_size_logical_operator age_size_only",  # the default takes their place
    **dict.fromkeys(("file.recurse", "file.serialize"), "backup"),
    "git.present": "output_encoding",
    "http.query": "match status",  # a dry run sends nothing
    "mount.fstab_present": "fs_freq fs_passno",  # a program that reads the file refuses them
    "mount.mounted": "device_name_regex match_on",  # looked at where something is mounted
    "service.dead": "sig name",  # looked at where an init system runs
    "service.running": "sig name",
    "ssh_known_hosts.present": "port fingerprint",  # a dry run asks no host
    "ssh_auth.absent": "name",  # no such key is authorized; an authorized one is refused
    "user.present": "uid home shell mindays maxdays inactdays warndays",  # useradd and chage refuse them
    "virtualenv.managed": "pip_exists_action",
    "x509.certificate_managed": "encoding digest",  # looked at when the file is made
    "x509.crl_managed": "encoding digest",
    "x509.csr_managed": "encoding digest",
}
"""Wrong values that a dry run takes here, and a run does not: programs refuse them."""
REACHING_OUT = {"pkg.downloaded"}
"""Even their dry run fetches the lists of packages."""
_TAKEN = {"place", "word", "line", "truth", "stateful", "digest of a password if hash_password=", "version", "texts"}
"""What these say of a value, a run need not notice: it writes what no program can use, or takes another value."""
_JUDGED_BEFORE = {"mode", "name", "source", "hash", "boolean", "number", "seconds", "path", "file"}


async def test_a_run_refuses_every_value_that_is_called_wrong(tmp_path):
    taken = []
    settings = settings_of(tmp_path)
    folder = tmp_path / "folder"
    async with StateRuntime(settings) as runtime:
        for name, argument, kind in ARGUMENTS:
            if (
                runtime.host.loaders["states"].find(name) is None
                or kind in _JUDGED_BEFORE | _TAKEN
                or name in REACHING_OUT
            ):
                continue
            folder.mkdir(exist_ok=True)
            (folder / "file").write_text("port = 1\n")
            value, more = wrong_of(kind)
            args = needed(name) | more | {argument: value}
            in_folder = name.startswith(("file.", "archive."))
            if in_folder:
                whole = name in {"file.directory", "file.recurse", "file.tidied", "file.retention_schedule"}
                args |= {"name": str(folder if whole or name.startswith("archive") else folder / "file")}
                args |= {"contents": "x"} if argument == "encoding" and name == "file.managed" else {}
                args |= {"source": "salt://f"} if argument == "template" or name.startswith("archive") else {}
            report = await runtime.single(name, args, test=not in_folder)
            if argument not in NOT_FORESEEN.get(name, "").split():
                taken += [
                    (name, argument, row["comment"]) for row in report.rows.values() if row["result"] is not False
                ]
                assert not any("Traceback" in row["comment"] for row in report.rows.values()), (name, argument)
    assert taken == []


async def test_a_run_refuses_every_relative_path(tmp_path):
    """What is called wrong is wrong: no state takes a relative path where an absolute one is expected."""
    taken = []
    async with StateRuntime(settings_of(tmp_path)) as runtime:
        for name, argument, kind in ARGUMENTS:
            if kind in {"path", "file"} and argument not in NOT_FORESEEN.get(name, "").split():
                args = needed(name) | {argument: "relative/path"}
                moves = argument == "backupname"  # a real run moves what is in the way; a dry run may not look
                if moves:
                    args |= {"name": str(tmp_path / "f"), "force": True}
                report = await runtime.single(name, args, test=not moves)
                taken += [
                    (name, argument, row["comment"]) for row in report.rows.values() if row["result"] is not False
                ]
    assert not taken


NOT_ALWAYS_WHOLE = {
    "alternatives.remove": "path",  # what is no alternative is not removed
    "cron.absent": "name",
    "cron.present": "name",
    "docker_image.present": "load",
    "file.accumulated": "filename",
    "file.copy": "source",
    "file.missing": "name",
    "file.not_cached": "name",
    "file.patch": "reject_file",
    "file.rename": "source",
    "file.symlink": "target",
    "git.present": "template separate_git_dir",
    "mount.fstab_absent": "name fs_file",  # what is in no line is not removed
    "mount.fstab_present": "name",
    "mount.mounted": "device device_name_regex",
    "mount.unmounted": "name device",
    "pip.installed": "pip_bin bin_env log editable build target download download_cache source cert cache_dir",
    "pip.removed": "bin_env log",
    "pip.uptodate": "bin_env",
    "service.dead": "sig",
    "service.running": "sig",
    "ssh_auth.absent": "config",  # relative to the home of the user
    "ssh_auth.manage": "config",
    "ssh_auth.present": "config",
    "ssh_known_hosts.absent": "config",
    "ssh_known_hosts.present": "config",
    "virtualenv.managed": "python extra_search_dir pip_download pip_download_cache pip_cache_dir",
}
"""Arguments whose example is an absolute path, and that may be something else, or relative to another folder."""
_PATHS = {"path", "file", "place", "source", "mount point", "swap space", "key file"}


def test_every_argument_that_is_shown_as_a_whole_path_is_judged_as_one():
    left = {}
    for name, func in FUNCTIONS.items():
        kinds, parameters = kinds_of(name, func), inspect.signature(inspect.unwrap(func)).parameters
        for argument in (*parameters, *keywords_of(func)):
            shown = example_of(name, argument).get(argument, "").lstrip("'[")
            others = name.startswith(("x509.", "postgres_")) and argument not in {"name", "directory", "datadir"}
            if shown.startswith(("/", "~")) and not others and kinds.get(argument) not in _PATHS:
                left.setdefault(name, []).append(argument)
    assert {name: " ".join(words) for name, words in left.items()} == NOT_ALWAYS_WHOLE


def needed(function):
    """Return values for the required arguments of a function."""
    args = {"name": "/nowhere/x"}
    for parameter in inspect.signature(inspect.unwrap(FUNCTIONS[function])).parameters.values():
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD:
            given = example_of(function, parameter.name).get(parameter.name)
            args.setdefault(parameter.name, yaml.safe_load(given) if given else "x")
    return args


@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.yaml")))
def test_what_salt_was_recorded_to_accept_is_left_alone(codes_of, name):
    accepted = {
        title: codes_of(case["state"], **yaml.safe_load(yaml.safe_dump(case["arguments"]).replace("{root}", "/r")))
        for title, case in recorded(name).items()
        if "arguments" in case
        and "refused_here" not in case
        and all(result is not False for result, *_ in case["rows"])
    }
    assert accepted
    assert {title: found for title, found in accepted.items() if found} == {}


@rows(
    ("function", "args"),
    [
        ("file.managed", {"mode": 644, "contents": "x"}),
        ("file.managed", {"mode": "0o644", "contents": "x"}),
        ("file.managed", {"mode": "", "contents": "x"}),
        ("file.managed", {"mode": "keep", "source": "salt://x"}),
        ("file.managed", {"name": "~/x", "contents": "x"}),
        ("file.managed", {"name": "__slot__:salt:test.echo(x)", "contents": "x"}),
        ("file.managed", {"mode": "__slot__:salt:test.echo(0644)", "contents": "x"}),
        ("file.managed", {"source": ["salt://x", "/srv/x"]}),
        ("file.managed", {"source": "salt://x", "source_hash": "None"}),
        ("file.managed", {"source": "https://example.org/x", "skip_verify": True, "source_hash": "None"}),
        ("file.managed", {"source": "https://example.org/x", "source_hash": "https://example.org/SUMS"}),
        ("file.managed", {"source": "https://example.org/x", "use_etag": True}),
        ("file.managed", {"source": "https://example.org/x", "replace": False}),
        ("file.managed", {"source": "https://example.org/x", "create": False}),
        ("file.managed", {"makedirs": "True", "contents": "x"}),
        ("file.managed", {"timeout": "10s", "contents": "{{ timeout }}", "template": "jinja"}),
        ("file.line", {"mode": "insert", "content": "x", "location": "end"}),
        ("file.symlink", {"target": "relative"}),
        ("timezone.system", {"name": "Europe/Berlin"}),
        ("timezone.system", {"name": "US/Pacific"}),
        ("timezone.system", {"name": "posix/Etc/UTC"}),
        ("pkgrepo.managed", {"name": "deb https://x.org/app stable main"}),
        ("pkgrepo.managed", {"name": "deb-src [arch=amd64 signed-by=/k]http://x.org/app ./"}),
        ("pkgrepo.managed", {"name": "# deb x"}),
        ("pkgrepo.managed", {"name": "debian-backports"}),
        ("pkgrepo.managed", {"name": "ppa:a/b"}),
        ("cmd.run", {"name": "x", "runas": "nobody"}),
        ("cmd.run", {"timeout": "5", "retry": {"attempts": 2, "interval": 5}, "umask": "022"}),
        ("cmd.run", {"retry": True}),
        ("file.managed", {"contents": "x", "source": None, "contents_pillar": ""}),
        ("file.managed", {"contents": "x", "template": "__slot__:salt:test.echo(jinja)"}),
        ("file.managed", {"contents": "x", "template": "jinja|gpg"}),
        ("file.managed", {"contents_pillar": "no:key", "onlyif": "false"}),
        ("file.managed", {"contents_pillar": "__slot__:salt:test.echo(x)"}),
        ("file.append", {"text": "x", "template": "none"}),
        ("file.directory", {"recurse": ["user", "mode"], "user": "root"}),
        ("file.directory", {"exclude_pat": "*(un"}),
        ("file.line", {"mode": "Insert", "content": "x", "after": "a[b]"}),
        ("file.replace", {"pattern": 8080, "repl": "x", "flags": 8}),
        ("file.replace", {"pattern": "[[a]", "repl": "x", "flags": "multiline"}),
        ("file.serialize", {"dataset": {"a": 1}, "serializer": "JSON"}),
        ("archive.extracted", {"source": "salt://f", "archive_format": "TAR", "trim_output": True}),
        ("archive.extracted", {"source": "salt://f", "clean": False, "clean_parent": True}),
        ("cmd.run", {"name": "x", "success_retcodes": "1,2", "env": [{"A": "b"}]}),
        ("cmd.run", {"name": "x", "env": "__slot__:salt:test.echo(x)"}),
        ("cron.present", {"name": "x", "minute": "*/5", "hour": "8-18/2,20", "dayweek": "Mon-Fri", "month": "jan,12"}),
        ("cron.present", {"name": "x", "minute": "0~30", "hour": 0, "daymonth": "random", "dayweek": 7}),
        ("cron.present", {"name": "x", "special": "@reboot"}),
        ("file.replace", {"pattern": "None", "repl": "x"}),
        ("environ.setenv", {"name": "x", "value": False}),
        ("environ.setenv", {"name": "x", "value": "None"}),
        ("environ.setenv", {"name": "x", "value": {"A": "1"}}),
        ("mount.mounted", {"device": "/dev/x", "fstype": "ext4", "match_on": ["name", "device"]}),
        ("git.latest", {"name": "https://example.org/x", "target": "/x", "force_reset": True}),
        ("pkgrepo.managed", {"name": "x", "disabled": "False"}),
        ("test.configurable_test_state", {"changes": "random", "result": True}),
        ("host.present", {"name": "x", "ip": ["192.0.2.1", "2001:db8::1"]}),
        ("http.query", {"name": "http://x", "match": "(un"}),
        ("pkg.installed", {"name": "x", "pkgs": "[vim, {git: 1.2}]"}),
        ("pkg.installed", {"name": "x", "pkgs": ["vim", {"git": "1.2"}]}),
        ("user.present", {"name": "x", "uid": "1000", "home": "/x", "shell": ""}),
        ("user.present", {"name": "x", "password": "secret", "hash_password": True}),
        ("user.present", {"name": "x", "password": "$6$salt$digest", "expire": "2030-03-27", "date": -1}),
        ("user.present", {"name": "x", "password": "!", "uid": 0, "gid": "staff"}),
        ("user.present", {"name": "x", "password": "rl0uE7TnAQ.Nc"}),  # DES
        ("user.present", {"name": "x", "password": "!$y$j9T$salt$digest", "expire": -1, "mindays": "-1"}),
        ("service.running", {"name": "x", "enable": "true", "reload": 1}),
        ("x509.private_key_managed", {"keysize": 384, "algo": "ec"}),
        ("x509.private_key_managed", {"keysize": "4096"}),
        ("sysctl.present", {"name": "vm.x", "value": 0}),
        ("sysctl.present", {"name": "net.ipv4.ip_local_port_range", "value": "1024 65535"}),
        ("cmd.run", {"name": "x", "stateful": [{"test_name": "y"}]}),
        ("cmd.run", {"name": "x\ny", "stateful": False}),
        ("pkg.installed", {"name": "x", "version": "1.20", "refresh": False}),
        ("pkg.installed", {"name": "x", "version": "latest"}),
        ("mount.mounted", {"device": "//host/a share", "fstype": "cifs", "dump": "0", "pass_num": 2}),
        ("file.tidied", {"age": "5", "age_size_logical_operator": "AND", "time_comparison": "mtime"}),
        ("cron.present", {"name": "a b", "identifier": False, "comment": None}),
        ("pkg.installed", {"sources": [{"x": "https://example.org/x.deb"}], "name": "x"}),
    ],
)
def test_values_that_work_are_left_alone(codes_of, function, args):
    assert codes_of(function, **args) == []


@pytest.mark.parametrize(
    ("function", "args"),
    [
        ("archive.extracted", {"source": "salt://f", "clean": True, "clean_parent": True}),
        ("archive.extracted", {"source": "salt://f", "skip_verify": True, "skip_files_list_verify": True}),
        ("file.append", {"source": "salt://f", "sources": ["salt://f"]}),
        ("file.blockreplace", {"append_if_not_found": True, "prepend_if_not_found": True}),
        ("file.blockreplace", {"insert_before_match": "a", "insert_after_match": "b"}),
        ("file.blockreplace", {"insert_before_match": "a", "append_if_not_found": True}),
        ("file.decode", {"encoded_data": "YQ==", "contents_pillar": "a"}),
        ("file.keyvalue", {"key": "a", "value": "b", "key_values": {"a": "b"}}),
        ("file.managed", {"contents": "x", "contents_grains": "os"}),
        ("file.managed", {"contents": "x", "contents_pillar": "a"}),
        ("file.managed", {"contents": "x", "mode": "keep"}),
        ("file.managed", {"contents": "x", "source": "salt://f"}),
        ("file.managed", {"contents_grains": "os", "source": "salt://f"}),
        ("file.managed", {"contents_pillar": "a", "contents_grains": "os"}),
        ("file.replace", {"pattern": "a", "repl": "b", "append_if_not_found": True, "prepend_if_not_found": True}),
        ("file.serialize", {"dataset": {"a": 1}, "dataset_pillar": "a"}),
        ("file.serialize", {"dataset": {"a": 1}, "serializer": "json", "formatter": "json"}),
        ("group.present", {"name": "g", "members": ["a"], "addusers": ["b"]}),
        ("pkg.installed", {"name": "x", "pkgs": ["a"], "sources": [{"b": "/c"}]}),
        ("pkgrepo.managed", {"name": "deb http://x y z", "key_url": "salt://k", "keyid": "A"}),
        ("pkgrepo.managed", {"name": "deb http://x y z", "enabled": True, "disabled": True}),
        ("x509.private_key_managed", {"keysize": 4096, "algo": "ed25519"}),
        ("x509.private_key_managed", {"bits": 2048, "algo": "ed448"}),
    ],
)
async def test_arguments_that_exclude_each_other_are_found_and_refused(codes_of, tmp_path, function, args):
    (tmp_path / "file").write_text("x\n")
    args = {"name": str(tmp_path / "file"), **args}
    assert "E421" in codes_of(function, **args)
    async with StateRuntime(settings_of(tmp_path)) as runtime:
        if runtime.host.loaders["states"].find(function) is None:
            return  # the module does not load here
        report = await runtime.single(function, args, test=True)
    assert [row["result"] for row in report.rows.values()] == [False]


NEEDING = (
    ("file.line", {"content": "x"}, {"mode": "delete"}),
    ("file.line", {"content": "x", "mode": "ensure"}, {"after": "y"}),
    ("file.line", {"content": "x", "mode": "insert"}, {"location": "end"}),
    ("file.line", {"content": "x", "mode": "Insert"}, {"before": "y"}),
    ("file.append", {}, {"text": "x"}),
    ("file.prepend", {}, {"text": "x"}),
    ("file.keyvalue", {}, {"key_values": {"a": "b"}}),
    ("file.keyvalue", {"key": "a"}, {"value": "b"}),
    ("file.keyvalue", {"value": "a"}, {"key": "b"}),
    ("http.query", {"name": "http://localhost:1/"}, {"status": 200}),
)


def test_every_need_that_is_written_is_tried():
    written = [key.rpartition(".")[::2] for key, entry in entries().items() if entry.needs]
    tried = {(function, argument) for function, args, _ in NEEDING for argument in ("name", *args)}
    assert set(written) <= tried


@pytest.mark.parametrize(("function", "args", "needed_one"), NEEDING)
async def test_arguments_that_need_another_one_are_found_and_refused(codes_of, tmp_path, function, args, needed_one):
    (tmp_path / "file").write_text("y\n")
    args = {"name": str(tmp_path / "file"), **args}
    assert {*codes_of(function, **args)} == {"E403"}
    assert codes_of(function, **args, **needed_one) == []
    async with StateRuntime(settings_of(tmp_path)) as runtime:
        report = await runtime.single(function, args, test=True)
    assert [row["result"] for row in report.rows.values()] == [False]


@pytest.mark.parametrize(
    ("function", "args", "code", "hint"),
    [
        ("module.run", {"name": "file.file_exist"}, "E426", "did you mean 'file.file_exists'?"),
        ("module.run", {"file.file_exist": [{"path": "/x"}]}, "E426", "did you mean 'file.file_exists'?"),
        ("module.wait", {"tset.ping": []}, "E426", "did you mean 'test.ping'?"),
        (
            "test.nop",
            {"onlyif": [{"fun": "file.file_exist", "path": "/x"}]},
            "E426",
            "did you mean 'file.file_exists'?",
        ),
        ("test.nop", {"unless": {"fun": "tset.ping"}}, "E426", "did you mean 'test.ping'?"),
        ("test.nop", {"onlyif": [{"fun": "file.nope"}]}, "E426", "asyncstate doc file lists"),
        ("module.run", {"file.nope": [{"path": "/x"}]}, "E426", "asyncstate doc file lists"),
        ("module.run", {"name": "nowhere.at_all"}, "E426", "there is no execution module 'nowhere' here"),
        ("cmd.run", {"name": "__slot__:salt:tset.echo(x) ~ y"}, "E426", "did you mean 'test.echo'?"),
        ("cmd.run", {"env": [{"A": '__slot__:salt:tset.echo("x").a'}]}, "E426", "did you mean 'test.echo'?"),
        ("test.nop", {"unless": 7}, "E427", "write a command, or - fun"),
        ("test.nop", {"unless": [True]}, "E427", "write a command, or - fun"),
        ("test.nop", {"onlyif": []}, "E427", "write a command, or leave it out"),
        ("file.managed", {"name": "", "contents": "x"}, "E411", "write the whole path"),
        ("file.managed", {"name": "/x/", "contents": "x"}, "E411", "write the whole path, from / on, without a slash"),
        ("file.append", {"name": "/x/.", "text": "x"}, "E411", "write the whole path, from / on, without a slash"),
        ("file.symlink", {"name": "/a/x", "target": "../a/b/../x"}, "E419", "write the path that the link points to"),
        ("file.directory", {"user": "a\0"}, "E419", "remove it"),
        (
            "ssh_known_hosts.present",
            {"key": "A", "enc": "x", "fingerprint": "b0:" * 31 + "b0"},
            "E421",
            "remove one of the two",
        ),
        ("file.symlink", {"target": "/x"}, "E419", "write the path that the link points to"),
        ("cmd.run", {"cwd": 4}, "E411", "write the whole path"),
        ("cmd.run", {"env": {"A=1": "x"}}, "E405", "write each in a line of its own"),
        ("cmd.run", {"env": [{"A": "x\0"}]}, "E405", "write each in a line of its own"),
        ("user.present", {"name": "-x"}, "E419", "write one word of at most 32 letters"),
        ("group.present", {"name": "g" * 33}, "E419", "write one word of at most 32 letters"),
        ("file.symlink", {"target": "/y\0"}, "E419", "remove it"),
        ("cmd.run", {"env": ["A=1"]}, "E405", "write each in a line of its own"),
        ("file.managed", {"contents_grains": "os_famly"}, "E423", "did you mean 'os_family'?"),
        ("test.nop", {"onlyif": {"func": "test.ping"}}, "E427", "write 'fun' instead of 'func'"),
        ("test.nop", {"unless": ["true", {"a": "b"}]}, "E427", "write a command, or - fun: MODULE.FUNCTION"),
        ("test.nop", {"retry": {"attempt": 3}}, "E418", "did you mean 'attempts'?"),
        ("test.nop", {"retry": {"x": 3}}, "E418", "known are until, attempts, interval, splay"),
        ("file.managed", {"contents": "x", "backup": "minon"}, "E419", "did you mean 'minion'?"),
        ("timezone.system", {"name": "Europe/Berln"}, "E419", "did you mean 'Europe/Berlin'?"),
        ("timezone.system", {"name": "Qwxyz/Vbnmk"}, "E419", "timedatectl list-timezones prints their names"),
        ("pkgrepo.managed", {"name": "deb https://x.org/app"}, "E419", "write for example deb [signed"),
        ("pkgrepo.managed", {"name": "deb-src x.org stable main"}, "E419", "write for example deb [signed"),
        ("pkgrepo.managed", {"name": "deb [arch=amd64 https://x.org stable main"}, "E419", "write for example deb"),
        ("archive.extracted", {"source": "salt://f", "archive_format": "tgz"}, "E419", "did you mean 'tar'?"),
        ("archive.extracted", {"source": "salt://f", "archive_format": "odd"}, "E419", "write one of tar, zip, rar"),
        ("file.managed", {"source": "https://x/y", "source_hash": "sha256=abc"}, "E414", "sha256 has 64 hexadecimal"),
        ("file.managed", {"source": "https://x/y", "source_hash": "sah256=abc"}, "E414", "did you mean 'sha256'?"),
        ("file.managed", {"source": "https://x/y", "source_hash": "abc"}, "E414", "write for example sha256="),
    ],
)
def test_a_mistake_beside_the_function_says_the_next_step(runtime, function, args, code, hint):
    args = dict(args)
    name = args.pop("name", "/x")
    [issue] = wrong_values(draft_of(*function.split("."), name, args), runtime.host)
    assert issue.code == code
    assert issue.hint.startswith(hint)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        ("module.run", {"test.ping": [], "test.ping:2": []}),
        ("module.run", {"name": "test.ping"}),
        ("test.nop", {"unless": None, "onlyif": [None]}),
        ("file.managed", {"contents_grains": "os_family"}),
        ("file.symlink", {"target": "."}),
        ("cmd.run", {"env": ["A", {"B": 1}, {"C": None}], "cwd": ""}),
        ("file.managed", {"contents": "x", "template": "jinja", "timeout": "soon"}),  # a variable
        ("test.nop", {"onlyif": ["true", {"fun": "test.ping"}], "unless": "false"}),
        ("test.nop", {"retry": {"attempts": 3, "until": True, "interval": 1, "splay": 2}}),
    ],
)
def test_calls_and_conditions_that_work_are_left_alone(codes_of, function, args):
    assert codes_of(function, **args) == []


@pytest.mark.parametrize(
    ("function", "args"),
    [
        ("file.append", {"name": "new/", "text": "x"}),
        ("file.symlink", {"name": "new/", "target": "/x"}),
        ("file.serialize", {"name": "new/", "dataset": {"a": 1}, "serializer": "json"}),
        ("file.line", {"name": "new", "mode": "insert", "location": "", "content": "x", "create": True}),
        ("file.mknod", {"name": "new", "ntype": "p", "user": "a\0b"}),
        ("ini.options_present", {"name": "new/", "sections": {"a": {"b": "c"}}}),
        ("x509.private_key_managed", {"name": "new", "passphrase": ""}),
        ("file.managed", {"name": "a" * 300, "contents": "x", "mode": "rwx"}),
        ("file.symlink", {"name": "new", "target": "/x\0"}),
        ("cmd.run", {"name": ""}),
        ("file.recurse", {"name": "new", "source": "salt://pillar", "exclude_pat": "E@["}),
        ("test.nop", {"check_cmd": None}),
    ],
)
async def test_what_check_calls_wrong_is_refused_by_both_runs_before_any_change(codes_of, tmp_path, function, args):
    args = {"name": "", **args}
    args["name"] = args["name"] and f"{tmp_path}/place/{args['name']}"
    (tmp_path / "place").mkdir()
    assert codes_of(function, **args)
    async with StateRuntime(settings_of(tmp_path)) as runtime:
        for test in (True, False):
            report = await runtime.single(function, args, test=test)
            assert [row["result"] for row in report.rows.values()] == [False]
            assert os.listdir(tmp_path / "place") == []


@pytest.mark.parametrize(
    ("function", "args", "found"),
    [
        ("module.run", {"test.echo": [{"txt": "x"}]}, ("E402", "did you mean 'text'?")),
        ("module.run", {"test.echo": {"txt": "x"}}, ("E402", "did you mean 'text'?")),
        ("module.run", {"test.echo": ["x", {"saltenv": "base"}]}, ("E402", "asyncstate doc test.echo says more")),
        ("module.run", {"test.echo": None}, ("E403", "asyncstate doc test.echo says more")),
        ("module.run", {"test.echo": ["x", "y"]}, ("E403", "asyncstate doc test.echo says more")),
        ("module.run", {"test.echo:2": ["x", {"text": "y"}]}, ("E403", "asyncstate doc test.echo says more")),
        ("module.run", {"name": "test.echo", "txt": "x"}, ("E403", "write '- text: …'")),
        ("module.run", {"name": "file.file_exists"}, ("E403", "write '- path: …'")),
        ("module.run", {"name": "user.info"}, ("E403", "write '- m_name: …'")),
        ("test.nop", {"onlyif": [{"fun": "test.echo", "txt": "x"}]}, ("E402", "did you mean 'text'?")),
        (
            "test.nop",
            {"unless": {"fun": "test.echo", "args": ["x", "y"]}},
            ("E403", "asyncstate doc test.echo says more"),
        ),
    ],
)
async def test_a_call_that_its_function_cannot_take_is_found_and_refused(runtime, tmp_path, function, args, found):
    name = args.get("name", "x")
    [issue] = wrong_values(draft_of(*function.split("."), name, args), runtime.host)
    assert (issue.code, issue.hint) == found
    async with StateRuntime(settings_of(tmp_path)) as own:
        report = await own.single(function, {"name": "x", **args})
    assert [row["result"] for row in report.rows.values()] == [False]


@pytest.mark.parametrize(
    ("function", "args"),
    [
        ("module.run", {"test.echo": "x"}),
        ("module.run", {"test.echo": {"text": "x"}}),
        ("module.run", {"test.arg": [1, {"b": 2}, {"c": 3}]}),
        ("module.run", {"name": "test.echo", "text": "x", "txt": "y"}),
        ("module.run", {"name": "test.arg", "args": [1], "kwargs": {"b": 2}}),
        ("test.nop", {"onlyif": [{"fun": "test.echo", "args": ["x"], "get_return": "a"}]}),
    ],
)
async def test_calls_that_their_functions_take_are_left_alone(codes_of, tmp_path, function, args):
    assert codes_of(function, **args) == []
    async with StateRuntime(settings_of(tmp_path)) as own:
        report = await own.single(function, {"name": "x", **args})
    assert [row["result"] for row in report.rows.values()] == [True]


@rows("argument", _OF_ALL_STATES)
def test_a_value_that_no_state_can_have_is_found(codes_of, argument):
    kind = _OF_ALL_STATES[argument]
    assert codes_of("test.nop", **{argument: WRONG[kind]}) == [code_of(kind)]
    right = {
        "boolean": ["yes", True, 0],
        "lane": ["a", 7, ["a"]],
        "aggregate": [True, ["pkg"]],
        "commands": ["x", ["x"]],
        "runner": ["nobody"],
        "texts": ["a: b", 5, ["a", 5, "b: c"]],
    }
    more = {"place": ["/x", ["/x", "/y"]], "mapping": [{"writes": []}, {}], "seconds": [1, "1.5"], "mode": ["077"]}
    values = [*(right | more)[kind], *([] if kind in {"commands", "runner"} else [None])]
    assert [codes_of("test.nop", **{argument: value}) for value in values] == [[] for _ in values]


def test_what_the_tree_may_bring_is_not_judged(runtime):
    judged = [
        ("module", "run", {"nowhere.at_all": []}),
        ("file", "managed", {"contents_grains": "no:key"}),
    ]
    for state, fun, args in judged:
        found = wrong_values(draft_of(state, fun, "/x", args), runtime.host, {"modules", "grains"})
        assert list(found) == []
    [issue] = wrong_values(draft_of("module", "run", "x", {"file.nope": []}), runtime.host, {"modules"})
    assert issue.code == "E426"


def test_a_wrong_value_says_the_nearest_right_one_or_what_is_wrong(runtime):
    def hint(function, **args):
        found = wrong_values(draft_of(*function.split("."), "/x", args), runtime.host)
        return [issue.hint for issue in found]

    assert hint("file.managed", contents="x", template="jinaj") == ["did you mean 'jinja'?"]
    assert hint("file.directory", recurse=["usr"]) == ["did you mean 'user'?"]
    assert hint("file.replace", pattern="x", repl="y", flags=["MULTLINE"]) == ["did you mean 'MULTILINE'?"]
    [said] = hint("file.replace", pattern="(un", repl="y")
    assert said.startswith("missing ), unterminated subpattern at position 0; ")


@pytest.mark.parametrize(
    ("function", "args", "said"),
    [
        ("file.managed", {"contents": ["a", {"port": 80}]}, "not a list with a mapping in it"),
        ("file.managed", {"contents": {"port": "80"}}, "not a mapping"),
        ("file.append", {"text": [{"port": 80}]}, "not a list with a mapping in it"),
        ("file.prepend", {"text": {"port": 80}}, "not a mapping with a number in it"),
    ],
)
def test_a_mapping_in_place_of_a_text_is_a_warning(runtime, function, args, said):
    module, _, name = function.partition(".")
    [issue] = wrong_values(draft_of(module, name, "/x", args), runtime.host)
    assert (issue.code, issue.mistake, said in issue.message) == ("E405", False, True)
    assert issue.hint == "put a text with a colon in quotes; file.serialize writes data"


@pytest.mark.parametrize("args", [{"version": 1.2}, {"pkgs": ["a", {"b": 1.2}]}, {"pkgs": [{"b": 1.2}, {"c": "1.2"}]}])
def test_a_number_for_a_version_is_a_warning(runtime, args):
    [issue] = wrong_values(draft_of("pkg", "installed", "x", args), runtime.host)
    assert (issue.code, issue.mistake) == ("E405", False)
    assert "must be a text, not 1.2" in issue.message
    assert issue.hint == "put it in quotes: YAML reads 1.20 as the number 1.2"


@pytest.mark.parametrize("value", ["secret word", 12345, ["x"]])
def test_a_password_that_is_no_digest_is_not_shown(runtime, value):
    [issue] = wrong_values(draft_of("user", "present", "x", {"password": value}), runtime.host)
    assert issue.code == "E419"
    assert str(value) not in f"{issue.message} {issue.hint}"


def test_a_quoted_false_counts_as_true_and_is_a_warning(runtime):
    [issue] = wrong_values(draft_of("file", "managed", "/x", {"contents": "x", "makedirs": "False"}), runtime.host)
    assert (issue.code, issue.mistake) == ("E416", False)
    assert "counts as true" in issue.message


def test_a_retry_is_judged_as_a_run_reads_it(codes_of):
    assert codes_of("cmd.run", name="x", retry={"attempts": "many", "until": "maybe"}) == ["E418", "E418"]
    assert codes_of("cmd.run", name="x", retry=3) == ["E418"]


def test_digests_are_those_that_the_module_knows():
    assert DIGESTS == HASHES


@given(st.integers(0, 0o7777), st.sampled_from(["{:o}", "0{:o}", "{:04o}", "0o{:o}", "'{:04o}'"]))
def test_every_mode_that_a_file_can_have_is_right(mode, form):
    assert KINDS["mode"].fits(form.format(mode))


@given(st.text(min_size=1).filter(lambda text: text.strip("\"'0") and not text.strip("\"'").isdigit()))
def test_texts_without_digits_are_no_modes(text):
    if (
        text.strip("\"'").lstrip("0").lower() not in {"keep", "o", ""}
        and not text.strip("\"'").lstrip("0")[1:].isdigit()
    ):
        assert not KINDS["mode"].fits(text)


@pytest.fixture
def cli(tmp_path, monkeypatch, capfd):
    for name in ("HOME", "ASYNCSTATE_CACHEDIR", "ASYNCSTATE_STATE_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    (tmp_path / "salt").mkdir()

    def call(text, *words):
        (tmp_path / "salt" / "s.sls").write_text(text)
        code = main([*words, "s", "--file-root", str(tmp_path / "salt")])
        out, errors = capfd.readouterr()
        return code, out + errors

    return call


VALUES = "a:\n  file.managed:\n    - name: {here}/a\n    - contents: x\n    - mode: '0999'\n"


def test_check_names_value_and_line_and_a_comment_silences_it(cli, tmp_path):
    text = VALUES.format(here=tmp_path)
    code, said = cli(text, "check")
    assert code == 1
    assert "s.sls:5 [E410]" in said
    assert "not '0999'" in said
    assert cli(text.replace("'0999'", "'0999'  # asyncstate: ignore[argument-value]"), "check")[0] == 0
    assert cli(text.replace("'0999'", "'0999'  # asyncstate: ignore[E410]"), "check")[0] == 0
    assert "argument-value: 'mode' of 'file.managed'" in cli(text, "lint")[1]


def test_check_names_a_missing_state_and_a_wrong_value_in_one_go(cli, tmp_path):
    text = VALUES.format(here=tmp_path) + "    - require: [{pkg: nowhere}]\n"
    code, said = cli(text, "check")
    assert code == 1
    assert "[E305]" in said
    assert "[E410]" in said


@pytest.mark.parametrize(("name", "code"), [("[a, b]", 1), ("{a: b}", 1), ("5", 0), ("", 0), ("true_", 0), ("'5'", 0)])
def test_a_name_that_is_no_text_is_a_mistake_if_it_is_several(cli, name, code):
    found, said = cli(f"a:\n  cmd.run:\n    - cwd: /\n    - name: {name}\n", "check")
    assert found == code
    assert ("s.sls:4 [E405]" in said) == (name in {"[a, b]", "{a: b}", "5"})


@pytest.mark.parametrize(("written", "code"), [("_modules/nowhere.py", 0), ("other.py", 1)])
def test_a_function_of_a_module_that_the_tree_writes_is_not_judged(cli, tmp_path, written, code):
    text = f"{tmp_path}/salt/{written}:\n  file.managed:\n    - contents: x\n"
    assert cli(f"{text}a:\n  module.run: [nowhere.at_all: []]\n", "check")[0] == code


def test_a_misspelt_argument_of_a_single_state_is_refused(tmp_path, cli, capfd):
    assert main(["single", "file.managed", f"nme={tmp_path}/x"]) == 1
    assert "did you mean 'name'?" in capfd.readouterr().out
    assert main(["single", "file.managed", f"name={tmp_path}/x", "contents=x", "template=jinja", "port=80"]) == 0


def test_a_list_for_a_single_value_is_a_mistake(cli, tmp_path):
    text = f"a:\n  file.managed:\n    - name: {tmp_path}/a\n    - contents: x\n    - user: {{value}}\n"
    code, said = cli(text.format(value="[root]"), "check")
    assert code == 1
    assert "s.sls:5 [E405]" in said
    assert cli(text.format(value="[]"), "check")[0] == 0


def test_apply_runs_the_state_and_does_not_judge_values(cli, tmp_path):
    code, said = cli(VALUES.format(here=tmp_path), "apply", "--test")
    assert code == 2
    assert "Failed to change mode to 0999" in said
    assert "E410" not in said


def test_the_keywords_that_cmd_passes_on_are_documented():
    for name in ("cmd.run", "cmd.script"):
        signature = {*inspect.signature(FUNCTIONS[name]).parameters}
        named = {*keywords_of(FUNCTIONS["cmd.run"]), *keywords_of(FUNCTIONS[name])}
        assert {*_PASSED_ON} - signature - named == set()


@pytest.mark.parametrize("function", ["cmd.run", "test.nop"])
@pytest.mark.parametrize("value", [None, ""])
def test_a_runas_without_an_account_is_a_warning(runtime, function, value):
    [issue] = wrong_values(draft_of(*function.split("."), "x", {"runas": value}), runtime.host)
    assert (issue.code, issue.mistake) == ("E412", False)
    assert "the command runs as the user of asyncstate, as a rule root" in issue.hint


def test_where_no_time_zones_are_known_none_is_wrong(runtime, monkeypatch):
    monkeypatch.setattr("asyncstate.extras.manual.judgements.zones", frozenset)
    assert list(wrong_values(draft_of("timezone", "system", "Europe/Berln", {}), runtime.host)) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ssh-rsa " + "AAAAB3NzaC1yc2E" * 20 + "A", "not one whose base64 is cut off or mistyped"),
        ("ssh-rsa AAAA\nssh-rsa AAAA", "not 2 lines"),
    ],
)
def test_a_broken_public_key_is_told_without_its_text(runtime, name, said):
    [issue] = wrong_values(draft_of("ssh_auth", "present", name, {"user": "root"}), runtime.host)
    assert (issue.code, said in issue.message) == ("E419", True)


def test_a_long_value_is_told_by_its_length(runtime):
    [issue] = wrong_values(draft_of("file", "managed", "/x", {"contents": "x", "mode": "9" * 90}), runtime.host)
    assert "not a text of 90 characters" in issue.message


@pytest.mark.parametrize("argument", ["mode", "dir_mode"])
@pytest.mark.parametrize(("written", "code"), [("0x1ff", 1), ("0b111", 1), ("511", 0), ("'0777'", 0), ("0777", 0)])
def test_a_mode_that_yaml_reads_as_other_digits_is_a_mistake(cli, tmp_path, argument, written, code):
    text = f"a:\n  file.managed:\n    - name: {tmp_path}/a\n    - contents: x\n    - {argument}: {written}\n"
    found, said = cli(text, "check")
    assert found == code
    assert ("s.sls:5 [E410]" in said) == bool(code)
    if code:
        step = re.search(r"write ('\d+') in place of (\w+)", said)
        assert cli(text.replace(step[2], step[1]), "check")[0] == 0
