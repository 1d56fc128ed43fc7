"""Reading keys, certificates, requests and revocation lists: a path, PEM text, hexadecimal, base64 or DER."""

from __future__ import annotations

import base64
import binascii
import os
import re
from typing import TYPE_CHECKING, Any, TypeVar

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from asyncstate import filesystem
from asyncstate.errors import InvocationError

if TYPE_CHECKING:
    from collections.abc import Callable

_BEGIN = b"-----BEGIN"
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----(?:(?!-----BEGIN ).)+?-----END CERTIFICATE-----\s*", re.DOTALL)
_Thing = TypeVar("_Thing")


class Unreadable(InvocationError):
    """The data can be read, but is not of the expected kind."""


class WrongPassphrase(InvocationError):
    """A private key is encrypted with another passphrase, or none was given."""


class NeedlessPassphrase(InvocationError):
    """A passphrase was given for a private key that is not encrypted."""


def content(source: Any) -> bytes:
    """Return the bytes of a path or text. InvocationError if it is neither."""
    if isinstance(source, bytes):
        return source
    text = str(source) if source is not None else ""
    if os.path.isabs(text) and filesystem.is_file(text):
        try:
            return filesystem.read_bytes(text)
        except OSError as error:
            raise InvocationError(f"Could not read {text}: {error.strerror}") from error
    if _BEGIN.decode() in text:
        return text.encode()
    for decode in (bytes.fromhex, _base64):
        try:
            if text and not os.path.isabs(text):
                return decode(text.removeprefix("b64:"))
        except ValueError:
            continue
    # anything else than a path may be a key, which must not appear in messages
    missing = f" There is no file {text}." if os.path.isabs(text) else ""
    raise InvocationError(
        "Could not load provided source. You need to pass an existing file, (PEM|hex|base64)-encoded string or raw"
        f" bytes.{missing}"
    )


def private_key(source: Any, passphrase: Any = None) -> Any:
    """Return a private key. Raises WrongPassphrase, NeedlessPassphrase or Unreadable."""
    return private_key_and_encoding(source, passphrase)[0]


def private_key_and_encoding(source: Any, passphrase: Any = None) -> tuple[Any, str]:
    """Return a private key and its encoding: ``pem`` or ``der``."""
    if hasattr(source, "private_bytes"):
        return source, "pem"
    data = content(source)
    encoding = "pem" if _BEGIN in data else "der"
    load = serialization.load_pem_private_key if encoding == "pem" else serialization.load_der_private_key
    password = None if passphrase is None else str(passphrase).encode()
    try:
        return load(data, password), encoding
    except TypeError as error:
        if password is None:
            raise WrongPassphrase("The private key is encrypted and no passphrase was given") from error
        raise NeedlessPassphrase("A passphrase was given, but the private key is not encrypted") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        if password is not None and _is_encrypted(data, load):
            raise WrongPassphrase("Bad decrypt - is the passphrase correct?") from error
        raise Unreadable(f"Could not load {encoding.upper()}-encoded private key.") from error


def public_key(source: Any) -> Any:
    """Return a public key, which may be given by itself, or by a private key, a certificate or a request."""
    if hasattr(source, "public_bytes") and not hasattr(source, "public_key"):
        return source
    if hasattr(source, "public_key"):
        return source.public_key()
    data = content(source)
    pem = _BEGIN in data
    loaders: list[Callable[[bytes], Any]] = [
        serialization.load_pem_public_key if pem else serialization.load_der_public_key,
        lambda data: certificates(data)[0].public_key(),
        lambda data: request(data).public_key(),
        lambda data: private_key(data).public_key(),
    ]
    for load in loaders:
        try:
            return load(data)
        except (ValueError, InvocationError, UnsupportedAlgorithm):
            continue
    raise Unreadable("Could not load the public key: expected a key, a certificate or a request")


def certificate(source: Any) -> x509.Certificate:
    """Return a certificate, the first of several."""
    return certificates(source)[0]


def certificates(source: Any) -> list[x509.Certificate]:
    """Return a certificate and those that follow it in the same PEM file."""
    return certificates_and_encoding(source)[0]


def certificates_and_encoding(source: Any) -> tuple[list[x509.Certificate], str]:
    """Return what `certificates` returns, and the encoding: ``pem`` or ``der``."""
    if isinstance(source, x509.Certificate):
        return [source], "pem"
    data = content(source)
    try:
        if _BEGIN not in data:
            return [x509.load_der_x509_certificate(data)], "der"
        found = [x509.load_pem_x509_certificate(each) for each in _CERTIFICATE.findall(data)]
    except ValueError as error:
        raise Unreadable(f"Could not load the certificate: {error}") from error
    if not found:
        raise Unreadable("Could not load PEM-encoded certificate.")
    return found, "pem"


def request(source: Any) -> x509.CertificateSigningRequest:
    """Return a certificate signing request."""
    return request_and_encoding(source)[0]


def request_and_encoding(source: Any) -> tuple[x509.CertificateSigningRequest, str]:
    """Return a certificate signing request and its encoding: ``pem`` or ``der``."""
    pem, der = x509.load_pem_x509_csr, x509.load_der_x509_csr
    return _loaded(source, pem, der, x509.CertificateSigningRequest, "certificate signing request")


def revocation_list(source: Any) -> x509.CertificateRevocationList:
    """Return a certificate revocation list."""
    return revocation_list_and_encoding(source)[0]


def revocation_list_and_encoding(source: Any) -> tuple[x509.CertificateRevocationList, str]:
    """Return a certificate revocation list and its encoding: ``pem`` or ``der``."""
    pem, der = x509.load_pem_x509_crl, x509.load_der_x509_crl
    return _loaded(source, pem, der, x509.CertificateRevocationList, "certificate revocation list")


def _loaded(
    source: Any, pem: Callable[[bytes], _Thing], der: Callable[[bytes], _Thing], kind: type[_Thing], what: str
) -> tuple[_Thing, str]:
    if isinstance(source, kind):
        return source, "pem"
    data = content(source)
    encoding, load = ("pem", pem) if _BEGIN in data else ("der", der)
    try:
        return load(data), encoding
    except (ValueError, x509.InvalidVersion) as error:
        raise Unreadable(f"Could not load {encoding.upper()}-encoded {what}.") from error


def _is_encrypted(data: bytes, load: Callable[..., Any]) -> bool:
    """Return whether a key needs a passphrase: the library's errors do not distinguish a missing from a wrong one."""
    try:
        load(data, None)
    except TypeError:
        return True
    except (ValueError, UnsupportedAlgorithm):
        return False
    return False


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
