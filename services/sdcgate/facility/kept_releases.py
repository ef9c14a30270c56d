"""What the ledger keeps of a release, to compare later answers with: written, and read back."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.knowledge import Drawn, NoisyRelease, ReleasedTable, Told
from sdcgate.facility.percentile_windows import ReleasedWindow
from sdcgate.facility.population_limits import PopulationLimit
from sdcgate.facility.released_equations import ReleasedEquations
from sdcgate.facility.released_ratios import Ratios
from sdcgate.ledger.ledger import StoredRelease
from sdcgate.methods.tables.boxes import BoxTable
from sdcgate.methods.tables.noisy_boxes import NoisyTable
from sdcgate.wire.tables import facts_from_message, facts_to_message
from sdcgate_proto.sdcgate.facility.v1 import release_pb2


@dataclass(frozen=True, slots=True, eq=False)
class Left:
    """What one event of the ledger made known."""

    sequence: int
    query: str
    version: tuple[str, int]
    """The dataset and its version."""
    tables: list[ReleasedTable]
    noisy: list[NoisyRelease]
    windows: list[ReleasedWindow]
    limits: list[PopulationLimit]
    equations: list[ReleasedEquations]
    exception: bool
    """Whether a checker released it though it could not be proved."""
    fits: list[ReleasedTable]
    drawn: Drawn
    held: bool = False
    """Whether an answer was held for what the data are, and nothing more became known."""

    @property
    def of_refusal(self) -> bool:
        """Whether no figure left: only what a refusal tells is known."""
        return self.held or bool(self.limits) or bool(self.fits and not self.tables)


def release_bytes(
    dataset: Dataset,
    released: Iterable[ReleasedTable],
    noisy: NoisyRelease | None,
    windows: Iterable[ReleasedWindow],
    limit: PopulationLimit | None,
    equations: Iterable[ReleasedEquations],
    exception: bool,
    fits: Iterable[ReleasedTable],
    drawn: Drawn,
    held: bool = False,
) -> bytes:
    """What the ledger keeps of a release; `left_of` reads it."""
    release = release_pb2.Release(
        dataset=dataset.name, version=dataset.version, exception=exception, held=held
    )
    for kept, tables in (
        (release.tables, released),
        (release.fits, fits),
        (release.drawn, drawn.tables),
    ):
        for part in tables:
            kept.add(
                quantity=part.quantity,
                boxes=part.table.to_bytes(),
                facts=facts_to_message(part.facts),
                known=part.told.cells,
                unsafe=part.told.unsafe,
                doubted=part.told.doubted,
                figures=b"" if part.figures is None else part.figures.astype(np.uint8).tobytes(),
                everything=part.figures is None,
                ratios=part.ratios.message(),
            )
    for table in noisy.tables if noisy is not None else ():
        release.noisy.add(
            quantity=table.quantity,
            boxes=table.table.to_bytes(),
            figures=table.true.tolist(),
            noisy=table.noisy.tolist(),
            unsafe=np.flatnonzero(table.unsafe).tolist(),
            reach=table.reach.tolist(),
            width=table.width.tolist(),
        )
    release.noise = noisy.noise if noisy is not None else ""
    release.windows.extend(window.message() for window in windows)
    if limit is not None:
        release.limits.append(limit.message())
    release.equations.extend(one.message() for one in equations)
    release.drawn_equations.extend(one.message() for one in drawn.equations)
    return release.SerializeToString(deterministic=True)


def left_of(stored: StoredRelease) -> Left:
    """What a stored release made known."""
    release = release_pb2.Release.FromString(stored.payload)
    return Left(
        stored.sequence,
        stored.query_id,
        (release.dataset, release.version),
        list(map(_table, release.tables)),
        [NoisyRelease(tuple(map(_noisy_table, release.noisy)), release.noise)] if release.noisy else [],
        [ReleasedWindow.of(window) for window in release.windows],
        [PopulationLimit.of(limit) for limit in release.limits],
        [ReleasedEquations.of(one) for one in release.equations],
        release.exception,
        list(map(_table, release.fits)),
        Drawn(tuple(map(_table, release.drawn)), tuple(map(ReleasedEquations.of, release.drawn_equations))),
        release.held,
    )


def _table(part: release_pb2.ReleasedBoxes) -> ReleasedTable:
    table = BoxTable.from_bytes(part.boxes)
    facts = facts_from_message(part.facts, len(table))
    told = Told(tuple(part.known), tuple(part.unsafe), tuple(part.doubted))
    released = ReleasedTable(part.quantity, table, facts, tuple(table.boxes()), told)
    if part.everything:
        return released
    # Of answers that were recorded without it nobody knows what they told.
    if not part.figures:
        return released.perhaps()
    figures = np.frombuffer(part.figures, dtype=np.uint8).astype(np.int64)
    return replace(released, figures=figures, ratios=Ratios.kept(part.ratios))


def _noisy_table(part: release_pb2.NoisyBoxes) -> NoisyTable:
    table = BoxTable.from_bytes(part.boxes)
    unsafe = np.zeros(len(table), dtype=np.bool_)
    unsafe[list(part.unsafe)] = True
    return NoisyTable(
        part.quantity,
        table,
        np.array(part.figures),
        np.array(part.noisy),
        unsafe,
        np.array(part.reach),
        np.array(part.width),
    )
