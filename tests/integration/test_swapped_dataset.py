"""A file that was swapped before it was registered: its tables are those of the swapped records."""

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from house import House, build, cells, verdict
from sdcgate.cli import main
from sdcgate.engine.descriptor import parse_descriptor

CENSUS = {
    "name": "census",
    "data": {"path": "swapped.csv"},
    "unit": {"column": "id"},
    "household": {"column": "home"},
    "design": {"coverage": "CENSUS"},
    "variables": [
        {"name": "town", "identifying": "YES", "levels": [{"codes": [{"code": f"t{n}"} for n in range(4)]}]},
        {"name": "sex", "identifying": "YES", "levels": [{"codes": [{"code": "f"}, {"code": "m"}]}]},
        {"name": "band", "identifying": "YES", "levels": [{"codes": [{"code": f"b{n}"} for n in range(6)]}]},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A census of 4,000 persons in 2,000 homes, swapped by sex at a quarter of the homes."""
    made = tmp_path_factory.mktemp("census")
    chance = np.random.default_rng(1)
    home = np.arange(4000) // 2
    frame = pd.DataFrame({"id": np.arange(4000), "home": home})
    frame["town"] = [f"t{n}" for n in chance.integers(0, 4, 2000)[home]]
    frame["sex"] = chance.choice(["f", "m"], 4000)
    # The ages of a town are its own, so that swaps show.
    frame["band"] = [
        f"b{(int(town[1]) + n) % 6}" for town, n in zip(frame.town, chance.integers(0, 3, 4000), strict=True)
    ]
    frame.to_csv(made / "census.csv", index=False)
    (made / "key").write_bytes(bytes(range(32)))
    words = [
        "--key-file",
        str(made / "key"),
        "--hierarchy",
        "town",
        "--household",
        "home",
        "--similar",
        "sex",
        "--swap-rate",
        "0.25",
    ]
    done = CliRunner().invoke(
        main, ["swap", str(made / "census.csv"), "--out", str(made / "swapped.csv"), *words]
    )
    assert done.exit_code == 0, done.output
    return made


@pytest.fixture(scope="module")
def house(folder: Path) -> House:
    built = build(folder)
    built.engine.register(parse_descriptor(CENSUS))
    return built


def counted(folder: Path, name: str, *columns: str) -> Counter[tuple[str, ...]]:
    frame = pd.read_csv(folder / name, dtype=str)
    return Counter(zip(*(frame[column] for column in columns), strict=True))


def asked(house: House, *rows: str) -> dict[tuple[str, ...], float]:
    """Units of the cells that are published and have a value of each variable."""
    answer = house.ask(dataset="census", rows=rows, margins=False)
    assert verdict(answer).startswith("RELEASED"), answer
    found = {codes: figures[0] for codes, figures in cells(answer).items() if "_U" not in codes}
    return {codes: units for codes, units in found.items() if units is not None}


def test_tables_by_area_are_counted_from_the_swapped_records(house: House, folder: Path) -> None:
    published = asked(house, "town", "band")
    after, before = (counted(folder, name, "town", "band") for name in ("swapped.csv", "census.csv"))
    assert len(published) > 12
    assert published == {codes: after[codes] for codes in published}
    assert sum(after[codes] != before[codes] for codes in published) > 6


def test_tables_without_areas_and_of_what_is_kept_in_them_are_those_of_the_original(
    house: House, folder: Path
) -> None:
    assert asked(house, "sex", "band") == counted(folder, "census.csv", "sex", "band")
    assert asked(house, "town", "sex") == counted(folder, "census.csv", "town", "sex")
