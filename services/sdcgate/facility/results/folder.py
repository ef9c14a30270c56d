"""Files that a portal sends: a zip archive of a folder, or one file, within limits and with safe names."""

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from sdcgate.facility.errors import InvalidRequest
from sdcgate.ledger.archives import OF_ARCHIVES
from sdcgate.wire.problems import FieldProblem

MAXIMUM_FILES = 1000
MAXIMUM_BYTES = 64 << 20
"""Of all files together, unpacked."""
LONGEST_NAME = 255
_IGNORED = ("__MACOSX/",)
_LINK, _KIND = 0o120000, 0o170000
_ENCRYPTED = 0x1
_KNOWN_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_NO_WHOLE_ARCHIVE = (*OF_ARCHIVES, OSError, ValueError)

Files = Mapping[str, bytes]


def unpack(name: str, content: bytes) -> Files:
    """Files by their names: the one that is named, or those of a zip archive where none is.

    A folder that holds all of them is left out of their names.

    Raises:
        InvalidRequest: with every file whose name, kind or size is not allowed.
    """
    if not content:
        raise InvalidRequest(
            [FieldProblem("results", "is empty: send the file, or a zip archive of the folder")]
        )
    if name:
        problem = wrong_name(name) or ("must not name a folder" if "/" in name else "")
        if problem:
            raise InvalidRequest([FieldProblem("options.name", problem)])
        if len(content) > MAXIMUM_BYTES:
            raise InvalidRequest([FieldProblem("results", f"must have at most {MAXIMUM_BYTES} bytes")])
        return {name: content}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = _read(archive)
    except _NO_WHOLE_ARCHIVE:
        message = "is no whole zip archive; name the file in options.name where it is a single one"
        raise InvalidRequest([FieldProblem("results", message)]) from None
    return _without_outer_folder(found)


def _read(archive: zipfile.ZipFile) -> dict[str, bytes]:
    # Not is_dir(): it fails where a member has no name.
    members = [one for one in archive.infolist() if not one.filename.endswith("/")]
    members = [one for one in members if not one.filename.startswith(_IGNORED)]
    problems = list(_problems(members))
    if problems:
        raise InvalidRequest(problems)
    # What is declared bounds what is read: a member that has more than it declares is no zip.
    return {one.filename: archive.read(one) for one in members}


def _problems(members: list[zipfile.ZipInfo]) -> Iterator[FieldProblem]:
    if not members:
        yield FieldProblem("results", "holds no file")
    if len(members) > MAXIMUM_FILES:
        yield FieldProblem("results", f"holds {len(members)} files; at most {MAXIMUM_FILES}")
        return
    if sum(one.file_size for one in members) > MAXIMUM_BYTES:
        yield FieldProblem("results", f"holds more than {MAXIMUM_BYTES} bytes when it is unpacked")
    seen: set[str] = set()
    for place, one in enumerate(members):
        path = f"results[{place}]"
        if problem := wrong_name(one.filename):
            yield FieldProblem(path, problem)
        if one.filename.lower() in seen:
            yield FieldProblem(path, "has the name of another file")
        seen.add(one.filename.lower())
        if one.external_attr >> 16 & _KIND == _LINK:
            yield FieldProblem(path, "is a link; send the file itself")
        if one.flag_bits & _ENCRYPTED:
            yield FieldProblem(path, "is encrypted; send it as it is")
        if one.compress_type not in _KNOWN_METHODS:
            yield FieldProblem(path, "is packed by another method than deflate")


def wrong_name(name: str) -> str:
    """What is wrong with the name of a file; empty where nothing is."""
    if len(name) > LONGEST_NAME:
        return f"must have a name of at most {LONGEST_NAME} characters"
    if not name.isprintable() or "\\" in name or ":" in name:
        return "must have a name of printable characters, without \\ and :"
    if name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")):
        return "must have a name within its folder, without .., . and a leading /"
    return ""


def _without_outer_folder(files: dict[str, bytes]) -> Files:
    outer = {PurePosixPath(name).parts[0] for name in files}
    if len(outer) > 1 or not all("/" in name for name in files):
        return files
    length = len(outer.pop()) + 1
    return {name[length:]: content for name, content in files.items()}
