"""`python -m generators` writes every page of docs/reference."""

from pathlib import Path

from generators.pages import pages

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


if __name__ == "__main__":
    main()
