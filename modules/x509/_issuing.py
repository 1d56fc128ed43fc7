"""Wanted certificates, requests and revocation lists: comparing them with existing ones, and signing them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from asyncstate.errors import InvocationError

from . import _names, _sources
from ._extensions import (
    NOT_OF_REQUESTS,
    NOT_SUPPORTED,
    OF_CERTIFICATES,
    OF_LISTS,
    OF_REVOCATIONS,
    TIME,
    Extension,
    Issuer,
    build,
    differences,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIGESTS: dict[str, Any] = {
    "sha1": hashes.SHA1,
    "sha224": hashes.SHA224,
    "sha256": hashes.SHA256,
    "sha384": hashes.SHA384,
    "sha512": hashes.SHA512,
    "sha512_224": hashes.SHA512_224,
    "sha512_256": hashes.SHA512_256,
    "sha3_224": hashes.SHA3_224,
    "sha3_256": hashes.SHA3_256,
    "sha3_384": hashes.SHA3_384,
    "sha3_512": hashes.SHA3_512,
}


class WantedCertificate(msgspec.Struct, frozen=True):
    """A certificate that could be signed; ``serial_number``, ``not_before``, ``not_after`` are None if any will do."""

    signer: Any
    issuer: Issuer
    public_key: Any
    subject: x509.Name
    extensions: list[Extension]
    digest: str
    serial_number: Any = None
    not_before: dt.datetime | None = None
    not_after: dt.datetime | None = None
    days_valid: int = 365

    @property
    def issuer_name(self) -> x509.Name:
        """The name of the issuer."""
        return self.subject if self.issuer.certificate is None else self.issuer.certificate.subject

    def differences(self, current: x509.Certificate) -> dict[str, Any]:
        """Return the differences from a certificate, as rows show them."""
        changes: dict[str, Any] = _digest_difference(current, self.digest)
        if self.serial_number is not None and _names.serial_number(self.serial_number) != current.serial_number:
            changes["serial_number"] = self.serial_number
        if not same_key(self.public_key, current.public_key()):
            changes["private_key"] = True
        if self.issuer.certificate is not None and not is_signed_by(current, self.issuer.public_key):
            changes["signing_private_key"] = True
        if self.subject != current.subject:
            changes["subject_name"] = self.subject.rfc4514_string()
        if self.issuer_name != current.issuer:
            changes["issuer_name"] = self.issuer_name.rfc4514_string()
        return {**changes, **_extension_differences(current.extensions, self.extensions)}

    def sign(self) -> x509.Certificate:
        """Return the signed certificate."""
        start = self.not_before or _now()
        builder = x509.CertificateBuilder(
            issuer_name=self.issuer_name,
            subject_name=self.subject,
            public_key=self.public_key,
            serial_number=_names.serial_number(self.serial_number),
        )
        try:
            builder = builder.not_valid_before(start)
            builder = builder.not_valid_after(self.not_after or _now() + dt.timedelta(days=self.days_valid))
            for each in self.extensions:
                builder = builder.add_extension(each.value, each.critical)
            return builder.sign(self.signer, algorithm(self.signer, self.digest))
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise InvocationError(f"The certificate cannot be signed: {error}") from error


class WantedRequest(msgspec.Struct, frozen=True):
    """A certificate signing request that could be signed."""

    signer: Any
    subject: x509.Name
    extensions: list[Extension]
    digest: str

    def differences(self, current: x509.CertificateSigningRequest) -> dict[str, Any]:
        """Return the differences from a request, as rows show them."""
        changes: dict[str, Any] = _digest_difference(current, self.digest)
        if not same_key(self.signer.public_key(), current.public_key()):
            changes["private_key"] = True
        if self.subject != current.subject:
            changes["subject_name"] = self.subject.rfc4514_string()
        return {**changes, **_extension_differences(current.extensions, self.extensions)}

    def sign(self) -> x509.CertificateSigningRequest:
        """Return the signed request."""
        builder = x509.CertificateSigningRequestBuilder(subject_name=self.subject)
        try:
            for each in self.extensions:
                builder = builder.add_extension(each.value, each.critical)
            return builder.sign(self.signer, algorithm(self.signer, self.digest))
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise InvocationError(f"The certificate signing request cannot be signed: {error}") from error


class WantedList(msgspec.Struct, frozen=True):
    """A revocation list that could be signed. ``automatic``: its number is one higher than that of the previous one."""

    signer: Any
    issuer_name: x509.Name
    revoked: list[x509.RevokedCertificate]
    extensions: list[Extension]
    digest: str
    days_valid: int
    automatic: bool = False

    def differences(self, current: x509.CertificateRevocationList) -> dict[str, Any]:
        """Return the differences from a list, as rows show them."""
        changes: dict[str, Any] = _digest_difference(current, self.digest)
        if self.issuer_name != current.issuer:
            changes["issuer_name"] = self.issuer_name.rfc4514_string()
        if not current.is_signature_valid(self.signer.public_key()):
            changes["public_key"] = True
        wanted = {each.serial_number: each for each in self.revoked}
        present = {each.serial_number: each for each in current}
        both = [number for number in wanted if number in present]
        revocations = {
            "added": [number for number in wanted if number not in present],
            "changed": [number for number in both if _entry(wanted[number]) != _entry(present[number])],
            "removed": [number for number in present if number not in wanted],
        }
        if any(revocations.values()):
            changes["revocations"] = {
                key: [_names.shown_serial(number) for number in numbers] for key, numbers in revocations.items()
            }
        found = [each for each in current.extensions if not (self.automatic and isinstance(each.value, x509.CRLNumber))]
        return {**changes, **_extension_differences(found, self.extensions)}

    def sign(self, current: x509.CertificateRevocationList | None = None) -> x509.CertificateRevocationList:
        """Return the signed list; ``current`` is the previous one."""
        extensions = list(self.extensions)
        if self.automatic:
            extensions.append(Extension(x509.CRLNumber(_number(current) + 1), critical=False))
        start = _now()
        builder = x509.CertificateRevocationListBuilder(issuer_name=self.issuer_name)
        try:
            builder = builder.last_update(start).next_update(start + dt.timedelta(days=self.days_valid))
            for entry in self.revoked:
                builder = builder.add_revoked_certificate(entry)
            for each in extensions:
                builder = builder.add_extension(each.value, each.critical)
            return builder.sign(self.signer, algorithm(self.signer, self.digest))
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise InvocationError(f"The certificate revocation list cannot be signed: {error}") from error


def wanted_certificate(given: Mapping[str, Any]) -> WantedCertificate:
    """Return the certificate that the arguments, with those of the signing policy, describe.

    Without ``signing_cert`` it is signed by its own key. Otherwise it is for the key of ``private_key``, ``public_key``
    or ``csr``; extensions that are not given come from ``csr``.
    """
    signer = _sources.private_key(given.get("signing_private_key"), given.get("signing_private_key_passphrase"))
    request = _sources.request(given["csr"]) if given.get("csr") else None
    if given.get("signing_cert"):
        authority = _sources.certificate(given["signing_cert"])
        issuer = Issuer(authority.public_key(), authority)
        if not same_key(issuer.public_key, signer.public_key()):
            raise InvocationError("Signing private key does not match the certificate's public key")
        public_key = _key_of(given, request)
    else:
        public_key = signer.public_key()
        issuer = Issuer(public_key)
    return WantedCertificate(
        signer=signer,
        issuer=issuer,
        public_key=public_key,
        subject=_names.distinguished(given.get("subject") or dict(given)),
        extensions=_certificate_extensions(given, public_key, issuer, request),
        digest=checked_digest(given.get("digest") or "sha256"),
        serial_number=given.get("serial_number"),
        not_before=_point(given, "not_before"),
        not_after=_point(given, "not_after"),
        days_valid=_days(given.get("days_valid"), 365),
    )


def wanted_request(given: Mapping[str, Any]) -> WantedRequest:
    """Return the certificate signing request that the arguments describe."""
    signer = _sources.private_key(given["private_key"], given.get("private_key_passphrase"))
    _refuse_unsupported(given)
    names = [name for name in OF_CERTIFICATES if name in given and name not in NOT_OF_REQUESTS]
    return WantedRequest(
        signer=signer,
        subject=_names.distinguished(given.get("subject") or dict(given)),
        extensions=[build(name, given[name], subject_key=signer.public_key()) for name in names],
        digest=checked_digest(given.get("digest") or "sha256"),
    )


def wanted_list(given: Mapping[str, Any]) -> WantedList:
    """Return the revocation list that the arguments describe."""
    signer = _sources.private_key(given["signing_private_key"], given.get("signing_private_key_passphrase"))
    if not given.get("signing_cert"):
        raise InvocationError("A revocation list needs signing_cert, the certificate of who signs it")
    authority = _sources.certificate(given["signing_cert"])
    if not same_key(authority.public_key(), signer.public_key()):
        raise InvocationError("Signing private key does not match the certificate's public key")
    extensions = dict(given.get("extensions") or {})
    automatic = extensions.get("cRLNumber") == "auto"
    if automatic:
        del extensions["cRLNumber"]
    if unknown := [name for name in extensions if name not in OF_LISTS]:
        raise InvocationError(f"Invalid CRL extension: {unknown[0]}; it may be {', '.join(OF_LISTS)}")
    issuer = Issuer(authority.public_key(), authority)
    entries = (_revocation(each, include_expired=bool(given.get("include_expired"))) for each in given["revoked"] or ())
    return WantedList(
        signer=signer,
        issuer_name=authority.subject,
        revoked=[each for each in entries if each is not None],
        extensions=[build(name, value, issuer=issuer) for name, value in extensions.items()],
        digest=checked_digest(given.get("digest") or "sha256"),
        days_valid=_days(given.get("days_valid"), 100),
        automatic=automatic,
    )


def checked_digest(name: Any) -> str:
    """Return the name of a hash function. InvocationError for an unknown one."""
    text = str(name).lower()
    if text not in _DIGESTS:
        raise InvocationError(f"Invalid value '{name}' for digest. Valid: {', '.join(_DIGESTS)}")
    return text


def algorithm(signer: Any, digest: str) -> Any:
    """Return the hash function to sign with; None for keys that imply their own."""
    return None if isinstance(signer, (ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey)) else _DIGESTS[digest]()


def same_key(one: Any, other: Any) -> bool:
    """Return whether two public keys are the same."""

    def raw(key: Any) -> Any:
        return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    return bool(raw(one) == raw(other))


def is_signed_by(certificate: x509.Certificate, public_key: Any) -> bool:
    """Return whether a certificate was signed with the private key that belongs to a public one."""
    signed = certificate.signature, certificate.tbs_certificate_bytes
    digest = certificate.signature_hash_algorithm
    try:
        if isinstance(public_key, rsa.RSAPublicKey) and digest is not None:
            public_key.verify(*signed, padding.PKCS1v15(), digest)
        elif isinstance(public_key, ec.EllipticCurvePublicKey) and digest is not None:
            public_key.verify(*signed, ec.ECDSA(digest))
        elif isinstance(public_key, (ed25519.Ed25519PublicKey, ed448.Ed448PublicKey)):
            public_key.verify(*signed)
        else:
            return False
    except InvalidSignature:
        return False
    return True


def _digest_difference(current: Any, digest: str) -> dict[str, Any]:
    try:
        found = current.signature_hash_algorithm
    except UnsupportedAlgorithm:
        return {"digest": digest}
    return {} if found is None or isinstance(found, _DIGESTS[digest]) else {"digest": digest}


def _extension_differences(current: Any, wanted: list[Extension]) -> dict[str, Any]:
    found = differences(current, wanted)
    return {"extensions": found} if any(found.values()) else {}


def _entry(revoked: x509.RevokedCertificate) -> set[tuple[bool, Any]]:
    return {(each.critical, each.value) for each in revoked.extensions}


def _key_of(given: Mapping[str, Any], request: x509.CertificateSigningRequest | None) -> Any:
    if given.get("private_key"):
        return _sources.private_key(given["private_key"], given.get("private_key_passphrase")).public_key()
    if given.get("public_key"):
        return _sources.public_key(given["public_key"])
    if request is not None:
        return request.public_key()
    raise InvocationError(
        "This certificate is not self-signed (signing_cert is set) and thus needs public_key, private_key or csr to"
        " derive public key to sign"
    )


def _certificate_extensions(
    given: Mapping[str, Any], public_key: Any, issuer: Issuer, request: x509.CertificateSigningRequest | None
) -> list[Extension]:
    _refuse_unsupported(given)
    found = []
    for name, oid in OF_CERTIFICATES.items():
        if given.get(name) is not None:
            found.append(build(name, given[name], subject_key=public_key, issuer=issuer))
        elif request is not None and name not in NOT_OF_REQUESTS and name not in given:
            found += [Extension(each.value, each.critical) for each in request.extensions if each.oid == oid]
    return found


def _refuse_unsupported(given: Mapping[str, Any]) -> None:
    for name in NOT_SUPPORTED:
        if given.get(name) is not None:
            raise InvocationError(f"The extension {name} is not supported; supported are {', '.join(OF_CERTIFICATES)}")


def _revocation(given: Mapping[str, Any], *, include_expired: bool) -> x509.RevokedCertificate | None:
    number, expires = given.get("serial_number"), _point(given, "not_after")
    if given.get("certificate"):
        certificate = _sources.certificate(given["certificate"])
        number, expires = certificate.serial_number, certificate.not_valid_after_utc
    if not number:
        raise InvocationError("Need serial_number or certificate")
    if expires is not None and expires < _now() and not include_expired:
        return None
    date = _point(given, "revocation_date") or _now()
    builder = x509.RevokedCertificateBuilder().serial_number(_names.serial_number(number)).revocation_date(date)
    for name, value in (given.get("extensions") or {}).items():
        if name not in OF_REVOCATIONS:
            raise InvocationError(f"Invalid CRL entry extension: {name}; it may be {', '.join(OF_REVOCATIONS)}")
        built = build(name, value)
        builder = builder.add_extension(built.value, built.critical)
    return builder.build()


def _number(current: x509.CertificateRevocationList | None) -> int:
    try:
        return 0 if current is None else current.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number
    except x509.ExtensionNotFound:
        return 0


def _point(given: Mapping[str, Any], key: str) -> dt.datetime | None:
    text = given.get(key)
    if not text:
        return None
    if isinstance(text, dt.datetime):
        return text.replace(tzinfo=dt.UTC) if text.tzinfo is None else text
    try:
        return dt.datetime.strptime(str(text), TIME).replace(tzinfo=dt.UTC)
    except ValueError as error:
        raise InvocationError(f"{key}: {text!r} is no date like 2030-12-31 23:59:59") from error


def _days(value: Any, default: int) -> int:
    try:
        days = default if value is None else int(value)
        _now() + dt.timedelta(days=days)
    except (TypeError, ValueError):
        raise InvocationError(f"days_valid must be a number of days, not {value!r}") from None
    except OverflowError:
        raise InvocationError(
            f"days_valid: {value} days lead beyond the year 9999, the last of a certificate"
        ) from None
    return days


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
