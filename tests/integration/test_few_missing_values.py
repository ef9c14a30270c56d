"""A cell of which few lack a measure, and which other cells are withheld with it."""

import pandas as pd
import pytest

from house import build, cells, verdict
from sdcgate.engine.descriptor import parse_descriptor

PLAIN = 15
"""Groups in which everybody has an income: more than cells are added one after the other."""


@pytest.fixture
def house(tmp_path):
    """Two of `few` and twelve of `most` lack an income; `most` is the largest, so that it costs most."""
    incomes = {
        "few": [100 + i for i in range(18)] + [None] * 2,
        "most": [100 + i for i in range(48)] + [None] * 12,
    }
    for group in range(PLAIN):
        incomes[f"g{group:02}"] = [100 + i for i in range(20 + group)]
    records = [{"group": group, "income": value} for group, values in incomes.items() for value in values]
    pd.DataFrame(records).to_csv(tmp_path / "people.csv", index=False)
    made = build(tmp_path, policy="five-safes")
    variable = {
        "name": "group",
        "identifying": "NO",
        "levels": [{"codes": [{"code": one} for one in incomes]}],
    }
    described = {
        "name": "people",
        "data": {"path": "people.csv", "format": "CSV"},
        "unit": {"label": "person"},
        "design": {"coverage": "CENSUS"},
        "variables": [variable],
        "measures": [{"name": "income", "decimals": 0, "lower_bound": 0, "upper_bound": 1000}],
    }
    made.engine.register(parse_descriptor(described))
    yield made
    made.facility.close()


def test_the_few_who_lack_a_measure_are_hidden_among_those_of_the_one_cell_that_lacks_enough(house):
    """No other cell helps, however cheap: two lack the income in all of these together."""
    answer = house.ask(dataset="people", rows=["group"], figures=["MEAN:income"])
    assert verdict(answer) == "RELEASED_PROTECTED"
    shown = cells(answer)
    withheld = {group for (group,), (mean,) in shown.items() if mean is None}
    # The first counterpart is the cheapest cell, which alone does not hide the two.
    assert withheld == {"few", "g00", "most"}
