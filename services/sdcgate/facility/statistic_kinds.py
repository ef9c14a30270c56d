"""What the kinds of statistics are asked of: measures, variables, samples, factors; and what they tell."""

from sdcgate.methods.outputs.statistic_facts import Statistic

COUNTING = frozenset(
    {
        Statistic.PROPORTION,
        Statistic.MODE,
        Statistic.ODDS_RATIO,
        Statistic.RISK_RATIO,
        Statistic.CHI_SQUARED_TEST,
    }
)
"""Statistics of variables; the others are of measures."""
SURVIVAL = frozenset({Statistic.KAPLAN_MEIER, Statistic.NELSON_AALEN})
"""Statistics of a time and of the codes that are the event."""
OF_TWO_SAMPLES = frozenset({Statistic.T_TEST, Statistic.MANN_WHITNEY_TEST, Statistic.KOLMOGOROV_SMIRNOV_TEST})
OF_FACTORS = frozenset({Statistic.CHI_SQUARED_TEST, Statistic.ANALYSIS_OF_VARIANCE})
OF_MEASURES = frozenset({Statistic.CORRELATIONS, Statistic.PRINCIPAL_COMPONENTS})
"""Statistics of two measures or more, none of which is the first."""
HAVING = (
    frozenset({Statistic.PROPORTION, Statistic.ODDS_RATIO, Statistic.RISK_RATIO}) | SURVIVAL | OF_TWO_SAMPLES
)
"""Statistics that count some codes of a variable."""
OF_TWO_VARIABLES = frozenset({Statistic.ODDS_RATIO, Statistic.RISK_RATIO})
OF_TWO_MEASURES = frozenset({Statistic.RATIO, Statistic.HEXAGONAL_BINS})
OF_SHARES = frozenset(
    {Statistic.GINI, Statistic.LORENZ_CURVE, Statistic.HERFINDAHL, Statistic.CONCENTRATION_RATIO}
)
"""Statistics of shares of a total."""
NEVER_BELOW_0 = OF_SHARES | SURVIVAL
"""Statistics that mean something only where no value can be below 0."""
WITH_ERRORS = frozenset(
    {
        Statistic.MEAN,
        Statistic.TOTAL,
        Statistic.RATIO,
        Statistic.PROPORTION,
        Statistic.MODE,
        Statistic.VARIANCE,
        Statistic.STANDARD_DEVIATION,
        Statistic.SKEWNESS,
        Statistic.KURTOSIS,
        Statistic.PERCENTILES,
        Statistic.GINI,
        Statistic.LORENZ_CURVE,
    }
)
"""Statistics that may have standard errors beside them."""
OF_MANY_POINTS = frozenset({Statistic.DENSITY, Statistic.HEXAGONAL_BINS}) | SURVIVAL
DRAWN_FROM = {
    Statistic.HISTOGRAM: "a percentile",
    Statistic.DENSITY: "three percentiles that differ",
    Statistic.BOX_PLOT: "the quartiles and the median",
    Statistic.LORENZ_CURVE: "a point of the curve",
    Statistic.HEXAGONAL_BINS: "two percentiles that differ of each measure and a hexagon of enough units",
    Statistic.KAPLAN_MEIER: "a step",
    Statistic.NELSON_AALEN: "a step",
}
"""Statistics that have drawings, and what must have left of a group for its drawing."""
MOST_DRAWN = 100
"""Groups that are drawn, or have curves of many points, at most."""
UNWEIGHTED = (
    frozenset({Statistic.HERFINDAHL, Statistic.CONCENTRATION_RATIO, Statistic.HEXAGONAL_BINS})
    | SURVIVAL
    | OF_TWO_SAMPLES
    | OF_FACTORS
    | OF_MEASURES
)
"""Statistics that are about the units that are there."""
OF_ORDER = frozenset(
    {
        Statistic.PERCENTILES,
        Statistic.HISTOGRAM,
        Statistic.DENSITY,
        Statistic.BOX_PLOT,
        Statistic.MINIMUM,
        Statistic.MAXIMUM,
        Statistic.RANGE,
        Statistic.HEXAGONAL_BINS,
        Statistic.KAPLAN_MEIER,
        Statistic.NELSON_AALEN,
        Statistic.MANN_WHITNEY_TEST,
        Statistic.KOLMOGOROV_SMIRNOV_TEST,
    }
)
"""Statistics whose table is one of units. They tell no sum; survival does, which has another table for it."""

ALIKE_OR_NOT = frozenset({Statistic.PROPORTION}) | SURVIVAL
"""Statistics that mean something also where all have the same."""
OF_SUMS = frozenset(
    {
        Statistic.MEAN,
        Statistic.TOTAL,
        Statistic.RATIO,
        Statistic.HERFINDAHL,
        Statistic.CONCENTRATION_RATIO,
    }
)
"""Of equal values they tell each one, where the policy has no rule on these."""
OF_VALUES = frozenset(
    {Statistic.MODE, Statistic.PERCENTILES, Statistic.MINIMUM, Statistic.MAXIMUM, Statistic.RANGE}
)
"""They tell a value that all have, where the policy has no rule on the modal share."""
