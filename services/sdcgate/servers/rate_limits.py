"""How often the gateway is asked: by one caller, from one address, and in vain from one address.

Counted in sliding windows of a minute, in the memory of this process: each replica counts for itself.

The gateway does not check tokens. What a token says of a person, and whom a portal names, is believed once a
service has answered a call with it; until then it counts as the token that it is. So nobody is counted for
what others claim, and whoever shows a new token or names somebody new with every call is counted, too.
"""

import base64
import hashlib
import json
import math
import re
import time
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network

from cachetools import TTLCache
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from sdcgate.servers.errors import ResourceExhausted
from sdcgate.servers.settings import Edge

_IPV6_NETWORK_BITS = 64
"""One subscriber has as many IPv6 addresses as he likes within such a network."""

_JWT = re.compile(r"[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+")
_REMEMBERED = 65_536
_REMEMBERED_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Counted:
    """A request that was let in: digests of what it shows."""

    token: str
    """Of the key or token."""
    person: str
    """Of issuer and subject as a token states them; empty for a key."""
    name: str
    """Of the researcher for whom a portal says that it acts; empty without one."""
    as_person: bool
    """Whether it was counted for whom it is, not for its token alone."""


class RateLimits:
    """Counts requests and turns away what is too much; a limit of 0 is none."""

    def __init__(self, edge: Edge) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._calls = _limit(edge.calls_per_minute)
        self._address = _limit(edge.address_calls_per_minute)
        self._failures = _limit(edge.failures_per_minute)
        self._accepted: TTLCache[tuple[str, ...], bool] = TTLCache(_REMEMBERED, _REMEMBERED_SECONDS)
        """Tokens that a service took, and researchers (beside who acts for them) whom the facility took."""

    def arrived(self, address: str) -> None:
        """Count a request from an address.

        Raises:
            ResourceExhausted: there were too many, or too many in vain.
        """
        place = network_of(address)
        if self._failures is not None and not self._limiter.test(self._failures, "failures", place):
            raise self._too_many(self._failures, "failures", place)
        self._hit(self._address, "address", place)

    def called(self, shown: str, on_behalf_of: str = "") -> Counted:
        """Count a request with a key or token, of which only digests are kept; raises as `arrived`.

        A token that no service has taken yet is counted for itself. It is turned away where the person whom
        it names has asked too often, but uses up nothing of his.
        """
        token, person = _digest(shown), _person(shown)
        name = _digest(on_behalf_of) if on_behalf_of else ""
        known = not person or (token,) in self._accepted
        of_person = self._of(person or token, name)
        if known:
            self._hit(self._calls, *of_person)
        else:
            if self._calls is not None and not self._limiter.test(self._calls, *of_person):
                raise self._too_many(self._calls, *of_person)
            self._hit(self._calls, "caller", token)
        return Counted(token, person, name, known)

    def accepted(self, call: Counted, *, name_checked: bool) -> None:
        """Note that a service answered this call: its token is good and, where that was checked, its name."""
        who = call.person or call.token
        if self._calls is not None and not call.as_person:
            self._limiter.hit(self._calls, *self._of(who, call.name))
        if call.person:
            self._accepted[(call.token,)] = True
        if call.name and name_checked:
            self._accepted[who, call.name] = True

    def _of(self, who: str, name: str) -> tuple[str, ...]:
        # Names that were never taken share one count, or whoever invents names would never be counted.
        return ("caller", who, name) if (who, name) in self._accepted else ("caller", who)

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


def _digest(*parts: str) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _person(shown: str) -> str:
    """Digest of the issuer and the subject that a JWT states, unchecked; empty where it states none."""
    parts = _JWT.fullmatch(shown.rpartition(" ")[2])
    if parts is None:
        return ""
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return ""
    if not isinstance(claims, dict):
        return ""
    issuer, subject = claims.get("iss"), claims.get("sub")
    return _digest(issuer, subject) if isinstance(issuer, str) and isinstance(subject, str) else ""
