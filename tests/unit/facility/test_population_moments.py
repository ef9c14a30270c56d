"""Sums of powers in populations: summed once for each, and no more of them kept than there is room for."""

from types import SimpleNamespace

import pytest

from sdcgate.engine.moment_sums import MomentQuery
from sdcgate.facility import population_moments
from sdcgate.facility.population_moments import PopulationMoments


class Engine:
    """Counts how often what is summed."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def moment_sums(self, dataset, in_time):
        def of_populations(queries):
            in_time()
            self.asked.append(f"{dataset}:{' '.join(query.measure for query in queries)}")
            return [(query.measure,) for query in queries]

        return SimpleNamespace(of_populations=of_populations)


def nothing() -> None:
    """There is time."""


def test_a_population_is_summed_once_and_others_are_others() -> None:
    engine = Engine()
    moments = PopulationMoments(engine)
    income, filtered = MomentQuery("income", 2, 0), MomentQuery("income", 2, 0, ("rent",))
    for dataset, query in (("a", income), ("a", filtered), ("b", income), ("a", income)):
        assert moments.of(dataset, [query], nothing) == [("income",)]
    assert engine.asked == ["a:income", "a:income", "b:income"]


def test_measures_that_are_not_known_are_summed_together() -> None:
    engine = Engine()
    moments = PopulationMoments(engine)
    x, y, z = (MomentQuery(measure, 2, 0) for measure in "xyz")
    assert moments.of("a", [y], nothing) == [("y",)]
    assert moments.of("a", [x, y, z, x], nothing) == [("x",), ("y",), ("z",), ("x",)]
    assert engine.asked == ["a:y", "a:x z"]


def test_those_asked_last_are_kept(monkeypatch) -> None:
    monkeypatch.setattr(population_moments, "KEPT", 2)
    engine = Engine()
    moments = PopulationMoments(engine)
    for measure in ("x", "y", "x", "z", "x", "y"):
        moments.of("a", [MomentQuery(measure, 2, 0)], nothing)
    assert engine.asked == ["a:x", "a:y", "a:z", "a:y"]


def test_what_ends_before_its_time_is_not_kept() -> None:
    def gone() -> None:
        raise TimeoutError

    engine = Engine()
    moments = PopulationMoments(engine)
    with pytest.raises(TimeoutError):
        moments.of("a", [MomentQuery("x", 2, 0)], gone)
    moments.of("a", [MomentQuery("x", 2, 0)], nothing)
    assert engine.asked == ["a:x"]
