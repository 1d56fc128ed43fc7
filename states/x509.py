"""The ``x509`` states: private keys, certificates, requests and revocation lists, with Salt's arguments and rows.

``file.managed`` writes the files, and its row is part of the report; their content is not shown.
"""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING, Any

from asyncstate import filesystem
from asyncstate.dunders import (
    Row,
    __low__,
    __opts__,
    __pillar__,
    __salt__,
    __states__,
    changed,
    failed,
    is_dry_run,
    unchanged,
    would_change,
)
from asyncstate.errors import AsyncStateError, CommandExecutionError, InvocationError

from . import _resources

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FILE_ARGUMENTS = (
    "user group mode attrs makedirs dir_mode backup create follow_symlinks check_cmd tmp_dir tmp_ext selinux"
    " file_encoding encoding_errors"
).split()
_REMOVED_ARGUMENTS = {"cipher", "verbose", "text"}
# If only these differ, the certificate or key is the same in another encoding.
_FORM = {"encoding", "additional_certs", "passphrase"}
_SOURCES = "signing_private_key signing_cert private_key public_key csr".split()


def __virtual__() -> bool | tuple[bool, str]:
    """Load if the execution module is available."""
    if "x509.create_certificate" in __salt__:
        return True
    return False, "Could not load cryptography: pip install 'cryptography>=43'"


def private_key_managed(
    name: str,
    algo: str = "rsa",
    keysize: int | str | None = None,
    passphrase: Any = None,
    encoding: str = "pem",
    new: bool = False,
    overwrite: bool = False,
    **kwargs: Any,
) -> Row:
    """Make sure that a file holds a private key of this kind and size (``bits`` is its old name).

    ``new`` makes another one each time, best with ``prereq``. A file without a key, or with one of another passphrase,
    is left alone unless ``overwrite``. Only the owner can read the key unless ``mode`` says otherwise. The file may
    have other arguments of ``file.managed``. ``cipher``, ``verbose`` and ``text`` have no effect any longer.

    Example::

        /etc/ssl/private/www.key:
          x509.private_key_managed:
            - keysize: 4096
            - makedirs: True
    """
    if passphrase == "" and filesystem.judges():
        return failed(name, "Password must be 1 or more bytes.")
    keysize = kwargs.pop("bits", keysize)
    files, rest = _split({key: value for key, value in kwargs.items() if key not in _REMOVED_ARGUMENTS})
    files["mode"] = files.get("mode") or "0400"
    kind = {"algo": algo, "keysize": keysize, "passphrase": passphrase, "encoding": encoding}

    def check(path: str) -> dict[str, Any]:
        if new and filesystem.is_file(path):
            return {"replaced": name}
        changes: dict[str, Any] = __salt__["x509.check_private_key"](path, overwrite=overwrite, **kind)
        return changes

    def make(path: str, changes: dict[str, Any]) -> str:
        if set(changes) <= _FORM:
            known = None if "passphrase" in changes else passphrase
            return str(__salt__["x509.encode_private_key"](path, encoding, passphrase, known))
        return str(__salt__["x509.create_private_key"](**kind))

    return _managed(name, "private key", files, rest, encoding, check, make, is_key=True)


def certificate_managed(
    name: str,
    days_remaining: int | None = None,
    ca_server: str | None = None,
    signing_policy: str | None = None,
    encoding: str = "pem",
    append_certs: Any = None,
    digest: str = "sha256",
    signing_private_key: Any = None,
    signing_private_key_passphrase: Any = None,
    signing_cert: Any = None,
    public_key: Any = None,
    private_key: Any = None,
    private_key_passphrase: Any = None,
    csr: Any = None,
    subject: Any = None,
    serial_number: Any = None,
    not_before: str | None = None,
    not_after: str | None = None,
    days_valid: int | None = None,
    **kwargs: Any,
) -> Row:
    """Make sure that a file holds a certificate as described, valid for ``days_remaining`` (90) more days.

    It is signed by ``signing_private_key``: its own, or that of ``signing_cert`` for the key of ``private_key``,
    ``public_key`` or ``csr``. The subject is given as ``CN``, ``O`` … or ``subject``, extensions as ``subjectAltName``,
    ``basicConstraints``, ``keyUsage``, ``extendedKeyUsage``, …. The arguments of a ``signing_policy`` override these.
    A new one is valid for ``days_valid`` (365) days; ``algorithm`` is an old name of ``digest``. ``append_certs``
    follow it in the file, whose ``user``, ``group``, ``mode`` and other arguments of ``file.managed`` may be given.
    Other ``**kwargs`` are fields of the subject and extensions.

    Example::

        /etc/ssl/certs/www.crt:
          x509.certificate_managed:
            - signing_policy: www
            - private_key: /etc/ssl/private/www.key
            - CN: www.example.com
            - subjectAltName: DNS:www.example.com
            - days_remaining: 30
    """
    digest = kwargs.pop("algorithm", digest)
    _require_readable(signing_private_key, signing_cert, public_key, private_key, csr)
    files, rest = _split(kwargs)
    given = {
        **rest,
        "ca_server": ca_server,
        "signing_policy": signing_policy,
        "digest": digest,
        "signing_private_key": signing_private_key,
        "signing_private_key_passphrase": signing_private_key_passphrase,
        "signing_cert": signing_cert,
        "public_key": public_key,
        "private_key": private_key,
        "private_key_passphrase": private_key_passphrase,
        "csr": csr,
        "subject": subject,
        "serial_number": serial_number,
        "not_before": not_before,
        "not_after": not_after,
        "days_valid": 365 if days_valid is None else days_valid,
        "encoding": encoding,
        "append_certs": append_certs,
    }

    def check(path: str) -> dict[str, Any]:
        remaining = 90 if days_remaining is None else days_remaining
        compared = {key: value for key, value in given.items() if key not in {"copypath", "prepend_cn"}}
        changes: dict[str, Any] = __salt__["x509.check_certificate"](path, days_remaining=remaining, **compared)
        return changes

    def make(path: str, changes: dict[str, Any]) -> str:
        if set(changes) <= _FORM:
            return str(__salt__["x509.encode_certificate"](path, encoding, append_certs))
        return str(__salt__["x509.create_certificate"](**given))

    return _managed(name, "certificate", files, {}, encoding, check, make)


def csr_managed(
    name: str,
    private_key: Any,
    private_key_passphrase: Any = None,
    digest: str = "sha256",
    encoding: str = "pem",
    subject: Any = None,
    **kwargs: Any,
) -> Row:
    """Make sure that a file holds a certificate signing request.

    Subject and extensions (``**kwargs``) are given as for a certificate; ``algorithm`` is an old name of ``digest``.

    The file may have a ``user``, ``group``, ``mode`` and other arguments of ``file.managed``.

    Example::

        /etc/ssl/www.csr:
          x509.csr_managed:
            - private_key: /etc/ssl/private/www.key
            - CN: www.example.com
    """
    digest = kwargs.pop("algorithm", digest)
    _require_readable(private_key)
    files, rest = _split(kwargs)
    given = {
        **rest,
        "private_key": private_key,
        "private_key_passphrase": private_key_passphrase,
        "digest": digest,
        "encoding": encoding,
        "subject": subject,
    }

    def check(path: str) -> dict[str, Any]:
        changes: dict[str, Any] = __salt__["x509.check_csr"](path, **given)
        return changes

    def make(path: str, changes: dict[str, Any]) -> str:
        if set(changes) <= _FORM:
            return str(__salt__["x509.encode_csr"](path, encoding))
        return str(__salt__["x509.create_csr"](**given))

    return _managed(name, "certificate signing request", files, {}, encoding, check, make)


def crl_managed(
    name: str,
    signing_private_key: Any,
    revoked: list[Any],
    days_remaining: int | None = None,
    signing_cert: Any = None,
    signing_private_key_passphrase: Any = None,
    include_expired: bool = False,
    days_valid: int | None = None,
    digest: str = "sha256",
    encoding: str = "pem",
    extensions: dict[str, Any] | None = None,
    **kwargs: Any,
) -> Row:
    """Make sure that a file holds a revocation list of these certificates, up to date for ``days_remaining`` (30) days.

    ``revoked`` is a list of dicts with ``certificate`` or ``serial_number``, and optionally ``revocation_date``,
    ``not_after`` and ``extensions``. ``cRLNumber: auto`` among the list's own ``extensions`` counts its editions. A new
    list is valid for ``days_valid`` (100) days. The file may have a ``user``, ``group``,
    ``mode`` and other arguments of ``file.managed``.

    Example::

        /etc/ssl/ca.crl:
          x509.crl_managed:
            - signing_private_key: /etc/ssl/private/ca.key
            - signing_cert: /etc/ssl/certs/ca.crt
            - revoked:
              - certificate: /etc/ssl/certs/stolen.crt
                extensions: {CRLReason: keyCompromise}
    """
    files, rest = _split({key: value for key, value in kwargs.items() if key != "text"})
    given = {
        "signing_private_key": signing_private_key,
        "revoked": revoked,
        "signing_cert": signing_cert,
        "signing_private_key_passphrase": signing_private_key_passphrase,
        "include_expired": include_expired,
        "days_valid": 100 if days_valid is None else days_valid,
        "digest": digest,
        "encoding": encoding,
        "extensions": extensions,
    }

    def check(path: str) -> dict[str, Any]:
        remaining = 30 if days_remaining is None else days_remaining
        changes: dict[str, Any] = __salt__["x509.check_crl"](path, days_remaining=remaining, **given)
        return changes

    def make(path: str, changes: dict[str, Any]) -> str:
        if set(changes) <= _FORM:
            return str(__salt__["x509.encode_crl"](path, encoding))
        previous = path if filesystem.is_file(path) else None
        return str(__salt__["x509.create_crl"](previous=previous, **given))

    return _managed(name, "certificate revocation list", files, rest, encoding, check, make)


def pem_managed(name: str, text: str, **kwargs: Any) -> Row:
    """Make sure that a file holds this PEM entry, with its lines normalised.

    The file may have a ``user``, ``group``, ``mode`` and other arguments of ``file.managed``.

    Example::

        /etc/ssl/certs/partner.crt:
          x509.pem_managed:
            - text: {{ pillar['partner_certificate'] | yaml_encode }}
    """
    files, rest = _split(kwargs)
    try:
        _refuse(rest)
        files["contents"] = __salt__["x509.get_pem_entry"](text=text).decode("ascii")
    except AsyncStateError as error:
        return failed(name, str(error))
    row: Row = __states__["file.managed"](name, **files)
    return row


def mod_footprint(low: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the footprint of an x509 state: its file, and the keys and certificates it is made from."""
    name = os.path.normpath(str(low.get("name", "")))
    policy = _policy(low.get("signing_policy"))
    sources = [given.get(key) for given in (low, policy) for key in _SOURCES]
    revoked: Any = low.get("revoked")
    revoked = revoked if isinstance(revoked, list) else []
    sources += [low.get("append_certs"), *(each.get("certificate") for each in revoked if isinstance(each, dict))]
    reads = [*_resources.files(*sources), *_resources.accounts(low), *_resources.command(low.get("check_cmd"), low)]
    copypath = low.get("copypath") or policy.get("copypath")
    writes = [f"path:{name}", *_resources.files(copypath, below="/**"), *_resources.backups(name, low)]
    if not low.get("makedirs"):
        return {"reads": [f"path:{os.path.dirname(name)}", *reads], "writes": writes}
    mode = low.get("dir_mode") or _resources.folder_mode(low.get("mode"))
    made = _resources.folder(name, mode, low.get("user"), low.get("group"))
    return {"reads": reads, "writes": writes, "makes": [made]}


def _policy(name: Any) -> Mapping[str, Any]:
    """Return a signing policy, for its footprint; an unknown policy is an error only when it is used."""
    policies = __pillar__.get("x509_signing_policies") or __opts__.get("x509_signing_policies") or {}
    policy = policies.get(name) if isinstance(policies, dict) and isinstance(name, str) else None
    if isinstance(policy, list):
        return {key: value for each in policy if isinstance(each, dict) for key, value in each.items()}
    return policy if isinstance(policy, dict) else {}


def _require_readable(*sources: Any) -> None:
    """In a dry run, refuse paths that a run would refuse to read."""
    for source in sources:
        if is_dry_run() and isinstance(source, str) and os.path.isabs(source):
            filesystem.require_readable(source)


def _managed(
    name: str,
    what: str,
    files: dict[str, Any],
    unknown: Mapping[str, Any],
    encoding: str,
    check: Callable[[str], dict[str, Any]],
    make: Callable[[str, dict[str, Any]], str],
    *,
    is_key: bool = False,
) -> Row:
    """Return the row of a file whose content ``check`` compares and ``make`` recreates.

    A file with other content is *created*, not *recreated*. A key is always *recreated* over an existing file, whose
    content is lost.
    """
    right = f"The {what} is in the correct state"
    try:
        _refuse(unknown)
        # A file without content is not made through a broken link.
        content = {"contents": "to come"} if filesystem.foretells() and filesystem.is_link(name) else {}
        dry_run = _file(name, dry_run=True, replace=False, **content, **files)
        parts: dict[str, Any] = {"sub_state_run": [dry_run]}
        if dry_run["result"] is False:
            return failed(name, "Problem while testing file.managed changes, see its output") | parts
        if "is not present and is not set for creation" in dry_run["comment"]:
            return unchanged(name, right) | parts
        path = filesystem.resolved(name) if files.get("follow_symlinks", True) else name
        there = filesystem.is_file(path) and not (path == name and filesystem.is_link(name))
        changes = _named(check(path), path, name) if there or is_key else {"created": name}
        if not changes and dry_run["result"] and not dry_run["changes"]:
            return unchanged(name, right) | parts
        again = there and (is_key or "replaced" not in changes)
        verb = "recreated" if again else "created"
        if is_dry_run():
            if not changes:
                return unchanged(name, right) | parts
            filesystem.room_for(path)
            if filesystem.foretells() and not is_key:
                _content(make(path, changes), encoding)  # only a check: a key that cannot be loaded is an error
            return would_change(name, f"The {what} would have been {verb}", changes) | parts
        text = _content(make(path, changes), encoding) if changes else None
        written = _file(name, replace=bool(changes), contents=text, **files)
    except AsyncStateError as error:
        return failed(name, str(error))
    parts = {"sub_state_run": [written]}
    if written["result"] is False:
        return failed(name, f"Could not {'update' if there else 'create'} file, see file.managed output") | parts
    return changed(name, f"The {what} has been {verb}" if changes else right, changes) | parts


def _content(text: str, encoding: str) -> str | bytes:
    return base64.b64decode(text) if encoding == "der" else text


def _named(changes: dict[str, Any], path: str, name: str) -> dict[str, Any]:
    """Return the changes of ``path`` as changes of ``name``, which may be a link to it."""
    return {key: name if key in {"created", "replaced"} and value == path else value for key, value in changes.items()}


def _file(name: str, *, dry_run: bool = False, **arguments: Any) -> Row:
    """Return the row of ``file.managed`` as part of this state's row, of a dry run with ``dry_run``."""
    before, foretells = is_dry_run(), __opts__.get("foresight")
    # In a real run, the row of the write reports its errors.
    __opts__["test"], __opts__["foresight"] = dry_run or before, foretells and before
    try:
        row: Row = __states__["file.managed"](name, **arguments)
    finally:
        __opts__["test"], __opts__["foresight"] = before, foretells
    if not isinstance(row, dict):
        raise CommandExecutionError(f"Failed running file.managed: {row}")
    return {**row, "low": {"name": name, "state": "file", "__id__": __low__["__id__"], "fun": "managed"}}


def _split(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments for ``file.managed`` and the other arguments."""
    files = {key: value for key, value in arguments.items() if key in _FILE_ARGUMENTS}
    if "file_encoding" in files:
        files["encoding"] = files.pop("file_encoding")
    rest = {k: v for k, v in arguments.items() if k not in _FILE_ARGUMENTS and not k.startswith("__")}
    return {"show_changes": False, **files}, rest


def _refuse(unknown: Mapping[str, Any]) -> None:
    if unknown:
        raise InvocationError(f"Unrecognized keyword arguments: {list(unknown)}")
