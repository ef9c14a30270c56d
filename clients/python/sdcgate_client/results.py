"""What a job printed: packed for the facility, and the verdicts on its outputs."""

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sdcgate_client.answer import Answer
from sdcgate_client.errors import UnexpectedAnswer
from sdcgate_client.files import JSON, Form

ZIP = "application/zip"
BYTES = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class JudgedResult:
    """One output that a job printed, and the answer to it."""

    name: str
    part: str
    """Which part of it, where it shows several statistics."""
    read_as: str
    """`TABLE`, `MODEL`, `STATISTIC`, `REQUEST`, or `FILE` where it could not be read."""
    files: tuple[str, ...]
    problems: tuple[str, ...]
    """What made it unreadable."""
    answer: Answer

    @property
    def released(self) -> bool:
        """Whether it may leave, whole or protected."""
        return self.answer.released


@dataclass(frozen=True, slots=True)
class Results:
    """The verdicts on a folder or file, in the order in which its outputs were found."""

    outputs: tuple[JudgedResult, ...]
    not_outputs: tuple[str, ...]
    """Files that say what others are, or are the tools' own."""
    content: Mapping[str, Any] = field(repr=False)
    """The answer as it came."""

    @property
    def released(self) -> bool:
        """Whether all of them may leave."""
        return all(output.released for output in self.outputs)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Results":
        """Reads the body of an answer.

        Raises:
            UnexpectedAnswer: it has another shape.
        """
        try:
            outputs = tuple(_judged(one) for one in content.get("outputs", ()))
            return cls(outputs, tuple(content.get("not_outputs", ())), content)
        except (KeyError, TypeError, AttributeError) as error:
            raise UnexpectedAnswer(f"the verdicts cannot be read: {type(error).__name__} {error}") from error


def _judged(content: Mapping[str, Any]) -> JudgedResult:
    return JudgedResult(
        content["name"],
        content.get("part", ""),
        content["read_as"],
        tuple(content.get("files", ())),
        tuple(content.get("problems", ())),
        Answer.from_json(content["decision"], repeated=bool(content.get("repeated_answer"))),
    )


def results_form(path: str | Path, project: str = "", label: str = "") -> Form:
    """The form for a file, or for a folder with all that is in it, as `POST .../results` takes it.

    Raises:
        OSError: it cannot be read.
        ValueError: the folder has a link, which could lead out of it.
    """
    place = Path(path)
    given = {"project": project, "label": label or place.resolve().name}
    if place.is_dir():
        return _form(given, packed(place), ZIP)
    if place.suffix.lower() == ".zip":
        return _form(given, place.read_bytes(), ZIP)
    return _form({**given, "name": place.name}, place.read_bytes(), BYTES)


def packed(folder: Path) -> bytes:
    """A zip archive of the files of a folder, the same for the same files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_symlink():
                raise ValueError(f"{file} is a link; put the file itself into the folder")
            if file.is_file():
                name = file.relative_to(folder).as_posix()
                archive.writestr(zipfile.ZipInfo(name), file.read_bytes(), zipfile.ZIP_DEFLATED)
    return content.getvalue()


def _form(options: Mapping[str, str], content: bytes, kind: str) -> Form:
    given = {name: text for name, text in options.items() if text}
    return [
        ("options", (None, json.dumps(given).encode(), JSON)),
        ("results", ("results", content, kind)),
    ]
