"""What is wrong with published figures: by themselves, and beside the true facts. Names no figure."""

from collections.abc import Iterator, Sequence

import numpy as np

from sdcgate.methods.cells import BoolArray, Facts
from sdcgate.methods.positions import FactProblem, named
from sdcgate.methods.tables.published_figures import (
    CellBounds,
    Published,
    PublishedRatios,
    RoundedValues,
    facts_of,
    values_of,
)
from sdcgate.methods.tables.published_rows import PRECISION, told_by
from sdcgate.methods.tables.quantities import SUMS, quantities_of

MOST, MOST_TIMES = 1e100, 1e9
"""Greatest values of figures, and of what ratios are taken times (or its inverse): products stay finite."""
NO_NUMBER = "must be numbers, none beyond 1e100"
NO_TIMES = "must lie between 1e-9 and 1e9"


def misread(published: Sequence[Published], cells: int, measures: int) -> list[FactProblem]:
    """Columns whose lengths, positions or numbers make no sense."""
    found = _Found()
    for one in published:
        facts = facts_of(one)
        columns = (
            {"lower": one.lower, "upper": one.upper}
            if isinstance(one, CellBounds)
            else {"values": one.values, "half_widths": one.half_widths}
        )
        count = len(next(iter(facts.values())).cells)
        for name, fact in facts.items():
            path = f"{one.path}.{name}.cells"
            outside = (fact.cells < 0) | (fact.cells >= cells)
            found.note(path, outside, f"has positions outside of the table's {cells} cells")
            if len(fact.cells) != count:
                found.whole(path, f"must have as many cells as numerators, {count}")
            if not 0 <= fact.quantity < SUMS + measures:
                found.whole(f"{one.path}.{name}", "is of no measure of the facts")
        for name, column in columns.items():
            path = f"{one.path}.{name}"
            if len(column) != count:
                found.whole(path, f"must have one value for each of {count} cells, not {len(column)}")
            elif isinstance(one, CellBounds):
                found.note(path, ~(np.isinf(column) | (np.abs(column) <= MOST)), NO_NUMBER)
            else:
                found.note(path, ~(np.abs(column) <= MOST), NO_NUMBER)
                if name == "half_widths":
                    found.note(path, column < 0, "must not be negative")
        if isinstance(one, PublishedRatios) and not (1 / MOST_TIMES <= one.times <= MOST_TIMES):
            found.whole(f"{one.path}.times", NO_TIMES)
    return found.problems()


def contradicted(published: Sequence[Published], facts: Facts, units_follow: bool) -> list[FactProblem]:
    """Where the true facts are not as is published; names no figure. Columns must make sense."""
    if not published:
        return []
    truths = quantities_of(facts)
    told = told_by(published, facts, units_follow)
    with np.errstate(over="ignore", invalid="ignore"):
        totals, blur = told.totals(truths[:, None])[0], told.blur(truths)
    fits = np.isfinite(totals) & np.isfinite(blur)
    wrong = ~(fits & (totals >= told.lower - blur) & (totals <= told.upper + blur))
    found = _Found()
    for column, one in enumerate(published):
        entries = np.unique(told.entries[wrong & (told.columns == column)])
        flags = np.zeros(len(next(iter(facts_of(one).values())).cells), dtype=np.bool_)
        flags[entries] = True
        if isinstance(one, PublishedRatios):
            below = values_of(one.denominators, facts)
            found.note(f"{one.path}.denominators.cells", below == 0, "has cells where the denominator is 0")
            text = "contradict the facts: no such ratio is within half_widths of them"
            found.note(f"{one.path}.values", flags & (below != 0), text)
        elif isinstance(one, RoundedValues):
            text = "contradict the facts, which lie farther off than half_widths"
            found.note(f"{one.path}.values", flags, text)
        else:
            true = values_of(one.facts, facts)
            room = PRECISION * np.abs(true)
            text = "contradict the facts, which lie {} that"
            found.note(f"{one.path}.lower", true < one.lower - room, text.format("below"))
            found.note(f"{one.path}.upper", true > one.upper + room, text.format("above"))
    return found.problems()


def told_twice(published: Sequence[Published]) -> Iterator[FactProblem]:
    """Entries about what another entry of their kind is about, or about nothing: a fact over itself.

    That a total is 100% of itself is what a column of percentages ends with. It is true of any, and no row.
    """
    seen: dict[tuple[object, ...], None] = {}
    for one in published:
        names = facts_of(one)
        again, same = [], []
        for entry in range(min(len(fact.cells) for fact in names.values())):
            facts = [(fact.quantity, fact.having, int(fact.cells[entry])) for fact in names.values()]
            key = (type(one), *facts)
            if key in seen:
                again.append(entry)
            if len(facts) == 2 and facts[0] == facts[1] and not _whole(one, entry):
                same.append(entry)
            seen[key] = None
        path = f"{one.path}.{next(iter(names))}.cells"
        texts = [
            *(["is about what another entry is about"] if again else []),
            *(["has the same fact below itself"] if same else []),
        ]
        if texts:
            yield FactProblem(path, "; ".join(texts) + named(np.union1d(again, same).astype(np.int64)))


def _whole(one: Published, entry: int) -> bool:
    """Whether a ratio is published as that of a fact to itself, as closely as it is told."""
    if not isinstance(one, PublishedRatios) or max(len(one.values), len(one.half_widths)) <= entry:
        return False
    return bool(abs(one.values[entry] - one.times) <= one.half_widths[entry])


class _Found:
    """What is wrong, by path, entries by their positions in the column."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}

    def whole(self, path: str, text: str) -> None:
        """The whole of a field is wrong."""
        self._texts.setdefault(path, []).append(text)

    def note(self, path: str, wrong: BoolArray, text: str) -> None:
        """Some entries of a column are."""
        if wrong.any():
            self.whole(path, text + named(np.flatnonzero(wrong)))

    def problems(self) -> list[FactProblem]:
        """All of it, one a path."""
        return [FactProblem(path, "; ".join(texts)) for path, texts in self._texts.items()]
