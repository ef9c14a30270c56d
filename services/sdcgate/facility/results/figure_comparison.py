"""Figures of groups or cells that a job printed, held against those of the dataset, as they leave."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

from sdcgate.facility.asked import Asked
from sdcgate.facility.decisions import new_decision
from sdcgate.facility.reasons import binding_reason
from sdcgate.facility.results.grids import Row
from sdcgate.facility.results.printed import CATEGORIES, Figures
from sdcgate.methods.cells import MISSING, TOTAL
from sdcgate.methods.outputs.printed_estimates import Written
from sdcgate.methods.rules import Consequence
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import policy_pb2, statistic_pb2, table_pb2

DIFFERS = "Published figures of the output are not those of its dataset."
REFERRED = "An output checker will look at this output."
REPLACED = (
    "Medians are values of single persons and do not leave. What leaves in their place is the mean of a "
    "window of units about each."
)
_SHOWN = (table_pb2.CELL_STATUS_PUBLISHED, table_pb2.CELL_STATUS_PERTURBED)
_MOST_NAMED = 5

Ours = Mapping[Row, float | str | None]
"""Our figure of each group or cell by its codes, None where it is withheld."""


@dataclass(frozen=True, slots=True)
class FigureComparison:
    """Figures that a job printed, to be compared with those of the dataset."""

    figures: Figures
    canonical: bytes
    """Stands for the question and the figures together."""

    @classmethod
    def of(
        cls, request: pb.QueryStatisticRequest | pb.QueryTableRequest, figures: Figures, key: bytes
    ) -> "FigureComparison":
        """Of what was printed; its figures may be confidential, so they stand as a keyed digest."""
        bare = deepcopy(request)
        bare.ClearField("project")
        content = bare.SerializeToString(deterministic=True) + json.dumps(sorted(figures.cells)).encode()
        # One question has several figures: errors and deviations, percentiles.
        content += figures.name.encode()
        digest = hashlib.blake2b(content, key=key, digest_size=32).hexdigest()
        return cls(figures, f'{{"printed_figures":"{digest}"}}'.encode())

    def compared(
        self, asked: Asked, decision: pb.Decision, digits: int
    ) -> tuple[pb.Decision, tuple[str, ...]]:
        """The decision about what was printed, and where it differs from the dataset's figures.

        Only what was printed leaves. `digits` are significant ones of a statistic, decimals of a table. What
        is compared is told by the answer, so all of it counts as released all the same.
        """
        binding: tuple[str, ...] = ()
        if decision.HasField("statistic"):
            ours = _of_statistic(decision.statistic, self.figures.name)
            if self.figures.name not in (figure.name for figure in decision.statistic.figures):
                binding = (f"{self.figures.name[:64]!r} is no figure of it.",)
        elif decision.HasField("table"):
            ours = _of_table(decision.table) if not self._of_categories else _numbers_of(decision.table)
        else:
            return decision, ()
        binding = binding or tuple(self._differing(ours, digits, decision.HasField("table")))
        if binding:
            referred = new_decision(asked, Consequence.REFER)
            referred.reasons.append(binding_reason(f"{DIFFERS} {' '.join(binding)} {REFERRED}"))
            return referred, binding
        printed = {codes for codes, _ in self.figures.cells}
        cells = [codes[:-1] for codes in _of_table(decision.table)] if self._of_categories else list(ours)
        kept = [place for place, codes in enumerate(cells) if codes in printed]
        if decision.HasField("statistic"):
            _keep_groups(decision.statistic, self.figures.name, kept)
            statuses = decision.statistic.statuses
        else:
            _keep_cells(decision.table, kept)
            statuses = decision.table.statuses
        if all(status == table_pb2.CELL_STATUS_PUBLISHED for status in statuses):
            # What is withheld besides was not printed.
            decision.verdict = pb.VERDICT_RELEASED
            decision.ClearField("reasons")
            decision.ClearField("alternatives")
        if not self.figures.compared:
            decision.verdict = pb.VERDICT_RELEASED_PROTECTED
            code = policy_pb2.REASON_CODE_PERCENTILE_UNITS
            decision.reasons.append(pb.Reason(code=code, message=REPLACED))
        return decision, ()

    @property
    def _of_categories(self) -> bool:
        """Whether numbers of codes were printed: the table by these codes leaves in their place."""
        return self.figures.name == CATEGORIES

    def _differing(self, ours: Ours, digits: int, decimals: bool) -> Iterable[str]:
        foreign = [codes for codes, _ in self.figures.cells if codes not in ours]
        if foreign:
            yield f"The dataset has nobody in {_named(foreign)}."
        if not self.figures.compared:
            return
        written = Written.of(value for _, value in self.figures.cells if not isinstance(value, str))
        wrong = [
            codes
            for codes, value in self.figures.cells
            if ours.get(codes) is not None and not _agree(ours[codes], value, written, digits, decimals)
        ]
        if wrong:
            yield f"{self.figures.name} of {_named(wrong)}."


def _named(cells: Sequence[Row]) -> str:
    more = f" and {len(cells) - _MOST_NAMED} more" if len(cells) > _MOST_NAMED else ""
    return "; ".join(", ".join(codes) or "all" for codes in cells[:_MOST_NAMED]) + more


def _agree(
    ours: float | str | None, printed: float | str, written: Written, digits: int, decimals: bool
) -> bool:
    """Whether two roundings of one figure can be: ours as it leaves, the printed one as it was printed."""
    if isinstance(ours, str) or isinstance(printed, str) or ours is None:
        return ours == printed
    slack = 0.5001 * 10.0 ** written.place(printed) + 1e-9 * abs(printed)
    if decimals:
        slack += 0.5001 * 10.0**-digits
    elif ours:
        slack += 0.5001 * 10.0 ** (math.floor(math.log10(abs(ours))) + 1 - digits)
    return abs(ours - printed) <= slack


def _codes(dimensions: Sequence[table_pb2.Dimension], count: int) -> list[Row]:
    """The codes of each group or cell."""
    columns = [[dimension.codes[place] for place in dimension.cells] for dimension in dimensions]
    return list(zip(*columns, strict=True)) if columns else [()] * count


def _of_statistic(statistic: statistic_pb2.GroupedStatistic, name: str) -> Ours:
    codes = _codes(statistic.dimensions, len(statistic.statuses))
    found: dict[Row, float | str | None] = dict.fromkeys(codes)
    for figure in statistic.figures:
        if figure.name == name:
            values: Sequence[float | str] = figure.codes or figure.values
            found |= {codes[group]: value for group, value in zip(figure.groups, values, strict=True)}
    return found


def _of_table(table: table_pb2.Table) -> Ours:
    (figure,) = table.figures
    codes = _codes(table.dimensions, len(table.statuses))
    return {
        one: figure.values[place]
        if table.statuses[place] in _SHOWN and (not figure.defined or figure.defined[place])
        else None
        for place, one in enumerate(codes)
    }


def _numbers_of(table: table_pb2.Table) -> Ours:
    """How many codes of the last variable each cell of the others has, None where one of them is withheld."""
    parts: dict[Row, list[float | str | None]] = {}
    for (*cell, code), units in _of_table(table).items():
        if code not in (MISSING, TOTAL):
            parts.setdefault(tuple(cell), []).append(units)
    return {
        cell: None if None in units else str(sum(number != 0 for number in units))
        for cell, units in parts.items()
    }


def _keep_groups(statistic: statistic_pb2.GroupedStatistic, name: str, kept: Sequence[int]) -> None:
    """Leave one figure of some groups; a group that does not show it is withheld."""
    places = {old: new for new, old in enumerate(kept)}
    figures = [figure for figure in statistic.figures if figure.name == name]
    for figure in figures:
        among = [at for at, group in enumerate(figure.groups) if group in places]
        figure.codes[:] = [figure.codes[at] for at in among] if figure.codes else []
        figure.values[:] = [figure.values[at] for at in among] if figure.values else []
        figure.groups[:] = [places[figure.groups[at]] for at in among]
    shown = {group for figure in figures for group in figure.groups}
    del statistic.figures[:]
    statistic.figures.extend(figures)
    statistic.statuses[:] = [
        table_pb2.CELL_STATUS_PUBLISHED if new in shown else table_pb2.CELL_STATUS_WITHHELD
        for new in range(len(kept))
    ]
    statistic.unreliable[:] = [places[group] for group in statistic.unreliable if group in places]
    for dimension in statistic.dimensions:
        dimension.cells[:] = [dimension.cells[place] for place in kept]


def _keep_cells(table: table_pb2.Table, kept: Sequence[int]) -> None:
    """Leave some cells."""
    for dimension in table.dimensions:
        dimension.cells[:] = [dimension.cells[place] for place in kept]
    table.statuses[:] = [table.statuses[place] for place in kept]
    for figure in table.figures:
        figure.values[:] = [figure.values[place] for place in kept]
        if figure.defined:
            figure.defined[:] = [figure.defined[place] for place in kept]
