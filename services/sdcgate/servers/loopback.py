"""Which hosts reach nobody beyond this machine."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether a host reaches nobody beyond this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
