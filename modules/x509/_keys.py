"""Private and public keys."""

from __future__ import annotations

from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from asyncstate import filesystem
from asyncstate.errors import CommandExecutionError, InvocationError

from . import _sources
from ._writing import checked_encoding, library_encoding, out

_CURVES: dict[int, Any] = {256: ec.SECP256R1, 384: ec.SECP384R1, 521: ec.SECP521R1}
_KEY_CLASSES: dict[str, Any] = {
    "rsa": rsa.RSAPrivateKey,
    "ec": ec.EllipticCurvePrivateKey,
    "ed25519": ed25519.Ed25519PrivateKey,
    "ed448": ed448.Ed448PrivateKey,
}
_DEFAULT_SIZES = {"rsa": 2048, "ec": 256}


def create_private_key(
    algo: str = "rsa",
    keysize: int | str | None = None,
    passphrase: Any = None,
    encoding: str = "pem",
    path: str | None = None,
    raw: bool = False,
) -> Any:
    """Return a new private key (``rsa``, ``ec``, ``ed25519``, ``ed448``): PEM, or DER in base64, or bytes if ``raw``.

    With ``path`` it is written there, readable only by its owner, and a message is returned.

    CLI Example::

        asyncstate call x509.create_private_key algo=ec path=/etc/ssl/private/www.key
    """
    checked_encoding(encoding)
    if algo not in _KEY_CLASSES:
        raise InvocationError(
            f"Invalid algorithm specified for generating private key: {algo}. Valid: {', '.join(_KEY_CLASSES)}"
        )
    size = key_size(algo, keysize)
    if algo == "rsa":
        key: Any = rsa.generate_private_key(public_exponent=65537, key_size=size or 2048)
    elif algo == "ec":
        key = ec.generate_private_key(_CURVES[size or 256]())
    else:
        key = _KEY_CLASSES[algo].generate()
    return out(_private_bytes(key, passphrase, encoding), encoding, path, raw=raw, secret=True)


def encode_private_key(
    private_key: Any,
    encoding: str = "pem",
    passphrase: Any = None,
    private_key_passphrase: Any = None,
    raw: bool = False,
) -> Any:
    """Return a private key in another encoding, or encrypted with another passphrase (or none)."""
    checked_encoding(encoding)
    key = _sources.private_key(private_key, private_key_passphrase)
    return out(_private_bytes(key, passphrase, encoding), encoding, None, raw=raw)


def check_private_key(
    path: str,
    algo: str = "rsa",
    keysize: int | str | None = None,
    passphrase: Any = None,
    encoding: str = "pem",
    overwrite: bool = False,
) -> dict[str, Any]:
    """Return the changes that the key in a file needs, {} if none.

    CommandExecutionError for one that cannot be read, unless it may be overwritten.
    """
    size = key_size(algo, keysize)
    checked_encoding(encoding)
    changes: dict[str, Any] = {}
    created = {"created": path}
    if not filesystem.is_file(path):
        return created
    try:
        try:
            key, current = _sources.private_key_and_encoding(path, passphrase)
        except _sources.NeedlessPassphrase:
            changes["passphrase"] = True
            key, current = _sources.private_key_and_encoding(path)
    except _sources.WrongPassphrase as error:
        if overwrite:
            return {"passphrase": True, **created}
        if passphrase is None:
            words = "The existing file is encrypted. Pass overwrite: true to force regeneration without passphrase"
        else:
            words = "The provided passphrase cannot decrypt the private key. Pass overwrite: true to force regeneration"
        raise CommandExecutionError(words) from error
    except InvocationError as error:
        if overwrite:
            return created
        raise CommandExecutionError(
            "The existing file does not seem to be a private key formatted as DER, PEM or embedded in PKCS12. Pass"
            " overwrite: true to force regeneration"
        ) from error
    if not isinstance(key, _KEY_CLASSES[algo]):
        changes["algo"] = algo
    elif size is not None and key.key_size != size:
        changes["keysize"] = size
    return changes if encoding == current else {**changes, "encoding": encoding}


def get_private_key_size(private_key: Any, passphrase: Any = None) -> int | None:
    """Return the size of a key in bits, None for the kinds that have only one."""
    size: int | None = getattr(_sources.private_key(private_key, passphrase), "key_size", None)
    return size


def get_public_key(key: Any, passphrase: Any = None) -> str:
    """Return, as PEM text, the public key of a private key, a certificate or a request.

    CLI Example::

        asyncstate call x509.get_public_key /etc/ssl/private/www.key
    """
    found = _sources.public_key(key) if passphrase is None else _sources.private_key(key, passphrase).public_key()
    text: bytes = found.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return text.decode()


def key_size(algo: str, keysize: Any) -> int | None:
    """Return the size of a key, the usual one if none is given, None for kinds that have only one."""
    if algo not in _DEFAULT_SIZES:
        if algo in _KEY_CLASSES and keysize:
            raise InvocationError(f"keysize is an invalid parameter for {algo}")
        if algo not in _KEY_CLASSES:
            raise InvocationError(f"Invalid algorithm {algo}. Valid: {', '.join(_KEY_CLASSES)}")
        return None
    try:
        size = int(keysize or _DEFAULT_SIZES[algo])
    except (TypeError, ValueError, OverflowError):
        raise InvocationError(f"keysize must be a number, not {keysize!r}") from None
    if algo == "ec" and size not in _CURVES:
        raise InvocationError(f"Invalid keysize {size} for ec. Valid: {', '.join(map(str, _CURVES))}")
    if algo == "rsa" and size < 1024:
        raise InvocationError(f"keysize {size} is too small for rsa: 2048 is the least that is safe")
    return size


def _private_bytes(key: Any, passphrase: Any, encoding: str) -> bytes:
    encryption: Any = serialization.NoEncryption()
    if passphrase is not None:
        encryption = serialization.BestAvailableEncryption(str(passphrase).encode())
    form = serialization.PrivateFormat.PKCS8
    data: bytes = key.private_bytes(library_encoding(encoding), form, encryption)
    return data
