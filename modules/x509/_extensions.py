"""Extensions of certificates, requests and revocation lists: from the data in a tree to the library, and back."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, NamedTuple

from cryptography import x509
from cryptography.x509.oid import AuthorityInformationAccessOID, CRLEntryExtensionOID, ExtendedKeyUsageOID, ExtensionOID

from asyncstate.errors import InvocationError

from . import _names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TIME = "%Y-%m-%d %H:%M:%S"

OF_CERTIFICATES = {
    "basicConstraints": ExtensionOID.BASIC_CONSTRAINTS,
    "keyUsage": ExtensionOID.KEY_USAGE,
    "extendedKeyUsage": ExtensionOID.EXTENDED_KEY_USAGE,
    "subjectKeyIdentifier": ExtensionOID.SUBJECT_KEY_IDENTIFIER,
    "authorityKeyIdentifier": ExtensionOID.AUTHORITY_KEY_IDENTIFIER,
    "issuerAltName": ExtensionOID.ISSUER_ALTERNATIVE_NAME,
    "authorityInfoAccess": ExtensionOID.AUTHORITY_INFORMATION_ACCESS,
    "subjectAltName": ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
    "crlDistributionPoints": ExtensionOID.CRL_DISTRIBUTION_POINTS,
    "certificatePolicies": ExtensionOID.CERTIFICATE_POLICIES,
    "noCheck": ExtensionOID.OCSP_NO_CHECK,
}
NOT_OF_REQUESTS = ("authorityInfoAccess", "authorityKeyIdentifier", "issuerAltName", "crlDistributionPoints")
OF_LISTS = ("authorityKeyIdentifier", "authorityInfoAccess", "cRLNumber", "deltaCRLIndicator", "issuerAltName")
OF_REVOCATIONS = {"CRLReason": CRLEntryExtensionOID.CRL_REASON, "invalidityDate": CRLEntryExtensionOID.INVALIDITY_DATE}
NOT_SUPPORTED = (
    "policyConstraints", "inhibitAnyPolicy", "nameConstraints", "tlsfeature", "nsComment", "nsCertType",
)  # fmt: skip

_USAGES = {
    "digitalSignature": "digital_signature",
    "nonRepudiation": "content_commitment",
    "keyEncipherment": "key_encipherment",
    "dataEncipherment": "data_encipherment",
    "keyAgreement": "key_agreement",
    "keyCertSign": "key_cert_sign",
    "cRLSign": "crl_sign",
    "encipherOnly": "encipher_only",
    "decipherOnly": "decipher_only",
}
_PURPOSES = {
    "serverAuth": ExtendedKeyUsageOID.SERVER_AUTH,
    "clientAuth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "codeSigning": ExtendedKeyUsageOID.CODE_SIGNING,
    "emailProtection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "timeStamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "OCSPSigning": ExtendedKeyUsageOID.OCSP_SIGNING,
    "msSmartcardLogin": ExtendedKeyUsageOID.SMARTCARD_LOGON,
    "pkInitKDC": ExtendedKeyUsageOID.KERBEROS_PKINIT_KDC,
    "ipsecIKE": ExtendedKeyUsageOID.IPSEC_IKE,
}
_ACCESS = {"OCSP": AuthorityInformationAccessOID.OCSP, "caIssuers": AuthorityInformationAccessOID.CA_ISSUERS}


class Extension(NamedTuple):
    """An extension, and whether it is critical: software that does not know it must then refuse the certificate."""

    value: x509.ExtensionType
    critical: bool


class Issuer(NamedTuple):
    """The issuer: its public key, and its certificate unless the certificate is self-signed."""

    public_key: Any
    certificate: x509.Certificate | None = None


def build(name: str, value: Any, *, subject_key: Any = None, issuer: Issuer | None = None) -> Extension:
    """Return the extension ``name``. InvocationError for an unknown one, or an invalid value."""
    makers: dict[str, Any] = {
        "basicConstraints": _basic_constraints,
        "keyUsage": _key_usage,
        "extendedKeyUsage": _extended_key_usage,
        "subjectKeyIdentifier": lambda value: _subject_key_identifier(value, subject_key),
        "authorityKeyIdentifier": lambda value: _authority_key_identifier(value, issuer),
        "issuerAltName": lambda value: _issuer_alt_name(value, issuer),
        "authorityInfoAccess": _authority_info_access,
        "subjectAltName": _subject_alt_name,
        "crlDistributionPoints": _crl_distribution_points,
        "certificatePolicies": _certificate_policies,
        "noCheck": lambda value: Extension(x509.OCSPNoCheck(), "critical" in str(value)),
        "cRLNumber": lambda value: Extension(x509.CRLNumber(int(value)), critical=False),
        "deltaCRLIndicator": lambda value: Extension(x509.DeltaCRLIndicator(int(value)), critical=True),
        "CRLReason": _crl_reason,
        "invalidityDate": _invalidity_date,
    }
    if name not in makers:
        raise InvocationError(f"Unknown extension {name}; supported are {', '.join(makers)}")
    try:
        found: Extension = makers[name](value)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        if isinstance(error, InvocationError):
            raise
        raise InvocationError(f"Invalid value for {name}: {error}") from error
    return found


def differences(current: Iterable[x509.Extension[Any]], wanted: Iterable[Extension]) -> dict[str, list[str]]:
    """Return the names of the extensions that are ``added``, ``changed`` and ``removed``."""
    before = {each.oid: each for each in current}
    after = {each.value.oid: each for each in wanted}
    changed = (oid for oid in after if oid in before and (before[oid].critical, before[oid].value) != after[oid][::-1])
    return {
        "added": [_shown(oid) for oid in after if oid not in before],
        "changed": [_shown(oid) for oid in changed],
        "removed": [_shown(oid) for oid in before if oid not in after],
    }


def described(extensions: x509.Extensions) -> dict[str, Any]:
    """Return the extensions of a certificate as data, by the names that arguments use."""
    return dict(_described(extensions))


def _described(extensions: x509.Extensions) -> Iterator[tuple[str, Any]]:
    by_oid = {oid: name for name, oid in OF_CERTIFICATES.items()}
    for each in extensions:
        value: Any = each.value
        data: dict[str, Any] = {"critical": each.critical}
        if isinstance(value, x509.BasicConstraints):
            data |= {"ca": value.ca, "pathlen": value.path_length}
        elif isinstance(value, x509.KeyUsage):
            data |= {name: _usage(value, attribute) for name, attribute in _USAGES.items()}
        elif isinstance(value, x509.ExtendedKeyUsage):
            names = {oid: name for name, oid in _PURPOSES.items()}
            data["value"] = [names.get(oid, oid.dotted_string) for oid in value]
        elif isinstance(value, (x509.SubjectAlternativeName, x509.IssuerAlternativeName)):
            data["value"] = [_names.shown_general(name) for name in value]
        elif isinstance(value, x509.SubjectKeyIdentifier):
            data["value"] = value.digest.hex(":").upper()
        elif isinstance(value, x509.AuthorityKeyIdentifier):
            data["keyid"] = value.key_identifier.hex(":").upper() if value.key_identifier else None
        yield by_oid.get(each.oid, each.oid.dotted_string), data


def _basic_constraints(value: Any) -> Extension:
    given, critical = _names.pairs(value)
    words = {key.lower(): each for key, each in given}
    ca = str(words["ca"]).lower() == "true"
    pathlen = words.get("pathlen")
    return Extension(x509.BasicConstraints(ca, None if pathlen is None else int(pathlen)), critical)


def _key_usage(value: Any) -> Extension:
    given, critical = _names.pairs(value)
    named = [name for name, _ in given]
    if unknown := [name for name in named if name not in _USAGES]:
        raise InvocationError(f"Unknown keyUsage {unknown[0]}; it may be {', '.join(_USAGES)}")
    usages = {attribute: name in named for name, attribute in _USAGES.items()}
    return Extension(x509.KeyUsage(**usages), critical)


def _extended_key_usage(value: Any) -> Extension:
    given, critical = _names.pairs(value)
    return Extension(x509.ExtendedKeyUsage([_PURPOSES.get(name) or _names.oid(name) for name, _ in given]), critical)


def _subject_key_identifier(value: Any, subject_key: Any) -> Extension:
    text = str(value)
    _must_not_be_critical("subjectKeyIdentifier", text)
    if text == "hash":
        return Extension(x509.SubjectKeyIdentifier.from_public_key(subject_key), critical=False)
    return Extension(x509.SubjectKeyIdentifier(bytes.fromhex(text.replace(":", ""))), critical=False)


def _authority_key_identifier(value: Any, issuer: Issuer | None) -> Extension:
    """Identify the issuer's key by its own identifier or a digest of it, and by its certificate if that is wanted."""
    _must_not_be_critical("authorityKeyIdentifier", str(value))
    if issuer is None:
        raise InvocationError("authorityKeyIdentifier needs to know the issuer: give signing_cert")
    words = dict(_names.pairs(value)[0])
    identifier, names, number = None, None, None
    if "keyid" in words:
        identifier = _key_identifier(issuer)
    if words.get("issuer") == "always" or ("issuer" in words and identifier is None):
        if issuer.certificate is not None:
            names = [x509.DirectoryName(issuer.certificate.issuer)]
            number = issuer.certificate.serial_number
        elif words["issuer"] == "always":
            raise InvocationError(
                "Could not add authority_cert_issuer and authority_cert_serial_number, but was set to always."
            )
    return Extension(x509.AuthorityKeyIdentifier(identifier, names, number), critical=False)


def _key_identifier(issuer: Issuer) -> bytes | None:
    if issuer.certificate is not None:
        try:
            return issuer.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
        except x509.ExtensionNotFound:
            pass
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.public_key).key_identifier


def _issuer_alt_name(value: Any, issuer: Issuer | None) -> Extension:
    given, critical = _names.pairs(value)
    copied: list[x509.GeneralName] = []
    if ("issuer", "copy") in given:
        if issuer is None or issuer.certificate is None:
            raise InvocationError("Need CA certificate to copy to issuerAltName")
        try:
            copied = list(issuer.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
        except x509.ExtensionNotFound as error:
            raise InvocationError(f"issuerAltName: {error}") from error
    own = _names.general(pair for pair in given if pair != ("issuer", "copy"))
    return Extension(x509.IssuerAlternativeName([*copied, *own]), critical)


def _authority_info_access(value: Any) -> Extension:
    if isinstance(value, str):
        value = [dict([word.split(";", 1)]) for word in value.split(",") if word.strip() != "critical"]
    given, _ = _names.pairs(value)
    described = [
        x509.AccessDescription(
            _ACCESS.get(kind.strip()) or _names.oid(kind.strip()), _names.general(_names.pairs([text])[0])[0]
        )
        for kind, text in given
    ]
    return Extension(x509.AuthorityInformationAccess(described), critical=False)


def _subject_alt_name(value: Any) -> Extension:
    given, critical = _names.pairs(value)
    return Extension(x509.SubjectAlternativeName(_names.general(given)), critical)


def _crl_distribution_points(value: Any) -> Extension:
    if isinstance(value, list) and any(isinstance(each, dict) and "fullname" in each for each in value):
        critical = "critical" in value
        names = [each["fullname"] for each in value if each != "critical"]
        points = [_names.general(_names.pairs(each if isinstance(each, list) else [each])[0]) for each in names]
    else:
        given, critical = _names.pairs(value)
        points = [_names.general([pair]) for pair in given]
    return Extension(
        x509.CRLDistributionPoints([x509.DistributionPoint(p, None, None, None) for p in points]), critical
    )


def _certificate_policies(value: Any) -> Extension:
    if isinstance(value, dict):
        if any(isinstance(each, dict) for key in value if key != "critical" for each in value[key] or ()):
            raise InvocationError("certificatePolicies: user notices are not supported, only addresses (CPS)")
        policies = {key: list(each or ()) for key, each in value.items() if key != "critical"}
        critical = bool(value.get("critical"))
    else:
        given, critical = _names.pairs(value)
        policies = {key: [] for key, _ in given}
    informations = [x509.PolicyInformation(_names.oid(key), each or None) for key, each in policies.items()]
    return Extension(x509.CertificatePolicies(informations), critical)


def _crl_reason(value: Any) -> Extension:
    given, critical = _names.pairs(value)
    return Extension(x509.CRLReason(x509.ReasonFlags(given[0][0])), critical)


def _invalidity_date(value: Any) -> Extension:
    text = str(value)
    date = dt.datetime.strptime(text.removeprefix("critical").strip(), TIME)  # noqa: DTZ007 - the library wants it naive
    return Extension(x509.InvalidityDate(date), text.startswith("critical"))


def _must_not_be_critical(name: str, text: str) -> None:
    if "critical" in text:
        raise InvocationError(f"{name} must be marked as non-critical")


def _usage(value: x509.KeyUsage, attribute: str) -> bool:
    """Return one usage; the library raises for two of them unless the key has the usage keyAgreement."""
    try:
        return bool(getattr(value, attribute))
    except ValueError:
        return False


def _shown(oid: x509.ObjectIdentifier) -> str:
    name: str = getattr(oid, "_name", "Unknown OID")
    return oid.dotted_string if name == "Unknown OID" else name
