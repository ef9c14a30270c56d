"""Certificates of TLS: checked before a service shows them, and read again when their files change.

A pair that cannot be used keeps a service from starting, and is never taken in place of one that can.
"""

import ssl
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

import grpc

from sdcgate.servers.logging import logger
from sdcgate.servers.monitoring_settings import Receiver
from sdcgate.servers.settings import Tls

Stamp = tuple[tuple[int, int, int], ...]
"""Of each file its inode, size and time of change: a new one where another file stands in its place."""


def check_pair(certificate: bytes, key: bytes, name: str) -> None:
    """Look whether a certificate can be shown today with a key, both PEM.

    Raises:
        ValueError: either cannot be read, they do not belong together, or the certificate is not in force.
    """
    from cryptography import x509
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        found = x509.load_pem_x509_certificates(certificate)[0]
        belongs = load_pem_private_key(key, None).public_key() == found.public_key()
    except (ValueError, TypeError, IndexError, UnsupportedAlgorithm):
        raise ValueError(f"{name}: certificate or key is no PEM that can be read") from None
    if not belongs:
        raise ValueError(f"{name}: the key is not that of the certificate")
    now = datetime.now(UTC)
    if not found.not_valid_before_utc <= now < found.not_valid_after_utc:
        raise ValueError(
            f"{name}: the certificate is in force from {found.not_valid_before_utc:%Y-%m-%d %H:%M} until "
            f"{found.not_valid_after_utc:%Y-%m-%d %H:%M} UTC, and not today"
        )


def stamp_of(*files: Path | None) -> Stamp:
    """What tells whether another file stands in the place of one of them.

    Raises:
        OSError: one of them is not there.
    """
    found = (file.stat() for file in files if file is not None)
    return tuple((one.st_ino, one.st_size, one.st_mtime_ns) for one in found)


def receiver_context(receiver: Receiver) -> ssl.SSLContext:
    """TLS towards somebody who is sent to: believes his authority, or the machine's, and shows our pair.

    Raises:
        OSError: a file cannot be read, or what it holds cannot be used.
    """
    context = ssl.create_default_context(cafile=receiver.ca)
    if receiver.certificate is not None:
        # With a password a key that is encrypted is an error; without one it would be asked for.
        context.load_cert_chain(receiver.certificate, receiver.key, password="")
    return context


class CertificateFiles:
    """The files of a section's TLS, and whether they have changed. Threads may share one."""

    def __init__(self, tls: Tls) -> None:
        if tls.certificate is None or tls.key is None:
            raise ValueError("tls needs certificate and key")
        self._certificate, self._key, self._authority = tls.certificate, tls.key, tls.client_ca
        self._lock = Lock()
        self._seen = self._stamp()

    def read(self) -> tuple[bytes, bytes, bytes | None]:
        """Key, certificate and authority of callers, checked.

        Raises:
            OSError: a file cannot be read.
            ValueError: the pair cannot be used.
        """
        key, certificate = self._key.read_bytes(), self._certificate.read_bytes()
        check_pair(certificate, key, str(self._certificate))
        return key, certificate, self._authority.read_bytes() if self._authority else None

    def changed(self) -> tuple[bytes, bytes, bytes | None] | None:
        """What stands in the files where it is new and can be used; else None, and what was shown stays."""
        with self._lock:
            try:
                stamp = self._stamp()
                if stamp == self._seen:
                    return None
                found = self.read()
                self._seen = stamp
            except (OSError, ValueError) as error:
                # Whoever replaces the files may be in the middle of it: they are looked at again.
                logger("tls").warning("new certificate not used", error=type(error).__name__)
                return None
        logger("tls").info("new certificate", file=str(self._certificate))
        return found

    def _stamp(self) -> Stamp:
        return stamp_of(self._key, self._certificate, self._authority)


def server_credentials(tls: Tls) -> grpc.ServerCredentials:
    """Credentials from the files of a section, looked at again at each new connection.

    Raises:
        OSError: one of them cannot be read.
        ValueError: certificate and key cannot be used.
    """
    files = CertificateFiles(tls)

    def configuration(found: tuple[bytes, bytes, bytes | None]) -> grpc.ServerCertificateConfiguration:
        key, certificate, authority = found
        return grpc.ssl_server_certificate_configuration([(key, certificate)], authority)

    def newer() -> grpc.ServerCertificateConfiguration | None:
        found = files.changed()
        return None if found is None else configuration(found)

    return grpc.dynamic_ssl_server_credentials(
        configuration(files.read()),
        newer,  # type: ignore[arg-type]  # None is no change, which the stubs do not know
        require_client_authentication=tls.client_ca is not None,
    )


class HttpsCertificate:
    """The certificate that a TLS context of an HTTP server shows. Its authority of callers stays as it is."""

    def __init__(self, tls: Tls) -> None:
        self._tls = tls
        self._files = CertificateFiles(tls)
        self._files.read()

    def renew(self, context: ssl.SSLContext) -> bool:
        """Show what stands in the files from the next connection on, where it is new and can be used."""
        if self._files.changed() is None or self._tls.certificate is None:
            return False
        try:
            context.load_cert_chain(self._tls.certificate, self._tls.key)
        except OSError as error:
            # Replaced once more since they were read: the next look finds that.
            logger("tls").warning("new certificate not used", error=type(error).__name__)
            return False
        return True
