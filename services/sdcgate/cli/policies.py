"""Where commands find policies: bundled, in the agency's own folder, or by path."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sdcgate.policy import Policy


def find(name_or_path: str) -> "Policy":
    """A policy by its name or path; the names of the agency's own folder are known, too.

    Raises:
        PolicyInvalid: there is none, or it has problems.
    """
    from sdcgate.policy.loading import load_policy

    return load_policy(name_or_path, own_folder())


def own_folder() -> Path | None:
    """The agency's own folder of policies, as the facility has it."""
    from sdcgate.servers.settings import Settings

    return Settings().policy_dir


def files_of(name_or_path: str) -> list[Path]:
    """Policy files by a name, a path, or a folder; all that the facility would load where empty.

    Raises:
        ValueError: there is none.
    """
    from sdcgate.policy.files import BUNDLED, EXAMPLES, is_policy

    folders = [folder for folder in (BUNDLED, own_folder()) if folder is not None]
    if not name_or_path:
        return [path for folder in folders for path in _policies(folder)]
    path = Path(name_or_path)
    if path.is_dir():
        return _policies(path)
    if path.is_file():
        if path.name.endswith(EXAMPLES):
            return [path.with_name(path.name.removesuffix(EXAMPLES) + ".yaml")]
        return [path]
    named = [
        found
        for folder in folders
        for found in _policies(folder)
        if is_policy(found.name) and found.stem == name_or_path
    ]
    if not named:
        raise ValueError(f"{name_or_path} is neither a policy's name, a file nor a folder")
    return named[-1:]


def _policies(folder: Path) -> list[Path]:
    from sdcgate.policy.files import is_policy

    return sorted(path for path in folder.iterdir() if is_policy(path.name))
