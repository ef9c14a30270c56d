"""What is left of a group when part of it is subtracted may all have the same illness: nobody may see that.

An intruder hears tables of illness under random filters, and subtracts every group that he knows from every
group around it. In no difference may nine tenths or more have an illness that it does harm to have, nor may
they be ill, whatever of.
"""

import itertools

import numpy as np
import pytest

from house import build, cells, people_descriptor

CODES = {"town": ("t0", "t1", "t2"), "age": ("young", "middle", "old"), "sex": ("f", "m")}
ILLNESSES = ("none", "flu", "gout")
SHARE = 0.9
TABLES = 14


def people_of(rng):
    """People by town, age, sex and illness; in some groups all are ill alike, and in some nobody is well."""
    persons = rng.integers(8, 40, (3, 3, 2, 3))
    for place in range(6):
        group = tuple(rng.integers(0, size) for size in (3, 3, 2))
        persons[group] = 0
        illnesses = slice(1, 3) if place % 2 else rng.integers(1, 3)
        persons[(*group, illnesses)] = rng.integers(10, 30)
    return persons


def house_of(folder, persons):
    lines = ["town,age,sex,illness"]
    names = (*CODES.values(), ILLNESSES)
    for place, number in np.ndenumerate(persons):
        lines += [",".join(codes[code] for codes, code in zip(names, place, strict=True))] * int(number)
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    house = build(folder)
    of_illness = [{"code": code, "harmless": code == "none"} for code in ILLNESSES]
    illness = {"name": "illness", "identifying": "NO", "sensitive": True, "levels": [{"codes": of_illness}]}
    house.engine.register(people_descriptor(CODES, variables=[illness]))
    return house


def heard(house, rng):
    """Counts by group and illness, totals among them; a group is the codes that it has of each variable."""
    found = {}
    for _ in range(TABLES):
        names = list(rng.permutation(list(CODES)))
        rows, filtered = names[: rng.integers(0, 2)], names[1 : 1 + rng.integers(0, 3)]
        chosen = {
            name: sorted(rng.choice(CODES[name], rng.integers(1, len(CODES[name])), replace=False))
            for name in filtered
        }
        answered = house.ask(dataset="people", rows=rows, columns=["illness"], **chosen)
        if not answered.decision.HasField("table"):
            continue
        for codes, (figure,) in cells(answered).items():
            *own, illness = codes
            if figure is None or "_U" in codes:
                continue
            given = {**CODES, **chosen, **{r: (c,) for r, c in zip(rows, own, strict=True) if c != "_T"}}
            found[tuple(frozenset(given[name]) for name in CODES), illness] = figure
    return found


def disclosed(found):
    """Differences of two groups that are known, of whom nine tenths have an illness, or are ill."""
    groups = [group for group, illness in found if illness == "_T"]
    for inner, outer in itertools.permutations(groups, 2):
        if not all(mine <= theirs for mine, theirs in zip(inner, outer, strict=True)):
            continue
        whole = found[outer, "_T"] - found[inner, "_T"]
        for illnesses in (ILLNESSES[1:2], ILLNESSES[2:], ILLNESSES[1:]):
            both = itertools.product((inner, outer), illnesses)
            if whole > 0 and all(cell in found for cell in both):
                part = sum(found[outer, illness] - found[inner, illness] for illness in illnesses)
                if part >= SHARE * whole:
                    yield inner, outer, illnesses, part, whole


@pytest.mark.parametrize("seed", range(8))
def test_no_difference_tells_of_what_nearly_everybody_in_it_is_ill(tmp_path, seed):
    rng = np.random.default_rng(seed)
    found = heard(house_of(tmp_path, people_of(rng)), rng)
    assert len(found) > 20
    assert list(disclosed(found)) == []
