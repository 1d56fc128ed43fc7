"""The functions of the ``x509`` execution module; everything here needs the library cryptography."""

from __future__ import annotations

import datetime as dt
import os
import re
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from asyncstate import filesystem
from asyncstate.dunders import __salt__
from asyncstate.errors import CommandExecutionError, InvocationError

from . import _issuing, _names, _sources
from ._extensions import TIME, described
from ._keys import get_public_key
from ._writing import checked_encoding, library_encoding, out, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cryptography import x509

_LONG_NAMES = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationUnitName": "OU",
    "organizationalUnitName": "OU",
    "givenName": "GN",
    "surname": "SN",
    "Email": "MAIL",
    "emailAddress": "MAIL",
    "serialNumber": "SERIALNUMBER",
    "X509v3 Basic Constraints": "basicConstraints",
    "X509v3 Key Usage": "keyUsage",
    "X509v3 Extended Key Usage": "extendedKeyUsage",
    "X509v3 Subject Key Identifier": "subjectKeyIdentifier",
    "X509v3 Authority Key Identifier": "authorityKeyIdentifier",
    "X509v3 Issuer Alternative Name": "issuerAltName",
    "issuserAltName": "issuerAltName",
    "Authority Information Access": "authorityInfoAccess",
    "X509v3 Subject Alternative Name": "subjectAltName",
    "X509v3 CRL Distribution Points": "crlDistributionPoints",
    "X509v3 Certificate Policies": "certificatePolicies",
}
_PEM = re.compile(
    r"(-----BEGIN ([0-9A-Z ]+)-----)\s*(Proc-Type: 4,ENCRYPTED)?\s*(DEK-Info: [0-9A-Z-]+,[0-9A-F]+)?\s*"
    r"([A-Za-z0-9+/=\s]+?)\s*(-----END \2-----)"
)


def create_certificate(
    ca_server: str | None = None,
    signing_policy: str | None = None,
    encoding: str = "pem",
    append_certs: Any = None,
    copypath: str | None = None,
    prepend_cn: bool = False,
    path: str | None = None,
    raw: bool = False,
    **given: Any,
) -> Any:
    """Return a certificate, signed by ``signing_private_key``: PEM text, or DER in base64, or bytes if ``raw``.

    ``given``: ``signing_cert``, ``signing_private_key_passphrase``, ``private_key``, ``private_key_passphrase``,
    ``public_key``, ``csr``, ``subject`` (or ``CN``, ``O`` …), ``digest``, ``serial_number``, ``not_before``,
    ``not_after``, ``days_valid``, and extensions. The arguments of a ``signing_policy`` of the
    pillar or the configuration (``x509_signing_policies``) override them.

    CLI Example::

        asyncstate call x509.create_certificate signing_private_key=/etc/ssl/ca.key CN=example.com days_valid=30
    """
    checked_encoding(encoding)
    merged = _with_policy({**given, "copypath": copypath, "prepend_cn": prepend_cn}, signing_policy, ca_server)
    certificate = _issuing.wanted_certificate(merged).sign()
    if merged["copypath"]:
        _copy(certificate, merged["copypath"], prepend_cn=merged["prepend_cn"])
    return out(_certificate_bytes(certificate, encoding, append_certs), encoding, path, raw=raw)


def encode_certificate(certificate: Any, encoding: str = "pem", append_certs: Any = None, raw: bool = False) -> Any:
    """Return a certificate in another encoding, or (in PEM) with other certificates after it."""
    checked_encoding(encoding)
    return out(_certificate_bytes(_sources.certificate(certificate), encoding, append_certs), encoding, None, raw=raw)


def check_certificate(
    path: str,
    days_remaining: int = 90,
    ca_server: str | None = None,
    signing_policy: str | None = None,
    encoding: str = "pem",
    append_certs: Any = None,
    **given: Any,
) -> dict[str, Any]:
    """Return the changes that the certificate in a file needs, {} if none; arguments as of `create_certificate`."""
    checked_encoding(encoding)
    wanted = _issuing.wanted_certificate(_with_policy(given, signing_policy, ca_server))
    try:
        (current, *chain), found = _sources.certificates_and_encoding(path)
    except _sources.Unreadable:
        return {"replaced": path}
    changes: dict[str, Any] = {} if encoding == found else {"encoding": encoding}
    if current.not_valid_after_utc < _from_now(days_remaining):
        changes["expiration"] = True
    if chain != [_sources.certificate(each) for each in _listed(append_certs)]:
        changes["additional_certs"] = True
    return {**changes, **wanted.differences(current)}


def read_certificate(certificate: Any) -> dict[str, Any]:
    """Return the content of a certificate.

    CLI Example::

        asyncstate call x509.read_certificate /etc/ssl/certs/www.crt
    """
    found = _sources.certificate(certificate)
    key = found.public_key()
    kinds = {rsa.RSAPublicKey: "rsa", ec.EllipticCurvePublicKey: "ec", ed25519.Ed25519PublicKey: "ed25519"}
    return {
        "version": found.version.value + 1,
        "key_size": getattr(key, "key_size", None),
        "key_type": next((name for kind, name in kinds.items() if isinstance(key, kind)), "ed448"),
        "serial_number": _names.shown_serial(found.serial_number),
        "fingerprints": {
            "sha1": found.fingerprint(hashes.SHA1()).hex(":").upper(),  # noqa: S303 - identifies, proves nothing
            "sha256": found.fingerprint(hashes.SHA256()).hex(":").upper(),
        },
        "subject": _described_name(found.subject),
        "subject_str": found.subject.rfc4514_string(),
        "issuer": _described_name(found.issuer),
        "issuer_str": found.issuer.rfc4514_string(),
        "not_before": found.not_valid_before_utc.strftime(TIME),
        "not_after": found.not_valid_after_utc.strftime(TIME),
        "public_key": get_public_key(found),
        "extensions": described(found.extensions),
    }


def expires(certificate: Any, days: int = 0) -> bool:
    """Return whether a certificate expires within ``days`` days."""
    return _sources.certificate(certificate).not_valid_after_utc <= _from_now(days)


def will_expire(certificate: Any, days: int) -> dict[str, Any]:
    """Return ``check_days``, ``will_expire``, and ``cn`` and ``path`` if there are any."""
    return {**_about(certificate), "check_days": days, "will_expire": expires(certificate, days)}


def expired(certificate: Any) -> dict[str, Any]:
    """Return ``expired``, and ``cn`` and ``path`` if there are any."""
    return {**_about(certificate), "expired": expires(certificate)}


def create_csr(
    private_key: Any, encoding: str = "pem", path: str | None = None, raw: bool = False, **given: Any
) -> Any:
    """Return a certificate signing request; ``given`` are subject, digest and extensions as in `create_certificate`."""
    checked_encoding(encoding)
    request = _issuing.wanted_request({**_short_names(given), "private_key": private_key}).sign()
    return out(request.public_bytes(library_encoding(encoding)), encoding, path, raw=raw)


def encode_csr(csr: Any, encoding: str = "pem", raw: bool = False) -> Any:
    """Return a certificate signing request in another encoding."""
    checked_encoding(encoding)
    return out(_sources.request(csr).public_bytes(library_encoding(encoding)), encoding, None, raw=raw)


def check_csr(path: str, private_key: Any, encoding: str = "pem", **given: Any) -> dict[str, Any]:
    """Return the changes that the request in a file needs, {} if none; the arguments of `create_csr`."""
    checked_encoding(encoding)
    wanted = _issuing.wanted_request({**_short_names(given), "private_key": private_key})
    try:
        current, found = _sources.request_and_encoding(path)
    except _sources.Unreadable:
        return {"replaced": path}
    return {**({} if encoding == found else {"encoding": encoding}), **wanted.differences(current)}


def create_crl(
    signing_private_key: Any,
    revoked: list[dict[str, Any]],
    previous: Any = None,
    encoding: str = "pem",
    path: str | None = None,
    raw: bool = False,
    **given: Any,
) -> Any:
    """Return a certificate revocation list.

    ``revoked`` are dicts with ``serial_number`` or ``certificate``, and ``revocation_date``, ``not_after`` and
    ``extensions`` (``CRLReason``, ``invalidityDate``). ``given``: ``signing_cert``, ``signing_private_key_passphrase``,
    ``include_expired``, ``days_valid``, ``digest`` and ``extensions``, whose ``cRLNumber`` may be ``auto``: one more
    than that of ``previous``.
    """
    checked_encoding(encoding)
    try:
        before = None if previous is None else _sources.revocation_list(previous)
    except _sources.Unreadable:
        before = None
    wanted = _wanted_list(signing_private_key, revoked, given)
    return out(wanted.sign(before).public_bytes(library_encoding(encoding)), encoding, path, raw=raw)


def encode_crl(crl: Any, encoding: str = "pem", raw: bool = False) -> Any:
    """Return a certificate revocation list in another encoding."""
    checked_encoding(encoding)
    return out(_sources.revocation_list(crl).public_bytes(library_encoding(encoding)), encoding, None, raw=raw)


def check_crl(
    path: str,
    signing_private_key: Any,
    revoked: list[dict[str, Any]],
    days_remaining: int = 30,
    encoding: str = "pem",
    **given: Any,
) -> dict[str, Any]:
    """Return the changes that the list in a file needs, {} if none; the arguments of `create_crl`."""
    checked_encoding(encoding)
    wanted = _wanted_list(signing_private_key, revoked, given)
    try:
        current, found = _sources.revocation_list_and_encoding(path)
    except _sources.Unreadable:
        return {"replaced": path}
    changes: dict[str, Any] = {} if encoding == found else {"encoding": encoding}
    until = current.next_update_utc
    if days_remaining and (until is None or until < _from_now(days_remaining)):
        changes["expiration"] = True
    return {**changes, **wanted.differences(current)}


def verify_private_key(private_key: Any, public_key: Any, passphrase: Any = None) -> bool:
    """Return whether a private key belongs to a public one, which may be given by a certificate."""
    own = _sources.private_key(private_key, passphrase).public_key()
    return _issuing.same_key(own, _sources.public_key(public_key))


def verify_signature(certificate: Any, signing_pub_key: Any = None, signing_pub_key_passphrase: Any = None) -> bool:
    """Return whether a certificate was signed by a key, its own if none is given."""
    found = _sources.certificate(certificate)
    if signing_pub_key is None:
        return _issuing.is_signed_by(found, found.public_key())
    if signing_pub_key_passphrase is not None:
        signer = _sources.private_key(signing_pub_key, signing_pub_key_passphrase).public_key()
        return _issuing.is_signed_by(found, signer)
    return _issuing.is_signed_by(found, _sources.public_key(signing_pub_key))


def verify_crl(crl: Any, cert: Any) -> bool:
    """Return whether a revocation list was signed by the key of a certificate."""
    return _sources.revocation_list(crl).is_signature_valid(_sources.public_key(cert))


def get_signing_policy(signing_policy: str | None, ca_server: str | None = None) -> dict[str, Any]:
    """Return the arguments a policy of the pillar or the configuration (``x509_signing_policies``) sets."""
    if ca_server is not None:
        raise CommandExecutionError(
            f"ca_server {ca_server}: certificates of another host's authority are fetched through a Salt master, which"
            " is not part of asyncstate. Name a signing_policy of this host, or give signing_cert and"
            " signing_private_key."
        )
    if signing_policy is None:
        return {}
    for source in ("pillar.get", "config.get"):
        policy = (__salt__[source]("x509_signing_policies", {}) or {}).get(signing_policy)
        if isinstance(policy, list):
            policy = {key: value for each in policy for key, value in each.items()}
        if policy:
            return _short_names(dict(policy))
    raise CommandExecutionError(
        f"There is no signing policy {signing_policy!r} in x509_signing_policies, of the pillar or the configuration"
    )


def get_pem_entry(text: Any, pem_type: str | None = None) -> bytes:
    """Return the first PEM entry, of a type like ``CERTIFICATE``, of a text or a file, with its lines normalised.

    CLI Example::

        asyncstate call x509.get_pem_entry /etc/ssl/certs/bundle.pem CERTIFICATE
    """
    found = next(_entries(_sources.content(text).decode("ascii", "replace").replace("\\n", "\n"), pem_type), None)
    if found is None:
        what = f"does not contain a single entry of type {pem_type}" if pem_type else "text not valid"
        raise InvocationError(f"PEM {what}")
    return found.encode("ascii")


def write_pem(text: Any, path: str, pem_type: str | None = None) -> str:
    """Write a PEM entry to a file; only its owner can read a private key."""
    entry = get_pem_entry(text, pem_type)
    write(path, entry, secret=b"PRIVATE KEY-----" in entry)
    return f"PEM written to {path}"


def _with_policy(given: dict[str, Any], signing_policy: str | None, ca_server: str | None) -> dict[str, Any]:
    """Override arguments by a signing policy, which also determines the subject if it sets any part of it."""
    policy = get_signing_policy(signing_policy, ca_server)
    own = _short_names(given)
    subject = own.get("subject")
    if subject and any(name in policy for name in _names.ATTRIBUTES):
        del own["subject"]
    elif isinstance(subject, dict) and isinstance(policy.get("subject"), dict):
        policy["subject"] = {**subject, **policy["subject"]}
    elif isinstance(subject, list) and isinstance(policy.get("subject"), list):
        policy["subject"] = policy["subject"] + subject
    return {**own, **policy}


def _wanted_list(signing_private_key: Any, revoked: list[dict[str, Any]], given: dict[str, Any]) -> _issuing.WantedList:
    entries = [_revocation(each) for each in revoked or ()]
    return _issuing.wanted_list({**given, "signing_private_key": signing_private_key, "revoked": entries})


def _revocation(given: Any) -> dict[str, Any]:
    """Return an entry in the current form; the old one was a list under the certificate's name."""
    values = list(given.values()) if isinstance(given, dict) else []
    parts = values[0] if len(values) == 1 and isinstance(values[0], list) else [given]
    if not all(isinstance(part, dict) for part in parts):
        raise InvocationError(f"revoked: {given!r} is no dict with serial_number or certificate")
    entry: dict[str, Any] = {key: value for part in parts for key, value in part.items()}
    reason = entry.get("reason")
    if reason is None:
        return entry
    rest = {key: value for key, value in entry.items() if key != "reason"}
    return {**rest, "extensions": {**(entry.get("extensions") or {}), "CRLReason": reason}}


def _short_names(given: dict[str, Any]) -> dict[str, Any]:
    return {_LONG_NAMES.get(key, key): value for key, value in given.items()}


def _certificate_bytes(certificate: x509.Certificate, encoding: str, append_certs: Any) -> bytes:
    chain = [certificate, *(_sources.certificate(each) for each in _listed(append_certs))]
    if encoding == "der" and len(chain) > 1:
        raise InvocationError("Cannot encode a certificate chain in DER")
    return b"\n".join(each.public_bytes(library_encoding(encoding)) for each in chain)


def _copy(certificate: x509.Certificate, folder: str, *, prepend_cn: bool) -> None:
    """Keep a copy of a certificate under its serial number."""
    names = certificate.subject.get_attributes_for_oid(_names.ATTRIBUTES["CN"]) if prepend_cn else []
    prefix = "".join(f"{str(name.value).replace('/', '_')}-" for name in names[:1])
    path = os.path.join(folder, f"{prefix}{certificate.serial_number:x}.crt")
    write(path, certificate.public_bytes(serialization.Encoding.PEM), secret=False)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _from_now(days: Any) -> dt.datetime:
    try:
        return dt.datetime.now(dt.UTC) + dt.timedelta(days=float(days))
    except (TypeError, ValueError, OverflowError):
        raise InvocationError(f"{days!r} is not a number of days") from None


def _described_name(name: x509.Name) -> dict[str, Any]:
    found = ((key, name.get_attributes_for_oid(oid)) for key, oid in _names.ATTRIBUTES.items())
    return {key: values[0].value for key, values in found if values}


def _about(certificate: Any) -> dict[str, Any]:
    path = {"path": certificate} if isinstance(certificate, str) and filesystem.is_file(certificate) else {}
    subject = _described_name(_sources.certificate(certificate).subject)
    return {**path, "cn": subject["CN"]} if "CN" in subject else path


def _entries(text: str, pem_type: str | None) -> Iterator[str]:
    for begin, kind, process, key_info, body, end in _PEM.findall(text):
        if pem_type in {None, kind}:
            letters = "".join(body.split())
            lines = [begin, *([process] if process else []), *([key_info, ""] if key_info else [])]
            lines += [letters[at : at + 64] for at in range(0, len(letters), 64)]
            yield "\n".join([*lines, end, ""])
