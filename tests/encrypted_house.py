"""A house with certificates on every connection between its services, and on those of its callers."""

from pathlib import Path

import pytest

from certificate_authority import CertificateAuthority
from served_house import ServedHouse

CALLS = {
    "gateway": ("facility", "risk", "protection"),
    "facility": ("risk", "protection"),
    "risk": ("facility",),
    "protection": ("facility",),
}
"""Which service calls which."""
SERVERS = ("facility", "risk", "protection")


def encrypted_house(authority: CertificateAuthority, folder: Path) -> ServedHouse:
    """With pairs of the authority that are in force for an hour, by the services' names."""
    pairs = {name: authority.make(name) for name in CALLS}
    with pytest.MonkeyPatch.context() as environment:
        for name in SERVERS:
            prefix = f"SDCGATE_{name.upper()}__TLS__"
            environment.setenv(f"{prefix}CERTIFICATE", str(pairs[name]["certificate"]))
            environment.setenv(f"{prefix}KEY", str(pairs[name]["key"]))
            environment.setenv(f"{prefix}CLIENT_CA", str(authority.ca))
        for name, called in CALLS.items():
            for peer in called:
                prefix = f"SDCGATE_{name.upper()}__{peer.upper()}__"
                environment.setenv(f"{prefix}CA", str(authority.ca))
                environment.setenv(f"{prefix}CERTIFICATE", str(pairs[name]["certificate"]))
                environment.setenv(f"{prefix}KEY", str(pairs[name]["key"]))
        return ServedHouse(folder)
