"""Connections to a receiver of the decision log: whom we believe, what we show, and why one was not made."""

import ssl

import httpx

from sdcgate.servers.certificates import Stamp, receiver_context, stamp_of
from sdcgate.servers.monitoring_settings import LogReceiver

_NO_AUTHORITY = "its certificate is of no authority that is trusted"
_REFUSED = {
    2: _NO_AUTHORITY,
    9: "its certificate is not in force yet",
    10: "its certificate has run out",
    18: _NO_AUTHORITY,
    19: _NO_AUTHORITY,
    20: _NO_AUTHORITY,
    21: _NO_AUTHORITY,
    62: "its certificate is of another name",
    64: "its certificate is of another address",
}
"""What OpenSSL finds wrong with a certificate (X509_V_ERR_...). Its own texts repeat the name."""


class Connections:
    """Makes a client for the receiver, and a new one where a file of its TLS was replaced. For one thread."""

    def __init__(self, receiver: LogReceiver) -> None:
        self._receiver = receiver
        self._seen = self._stamp()
        self._client = self._made()

    def client(self) -> httpx.Client:
        """The client, with what stands in the files now.

        Raises:
            OSError: a file cannot be read, or what it holds cannot be used.
        """
        # First the stamp: what is replaced while it is read is seen at the next look.
        stamp = self._stamp()
        if stamp != self._seen:
            fresh = self._made()
            self._client.close()
            self._client, self._seen = fresh, stamp
        return self._client

    def _stamp(self) -> Stamp:
        return stamp_of(self._receiver.ca, self._receiver.certificate, self._receiver.key)

    def _made(self) -> httpx.Client:
        return httpx.Client(
            timeout=self._receiver.timeout_seconds,
            verify=receiver_context(self._receiver),
            follow_redirects=False,
            trust_env=False,
        )


def why_not_reached(error: BaseException) -> str:
    """What went wrong with a connection, without a word of address, certificate or of what was sent."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _REFUSED.get(cause.verify_code, f"its certificate is not accepted ({cause.verify_code})")
        if isinstance(cause, ssl.SSLError):
            return f"TLS failed ({cause.reason or type(cause).__name__})"
        cause = cause.__cause__ or cause.__context__
    return type(error).__name__
