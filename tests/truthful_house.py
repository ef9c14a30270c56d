"""The oracle of the fault tests: a house whose services are honest, in one process, that is asked the same.

What it would not release under the same history is unsafe; what it withholds must not be shown.
"""

import shutil
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest import mock

import yaml

from house import COPY, RANDHIE, House, build, cells, reasons, verdict
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility import redesign
from sdcgate.facility.pace import Pace
from sdcgate.facility.redesign import Redesigner
from sdcgate.ledger.ledger import Ledger
from sdcgate.methods.tables.solver import Deadline
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2

SHOWN = ("RELEASED", "RELEASED_PROTECTED")


class TruthfulHouses:
    """Makes truthful houses with an empty ledger, fast: on one engine, each a copy of one template."""

    def __init__(self, folder: Path, data_root: Path | None = None) -> None:
        self._folder = folder
        template = folder / "template"
        template.mkdir(parents=True)
        house = build(template, data_root=data_root)
        house.ledger.close()
        self.engine = house.engine
        self._made = 0

    def new(self, **services: Any) -> House:
        """A house that has never been asked."""
        self._made += 1
        folder = self._folder / str(self._made)
        shutil.copytree(
            self._folder / "template", folder, ignore=shutil.ignore_patterns("snapshots", "*.csv")
        )
        return build(folder, engine=self.engine, **services)

    def register_randhie(self, *names: str) -> None:
        """The demonstration data under these names."""
        descriptor = yaml.safe_load(RANDHIE.read_text())
        for name in names:
            self.engine.register(parse_descriptor({**descriptor, "name": name, "source": name, **COPY}))


def decisions(
    ledger: Ledger, datasets: Collection[str]
) -> Iterator[tuple[pb.QueryTableRequest, pb.Decision]]:
    """All queries about some datasets as they were decided, in the order of the ledger."""
    for summary in sorted(ledger.queries(None, (), 10**6), key=lambda found: found.sequence):
        if summary.dataset not in datasets:
            continue
        stored = ledger.query(summary.query_id)
        assert stored is not None
        record = release_pb2.DecisionRecord.FromString(stored.confidential)
        yield record.request, record.decision


def replayed(ledger: Ledger, house: House, datasets: Collection[str]) -> tuple[int, list[str]]:
    """Ask a truthful house what a ledger holds of some datasets: how many, and which came out otherwise.

    What was not proved in its time is left out: it left nothing, and a house with more time proves it.
    """
    differences, number = [], 0
    for request, decision in decisions(ledger, datasets):
        if (verdict(decision), reasons(decision)) == ("REFERRED", ["UNPROVED"]):
            assert not decision.HasField("table")
            continue
        with _promising_as(decision):
            truth = house.facility.query_table(house.researcher, request, Pace(60.0)).decision
        number += 1
        if described(truth) != described(decision):
            asked = " ".join(str(request).split())
            differences.append(f"{asked}: {_told(decision)} and not {_told(truth)}")
    return number, differences


def _promising_as(decision: pb.Decision) -> AbstractContextManager[object]:
    """Where no tables were promised, as there was no time to look for them: none are, here as well.

    Where some were, there is time to find them again on a machine that is busy with something else.
    """
    if any(not one.judged for one in decision.alternatives):
        return mock.patch.object(Redesigner, "propose", return_value=None)
    return mock.patch.object(redesign, "Deadline", return_value=Deadline(30.0))


def described(decision: pb.Decision) -> tuple[Any, ...]:
    """All of a decision that does not name the time or the house."""
    shown = cells(decision) if decision.HasField("table") else {}
    alternatives = [one.SerializeToString(deterministic=True) for one in decision.alternatives]
    return verdict(decision), reasons(decision), shown, alternatives


def _told(decision: pb.Decision) -> str:
    """A decision in short, with a count of what is shown."""
    shown = cells(decision).values() if decision.HasField("table") else ()
    withheld = sum(figures[0] is None for figures in shown)
    promised = " or ".join(" ".join(str(one).split()) for one in decision.alternatives)
    return (
        f"{verdict(decision)} {reasons(decision)} with {withheld} of {len(shown)} cells withheld,"
        f" promising {promised or 'nothing'}"
    )
