"""The pages of docs/reference say what the code says today."""

import re
from pathlib import Path

import pytest

from generators.pages import pages
from sdcgate.servers.settings import Settings

REFERENCE = Path(__file__).parents[2] / "docs/reference"


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return pages()


def test_the_pages_in_the_repository_are_those_that_are_made_today(made: dict[str, str]) -> None:
    kept = {path.name: path.read_text(encoding="utf-8") for path in REFERENCE.glob("*.md")}
    stale = sorted(name for name in made.keys() | kept.keys() if made.get(name) != kept.get(name))
    assert stale == [], "run `make reference` and commit what it writes"


def test_every_setting_says_what_it_means(made: dict[str, str]) -> None:
    rows = re.findall(
        r"^\| `(SDCGATE_\w+)` \| [^|]* \| [^|]* \| ([^|]*) \|", made["settings.md"], re.MULTILINE
    )
    assert len(rows) > 50
    assert [name for name, means in rows if len(means.strip()) < 10] == []
    for name in Settings.model_fields:
        assert f"SDCGATE_{name.upper()}" in made["settings.md"]


def test_every_call_and_every_field_of_the_contract_has_a_row(made: dict[str, str]) -> None:
    contract = "\n".join(
        made[f"grpc-{package}.md"] for package in ("facility", "risk", "protection", "types")
    )
    protos = Path(__file__).parents[2] / "proto/sdcgate"
    for path in protos.rglob("*.proto"):
        if path.stem != "release":
            declared = re.findall(
                r"^ +(?:repeated |optional )?[\w.]+ (\w+) = \d+", path.read_text(), re.MULTILINE
            )
            calls = re.findall(r"^ +rpc (\w+)", path.read_text(), re.MULTILINE)
            assert [name for name in {*declared, *calls} if f"| `{name}` |" not in contract] == []


def test_no_page_has_a_row_without_its_meaning(made: dict[str, str]) -> None:
    pattern = re.compile(r"^\| `[\w.\[\]]+` \|(?: [^|]* \|)* {2}\|$", re.MULTILINE)
    for name in ("rest.md", "grpc-facility.md", "descriptor.md"):
        header = ("field", "type", "means")
        assert all(word in made[name] for word in header)
        empty = [row for row in pattern.findall(made[name]) if row.split("|")[3].strip() == ""]
        assert empty == []
