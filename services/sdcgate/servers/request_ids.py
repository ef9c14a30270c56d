"""The id that a request keeps on its whole way: from the caller's header to the last log line."""

import re

from ulid import ULID

REQUEST_ID_KEY = "x-request-id"
_HARMLESS = re.compile(r"[A-Za-z0-9._-]{1,64}")


def request_id(given: str | bytes | None = None) -> str:
    """The caller's request id where it is a harmless one, else a new one."""
    text = given.decode("ascii", "replace") if isinstance(given, bytes) else given or ""
    return text if _HARMLESS.fullmatch(text) else f"r-{ULID()}"
