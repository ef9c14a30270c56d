"""Cells to withhold that cannot be: known from elsewhere, or empty where zeros are published."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sdcgate.methods.cells import BoolArray, IntArray
from sdcgate.methods.positions import named
from sdcgate.wire.problems import FieldProblem, InvalidMessageError
from sdcgate.wire.protection import TableToProtect
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb

KNOWN = "names cells that are known from elsewhere, which nothing withholds: see {paths}"
MUST_BE_HIDDEN = "names unsafe cells, which nothing withholds once they are known: see {paths}"
EMPTY = (
    "names empty cells, and a cell of 0 cannot be withheld where zeros are published, as everybody knows "
    "then that a withheld one is not empty: leave it out, or set zeros_withheld"
)


@dataclass(frozen=True, slots=True, eq=False)
class _Named:
    """Positions of cells that a message lists, and their places among all cells."""

    path: str
    positions: IntArray = field(repr=False)
    places: IntArray = field(repr=False)

    def problems(self, wrong: BoolArray, text: str) -> Iterator[FieldProblem]:
        """The cells of the list that are wrong, flags of all cells, at their positions."""
        own = self.positions[wrong[self.places]]
        if len(own):
            yield FieldProblem(self.path, text + named(np.unique(own)))


def check_withheld(request: pb.ProtectTableRequest | pb.AuditTableRequest, table: TableToProtect) -> None:
    """Raise InvalidMessageError where cells cannot be withheld that must be, or are said to be.

    An audit may be of withheld cells that are known: they leak. Where values are changed nothing is withheld.
    """
    protecting = isinstance(request, pb.ProtectTableRequest)
    if isinstance(request, pb.ProtectTableRequest) and request.WhichOneof("method"):
        return
    problem, name = table.problem, "unsafe" if protecting else "withheld"
    withheld = list(_listed(request, table, name))
    empty = problem.facts.units < problem.floors(table.cells)
    found = [wrong for one in withheld for wrong in one.problems(empty, EMPTY)]
    if protecting:
        found += _clashes(withheld, list(_known(request, table)), table.cells & problem.wholly_known)
    if found:
        raise InvalidMessageError(found)


def _clashes(withheld: Sequence[_Named], known: Sequence[_Named], both: BoolArray) -> Iterator[FieldProblem]:
    """Cells that must be withheld and are known: at every list that names them."""
    sides = [[one for one in side if both[one.places].any()] for side in (withheld, known)]
    paths = [", ".join(one.path for one in side) for side in sides]
    for side, text, others in zip(sides, (KNOWN, MUST_BE_HIDDEN), reversed(paths), strict=True):
        for one in side:
            yield from one.problems(both, text.format(paths=others))


def _listed(
    request: pb.ProtectTableRequest | pb.AuditTableRequest, table: TableToProtect, name: str
) -> Iterator[_Named]:
    """The cells to withhold of each table."""
    yield _named(table, 0, name, getattr(request, name))
    for number, linked in enumerate(request.linked):
        yield _named(table, number + 1, f"linked[{number}].cells", linked.cells)


def _known(request: pb.ProtectTableRequest | pb.AuditTableRequest, table: TableToProtect) -> Iterator[_Named]:
    """What is known of each table."""
    for number, problem in enumerate([request.problem, *(linked.problem for linked in request.linked)]):
        path = f"linked[{number - 1}].problem" if number else "problem"
        yield _named(table, number, f"{path}.known", problem.known)
        for place, known in enumerate(problem.known_measures):
            yield _named(table, number, f"{path}.known_measures[{place}].cells", known.cells)


def _named(table: TableToProtect, number: int, path: str, cells: Sequence[int]) -> _Named:
    """A list of a table's own positions."""
    positions = np.array(cells, dtype=np.int64)
    if not table.parts:
        return _Named(path, positions, table.order.places_of(positions))
    part = table.parts[number]
    return _Named(path, positions, part.places[part.order.places_of(positions)])
