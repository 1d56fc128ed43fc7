"""Names in certificates: of subjects and issuers, of hosts, addresses and object identifiers."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from cryptography import x509
from cryptography.x509.oid import NameOID

from asyncstate.errors import InvocationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# In the order of a subject that is given by keywords.
ATTRIBUTES = {
    "C": NameOID.COUNTRY_NAME,
    "ST": NameOID.STATE_OR_PROVINCE_NAME,
    "L": NameOID.LOCALITY_NAME,
    "STREET": NameOID.STREET_ADDRESS,
    "O": NameOID.ORGANIZATION_NAME,
    "OU": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "CN": NameOID.COMMON_NAME,
    "MAIL": NameOID.EMAIL_ADDRESS,
    "SN": NameOID.SURNAME,
    "GN": NameOID.GIVEN_NAME,
    "UID": NameOID.USER_ID,
    "SERIALNUMBER": NameOID.SERIAL_NUMBER,
}
_LABELS = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


def distinguished(name: Any) -> x509.Name:
    """Return a name given as a text of RFC 4514, a list of its parts, or a dict like ``{"CN": "www", "C": "DE"}``."""
    try:
        if isinstance(name, str):
            return x509.Name.from_rfc4514_string(name)
        if isinstance(name, list):
            return x509.Name([relative(part) for part in name])
        if isinstance(name, dict):
            given = ((oid, name[key]) for key, oid in ATTRIBUTES.items() if name.get(key) is not None)
            return x509.Name([x509.NameAttribute(oid, str(value)) for oid, value in given])
    except ValueError as error:
        raise InvocationError(f"{name!r} is no distinguished name: {error}") from error
    raise InvocationError("Need string, list or dict to parse distinguished names")


def relative(part: Any) -> x509.RelativeDistinguishedName:
    """Return one part of a name, ``CN=www`` or ``CN=www+UID=7``."""
    parts = x509.Name.from_rfc4514_string(str(part)).rdns
    if len(parts) != 1:
        raise InvocationError(f"{part!r} is no relative distinguished name: expected one part like CN=www")
    return parts[0]


def oid(text: Any) -> x509.ObjectIdentifier:
    """Return the object identifier of a text of numbers and dots."""
    try:
        return x509.ObjectIdentifier(str(text))
    except ValueError as error:
        raise InvocationError(f"Invalid oid: {text}") from error


def pairs(value: Any) -> tuple[list[tuple[str, Any]], bool]:
    """Parse ``"DNS:a, …"``, a list of such texts, or dicts; return ``[("dns", "a"), …]`` and whether it is critical."""
    if isinstance(value, str):
        critical = value.startswith("critical")
        words = [each.strip() for each in value.removeprefix("critical").lstrip(", ").split(",")]
        return [_pair(word) for word in words if word], critical
    if isinstance(value, dict):
        return [(str(key), each) for key, each in value.items() if key != "critical"], bool(value.get("critical"))
    found = list(_of_list(value))
    return [each for each in found if each[0] != "critical"], "critical" in value


def general(value: Iterable[tuple[str, Any]]) -> list[x509.GeneralName]:
    """Return the general names of pairs of type (dns, ip, email, uri, dirname, rid) and value."""
    return [_general(kind.lower(), text) for kind, text in value]


def serial_number(number: Any) -> int:
    """Return a serial number, given as a number or as hexadecimal text, with or without colons; a new one for None."""
    if number is None:
        return x509.random_serial_number()
    if isinstance(number, int):
        return number
    try:
        return int.from_bytes(bytes.fromhex(str(number).replace(":", "")), "big")
    except ValueError:
        raise InvocationError(f"Could not parse serial number {number}") from None


def shown_serial(number: int) -> str:
    """Return the text of a serial number: pairs of hexadecimal digits with colons between them."""
    digits = f"{number:X}"
    digits = digits.zfill(len(digits) + len(digits) % 2)
    return ":".join(digits[at : at + 2] for at in range(0, len(digits), 2))


def shown_general(name: x509.GeneralName) -> str:
    """Return a general name as text: ``dns:www.example.com``."""
    kinds = {
        x509.DNSName: "dns",
        x509.IPAddress: "ip",
        x509.RFC822Name: "mail",
        x509.UniformResourceIdentifier: "uri",
        x509.RegisteredID: "rid",
    }
    if isinstance(name, x509.DirectoryName):
        return f"dirName:{name.value.rfc4514_string()}"
    value = name.value.dotted_string if isinstance(name, x509.RegisteredID) else name.value
    return f"{kinds.get(type(name), 'other')}:{value}"


def _of_list(value: Any) -> Iterator[tuple[str, Any]]:
    for each in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(each, dict):
            yield from ((str(key), item) for key, item in each.items())
        else:
            yield _pair(str(each))


def _pair(word: str) -> tuple[str, str]:
    kind, colon, text = word.partition(":")
    return kind.strip(), text.strip() if colon else "__present__"


def _general(kind: str, value: Any) -> x509.GeneralName:
    text = str(value).strip()
    try:
        if kind == "dns":
            return x509.DNSName(_host(text))
        if kind == "ip":
            return x509.IPAddress(ipaddress.ip_network(text) if "/" in text else ipaddress.ip_address(text))
        if kind == "email":
            user, at, host = text.rpartition("@")
            return x509.RFC822Name(f"{user}{at}{_host(host)}")
        if kind == "uri":
            parts = urlsplit(text)
            return x509.UniformResourceIdentifier(urlunsplit(parts._replace(netloc=_ascii(parts.netloc))))
        if kind == "rid":
            return x509.RegisteredID(oid(text))
    except ValueError as error:
        raise InvocationError(f"{text!r} is no {kind} name: {error}") from error
    if kind == "dirname":
        return x509.DirectoryName(distinguished(value))
    raise InvocationError(f"GeneralName type {kind} is invalid; it may be dns, ip, email, uri, dirname or rid")


def _host(name: str) -> str:
    """Return a host's name in ASCII; a leading dot or ``*.`` stays."""
    prefix = next((mark for mark in ("*.", ".") if name.startswith(mark)), "")
    text = _ascii(name[len(prefix) :])
    if not _LABELS.fullmatch(text):
        raise ValueError("expected letters, digits, hyphens and dots")
    return prefix + text


def _ascii(name: str) -> str:
    return name if name.isascii() else name.encode("idna").decode("ascii")
