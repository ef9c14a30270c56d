"""Pairs of queries that are each safe and together unsafe, found by asking truthful houses."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

from house import COPY, reasons, verdict
from stories import Oracle
from truthful_house import SHOWN

Pair = tuple[dict[str, Any], dict[str, Any]]
CODES = {
    "site": [str(code) for code in range(1, 7)],
    "year": [str(code) for code in range(1, 6)],
    "coins": ["0", "25", "50", "95", "100"],
    "plan": [str(code) for code in range(1, 20)],
    "education": [str(code) for code in range(26)],
    "household_size": [str(code) for code in range(1, 15)],
    "idp": ["0", "1"],
    "child": ["0", "1"],
    "female": ["0", "1"],
}
"""Codes of the demonstration data that are no missing ones."""
DIMENSIONS = ("site", "female", "child", "idp", "coins", "year", "age:broad", "household_size:groups")
REGIONS, SEXES, BANDS, STATUSES = ("1", "2", "3"), ("1", "2"), ("a", "b", "c", "d"), ("here", "away", "gone")


def is_pair(oracle: Oracle, dataset: str, first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether either is shown where it is asked first, and neither after the other, for their difference."""
    if any(verdict(oracle.truth(dataset, [], request)) not in SHOWN for request in (first, second)):
        return False
    for earlier, later in ((first, second), (second, first)):
        refused = oracle.truth(dataset, [earlier], later)
        if verdict(refused) != "REFUSED" or reasons(refused) != ["DIFFERENCING"]:
            return False
    return True


def of_randhie(rng: random.Random) -> Iterator[Pair]:
    """Tables of the demonstration data with and without a filter that leaves out one code, or the missing."""
    while True:
        dimensions = rng.sample(DIMENSIONS, rng.choice((1, 1, 2)))
        asked: dict[str, Any] = {"rows": dimensions[:1], "columns": dimensions[1:]}
        free = sorted(set(CODES) - {name.partition(":")[0] for name in dimensions})
        narrowed, left_out = rng.sample(free, 2)
        if rng.random() < 0.7:
            asked[narrowed] = [rng.choice(CODES[narrowed])]
        codes, one = CODES[left_out], rng.choice(CODES[left_out])
        fewer = codes if rng.random() < 0.3 else [code for code in codes if code != one]
        yield asked, {**asked, left_out: fewer}


def of_people(rng: random.Random) -> Iterator[Pair]:
    """Tables of made-up people with and without those who are away, or gone, or in one band."""
    rows = (["region"], ["sex"], ["band"], ["region", "sex"], ["band", "sex"])
    filters: list[dict[str, Any]] = [
        {"status": ["here"]},
        {"status": ["here", "gone"]},
        {"band": ["a", "b", "c"]},
    ]
    while True:
        dimensions, leaving_out = rng.choice(rows), rng.choice(filters)
        if not set(leaving_out) & set(dimensions):
            asked = {"rows": dimensions[:1], "columns": dimensions[1:]}
            yield asked, {**asked, **leaving_out}


def found(oracle: Oracle, dataset: str, candidates: Iterator[Pair], number: int, tries: int) -> list[Pair]:
    """So many different pairs, or what so many tries find."""
    pairs: dict[str, Pair] = {}
    for first, second in itertools.islice(candidates, tries):
        if repr((first, second)) not in pairs and is_pair(oracle, dataset, first, second):
            pairs[repr((first, second))] = (first, second)
            if len(pairs) == number:
                break
    return list(pairs.values())


def people(rng: random.Random) -> str:
    """Made-up people as a CSV file: few of them away, few gone, few in the last band."""
    number, away, gone = rng.randrange(150, 400), rng.randrange(1, 7), rng.randrange(1, 7)
    last_band = rng.randrange(1, 7)
    lines = ["person,region,sex,band,status,income"]
    for person in range(number):
        status = "away" if person < away else "gone" if person < away + gone else "here"
        band = "d" if number - person <= last_band else rng.choice(BANDS[:3])
        columns = (f"p{person}", rng.choice(REGIONS), rng.choice(SEXES), band, status, rng.randrange(1000))
        lines.append(",".join(map(str, columns)))
    return "\n".join(lines) + "\n"


def people_descriptor(name: str, path: str) -> dict[str, Any]:
    """What describes them."""
    codes = {"region": REGIONS, "sex": SEXES, "band": BANDS, "status": STATUSES}
    return {
        "name": name,
        "source": name,
        **COPY,
        "data": {"path": path},
        "unit": {"column": "person"},
        "design": {"coverage": "SAMPLE", "sampling_fraction": 0.01},
        "variables": [
            {
                "name": variable,
                "identifying": "NO" if variable == "status" else "YES",
                "levels": [{"codes": [{"code": code} for code in listed]}],
            }
            for variable, listed in codes.items()
        ],
        "measures": [{"name": "income", "decimals": 0, "lower_bound": 0, "upper_bound": 10_000}],
    }
