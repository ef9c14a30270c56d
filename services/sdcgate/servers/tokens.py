"""Tokens of an identity provider: JWTs (RFC 7519) of OpenID Connect, checked as RFC 8725 recommends.

Signature, issuer, audience and times are checked by PyJWT, with public keys that the issuer publishes (JWKS,
RFC 7517). Where its keys cannot be had nobody gets in.
"""

import re
import ssl
import time
from collections.abc import Callable, Mapping
from math import inf
from threading import Lock
from typing import Any

import jwt
from jwt import PyJWKClient, PyJWKClientConnectionError, PyJWKClientError

from sdcgate.ledger.credentials import Caller, Role
from sdcgate.servers.authentication import ROLE_KEY, wanted_role
from sdcgate.servers.errors import PermissionDenied, Unavailable
from sdcgate.servers.settings import Identity

REQUIRED = ["exp", "iat", "sub", "iss", "aud"]
_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_NAME = re.compile(r"[^\x00-\x20\x7f\ud800-\udfff][^\x00-\x1f\x7f\ud800-\udfff]{0,127}")
_NO_KEYS = "The identity provider's keys cannot be had; try again"


class Tokens:
    """Says whose a token is. Threads may share one."""

    def __init__(self, identity: Identity, timer: Callable[[], float] = time.monotonic) -> None:
        context = ssl.create_default_context(cafile=identity.jwks_ca) if identity.jwks_ca else None
        self._identity = identity
        self._timer = timer
        self._asking = Lock()
        self._silent_until = -inf
        self._client = PyJWKClient(
            identity.jwks_url,
            lifespan=identity.jwks_cache_seconds,
            timeout=identity.jwks_timeout_seconds,
            ssl_context=context,
            cooldown_duration=identity.jwks_refresh_seconds,
        )

    def authenticate(self, token: str) -> Caller | None:
        """Whose this token is; None where it is none of the issuer's, not for us, or out of date.

        Raises:
            PermissionDenied: it carries no role of ours, not the named one, or several and none is named.
            Unavailable: the issuer's keys cannot be had.
        """
        if _JWT.fullmatch(token) is None:
            return None
        try:
            claims = self._verified(token)
        except jwt.PyJWTError:
            return None
        if claims["exp"] - claims["iat"] > self._identity.longest_token_seconds:
            return None
        researcher = claim(claims, self._identity.researcher_claim)
        acting = claim(claims, "act.sub")
        if not _is_name(researcher) or not (acting is None or _is_name(acting)):
            return None
        return Caller(f"token:{claims['sub']}", self._role(claims), researcher, portal=acting or "")

    def _verified(self, token: str) -> dict[str, Any]:
        """The claims of a token that its issuer signed, for us, and that is in force."""
        identity = self._identity
        header = jwt.get_unverified_header(token)
        # What is not accepted whatever its key costs the issuer no question.
        if header.get("alg") not in identity.algorithms or not isinstance(header.get("kid"), str):
            raise jwt.InvalidAlgorithmError
        verified: dict[str, Any] = jwt.decode(
            token,
            self._key(header["kid"]),
            algorithms=list(identity.algorithms),
            issuer=identity.issuer,
            audience=identity.audience,
            leeway=identity.leeway_seconds,
            options={"require": REQUIRED, "enforce_minimum_key_length": True},
        )
        if not all(_is_number(verified[name]) for name in ("exp", "iat")) or not _is_name(verified["sub"]):
            raise jwt.InvalidTokenError
        return verified

    def _key(self, kid: str) -> jwt.PyJWK:
        with self._asking:
            # Threads do not wait, one after the other, for an issuer that was silent a moment ago.
            if self._timer() < self._silent_until:
                raise Unavailable(_NO_KEYS)
            try:
                self._client.get_signing_keys()
            except (jwt.PyJWTError, OSError, ValueError):
                raise self._silent() from None
            try:
                return self._client.get_signing_key(kid)
            except (PyJWKClientConnectionError, OSError, ValueError):
                raise self._silent() from None
            except PyJWKClientError:
                raise jwt.InvalidTokenError from None

    def _silent(self) -> Unavailable:
        self._silent_until = self._timer() + self._identity.jwks_refresh_seconds
        return Unavailable(_NO_KEYS)

    def _role(self, claims: Mapping[str, Any]) -> Role:
        names = claim(claims, self._identity.role_claim)
        words = names.split() if isinstance(names, str) else names
        known: Mapping[str, str] = self._identity.roles or {
            role: role for role in Role if role is not Role.SERVICE
        }
        listed = words if isinstance(words, list) else []
        found = sorted({known[word] for word in listed if isinstance(word, str) and word in known})
        wanted = wanted_role()
        if not found:
            raise PermissionDenied("Your token carries no role of this service; sign in with one")
        if wanted and wanted not in found:
            raise PermissionDenied(f"Your token does not carry the role {ROLE_KEY} names: {', '.join(found)}")
        if not wanted and len(found) > 1:
            # Each call is made in one of them: what it may do and see is never more than one role's.
            carried = ", ".join(found)
            raise PermissionDenied(
                f"Your token carries several roles ({carried}): name one of them in {ROLE_KEY}"
            )
        return Role(wanted or found[0])


def claim(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its name, or by a path of names with dots between them; None where there is none."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
