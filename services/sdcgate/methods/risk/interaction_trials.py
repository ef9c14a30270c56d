"""What each further interaction would do to Skinner and Shlomo's criterion B_2, without a fit for each.

A trial takes one step of proportional fitting: the means of the model, each times the margin's count over
what the model expects of it. From independence, and wherever the step leaves the other margins as they are,
that is the fit itself. The means of a large table are put into classes once for all trials, eight to a
doubling, and a trial counts the classes in each cell of its margin: no exponential for each possible key.
"""

from math import prod, sqrt

import numpy as np

from sdcgate.methods.cells import FloatArray, IntArray
from sdcgate.methods.risk.loglinear import Generator, KeyTable, LogLinear
from sdcgate.methods.risk.proportional_fitting import Margin, factors_to, strides

LOWEST = -40.0
"""Classes begin at means of 2 to this: all smaller ones together add nothing to the criterion."""
TO_A_DOUBLING = 8.0
CLASSES = 433
CLASSING_VISITS = 5
"""What the classes of a cell cost, in visits of a fit."""
CRITERION_VISITS = 15
"""What the criterion of a cell or class costs, in visits of a fit."""


class Trials:
    """Trials of interactions from one model."""

    def __init__(self, table: KeyTable, model: LogLinear) -> None:
        self._table, self._model = table, model
        counts = table.keys.counts.astype(np.float64)
        self._counts = table.population * table.fraction if model.pseudo else counts
        self._axes = np.array(table.shape, dtype=np.int64)
        self._classes: IntArray | None = None
        self._middles: FloatArray = np.exp2(LOWEST + (np.arange(CLASSES) - 0.5) / TO_A_DOUBLING)
        self.visits = 0.0
        """Cells that were visited, about."""

    def standardised(self, one: Generator) -> float:
        """B_2, standardised, after one step towards the margin of an interaction."""
        from sdcgate.methods.risk.table_loops import criteria_of_filled_cells

        table, model = self._table, self._model
        margin = Margin.of_keys(one, table.shape, table.codes, self._counts)
        own = strides(one, table.shape)
        cells = len(margin.counts)
        by_class = cells * CLASSES < len(model.table)
        factors, bias, variance = self._by_class(margin, own) if by_class else self._by_cell(margin, own)
        means = model.table[table.cells] * factors[table.codes @ own]
        bias += criteria_of_filled_cells(means, self._counts, table.fraction)[1]
        return bias / sqrt(variance) if variance > 0 else 0.0

    def _by_class(self, margin: Margin, own: IntArray) -> tuple[FloatArray, float, float]:
        from sdcgate.methods.risk.trial_loops import class_means, count_classes, criterion_of_classes

        means, cells = self._model.table, len(margin.counts)
        if self._classes is None:
            self._classes = np.empty(len(means), dtype=np.uint16)
            class_means(means, LOWEST, TO_A_DOUBLING, CLASSES, self._classes)
            self.visits += CLASSING_VISITS * len(means)
        sums, counts = np.zeros(cells), np.zeros((cells, CLASSES), dtype=np.int32)
        count_classes(means, self._classes, self._axes, own, sums, counts)
        factors = factors_to(margin.counts, sums)
        self.visits += 2 * len(means) + CRITERION_VISITS * int(np.count_nonzero(counts))
        return factors, *criterion_of_classes(counts, self._middles, factors, self._table.fraction)

    def _by_cell(self, margin: Margin, own: IntArray) -> tuple[FloatArray, float, float]:
        from sdcgate.methods.risk.trial_loops import criterion_of_scaled_cells

        means = self._model.table
        factors = factors_to(margin.counts, margin.of_table(means, self._table.shape))
        self.visits += (1 + CRITERION_VISITS) * prod(self._table.shape)
        return factors, *criterion_of_scaled_cells(means, self._axes, factors, own, self._table.fraction)
