"""A survey of people by region, sex and age, whose file is registered again and again."""

import csv
from itertools import product
from pathlib import Path

from house import House
from sdcgate.engine.descriptor import parse_descriptor

CODES = {"region": ("north", "south", "west"), "sex": ("f", "m"), "age": ("0", "20", "40", "60")}
ATOMS = list(product(*CODES.values()))
Person = tuple[str, ...]
People = dict[str, Person]


def descriptor():
    return parse_descriptor(
        {
            "name": "people",
            "data": {"path": "people.csv"},
            "unit": {"column": "id", "label": "person"},
            "design": {"coverage": "SAMPLE", "sampling_fraction": 0.01},
            "variables": [
                {"name": name, "identifying": "YES", "levels": [{"codes": [{"code": c} for c in codes]}]}
                for name, codes in CODES.items()
            ],
        }
    )


def register(house: House, folder: Path, people: People) -> int:
    with (folder / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *CODES])
        writer.writerows([name, *codes] for name, codes in people.items())
    return house.engine.register(descriptor()).dataset.version
