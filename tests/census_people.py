"""A made census: one record a person, some lonely people in it, and the truth at hand."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from house import House, build
from sdcgate.engine.descriptor import parse_descriptor

REGIONS = tuple("abcdef")
AGES = ("0-14", "15-24", "25-39", "40-54", "55-69", "70+")
JOBS = ("farm", "office", "shop", "none")

Person = dict[str, str]


def census(persons: int = 600, seed: int = 5) -> list[Person]:
    """People of whom few live in region f, and some have no income."""
    rng = np.random.default_rng(seed)
    regions = rng.choice(REGIONS, persons, p=[0.3, 0.25, 0.2, 0.15, 0.08, 0.02])
    return [
        {
            "id": f"p{number:05}",
            "region": str(regions[number]),
            "sex": str(rng.choice(["f", "m"])),
            "age": str(rng.choice(AGES)),
            "job": str(rng.choice(JOBS, p=[0.1, 0.4, 0.3, 0.2])),
            "income": "" if rng.random() < 0.2 else str(int(rng.gamma(2, 900))),
        }
        for number in range(persons)
    ]


def counted(people: list[Person], chosen: Callable[[Person], bool]) -> int:
    """How many people there are of a kind."""
    return sum(map(chosen, people))


def descriptor(name: str = "census") -> dict:
    """The descriptor of `<name>.csv`."""
    listed = {"region": REGIONS, "sex": ("f", "m"), "job": JOBS}
    plain = [
        {"name": variable, "identifying": "YES", "levels": [{"codes": [{"code": code} for code in codes]}]}
        for variable, codes in listed.items()
    ]
    halves = {"young": list(AGES[:3]), "old": list(AGES[3:])}
    age = {
        "name": "age",
        "identifying": "YES",
        "levels": [
            {"name": "groups", "codes": [{"code": code} for code in AGES]},
            {"name": "halves", "codes": [{"code": code, "parts": parts} for code, parts in halves.items()]},
        ],
    }
    return {
        "name": name,
        "label": "Made census",
        "data": {"path": f"{name}.csv"},
        "unit": {"column": "id", "label": "person"},
        "source": name,
        "design": {"coverage": "CENSUS"},
        "reference_date": "2024-06-30",
        "variables": [*plain, age],
        "measures": [{"name": "income", "decimals": 0, "lower_bound": 0, "unit": "EUR"}],
    }


def write(people: list[Person], folder: Path, name: str = "census") -> None:
    """The data file."""
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(people[0]))
        writer.writeheader()
        writer.writerows(people)


def with_census(folder: Path, people: list[Person] | None = None, **options) -> House:
    """A house with the census, under the bundled policy `cell-key` unless another one is named."""
    write(people or census(), folder)
    house = build(folder, **{"policy": "cell-key", "data_root": folder, **options})
    house.engine.register(parse_descriptor(descriptor()))
    return house
