"""Policy files on disk: which files hold policies, and their bytes."""

from pathlib import Path

from sdcgate.policy.model import PolicyInvalid, Problem

BUNDLED = Path(__file__).parent / "bundled"
EXAMPLES = ".examples.yaml"
"""Ending of the files beside policies that hold their examples."""
LARGEST_FILE = 1_000_000


def bundled_policies() -> tuple[str, ...]:
    """Names of the policies that come with sdcgate."""
    return tuple(sorted(path.stem for path in BUNDLED.glob("*.yaml") if is_policy(path.name)))


def is_policy(name: str) -> bool:
    """Whether a file of this name holds a policy: not hidden, and not the examples of one."""
    return name.endswith(".yaml") and not name.endswith(EXAMPLES) and not name.startswith(".")


def read_folder(folder: Path) -> dict[str, bytes]:
    """The bytes of an agency's policy files, by name: what is looked at is what is loaded.

    Raises:
        PolicyInvalid: there is no such folder, or a file in it cannot be read.
    """
    if not folder.is_dir():
        raise PolicyInvalid(str(folder), [Problem("", "there is no such folder")])
    return {path.name: read_file(path) for path in sorted(folder.iterdir()) if is_policy(path.name)}


def read_file(path: Path) -> bytes:
    """The bytes of a policy file.

    Raises:
        PolicyInvalid: it cannot be read, or is too large for one.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise PolicyInvalid(str(path), [Problem("", f"cannot be read: {error.strerror}")]) from error
    if len(content) > LARGEST_FILE:
        raise PolicyInvalid(str(path), [Problem("", f"is larger than {LARGEST_FILE} bytes")])
    return content


def text_of(content: bytes, source: str) -> str:
    """The text of a file.

    Raises:
        PolicyInvalid: it is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise PolicyInvalid(source, [Problem("", "is not UTF-8; save the file as UTF-8", line)]) from error
