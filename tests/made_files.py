"""A small data file with everything that a descriptor can declare, and its descriptor."""

import csv
import random
from pathlib import Path
from typing import Any

PEOPLE: dict[str, Any] = {
    "name": "people",
    "data": {"path": "people.csv"},
    "unit": {"column": "id", "label": "person"},
    "household": {"column": "household"},
    "weight": {"column": "weight", "decimals": 1},
    "design": {"coverage": "SAMPLE", "population_size": 60000},
    "panel": True,
    "variables": [
        {
            "name": "region",
            "identifying": "YES",
            "levels": [
                {"name": "place", "codes": [{"code": code} for code in ("n1", "n2", "s1", "s2")]},
                {
                    "name": "part",
                    "codes": [
                        {"code": "north", "parts": ["n1", "n2"]},
                        {"code": "south", "parts": ["s1", "s2"]},
                    ],
                },
            ],
        },
        {
            "name": "age",
            "identifying": "VERY",
            "floor": True,
            "levels": [
                {"name": "years", "integers": {"first": 20, "last": 39}},
                {"name": "five", "band_width": 5},
            ],
        },
        {
            "name": "ill",
            "identifying": "NO",
            "sensitive": True,
            "varies_within_unit": True,
            "levels": [{"codes": [{"code": "0", "harmless": True}, {"code": "1"}]}],
        },
    ],
    "measures": [{"name": "income", "decimals": 1, "lower_bound": 0, "upper_bound": 1000}],
}  # fmt: skip


def write_people(file: Path, persons: int = 400) -> None:
    """A panel of two waves, with something missing in every column that may miss."""
    chance = random.Random(7)
    with file.open("w", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(["id", "household", "weight", "region", "age", "ill", "income"])
        for person in range(persons):
            place = chance.choice(["n1", "n2", "s1", "s2", ""])
            age, weight = chance.randrange(20, 40), chance.choice(["1", "2.5", "10"])
            for _ in range(chance.randint(1, 2)):
                ill = chance.choice(["0"] * 9 + ["1", ""])
                income = chance.choice(["", f"{chance.uniform(0, 999):.1f}"])
                writer.writerow([f"p{person}", person // 2, weight, place, age, ill, income])
