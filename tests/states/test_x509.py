"""The x509 states with the real cryptography, in folders of their own. Elliptic curves, because they are quick."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import pytest
from cryptography import x509
from plugin_harness import PluginHarness
from tables import beside

TABLES = beside(__file__)

pytestmark = pytest.mark.feature("F212")

SAN = {"subjectAltName": "DNS:www.example.com, IP:10.0.0.1, email:a@example.com, URI:https://example.com/x"}


@pytest.fixture
def plugins(tmp_path):
    harness = PluginHarness(tmp_path)
    for name in ("cmd", "config", "file", "x509"):
        harness.load("modules", name)
    for name in ("file", "x509"):
        harness.load("states", name)
    return harness


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "pki"
    path.mkdir()
    return path


@pytest.fixture
def authority(plugins, folder):
    """The arguments to sign with a certificate authority."""
    key = str(folder / "ca.key")
    plugins.call("x509.create_private_key", algo="ec", path=key)
    given = {"CN": "ca", "basicConstraints": "critical CA:true", "subjectKeyIdentifier": "hash"}
    path = str(folder / "ca.crt")
    plugins.call("x509.create_certificate", signing_private_key=key, path=path, days_valid=3650, **given)
    return {"signing_private_key": key, "signing_cert": path}


@pytest.fixture
def key(plugins, folder):
    path = str(folder / "www.key")
    plugins.call("x509.create_private_key", algo="ec", path=path)
    return path


def short(row):
    return row["result"], row["comment"], row["changes"]


def mode(path):
    return oct(path.stat().st_mode & 0o7777)


@pytest.mark.parametrize(
    ("arguments", "begin"),
    [
        ({"algo": "ec"}, b"-----BEGIN PRIVATE KEY-----"),
        ({"bits": 1024, "verbose": True, "text": False}, b"-----BEGIN PRIVATE KEY-----"),
        ({"algo": "ed25519"}, b"-----BEGIN PRIVATE KEY-----"),
        ({"algo": "ed448", "mode": "0600"}, b"-----BEGIN PRIVATE KEY-----"),
        ({"algo": "ec", "keysize": 384, "passphrase": "p"}, b"-----BEGIN ENCRYPTED PRIVATE KEY-----"),
        ({"algo": "ec", "encoding": "der"}, b"\x30"),
    ],
)
def test_a_key_is_made_once(plugins, folder, arguments, begin):
    path = folder / "new" / "www.key"
    new = {"name": str(path), "makedirs": True, "dir_mode": "0700"}
    dry, real, again = plugins.three_runs("x509.private_key_managed", **new, **arguments)
    assert short(dry) == (None, "The private key would have been created", {"created": str(path)})
    assert short(real) == (True, "The private key has been created", {"created": str(path)})
    assert short(again) == (True, "The private key is in the correct state", {})
    assert path.read_bytes().startswith(begin)
    assert mode(path) == ("0o600" if "mode" in arguments else "0o400")
    (part,) = real["sub_state_run"]
    assert (part["low"]["state"], part["low"]["fun"], part["result"]) == ("file", "managed", True)
    assert "PRIVATE KEY" not in str((dry, real, again))


@pytest.mark.parametrize(("before", "after", "changes", "kept"), TABLES["a key is changed once"])
def test_a_key_is_changed_once(plugins, folder, before, after, changes, kept):  # noqa: PLR0917 - a table\'s columns
    path = folder / "www.key"
    plugins.call("x509.create_private_key", algo="ec", path=str(path), **before)
    public = plugins.call("x509.get_public_key", str(path), before.get("passphrase"))
    arguments = {"name": str(path), "algo": "ec", **after}
    changes = {each: str(path) if value == "NAME" else value for each, value in changes.items()}
    dry, real, again = plugins.three_runs("x509.private_key_managed", **arguments)
    assert short(dry) == (None, "The private key would have been recreated", changes)
    assert short(real) == (True, "The private key has been recreated", changes)
    assert short(again) == (True, "The private key is in the correct state", {})
    assert (plugins.call("x509.get_public_key", str(path), after.get("passphrase")) == public) is kept


def test_a_new_key_each_time(plugins, folder):
    arguments = {"name": str(folder / "www.key"), "algo": "ec", "new": True}
    _, real, again = plugins.three_runs("x509.private_key_managed", **arguments)
    assert real["changes"] == {"created": arguments["name"]}
    assert short(again) == (True, "The private key has been recreated", {"replaced": arguments["name"]})


@pytest.mark.parametrize(("content", "arguments", "comment"), TABLES["a key that cannot be"])
@pytest.mark.parametrize("test", [True, False])
def test_a_key_that_cannot_be(plugins, folder, content, arguments, comment, test):  # noqa: PLR0917 - a table's columns
    path = folder / "www.key"
    if content == "hello":
        path.write_text("hello")
    elif content:
        passphrase = "p" if content == "secret" else None
        plugins.call("x509.create_private_key", algo="ec", passphrase=passphrase, path=str(path))
    before = path.read_bytes() if path.exists() else None
    assert short(plugins.state("x509.private_key_managed", name=str(path), test=test, **arguments)) == (
        False, comment, {},
    )  # fmt: skip
    assert (path.read_bytes() if path.exists() else None) == before


def test_what_file_managed_refuses_is_told(plugins, folder):
    row = plugins.state("x509.private_key_managed", name="relative.key", algo="ec")
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"] == "Problem while testing file.managed changes, see its output"
    row = plugins.state("x509.private_key_managed", name=str(folder / "no" / "www.key"), algo="ec")
    assert short(row) == (False, "Could not create file, see file.managed output", {})
    row = plugins.state("x509.private_key_managed", name=str(folder / "www.key"), create=False)
    assert short(row) == (True, "The private key is in the correct state", {})
    assert not (folder / "www.key").exists()


def test_only_the_mode_of_a_key_changes(plugins, folder, key):
    before = (folder / "www.key").read_bytes()
    dry, real, again = plugins.three_runs("x509.private_key_managed", name=key, algo="ec", mode="0440")
    assert dry["sub_state_run"][0]["result"] is None
    assert short(real) == (True, "The private key is in the correct state", {})
    assert real["sub_state_run"][0]["changes"] == {"mode": "0440"}
    assert again["sub_state_run"][0]["changes"] == {}
    assert (mode(folder / "www.key"), (folder / "www.key").read_bytes()) == ("0o440", before)


def test_a_link_is_followed_to_the_key(plugins, folder, key):
    link = folder / "link.key"
    link.symlink_to(key)
    row = plugins.state("x509.private_key_managed", name=str(link), algo="ec", keysize=384)
    assert row["changes"] == {"keysize": 384}
    assert link.is_symlink()
    assert plugins.call("x509.get_private_key_size", key) == 384


def test_a_certificate_that_signs_itself(plugins, folder, key):
    path = folder / "www.crt"
    given = {"signing_private_key": key, "CN": "www", "O": "Acme", "C": "DE", "days_remaining": 30, **SAN}
    dry, real, again = plugins.three_runs("x509.certificate_managed", name=str(path), **given)
    assert short(dry) == (None, "The certificate would have been created", {"created": str(path)})
    assert short(real) == (True, "The certificate has been created", {"created": str(path)})
    assert short(again) == (True, "The certificate is in the correct state", {})
    told = plugins.call("x509.read_certificate", str(path))
    assert told["subject_str"] == told["issuer_str"] == "CN=www,O=Acme,C=DE"
    assert told["extensions"]["subjectAltName"]["value"] == [
        "dns:www.example.com", "ip:10.0.0.1", "mail:a@example.com", "uri:https://example.com/x",
    ]  # fmt: skip
    assert plugins.call("x509.verify_signature", str(path)) is True
    found = x509.load_pem_x509_certificate(path.read_bytes())
    assert (found.not_valid_after_utc - found.not_valid_before_utc).days in {364, 365}


@pytest.mark.parametrize(("change", "changes"), TABLES["a certificate is changed once"])
def test_a_certificate_is_changed_once(plugins, folder, authority, key, change, changes):  # noqa: PLR0917 - a table
    path = str(folder / "www.crt")
    given = {"name": path, "private_key": key, "CN": "www", **SAN, **authority}
    assert plugins.state("x509.certificate_managed", **given)["changes"] == {"created": path}
    change = {each: authority["signing_cert"] if value == "CA" else value for each, value in change.items()}
    remaining = {"days_valid": 500} if "days_remaining" in change else {}
    dry, real, again = plugins.three_runs("x509.certificate_managed", **{**given, **change, **remaining})
    assert short(dry) == (None, "The certificate would have been recreated", changes)
    assert short(real) == (True, "The certificate has been recreated", changes)
    assert short(again) == (True, "The certificate is in the correct state", {})
    assert plugins.call("x509.verify_signature", path, authority["signing_cert"]) is True
    assert plugins.call("x509.verify_private_key", key, path) is True


def test_another_authority_and_another_key(plugins, folder, authority, key):
    path = str(folder / "www.crt")
    given = {"name": path, "CN": "www", "private_key": key}
    plugins.state("x509.certificate_managed", **given, signing_private_key=key)
    row = plugins.state("x509.certificate_managed", **given, **authority)
    assert row["changes"] == {"signing_private_key": True, "issuer_name": "CN=ca"}
    other = plugins.call("x509.get_public_key", authority["signing_cert"])
    row = plugins.state("x509.certificate_managed", name=path, CN="www", public_key=other, **authority)
    assert row["changes"] == {"private_key": True}


def test_a_file_that_holds_something_else_becomes_a_certificate(plugins, folder, key):
    path = folder / "www.crt"
    path.write_text("-----BEGIN NONSENSE-----")
    row = plugins.state("x509.certificate_managed", name=str(path), CN="www", signing_private_key=key)
    assert short(row) == (True, "The certificate has been created", {"replaced": str(path)})


@pytest.mark.parametrize("policies", ["pillar", "opts"])
def test_a_signing_policy_has_the_last_word(plugins, folder, authority, key, policies):
    policy = [authority, {"O": "Policy"}, {"days_valid": 10}, {"X509v3 Key Usage": "digitalSignature"}]
    target = plugins.pillar if policies == "pillar" else plugins.opts
    target["x509_signing_policies"] = {"www": [*policy, {"copypath": str(folder)}]}
    path = str(folder / "www.crt")
    given = {"signing_policy": "www", "private_key": key, "CN": "www", "O": "mine", "days_remaining": 1}
    _, real, again = plugins.three_runs("x509.certificate_managed", name=path, **given)
    assert (real["changes"], again["changes"]) == ({"created": path}, {})
    told = plugins.call("x509.read_certificate", path)
    assert (told["subject_str"], told["issuer_str"]) == ("CN=www,O=Policy", "CN=ca")
    assert told["extensions"]["keyUsage"]["digitalSignature"] is True
    assert plugins.call("x509.expires", path, days=11) is True
    serial = int(told["serial_number"].replace(":", ""), 16)
    assert (folder / f"{serial:x}.crt").is_file()


@pytest.mark.parametrize(("arguments", "comment"), TABLES["a certificate that cannot be"])
def test_a_certificate_that_cannot_be(plugins, folder, authority, key, arguments, comment):  # noqa: PLR0917 - a table
    path = folder / "www.crt"
    places = {"CA": authority["signing_cert"], "KEY": key}
    arguments = {
        each: places.get(value, value) if isinstance(value, str) else value for each, value in arguments.items()
    }
    given = {"private_key": key, "CN": "www", **authority, **arguments}
    row = plugins.state("x509.certificate_managed", name=str(path), **given)
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"].startswith(comment) or comment in row["comment"]
    assert not path.exists()


def test_a_request_and_the_certificate_made_of_it(plugins, folder, authority, key):
    path = folder / "www.csr"
    given = {"private_key": key, "CN": "www", "extendedKeyUsage": "serverAuth"}
    dry, real, again = plugins.three_runs("x509.csr_managed", name=str(path), **given)
    assert short(dry) == (None, "The certificate signing request would have been created", {"created": str(path)})
    assert short(real) == (True, "The certificate signing request has been created", {"created": str(path)})
    assert short(again) == (True, "The certificate signing request is in the correct state", {})
    given = {"name": str(folder / "www.crt"), "csr": str(path), "CN": "www", **authority}
    assert plugins.state("x509.certificate_managed", **given)["changes"] == {"created": given["name"]}
    assert plugins.state("x509.certificate_managed", **given)["changes"] == {}
    told = plugins.call("x509.read_certificate", given["name"])
    assert told["extensions"]["extendedKeyUsage"]["value"] == ["serverAuth"]
    assert plugins.call("x509.verify_private_key", key, given["name"]) is True


@pytest.mark.parametrize(("change", "changes"), TABLES["a request is changed once"])
def test_a_request_is_changed_once(plugins, folder, authority, key, change, changes):  # noqa: PLR0917 - a table
    given = {"name": str(folder / "www.csr"), "private_key": key, "CN": "www"}
    plugins.state("x509.csr_managed", **given)
    if "private_key" in change:
        change = {"private_key": authority["signing_private_key"]}
    dry, real, again = plugins.three_runs("x509.csr_managed", **{**given, **change})
    assert short(dry) == (None, "The certificate signing request would have been recreated", changes)
    assert short(real) == (True, "The certificate signing request has been recreated", changes)
    assert short(again) == (True, "The certificate signing request is in the correct state", {})


@pytest.mark.parametrize(("change", "changes"), TABLES["a revocation list"])
def test_a_revocation_list(plugins, folder, authority, change, changes):
    path = str(folder / "ca.crl")
    expired = {"serial_number": 8, "not_after": "2020-01-01 00:00:00"}
    given = {"revoked": [{"serial_number": "0A:0B"}, expired], "extensions": {"cRLNumber": "auto"}, **authority}
    dry, real, again = plugins.three_runs("x509.crl_managed", name=path, text=True, **given)
    assert short(dry) == (None, "The certificate revocation list would have been created", {"created": path})
    assert short(real) == (True, "The certificate revocation list has been created", {"created": path})
    assert short(again) == (True, "The certificate revocation list is in the correct state", {})
    dry, real, again = plugins.three_runs("x509.crl_managed", name=path, **{**given, **change})
    assert short(dry) == (None, "The certificate revocation list would have been recreated", changes)
    assert short(real) == (True, "The certificate revocation list has been recreated", changes)
    assert short(again) == (True, "The certificate revocation list is in the correct state", {})
    assert plugins.call("x509.verify_crl", path, authority["signing_cert"]) is True
    if change.get("encoding") != "der":
        found = x509.load_pem_x509_crl((folder / "ca.crl").read_bytes())
        assert found.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number == 2


@pytest.mark.parametrize(("arguments", "comment"), TABLES["a revocation list that cannot be"])
def test_a_revocation_list_that_cannot_be(plugins, folder, authority, arguments, comment):
    given = {"revoked": [], **authority, **arguments}
    row = plugins.state("x509.crl_managed", name=str(folder / "ca.crl"), **given)
    assert (row["result"], row["changes"]) == (False, {})
    assert row["comment"].startswith(comment)


def test_a_pem_entry(plugins, folder):
    path = folder / "x.pem"
    text = "noise\n-----BEGIN CERTIFICATE-----\\nAAAA BB\nCC==\n-----END CERTIFICATE-----"
    dry, real, again = plugins.three_runs("x509.pem_managed", name=str(path), text=text)
    assert (dry["result"], real["result"], again["changes"]) == (None, True, {})
    assert path.read_text() == "-----BEGIN CERTIFICATE-----\nAAAABBCC==\n-----END CERTIFICATE-----\n"
    row = plugins.state("x509.pem_managed", name=str(path), text="-----BEGIN nothing")
    assert short(row) == (False, "PEM text not valid", {})
    row = plugins.state("x509.pem_managed", name=str(path), text=text, colour="blue")
    assert short(row) == (False, "Unrecognized keyword arguments: ['colour']", {})


def test_dates(plugins, folder, key):
    path = str(folder / "www.crt")
    dates = {"not_before": "2020-01-01 00:00:00", "not_after": "2020-02-01 00:00:00"}
    plugins.state("x509.certificate_managed", name=path, CN="www", signing_private_key=key, **dates)
    told = plugins.call("x509.read_certificate", path)
    assert {each: told[each] for each in dates} == dates
    assert plugins.call("x509.expired", path) == {"path": path, "cn": "www", "expired": True}
    found = plugins.call("x509.will_expire", path, -100_000)
    assert found == {"path": path, "cn": "www", "check_days": -100_000, "will_expire": False}
    assert dt.datetime.strptime(told["not_after"], "%Y-%m-%d %H:%M:%S") < dt.datetime(2020, 2, 2)  # noqa: DTZ001, DTZ007


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("import sys; sys.modules['cryptography'] = None", "(cryptography is missing): pip install 'cryptography>=43'"),
        (
            "import cryptography; cryptography.__version__ = '38.0.4'",
            "(38.0.4 is too old): pip install 'cryptography>=43'",
        ),
        ("import cryptography; cryptography.__version__ = '43.0.1'", "True"),
    ],
)
def test_without_the_library_the_reason_names_the_extra(tmp_path, before, said):
    program = f"{before}\nfrom asyncstate.modules import x509\nprint(x509.__virtual__())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert said in done.stdout


@pytest.mark.timeout(20)
def test_certificates_without_an_end_take_no_hours(plugins, tmp_path):
    path = tmp_path / "cert.pem"
    path.write_text("-----BEGIN CERTIFICATE-----" * 100_000)
    with pytest.raises(Exception, match=r"Could not load PEM-encoded certificate"):
        plugins.call("x509.read_certificate", str(path))
