"""What a descriptor declares for models: knots of splines, strata and clusters of the sample."""

import pytest

FILE = "id,region,sex,pay\na,north,f,1\nb,south,m,2\n"


@pytest.mark.parametrize("knots", [[0.0, 1.0], [0.0, 2.0, 1.0], [0.0, 1.0, 1.0], [0.0, 1.0, float("inf")]])
def test_knots_are_at_least_three_rising_numbers(bench, people, knots) -> None:
    bench.write(FILE)

    problems = bench.problems(people(measures=[{"name": "pay", "knots": knots}]))

    assert set(problems) == {"measures[0].knots"}
    assert "at least 3 finite numbers, rising" in problems["measures[0].knots"]


def test_stratum_and_cluster_are_variables_of_the_dataset(bench, people) -> None:
    bench.write(FILE)

    problems = bench.problems(people(design={"coverage": "CENSUS", "stratum": "zone", "psu": "block"}))

    assert set(problems) == {"design.stratum", "design.psu"}
    assert "'zone' is no variable; they are 'region', 'sex'" in problems["design.stratum"]


def test_what_is_declared_is_kept_with_the_dataset(bench, people) -> None:
    bench.write(FILE)

    dataset = bench.register(
        people(
            design={"coverage": "CENSUS", "stratum": "region", "psu": "sex"},
            measures=[{"name": "pay", "knots": [0.0, 1.0, 4.0]}],
        )
    )

    again = bench.engine.dataset(dataset.name)
    assert again.descriptor.design.stratum == "region"
    assert again.descriptor.design.psu == "sex"
    assert again.descriptor.measures[0].knots == (0.0, 1.0, 4.0)
