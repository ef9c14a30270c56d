"""Made datasets that differ in nothing but withheld persons: what is published of them is the same."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from house import COPY

DISTRICTS = ("n1", "n2", "s1", "s2", "w1", "w2")
PROVINCES = {"north": ("n1", "n2"), "south": ("s1", "s2"), "west": ("w1", "w2")}
JOBS = ("farm", "shop", "office", "mine", "sea")
ILLNESSES = ("none", "flu", "gout")
ISLAND = "isle"


@dataclass(frozen=True)
class Person:
    """One record."""

    id: str
    household: str
    district: str
    sex: str
    age: int
    job: str
    illness: str
    income: int
    weight: str


def crowd() -> list[Person]:
    """Some 520 persons; miners and sailors are rare in the west, gout is rare everywhere."""
    rng = np.random.default_rng(20030101)
    made: list[Person] = []

    def add(number: int, district: str, job: str) -> None:
        for _ in range(number):
            made.append(
                Person(
                    id=f"p{len(made):04}",
                    household=f"h{len(made) // 2:04}",
                    district=district,
                    sex=str(rng.choice(["f", "m"])),
                    age=int(rng.integers(20, 60)),
                    job=job,
                    illness=str(rng.choice(ILLNESSES, p=[0.55, 0.35, 0.10])),
                    income=int(rng.integers(80, 400)) * 10,
                    weight=f"{float(rng.choice([90.5, 100.0, 120.25])):.2f}",
                )
            )

    for district in DISTRICTS:
        for job in JOBS[:3]:
            add(24, district, job)
    for district in DISTRICTS[:4]:
        for job in JOBS[3:]:
            add(14, district, job)
    return (
        made
        + four_twins()
        + [
            replace(person, id=f"q{at:04}", household=f"g{at:04}", district=district, job=job)
            for at, (person, district, job) in enumerate(
                (person, district, job)
                for district in ("w1", "w2")
                for job in JOBS[3:]
                for person in made[7:10]
            )
        ]
    )


def four_twins() -> list[Person]:
    """Alike in all but district, job and income, in four cells that are withheld for their few units."""
    places = [("w1", "mine", 1000), ("w1", "sea", 1200), ("w2", "mine", 1200), ("w2", "sea", 1000)]
    return [
        Person(f"t{at}", f"th{at}", district, "f", 44, job, "none", income, "100.00")
        for at, (district, job, income) in enumerate(places)
    ]


def exchanged(people: list[Person], **fields: Callable[[Person], Any]) -> list[Person]:
    """The same people, the four twins with other fields."""
    return [
        replace(person, **{name: change(person) for name, change in fields.items()})
        if person.id.startswith("t")
        else person
        for person in people
    ]


def moved(people: list[Person]) -> list[Person]:
    """Two of the twins have changed jobs: each margin is as it was, four withheld cells are not."""
    jobs = {"t0": "sea", "t3": "mine"}
    return exchanged(people, job=lambda person: jobs.get(person.id, person.job), income=lambda person: 1000)


def unmoved(people: list[Person]) -> list[Person]:
    """What `moved` is compared with."""
    return exchanged(people, income=lambda person: 1000)


def earning_otherwise(people: list[Person]) -> list[Person]:
    """The twins earn what their neighbours earned: each margin's sums are as they were."""
    return exchanged(people, income=lambda person: 2200 - person.income)


def islanders(number: int) -> list[Person]:
    """The people with some more on an island of its own, too few for any table of it."""
    people = crowd()
    return people + [
        replace(person, id=f"i{at:03}", household=f"ih{at:03}", district=ISLAND, job="farm")
        for at, person in enumerate(people[:number])
    ]


def to_csv(people: list[Person]) -> str:
    """The data file."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(Person.__dataclass_fields__))
    writer.writeheader()
    writer.writerows(vars(person) for person in people)
    return out.getvalue()


def descriptor(name: str, **changes: Any) -> dict[str, Any]:
    """The descriptor of `<name>.csv`."""
    districts = [*DISTRICTS, ISLAND]
    return {
        "name": name,
        "label": "Made people",
        "data": {"path": f"{name}.csv"},
        "unit": {"column": "id", "label": "person"},
        "source": name,
        **COPY,
        "household": {"column": "household"},
        "weight": {"column": "weight", "decimals": 2},
        "design": {"coverage": "SAMPLE", "sampling_fraction": 0.01},
        "reference_date": "2024-06-30",
        "variables": [
            {
                "name": "region",
                "column": "district",
                "identifying": "EXTREMELY",
                "levels": [
                    {"name": "district", "codes": [{"code": code} for code in districts]},
                    {
                        "name": "province",
                        "codes": [
                            *({"code": code, "parts": list(parts)} for code, parts in PROVINCES.items()),
                            {"code": "islands", "parts": [ISLAND]},
                        ],
                    },
                ],
            },
            {"name": "sex", "identifying": "YES", "levels": [{"codes": [{"code": "f"}, {"code": "m"}]}]},
            {
                "name": "age",
                "identifying": "YES",
                "levels": [
                    {"name": "years", "integers": {"first": 20, "last": 59}},
                    {"name": "ten_years", "band_width": 10},
                    {"name": "twenty_years", "band_width": 20},
                ],
            },
            {"name": "job", "identifying": "YES", "levels": [{"codes": [{"code": code} for code in JOBS]}]},
            {
                "name": "illness",
                "identifying": "NO",
                "sensitive": True,
                "levels": [
                    {"codes": [{"code": code, "harmless": code == "none"} for code in ILLNESSES]},
                ],
            },
        ],
        "measures": [{"name": "income", "decimals": 0, "lower_bound": 0, "unit": "EUR"}],
        **changes,
    }
