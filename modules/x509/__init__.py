"""The ``x509`` execution module: private keys, certificates, signing requests and revocation lists.

An argument that is a key or a certificate may be the path of a file or its text.
"""

from __future__ import annotations

try:
    from cryptography import __version__ as _installed

    from ._keys import (
        check_private_key,
        create_private_key,
        encode_private_key,
        get_private_key_size,
        get_public_key,
    )
    from ._operations import (
        check_certificate,
        check_crl,
        check_csr,
        create_certificate,
        create_crl,
        create_csr,
        encode_certificate,
        encode_crl,
        encode_csr,
        expired,
        expires,
        get_pem_entry,
        get_signing_policy,
        read_certificate,
        verify_crl,
        verify_private_key,
        verify_signature,
        will_expire,
        write_pem,
    )
except ImportError as error:
    _missing = f"{error.name or error} is missing"
else:
    _missing = "" if int(_installed.partition(".")[0]) >= 43 else f"{_installed} is too old"

__all__ = [
    "check_certificate",
    "check_crl",
    "check_csr",
    "check_private_key",
    "create_certificate",
    "create_crl",
    "create_csr",
    "create_private_key",
    "encode_certificate",
    "encode_crl",
    "encode_csr",
    "encode_private_key",
    "expired",
    "expires",
    "get_pem_entry",
    "get_private_key_size",
    "get_public_key",
    "get_signing_policy",
    "read_certificate",
    "verify_crl",
    "verify_private_key",
    "verify_signature",
    "will_expire",
    "write_pem",
]


def __virtual__() -> bool | tuple[bool, str]:
    """Load if the library cryptography is installed, and new enough."""
    if _missing:
        return False, f"Could not load cryptography ({_missing}): pip install 'cryptography>=43'"
    return True
