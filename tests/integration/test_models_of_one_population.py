"""Models of one population, asked one after the other, ask for the same differences, counted once."""

from collections.abc import Sequence

import numpy as np
import pytest

from house import build, model_request, people_descriptor, verdict
from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.engine.queries import Region
from sdcgate.facility.pace import Pace
from sdcgate.methods.cells import Facts
from sdcgate.methods.rules import Contributions

CODES = {"sex": ["f", "m"], "town": ["a", "b", "c"]}
PEOPLE = 600


@pytest.fixture
def house(tmp_path):
    """People whose balance may be negative, so that no difference of sums is safe without being counted."""
    rng = np.random.default_rng(3)
    rows = ["sex,town,balance"]
    for number in range(PEOPLE):
        balance = rng.normal(100, 400) + 50 * (number % 2)
        rows.append(f"{CODES['sex'][number % 2]},{CODES['town'][rng.integers(3)]},{balance:.2f}")
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n")
    made = build(tmp_path)
    bounds = {"lower_bound": -1e5, "upper_bound": 1e5}
    made.engine.register(people_descriptor(CODES, [{"name": "balance", "decimals": 2, **bounds}]))
    yield made
    made.facility.close()


@pytest.fixture(autouse=True)
def counted(monkeypatch) -> list[tuple[Region, ...]]:
    """The differences that the engine counts."""
    asked = []
    region_facts = Engine.region_facts

    def counting(
        self: Engine,
        dataset: Dataset,
        regions: Sequence[Region],
        measures: Sequence[str],
        ranks: int,
        contributions: Contributions,
    ) -> Facts:
        asked.append((tuple(regions), tuple(measures)))
        return region_facts(self, dataset, regions, measures, ranks, contributions)

    monkeypatch.setattr(Engine, "region_facts", counting)
    return asked


def test_the_differences_of_later_models_have_been_counted(house, counted):
    def ask(formula):
        return verdict(
            house.facility.query_model(house.researcher, model_request(formula, dataset="people"), Pace(60.0))
        )

    assert ask("balance ~ sex + town") == "RELEASED"
    assert ask('balance ~ sex + C(town, reference="b")') == "RELEASED"
    first = len(counted)
    assert first > 0
    assert ask('balance ~ sex + C(town, reference="c")') == "RELEASED"
    assert len(counted) == first
    assert ask('balance ~ C(sex, reference="m") + C(town, reference="c")') == "RELEASED"
    assert len(counted) == len(set(counted))
