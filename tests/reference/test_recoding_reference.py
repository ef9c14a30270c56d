"""Recodings: Shlomo's Table 3, entropy and R-squares of other programs, worst tables by a database."""

from itertools import combinations, pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels
from scipy.optimize import brentq
from scipy.stats import entropy

from sdcgate.methods.risk.recoding import Lattice, lattice, measure, worst_table

# Shlomo (Accessing Microdata via the Internet, 2003), Table 3: percentages of the between variance and of the
# entropy of the full key. Key3 keeps more variance than Key2 and less entropy, Key5 is no level between its
# neighbours (Table 1): they are other recodings, not steps of this one.
TABLE_3 = {
    "Full key": (100.0, 100.0),
    "Key1": (96.065, 96.318),
    "Key2": (90.642, 90.710),
    "Key4": (84.472, 83.801),
    "Key6": (70.240, 64.349),
}


def table_3():
    """A key whose levels have the shares of Table 3: each step of a finer level splits every cell in two.

    The splits are independent of each other. That of a step parts the records so that its entropy is what
    the step adds, and the variable of interest by as much as makes its variance what the step adds.
    """
    rows = [np.array(row) / 100 for row in TABLE_3.values()]
    gains = [*(before - after for before, after in pairwise(rows)), rows[-1]][::-1]
    parts = [brentq(lambda p, h=gain[1]: entropy([p, 1 - p], base=2) - h, 1e-12, 0.5) for gain in gains]
    cells = np.array(list(product((0, 1), repeat=len(parts))))
    shares = np.prod(np.where(cells == 0, parts, 1 - np.array(parts)), axis=1)
    steps = [np.sqrt(gain[0] / (p * (1 - p))) for gain, p in zip(gains, parts, strict=True)]
    interest = ((cells - (1 - np.array(parts))) * steps).sum(axis=1)
    places = np.arange(len(cells))
    levels = tuple(places >> step for step in range(len(parts)))
    counts = np.rint(shares * 1e9)
    interest -= counts @ interest / counts.sum()
    return Lattice((levels,), counts, counts * 126, counts * interest)


@pytest.mark.parametrize(("level", "key"), list(enumerate(TABLE_3)))
def test_shares_of_between_variance_and_entropy_are_those_of_the_table(level, key):
    found = measure(table_3(), (level,))
    variance, kept = TABLE_3[key]
    assert round(100 * found.between_share, 3) == variance
    assert round(100 * found.entropy_share, 3) == kept


def test_entropy_is_scipys_and_between_variance_the_r_square_of_a_regression():
    """The first year of the RAND experiment: R-squares of the outlay on site and age by statsmodels' OLS."""
    from statsmodels.formula.api import ols

    file = pd.read_csv(Path(statsmodels.__file__).parent / "datasets/randhie/src/randhie.csv")
    first = file[file.year == 1].assign(age=lambda one: one.xage.astype(int))
    ages = np.arange(int(first.age.max()) + 1)
    codes = np.column_stack([first.site - first.site.min(), first.age]).astype(np.int64)
    whole = lattice(codes, None, [[], [ages // 5, ages // 20]], first.meddol.to_numpy())
    expected = []
    for width in (1, 5, 20):
        cells = first.site.astype(str) + "/" + (first.age // width).astype(str)
        squared = ols("meddol ~ C(cells)", first.assign(cells=cells)).fit().rsquared
        expected.append((squared, entropy(cells.value_counts(), base=2)))
    for level, (squared, bits) in enumerate(expected):
        found = measure(whole, (0, level))
        assert found.entropy == pytest.approx(bits, rel=1e-12)
        assert found.entropy_share == pytest.approx(bits / expected[0][1], rel=1e-12)
        assert found.between_share == pytest.approx(squared / expected[0][0], rel=1e-8)


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_the_worst_table_is_that_of_all_tables_counted_by_duckdb(dimensions):
    """RAND's persons of the first year, made weights w: the risk of a unique is ln(w) / (w - 1)."""
    import duckdb

    file = pd.read_csv(Path(statsmodels.__file__).parent / "datasets/randhie/src/randhie.csv")
    first = file[file.year == 1].reset_index(drop=True)
    first["age"] = first.xage.astype(int)
    first["w"] = 20.0 + 80.0 * ((first.zper * 7919) % 101) / 101
    names = ["site", "age", "female", "num", "plan"]
    found = {}
    for chosen in combinations(names, dimensions):
        keys = ", ".join(chosen)
        cells = f"SELECT count(*) AS f, sum(w) AS w FROM first GROUP BY {keys}"
        risk = "sum(ln(w) / (w - 1)) FILTER (f = 1), count(*) FILTER (f = 1), count(*)"
        found[chosen] = duckdb.sql(f"SELECT {risk} FROM ({cells})").fetchall()[0]
    codes = np.column_stack([np.unique(first[name], return_inverse=True)[1] for name in names])
    worst = worst_table(lattice(codes.astype(np.int64), first.w.to_numpy(), [[]] * 5), dimensions)
    matches, uniques, cells = found[tuple(names[at] for at in worst.variables)]
    assert (matches or 0.0) == max(
        one or 0.0 for one, _, _ in found.values()
    )  # no variable has uniques alone
    assert worst.expected_matches == pytest.approx(matches or 0.0, rel=1e-9)
    assert (worst.sample_uniques, worst.key_cells) == (uniques, cells)
