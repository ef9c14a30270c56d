"""Tables and sentences in Markdown."""

from collections.abc import Iterable, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns that are empty in every row are left out."""
    cells = [[_cell(text) for text in row] for row in rows]
    kept = [position for position in range(len(header)) if any(row[position] for row in cells)]
    lines = [[header[position] for position in kept], ["---"] * len(kept)]
    lines += [[row[position] for position in kept] for row in cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def anchor(heading: str) -> str:
    """The anchor of a heading of letters and digits."""
    return "#" + heading.lower()


def joined(*parts: str) -> str:
    """Paragraphs, the empty ones left out."""
    return "\n\n".join(part for part in parts if part)


def sentence(text: str) -> str:
    """A text that ends as a sentence does."""
    return text if not text or text[-1] in ".:!?" else text + "."


def between(least: float | None, most: float | None, things: str = "") -> str:
    """A range in words, such as `1 to 64 characters`; empty where there is none."""
    if most is None:
        text = f"at least {least:,}" if least else ""
    elif least is None or (things and not least):
        text = f"at most {most:,}"
    else:
        text = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    if not text or not things:
        return text
    return f"{text} {things}" if (most or least) == 1 else f"{text} {_PLURALS.get(things, things + 's')}"


_PLURALS = {"entry": "entries"}
