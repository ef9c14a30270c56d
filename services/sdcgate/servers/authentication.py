"""Who calls. Between services one shared token in a file that strangers cannot read; people have API keys."""

import hmac
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sdcgate.servers.errors import InvalidArgument, PermissionDenied, Unauthenticated

AUTHORIZATION_KEY = "authorization"
ON_BEHALF_OF_KEY = "x-on-behalf-of"
"""Metadata, and header, in which a portal names the researcher for whom it acts."""
ROLE_KEY = "x-role"
"""Metadata, and header, in which who has several roles says in which of them he calls."""
LONGEST_NAME = 128
SERVICE_ROLE = "service"
BEARER = "bearer "

Authenticate = Callable[[str], Any | None]
"""Token -> caller, or None. Whatever it raises is an error of the service, never a way in."""

_caller: ContextVar[Any] = ContextVar("sdcgate_caller")
_wanted_role: ContextVar[str] = ContextVar("sdcgate_wanted_role", default="")
_on_behalf_of: ContextVar[str] = ContextVar("sdcgate_on_behalf_of", default="")


@dataclass(frozen=True, slots=True)
class ServiceCaller:
    """Another service of the house."""

    role: str = SERVICE_ROLE


@dataclass(frozen=True, slots=True)
class KeyCaller:
    """Whom an API key belongs to, as the facility says."""

    key_id: str
    role: str
    researcher: str


def caller() -> Any:
    """Who makes the call that is being answered. Raises Unauthenticated outside of an authenticated call."""
    found = _caller.get(None)
    if found is None:
        raise Unauthenticated()
    return found


def on_behalf_of() -> str:
    """For whom the caller says that he acts; empty where he acts for himself."""
    return _on_behalf_of.get()


def wanted_role() -> str:
    """The role in which whoever is being authenticated wants to call; empty where he does not say."""
    return _wanted_role.get()


def authenticated(authenticate: Authenticate, metadata: Mapping[str, str | bytes]) -> Any:
    """Who shows this metadata, in the role that it names.

    Raises:
        Unauthenticated: nobody that is known.
        PermissionDenied: he has another role.
    """
    shown = metadata.get(ROLE_KEY, "")
    wanted = shown if isinstance(shown, str) else shown.decode("ascii", "replace")
    outside = _wanted_role.set(wanted)
    try:
        found = authenticate(bearer_token(metadata.get(AUTHORIZATION_KEY)))
    finally:
        _wanted_role.reset(outside)
    if found is None:
        raise Unauthenticated()
    if wanted not in {"", found.role}:
        raise PermissionDenied(f"Your key has the role {found.role}: leave out {ROLE_KEY}, or name that one.")
    return found


def set_caller(found: Any, on_behalf_of: str = "") -> None:
    """Note who makes this call, and for whom he says that he acts."""
    _caller.set(found)
    _on_behalf_of.set(on_behalf_of)


def researcher_named(value: str) -> str:
    """The researcher whom `x-on-behalf-of` names; letters beyond ASCII are percent-encoded (RFC 3986).

    Raises:
        InvalidArgument: it names nobody, or several.
    """
    try:
        name = unquote(value, errors="strict") if value.isascii() and "," not in value else ""
    except UnicodeDecodeError:
        name = ""
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or name != name.strip():
        raise InvalidArgument(
            detail=f"{ON_BEHALF_OF_KEY} must name one researcher, with commas and letters beyond ASCII "
            "percent-encoded"
        )
    return name


def bearer_token(header: str | bytes | None) -> str:
    """The token of an `authorization` header. Raises Unauthenticated where there is none."""
    text = header.decode("ascii", "replace") if isinstance(header, bytes) else header or ""
    if not text.lower().startswith(BEARER) or not text[len(BEARER) :].strip():
        raise Unauthenticated()
    return text[len(BEARER) :].strip()


def service_token(path: Path) -> str:
    """The token between services; made where the file is missing, so that whoever starts first makes it.

    Raises PermissionError where others can read the file or a group can change it, ValueError where it
    holds no token. A group may read it: orchestrators hand secrets to a process by its group.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        _make_token(path)
    if stat.S_IMODE(path.stat().st_mode) & 0o027:
        raise PermissionError(f"{path} can be read or changed by others; set its mode to 0600")
    token = path.read_text(encoding="ascii").strip()
    if len(token) < 32:
        raise ValueError(f"{path} holds no service token; remove it and start again")
    return token


def _make_token(path: Path) -> None:
    """Write a new token whole or not at all; a token that another process made meanwhile stays."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_urlsafe(32) + "\n")
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def service_authenticator(token: str) -> Authenticate:
    """Accepts the service token and nothing else."""
    expected = token.encode()

    def authenticate(shown: str) -> ServiceCaller | None:
        return ServiceCaller() if hmac.compare_digest(shown.encode(), expected) else None

    return authenticate
