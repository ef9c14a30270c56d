"""API keys: who may call. A key is `sdcg_<key id>_<256 random bits>`; only its SHA-256 is stored.

Creating and revoking are events of the ledger, so that nobody becomes a checker by a row in a table.
"""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, bindparam, select

from sdcgate.ledger import reading
from sdcgate.ledger.errors import UnknownKey
from sdcgate.ledger.events import KEY_CREATED, KEY_REVOKED, Draft, timestamp_of, timestamp_text
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.schema import api_key_revocations, api_keys, events

MAXIMUM_DAYS = 3650
KEY_PREFIX = "sdcg_"
_PLAINTEXT = re.compile(rf"{KEY_PREFIX}(?P<key_id>[0-9a-f]{{16}})_[A-Za-z0-9_-]{{43}}")
_KEY = (
    select(events, api_keys.c.digest)
    .join(api_keys, api_keys.c.sequence == events.c.sequence)
    .where(api_keys.c.key_id == bindparam("key_id"))
)
_REVOKED = select(api_key_revocations.c.sequence).where(api_key_revocations.c.key_id == bindparam("key_id"))


class Role(StrEnum):
    """What a caller is; `service` is for calls between our own services."""

    RESEARCHER = "researcher"
    PORTAL = "portal"
    CHECKER = "checker"
    STEWARD = "steward"
    AUDITOR = "auditor"
    OPERATOR = "operator"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a key is limited to, within what its role may do."""

    datasets: tuple[str, ...] = ()
    """Datasets that it is for; all of them where empty."""
    projects: tuple[str, ...] = ()
    """Projects that it is for; all of them, and none, where empty."""
    acts_for: tuple[str, ...] = ()
    """Researchers for whom a portal may act, `*` for everybody; nobody where empty."""


UNLIMITED = Scope()


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: with which key, in which role, and which person."""

    key_id: str
    """The key; for a token `token:` and its subject."""
    role: Role
    researcher: str
    portal: str = ""
    """The portal that acts for the researcher, where one does."""
    scope: Scope = UNLIMITED

    def is_who(self, researcher: str, key_id: str) -> bool:
        """Whether this is who did something under this name or with this key."""
        return self.researcher == researcher or self.key_id == key_id


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key without its secret."""

    key_id: str
    role: Role
    researcher: str
    label: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    scope: Scope = UNLIMITED


@dataclass(frozen=True, slots=True)
class _Verified:
    digest: bytes
    caller: Caller
    expires_at: datetime


class Credentials:
    """Makes, checks and revokes API keys of a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._verified: dict[str, _Verified] = {}
        self._expired: set[str] = set()
        """Keys that were shown after their time: a clock that is set back does not make them good again."""

    def create(
        self,
        role: Role | str,
        researcher: str,
        label: str,
        days: int,
        author: str = "operator",
        scope: Scope = UNLIMITED,
    ) -> tuple[str, KeyRecord]:
        """A new key for a person in a role; the plaintext is given this once and never stored.

        Raises:
            ValueError: naming everything that is wrong.
        """
        problems = []
        if role not in set(Role):
            problems.append(f"role: must be one of {', '.join(Role)}")
        if not researcher or "\0" in researcher:
            problems.append("researcher: must name the person or service that the key is for")
        if "\0" in label:
            problems.append("label: must be valid text without NUL")
        if not 1 <= days <= MAXIMUM_DAYS:
            problems.append(f"days: must be 1 to {MAXIMUM_DAYS}")
        problems += _scope_problems(role, scope)
        if problems:
            raise ValueError("; ".join(problems))
        key_id = secrets.token_hex(8)
        plaintext = f"{KEY_PREFIX}{key_id}_{secrets.token_urlsafe(32)}"
        expires = self._ledger.now() + timedelta(days=days)
        fields = {
            "key_id": key_id,
            "role": str(role),
            "researcher": researcher,
            "label": label,
            "digest": _digest(plaintext).hex(),
            "expires_at": timestamp_text(expires),
            "author": author,
            "scope": asdict(scope),
        }
        appended, _ = self._ledger.append(Draft(KEY_CREATED, fields), lambda _: None)
        record = KeyRecord(key_id, Role(role), researcher, label, appended.recorded_at, expires, None, scope)
        return plaintext, record

    def authenticate(self, plaintext: str) -> Caller | None:
        """Who this key is of; None where there is no such key, or it is expired or revoked.

        Raises:
            LedgerDamaged: the key's record is not what was signed.
        """
        matched = _PLAINTEXT.fullmatch(plaintext)
        key_id = matched["key_id"] if matched else ""
        with self._ledger.reading() as connection:
            revoked = connection.scalar(_REVOKED, {"key_id": key_id}) is not None
            verified = self._verified.get(key_id) or self._read(connection, key_id)
        stored = verified.digest if verified else bytes(32)
        same = hmac.compare_digest(stored, _digest(plaintext))
        if verified is None or not same or revoked:
            return None
        if self._ledger.now() >= verified.expires_at:
            self._expired.add(key_id)
        if key_id in self._expired:
            return None
        self._verified[key_id] = verified
        return verified.caller

    def revoke(self, key_id: str, author: str = "operator") -> None:
        """Make a key worthless from now on; one that is revoked stays so.

        Raises:
            UnknownKey: there is none with this id.
        """
        with self._ledger.reading() as connection:
            known = connection.execute(_KEY, {"key_id": key_id}).one_or_none()
        if known is None:
            raise UnknownKey(f"there is no API key {key_id}")

        def check(connection: Connection) -> None:
            if connection.scalar(_REVOKED, {"key_id": key_id}) is not None:
                raise _AlreadyRevoked

        try:
            self._ledger.append(Draft(KEY_REVOKED, {"key_id": key_id, "author": author}), check)
        except _AlreadyRevoked:
            return

    def list(self) -> list[KeyRecord]:
        """All keys, the oldest first."""
        statement = (
            select(api_keys, api_key_revocations.c.revoked_at)
            .outerjoin(api_key_revocations, api_key_revocations.c.key_id == api_keys.c.key_id)
            .order_by(api_keys.c.sequence)
        )
        with self._ledger.reading() as connection:
            return [_record(row) for row in connection.execute(statement)]

    def _read(self, connection: Connection, key_id: str) -> _Verified | None:
        row = connection.execute(_KEY, {"key_id": key_id}).mappings().one_or_none()
        if row is None:
            return None
        body = reading.read_event(dict(row), self._ledger.key_ring).body
        if body["kind"] != KEY_CREATED or body["key_id"] != key_id:
            return None
        scope = _scope(body.get("scope", {}))
        caller = Caller(key_id, Role(body["role"]), body["researcher"], scope=scope)
        return _Verified(bytes.fromhex(body["digest"]), caller, timestamp_of(body["expires_at"]))


class _AlreadyRevoked(Exception):
    """Ends the transaction of a second revocation."""


def _digest(plaintext: str) -> bytes:
    return hashlib.sha256(plaintext.encode("utf-8", "surrogatepass")).digest()


def _scope(value: Mapping[str, list[str]]) -> Scope:
    return Scope(**{name: tuple(names) for name, names in value.items()})


def _scope_problems(role: Role | str, scope: Scope) -> list[str]:
    problems = [
        f"{name}: must be names, without NUL"
        for name, names in asdict(scope).items()
        if any(not one or "\0" in one for one in names)
    ]
    if scope.acts_for and role != Role.PORTAL:
        problems.append("acts_for: only portals act for others")
    return problems


def _record(row: Any) -> KeyRecord:
    return KeyRecord(
        row.key_id,
        Role(row.role),
        row.researcher,
        row.label,
        timestamp_of(row.created_at),
        timestamp_of(row.expires_at),
        None if row.revoked_at is None else timestamp_of(row.revoked_at),
        _scope(json.loads(row.scope) if row.scope else {}),
    )
