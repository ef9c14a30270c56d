"""Every module of the house in a line: the first of its docstring."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from generators.markdown import joined, table

ROOT = Path(__file__).parents[2]
_ROOMS = {
    "methods": "`methods/`: the statistics",
    "policy": "`policy/`: what an agency decides",
    "engine": "`engine/`: where microdata lie",
    "ledger": "`ledger/`: who asked what, and what left",
    "facility": "`facility/`: the way of a query",
    "wire": "`wire/`: messages into arrays and JSON, and back",
    "servers": "`servers/`: the four processes",
    "cli": "`cli/`: the commands",
}


def modules_page() -> str:
    """The page."""
    return joined(
        "# Every module in a line",
        "Paths of the services are those within `services/sdcgate`. What the rooms are for, and which may "
        "import which, is told in [The house and its rules](../house.md).",
        *(_room(title, ROOT / "services/sdcgate" / room) for room, title in _ROOMS.items()),
        _room("`clients/python/sdcgate_client/`: the Python client", ROOT / "clients/python/sdcgate_client"),
        _room("`docs/generators/`: what makes these pages of reference", ROOT / "docs/generators"),
    )


def _room(title: str, folder: Path) -> str:
    return joined(f"## {title}", table(("module", "what it is"), _modules(folder)))


def _modules(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if path.name not in ("__init__.py", "__main__.py"):
            yield f"`{_named(path)}`", _first_sentence(docstring)


def _named(path: Path) -> str:
    house = ROOT / "services/sdcgate"
    return path.relative_to(house if house in path.parents else ROOT).as_posix()


def _first_sentence(docstring: str) -> str:
    paragraph = " ".join(docstring.split("\n\n", maxsplit=1)[0].split())
    return re.split(r"(?<=\.) (?=[A-Z])", paragraph)[0]
