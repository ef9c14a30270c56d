"""`python -m generators` writes every page of docs/reference, and the JSON schemas of policy files."""

from pathlib import Path

from generators.pages import pages
from sdcgate.policy.json_schema import FOLDER, schemas

REFERENCE = Path(__file__).parents[1] / "reference"


def main() -> None:
    """Write the pages; remove what is none any more."""
    REFERENCE.mkdir(exist_ok=True)
    made = pages()
    for path in REFERENCE.glob("*.md"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
    for name, text in schemas().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
