"""Models of the keys behind the estimates of a file's risk: log-linear, smoothed, and the one to trust.

Several sections rest on the same fits: `FileModels` makes each of them once.
"""

from collections.abc import Callable
from itertools import product

import numpy as np

from sdcgate.methods.risk import loglinear
from sdcgate.methods.risk.fewer_keys import recommend_by_fewer
from sdcgate.methods.risk.file_options import NO_WEIGHTS, Options
from sdcgate.methods.risk.file_report import LogLinearSection, SmoothingSection
from sdcgate.methods.risk.forward_search import Search, forward_search
from sdcgate.methods.risk.microdata import UnitFile
from sdcgate.methods.risk.recommendation import NORMAL_95, Recommendation, recommend_from
from sdcgate.methods.risk.smoothing import smooth, smoothed_risk

FORWARD = "forward search"
Interactions = tuple[tuple[str, ...], ...]
"""The interactions of a hierarchical model, each by the names of its key variables."""


class FileModels:
    """The table of a file's keys, and the models that more than one section fits to it."""

    def __init__(self, units: UnitFile, options: Options, heed: Callable[[], None] | None = None) -> None:
        self.units, self.options, self._heed = units, options, heed
        self._table: loglinear.KeyTable | None = None
        self._fits: dict[tuple[str, bool], loglinear.LogLinear] = {}

    @property
    def table(self) -> loglinear.KeyTable:
        """The table of all possible keys. Raises ValueError where it cannot be made, with what to do."""
        if self._table is None:
            if self.units.weights is None:
                raise ValueError(NO_WEIGHTS)
            _check_possible(self.units, self.options)
            self._table = loglinear.key_table(self.units.codes, self.units.weights)
        return self._table

    @property
    def differ(self) -> bool:
        """Whether weights differ."""
        return self.units.weights is not None and bool(np.ptp(self.units.weights) > 0)

    def simple(self, pseudo: bool) -> loglinear.LogLinear:
        """Main effects."""
        return self._fit("simple", loglinear.main_effects(len(self.table.shape)), pseudo, None)

    def rich(self, pseudo: bool) -> loglinear.LogLinear:
        """All interactions of two variables."""
        pairs = loglinear.all_two_way(len(self.table.shape))
        return self._fit("rich", pairs, pseudo, self.simple(pseudo))

    def asked(self, interactions: Interactions, pseudo: bool) -> loglinear.LogLinear:
        """A model by the names of its interactions. A variable of several waves stands for each of them."""
        places: dict[str, list[int]] = {}
        for place, key in enumerate(self.units.keys):
            places.setdefault(key.name, []).append(place)
        generators = [one for names in interactions for one in product(*(places[name] for name in names))]
        return self._fit(model_name(interactions), tuple(generators), pseudo, self.simple(pseudo))

    def _fit(
        self,
        name: str,
        generators: tuple[loglinear.Generator, ...],
        pseudo: bool,
        start: loglinear.LogLinear | None,
    ) -> loglinear.LogLinear:
        if (name, pseudo) not in self._fits:
            if self._heed is not None:
                self._heed()
            self._fits[name, pseudo] = loglinear.fit(
                self.table, generators, pseudo=pseudo, start=start, most_visits=self.options.most_visits
            )
        return self._fits[name, pseudo]


def log_linear_section(models: FileModels) -> tuple[LogLinearSection, ...]:
    """Independence, all interactions of two variables, and what a forward search from the first one finds.

    Pseudo maximum likelihood where weights differ.
    """
    pseudo = models.differ
    found = [_log_linear(models.table, "main effects", models.simple(pseudo))]
    if len(models.table.shape) > 1:
        found.append(_log_linear(models.table, "all two-way interactions", models.rich(pseudo)))
        search = forward_search(
            models.table,
            pseudo=pseudo,
            start=models.simple(pseudo),
            most_visits=models.options.most_visits,
        )
        found.append(_log_linear(models.table, FORWARD, search.model, search))
    found += [
        _log_linear(models.table, model_name(one), models.asked(one, pseudo)) for one in models.options.models
    ]
    return tuple(found)


def model_name(interactions: Interactions) -> str:
    """A hierarchical model as its interactions are written: `age*sex + region*sex`."""
    return " + ".join("*".join(one) for one in interactions)


def recommended_section(models: FileModels) -> Recommendation:
    """The estimate of tau_2 to trust; of fewer keys, and too low, where all possible ones are too many."""
    units, options = models.units, models.options
    if units.weights is not None and _possible(units) > options.largest_table:
        return recommend_by_fewer(units, options.largest_table, options.most_visits)
    table = models.table
    return recommend_from(
        table,
        models.units.weights,
        models.simple(pseudo=False),
        models.rich(pseudo=False),
        models.options.most_visits,
    )


def smoothing_section(units: UnitFile, options: Options) -> SmoothingSection | None:
    """Smoothing along the ordered key variables; None where none is named."""
    if not options.ordinal:
        return None
    names = [key.name for key in units.keys]
    if units.weights is None:
        raise ValueError(NO_WEIGHTS)
    axes = [place for place, name in enumerate(names) if name in options.ordinal]
    smoothing = smooth(units.codes, axes, units.weights)
    found = smoothed_risk(smoothing)
    return SmoothingSection(
        variables=tuple(axes),
        bandwidth=smoothing.bandwidth,
        dispersion=smoothing.dispersion,
        tau_1=found.tau_1,
        tau_2=found.tau_2,
        tau=found.tau,
        expected_uniques=found.expected_uniques,
        standardised=found.standardised,
    )


def _possible(units: UnitFile) -> float:
    lacking = (units.codes < 0).any(axis=0)
    return float(np.prod(units.codes.max(axis=0) + 1.0 + lacking))


def _check_possible(units: UnitFile, options: Options) -> None:
    possible = _possible(units)
    if possible > options.largest_table:
        raise ValueError(
            f"{possible:.1e} keys are possible, more than {options.largest_table:.1e}: "
            "take fewer key variables, or coarser ones"
        )


def _log_linear(
    table: loglinear.KeyTable, name: str, model: loglinear.LogLinear, search: Search | None = None
) -> LogLinearSection:
    risk = loglinear.risk(table, model)
    half = NORMAL_95 * float(np.sqrt(risk.variance))
    uniques = int((table.keys.counts == 1).sum())
    return LogLinearSection(
        name=name,
        generators=model.generators,
        pseudo=model.pseudo,
        tau_1=risk.tau_1,
        tau_2=risk.tau_2,
        interval=(max(0.0, risk.tau_2 - half), min(float(uniques), risk.tau_2 + half)),
        tau=risk.tau,
        criteria=loglinear.criteria(table, model) if search is None else search.criteria,
        converged=model.converged,
        ended="" if search is None else str(search.ended),
    )
