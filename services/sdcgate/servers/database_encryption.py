"""Whether what goes to PostgreSQL beyond this machine is encrypted, to a server that was checked.

Without `sslmode` PostgreSQL's library encrypts if the server offers it, and believes whoever answers; where
the server, or somebody between, offers nothing, everything is sent in plaintext.
"""

import os
from collections.abc import Iterator, Mapping

from sqlalchemy import make_url
from sqlalchemy.engine import URL

from sdcgate.servers.loopback import is_loopback

VERIFIED = "verify-full"
ASKED_FOR = "disable"
"""Plaintext that somebody has chosen, for a network that nobody else is on."""


def doubt(url: str, environment: Mapping[str, str] = os.environ) -> str:
    """What is left open by the URL of a PostgreSQL database beyond this machine; empty where nothing is.

    The text has neither password nor address.

    Raises:
        ValueError: it is no URL.
    """
    address = make_url(url)
    if address.get_backend_name() != "postgresql" or all(map(_stays_here, _hosts(address, environment))):
        return ""
    given = address.query.get("sslmode") or environment.get("PGSSLMODE", "")
    mode = given if isinstance(given, str) else given[-1]
    if mode in {VERIFIED, ASKED_FOR}:
        return ""
    lacks = {
        "require": "is encrypted, but whoever answers is believed",
        "verify-ca": "is encrypted, but to any host that has a certificate of the authority",
    }.get(mode, "is in plaintext where the server offers no encryption")
    return (
        f"PostgreSQL is beyond this machine, and the connection {lacks}: add sslmode={VERIFIED} (and "
        f"sslrootcert) to its URL, or sslmode={ASKED_FOR} where nobody else is on the network between"
    )


def _hosts(address: URL, environment: Mapping[str, str]) -> Iterator[str]:
    """All hosts that may be connected to; a folder is that of a socket, and so is no host at all."""
    named = [address.host or ""]
    for name in ("host", "hostaddr"):
        found = address.query.get(name, ())
        named += [found] if isinstance(found, str) else found
    hosts = [host for text in named for host in text.split(",") if host]
    yield from hosts or environment.get("PGHOST", "").split(",")


def _stays_here(host: str) -> bool:
    return not host or host.startswith(("/", "@")) or is_loopback(host) or is_loopback(host.partition(":")[0])
