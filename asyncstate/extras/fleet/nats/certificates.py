"""The certificate authority of a fleet, and its server's certificate."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from collections.abc import Sequence

AUTHORITY_LIFE: Final = timedelta(days=20 * 365)
SERVER_LIFE: Final = timedelta(days=2 * 365)
RENEWED_BEFORE: Final = timedelta(days=365)
"""The remaining validity below which a starting server's certificate is renewed."""
_CLOCKS_DIFFER: Final = timedelta(days=1)


class Issued(NamedTuple):
    """A certificate and its private key, both in PEM."""

    certificate: bytes
    key: bytes


def new_authority() -> Issued:
    """Return an authority for the certificates of one fleet's servers, without intermediate authorities."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "asyncstate fleet authority")])
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=True,
        encipher_only=False,
        decipher_only=False,
    )
    built = (
        _begun(name, name, key.public_key(), AUTHORITY_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _issued(built, key)


def new_server(authority: Issued, names: Sequence[str]) -> Issued:
    """Return a certificate for a server with these DNS names and addresses."""
    signer = x509.load_pem_x509_certificate(authority.certificate)
    signing_key = serialization.load_pem_private_key(authority.key, None)
    if not isinstance(signing_key, ec.EllipticCurvePrivateKey):
        raise TypeError("the authority's key is of another kind than this program makes")
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "asyncstate fleet server")])
    built = (
        _begun(subject, signer.subject, key.public_key(), SERVER_LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]), False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key()), critical=False)
        .sign(signing_key, hashes.SHA256())
    )
    return _issued(built, key)


def still_good(certificate: bytes, names: Sequence[str], now: datetime) -> bool:
    """Return whether a server can keep its certificate: it has these names and does not expire soon."""
    found = x509.load_pem_x509_certificate(certificate)
    has = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return set(has) >= {_alternative(name) for name in names} and found.not_valid_after_utc - now > RENEWED_BEFORE


def _begun(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, life: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER)
        .not_valid_after(now + life)
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _issued(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Issued:
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Issued(certificate.public_bytes(serialization.Encoding.PEM), private)
