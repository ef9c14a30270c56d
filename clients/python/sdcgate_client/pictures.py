"""Drawings of what was released."""

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sdcgate_client.errors import UnexpectedAnswer


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing as SVG, and as PNG where that was asked for."""

    svg: str = field(repr=False)
    png: bytes = field(default=b"", repr=False)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Picture":
        """Reads `{"svg": ..., "png": ...}`.

        Raises:
            UnexpectedAnswer: it cannot be read.
        """
        try:
            return cls(str(content["svg"]), b64decode(content.get("png") or "", validate=True))
        except (KeyError, TypeError, ValueError) as error:
            raise UnexpectedAnswer(f"the picture cannot be read: {type(error).__name__} {error}") from error
