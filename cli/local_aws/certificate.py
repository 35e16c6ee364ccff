"""A certificate for 127.0.0.1, made anew for every run and trusted by nothing else."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

_LIFETIME: Final = timedelta(days=1)


def write_certificate(folder: Path, host: str) -> tuple[Path, Path]:
    """Write a self-signed certificate for an IP address and localhost; its path, and its key's."""
    # Here, since it comes with the tests' libraries and not with what a launcher installs.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an AWS on this machine")])
    # The server calls itself localhost where it tells addresses.
    names = [x509.IPAddress(ipaddress.ip_address(host)), x509.DNSName("localhost")]
    known = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # clocks jump
        .not_valid_after(now + _LIFETIME)
    )
    # All that a strict verifier, such as Python's since 3.13, asks of a certificate.
    for extension, critical in (
        (x509.SubjectAlternativeName(names), False),
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
        (known, False),
        (x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(known), False),
    ):
        builder = builder.add_extension(extension, critical)
    certificate, secret = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(
        builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    )
    secret.touch(mode=0o600)
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return certificate, secret
