"""Whoever calls risk or protection with a key or token: the facility is asked, its answer kept for seconds.

Only the facility knows keys. Where it does not answer nobody gets in.
"""

import hashlib
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from threading import Lock

import grpc
import structlog
from cachetools import TLRUCache

from sdcgate.facility.access import require
from sdcgate.facility.errors import Forbidden
from sdcgate.servers.authentication import (
    AUTHORIZATION_KEY,
    ROLE_KEY,
    Authenticate,
    KeyCaller,
    ServiceCaller,
    caller,
    service_authenticator,
    wanted_role,
)
from sdcgate.servers.channels import bare_channel
from sdcgate.servers.errors import PermissionDenied, Unavailable
from sdcgate.servers.logging import REQUEST_ID
from sdcgate.servers.request_ids import REQUEST_ID_KEY, request_id
from sdcgate.servers.rooms import CheckLane
from sdcgate.servers.settings import CheckServer, Settings
from sdcgate.servers.tracing import carried
from sdcgate.wire.dimensions import MAXIMUM_CELLS
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2, facility_pb2_grpc

Ask = Callable[[str], KeyCaller | None]
"""Token -> whom it belongs to, None where to nobody.

Raises PermissionDenied for a token without a role, Unavailable where that cannot be told.
"""

CHECK, PROTECT_FILES = "check", "protect_files"
"""What people may do on the check side, by the names of their permissions."""
ASK_SECONDS = 2.0
MOST_KEPT = 10_000
UNKNOWN_SECONDS = 1.0
"""How long a token is taken to be unknown: a key that was just made works soon."""


@dataclass(frozen=True, slots=True)
class _Answer:
    caller: KeyCaller | None
    until: float


class Callers:
    """Who calls, by what the facility said no longer than `keep_seconds` ago."""

    def __init__(
        self,
        ask: Ask,
        keep_seconds: float,
        timer: Callable[[], float] = time.monotonic,
        actions: Collection[str] = (CHECK,),
    ) -> None:
        self._ask = ask
        self._actions = actions
        self._keep_seconds = keep_seconds
        self._timer = timer
        # Apart, so that made-up tokens drive nobody out.
        self._known = _kept(timer)
        self._unknown = _kept(timer)
        self._using = Lock()

    def __call__(self, token: str) -> KeyCaller | None:
        """Whom a token belongs to; None where to nobody.

        Raises:
            PermissionDenied: to somebody whose role may not use the check side.
            Unavailable: the facility cannot be asked.
        """
        digest = hashlib.sha256(f"{wanted_role()}\n{token}".encode()).digest()
        with self._using:
            answer = self._known.get(digest) or self._unknown.get(digest)
        if answer is None:
            answer = self._asked(token)
            with self._using:
                (self._known if answer.caller else self._unknown)[digest] = answer
        if answer.caller is not None:
            _require_any(answer.caller, self._actions)
        return answer.caller

    def _asked(self, token: str) -> _Answer:
        # Kept from before the question: a key may be revoked while the answer is on its way.
        began = self._timer()
        found = self._ask(token)
        seconds = self._keep_seconds if found else min(UNKNOWN_SECONDS, self._keep_seconds)
        return _Answer(found, began + seconds)


def may(action: str) -> None:
    """Turn away people whose role does not allow an action of the check side; services may do all.

    Raises PermissionDenied.
    """
    found = caller()
    if isinstance(found, KeyCaller):
        _require_any(found, (action,))


def _require_any(found: KeyCaller, actions: Collection[str]) -> None:
    """Raises PermissionDenied where the role allows none of the actions, naming the roles of the first."""
    refused = []
    for action in actions:
        try:
            require(found, action)
        except Forbidden as error:
            refused.append(str(error))
    if len(refused) == len(actions):
        raise PermissionDenied(refused[0])


def _kept(timer: Callable[[], float]) -> "TLRUCache[bytes, _Answer]":
    return TLRUCache(MOST_KEPT, lambda digest, answer, now: answer.until, timer)  # noqa: ARG005


def facility_asker(channel: grpc.Channel) -> Ask:
    """Asks the facility behind a channel."""
    stub = facility_pb2_grpc.FacilityServiceStub(channel)

    def ask(token: str) -> KeyCaller | None:
        bound = structlog.contextvars.get_contextvars().get(REQUEST_ID)
        metadata = (
            (AUTHORIZATION_KEY, f"Bearer {token}"),
            *(((ROLE_KEY, wanted_role()),) if wanted_role() else ()),
            (REQUEST_ID_KEY, request_id(bound)),
            *carried(),
        )
        try:
            found = stub.GetCaller(facility_pb2.GetCallerRequest(), timeout=ASK_SECONDS, metadata=metadata)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                return None
            if error.code() is grpc.StatusCode.PERMISSION_DENIED:
                # A token that carries no role, or several of which none is named.
                raise PermissionDenied(error.details() or "") from None
            raise Unavailable("The facility cannot be asked whose key this is; try again") from None
        return KeyCaller(found.key_id, found.role, found.researcher)

    return ask


def check_side(
    settings: Settings, section: CheckServer, token: str, actions: Collection[str] = (CHECK,)
) -> tuple[Authenticate, CheckLane]:
    """Who may call a service of the check side: the house's services, and people whom the facility knows.

    People need a role that allows one of the `actions`; where these are several, each call says which is its
    own (`may`).

    Raises ValueError where the facility would have to be called in plaintext that was not asked for.
    """
    address = settings.address(section.facility, settings.facility)
    ask = facility_asker(bare_channel(address, section.facility))
    callers = Callers(ask, section.caller_cache_seconds, actions=actions)
    service = service_authenticator(token)

    def authenticate(shown: str) -> ServiceCaller | KeyCaller | None:
        return service(shown) or callers(shown)

    lane = CheckLane(
        section.check_calls, section.waiting_check_calls, lambda shown: service(shown) is not None
    )
    return authenticate, lane


def most_cells(of_people: int) -> int:
    """The largest table that is taken from whoever makes this call."""
    return of_people if isinstance(caller(), KeyCaller) else MAXIMUM_CELLS
