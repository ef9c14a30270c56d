"""How often the gateway is asked: by one caller, from one address, and in vain from one address.

Counted in sliding windows of a minute, in the memory of this process: each replica counts for itself.
"""

import hashlib
import math
import time
from ipaddress import IPv6Address, ip_address, ip_network

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from sdcgate.servers.errors import ResourceExhausted
from sdcgate.servers.settings import Edge

_IPV6_NETWORK_BITS = 64
"""One subscriber has as many IPv6 addresses as he likes within such a network."""


class RateLimits:
    """Counts requests and turns away what is too much; a limit of 0 is none."""

    def __init__(self, edge: Edge) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._calls = _limit(edge.calls_per_minute)
        self._address = _limit(edge.address_calls_per_minute)
        self._failures = _limit(edge.failures_per_minute)

    def arrived(self, address: str) -> None:
        """Count a request from an address.

        Raises:
            ResourceExhausted: there were too many, or too many in vain.
        """
        place = network_of(address)
        if self._failures is not None and not self._limiter.test(self._failures, "failures", place):
            raise self._too_many(self._failures, "failures", place)
        self._hit(self._address, "address", place)

    def called(self, shown: str) -> None:
        """Count a request with a key or token, of which only the digest is kept; raises as `arrived`."""
        self._hit(self._calls, "caller", hashlib.sha256(shown.encode()).hexdigest())

    def failed(self, address: str) -> None:
        """Count a request whose key or token was none."""
        if self._failures is not None:
            self._limiter.hit(self._failures, "failures", network_of(address))

    def _hit(self, limit: RateLimitItemPerMinute | None, *counted: str) -> None:
        if limit is not None and not self._limiter.hit(limit, *counted):
            raise self._too_many(limit, *counted)

    def _too_many(self, limit: RateLimitItemPerMinute, *counted: str) -> ResourceExhausted:
        problem = ResourceExhausted("Too many requests; wait as Retry-After says")
        reset = self._limiter.get_window_stats(limit, *counted).reset_time
        problem.retry_after = max(1, math.ceil(reset - time.time()))
        return problem


def network_of(address: str) -> str:
    """What is counted together: an IPv4 address, or the network of an IPv6 one."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((found, _IPV6_NETWORK_BITS), strict=False))


def _limit(calls: int) -> RateLimitItemPerMinute | None:
    return RateLimitItemPerMinute(calls) if calls else None
