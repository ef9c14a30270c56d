"""Environments for programs that we compare ourselves with: each its own, made once from the registry."""

import subprocess
import sys
import venv
from pathlib import Path

BUILD = Path(__file__).parent.parent / "build"


class NoPeer(Exception):
    """The peer cannot be installed here; says why."""


def python_with(name: str, *requirements: str) -> Path:
    """The interpreter of an environment under build/ in which the requirements are installed.

    Raises NoPeer where the registry does not give them.
    """
    folder = BUILD / name
    python = folder / "bin" / "python"
    done = folder / ".installed"
    if done.exists() and done.read_text() == "\n".join(requirements):
        return python
    try:
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements],
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise NoPeer(
            f"{' '.join(requirements)} could not be installed: {said[-1] if said else error}"
        ) from error
    done.write_text("\n".join(requirements))
    return python


if __name__ == "__main__":
    print(python_with(*sys.argv[1:]))
