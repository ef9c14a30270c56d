"""An authority that makes certificates for the loopback, as PEM files in a folder."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


class CertificateAuthority:
    """Writes `<name>.pem` and `<name>.key`; `ca` is its own certificate."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        self.ca = folder / f"{name}-ca.pem"
        own = self._builder(self._name, self._key, -HOUR, 24 * HOUR)
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self._write(self.ca, own.sign(self._key, hashes.SHA256()))

    def make(
        self, name: str, begins: timedelta = -MINUTE, ends: timedelta = HOUR, file: str = ""
    ) -> dict[str, Path]:
        """A pair for a service or a client, valid from and until so long from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        built = self._builder(_named(name), key, begins, ends).add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        pair = {
            "certificate": self.folder / f"{file or name}.pem",
            "key": self.folder / f"{file or name}.key",
        }
        self._write(pair["certificate"], built.sign(self._key, hashes.SHA256()))
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        _replace(pair["key"], private)
        return pair

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, begins: timedelta, ends: timedelta
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + begins)
            .not_valid_after(now + ends)
        )

    def _write(self, path: Path, certificate: x509.Certificate) -> None:
        _replace(path, certificate.public_bytes(serialization.Encoding.PEM))


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _replace(path: Path, content: bytes) -> None:
    """As secrets are replaced on a running machine: the new file takes the old one's place at once."""
    draft = path.with_name(f"{path.name}.new")
    draft.write_bytes(content)
    draft.replace(path)
