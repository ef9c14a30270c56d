"""A whole facility in one process: real engine, ledger and methods, without servers between them."""

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import yaml

from fitting_rooms import fitting_room
from sdcgate.engine.descriptor import Descriptor, parse_descriptor
from sdcgate.engine.engine import Engine
from sdcgate.facility.facility import Answered, Facility
from sdcgate.facility.fitting_room import FittingLimits
from sdcgate.facility.in_process import LocalProtection, LocalRisk
from sdcgate.facility.pace import Pace
from sdcgate.ledger.credentials import Caller
from sdcgate.ledger.ledger import Ledger
from sdcgate.ledger.signing import KeyRing
from sdcgate.policy.loading import load_policies
from sdcgate.policy.model import Policy
from sdcgate.wire import model_facts
from sdcgate.wire.statistic_facts import statistic_request, statistic_to_assess
from sdcgate.wire.validation import violations
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.risk.v1 import models_pb2
from sdcgate_proto.sdcgate.types.v1 import model_pb2, table_pb2

COPY = {"other_people": "a copy for tests"}
"""What a descriptor says that gives the same people a history of their own."""
SHOWN = (table_pb2.CELL_STATUS_PUBLISHED, table_pb2.CELL_STATUS_PERTURBED)
RANDHIE = Path(__file__).parent.parent / "services/sdcgate/engine/demonstration/randhie.yaml"


@dataclass
class House:
    """A facility with its engine and ledger, and callers of each role."""

    facility: Facility
    engine: Engine
    ledger: Ledger
    researcher: Caller = field(default_factory=lambda: person("researcher", "ada"))
    checker: Caller = field(default_factory=lambda: person("checker", "grace"))

    def ask(self, **request) -> Answered:
        """Ask for a table; dimensions as `site` or `age:ten_years`, figures as `UNITS` or `MEAN:meddol`."""
        return self.facility.query_table(self.researcher, table_request(**request), Pace(60.0))


class ToldRisk(LocalRisk):
    """The risk service on facts as it reads them: what contradicts itself there is an error here."""

    def assess_model(self, facts, rules, timeout):
        """Findings on a model, whose message is one that the service takes."""
        request = models_pb2.AssessModelRequest(
            facts=model_facts.facts_to_message(facts), rules=model_facts.rules_to_message(rules)
        )
        assert violations(request) == []
        there = model_facts.facts_from_message(request.facts)
        return super().assess_model(there, model_facts.rules_from_message(request.rules), timeout)

    def assess_statistic(self, statistic, facts, rules, errors, timeout):
        """Findings on a statistic, whose message is one that the service takes."""
        asked = statistic_to_assess(statistic_request(statistic, facts, rules, errors))
        return super().assess_statistic(asked.statistic, asked.facts, asked.rules, asked.errors, timeout)


def person(role: str, name: str) -> Caller:
    return Caller(key_id=f"key-{name}", role=role, researcher=name)


def build(
    folder: Path,
    risk=None,
    protection=None,
    policy: str = "israel-cbs",
    data_root=None,
    engine: Engine | None = None,
    ledger_url: str = "",
    policies: Mapping[str, Policy] | None = None,
    fitting: FittingLimits | None = None,
    require_admission: bool = False,
) -> House:
    """A house in a folder, fresh unless the folder, the engine or the ledger is another house's."""
    ledger = Ledger.open(
        ledger_url or f"sqlite:///{folder / 'ledger.sqlite'}",
        KeyRing.open(folder / "keys"),
        folder / "heads.jsonl",
    )
    engine = engine or Engine(data_root or folder, folder / "snapshots", secrets.token_bytes(32))
    with patch("sdcgate.facility.facility.FittingRoom", fitting_room):
        facility = Facility(
            engine,
            ledger,
            risk or ToldRisk(),
            protection or LocalProtection(),
            load_policies() if policies is None else policies,
            policy,
            secrets.token_bytes(32),
            require_admission=require_admission,
            fitting=fitting,
        )
    return House(facility, engine, ledger)


def with_randhie(folder: Path, **options) -> House:
    """A house with the demonstration dataset."""
    house = build(folder, **options)
    house.engine.register(parse_descriptor(yaml.safe_load(RANDHIE.read_text())))
    return house


def people_descriptor(
    codes: Mapping[str, Iterable[str]], measures: Iterable[Mapping] = (), variables=(), **more
) -> Descriptor:
    """A census in people.csv, whose variables have these codes; `variables` are others, written out."""
    plain = [
        {"name": name, "identifying": "NO", "levels": [{"codes": [{"code": code} for code in listed]}]}
        for name, listed in codes.items()
    ]
    return parse_descriptor(
        {
            "name": "people",
            "data": {"path": "people.csv"},
            "design": {"coverage": "CENSUS"},
            "variables": [*plain, *variables],
            "measures": [*measures],
            **more,
        }
    )


def table_request(
    dataset="randhie", rows=(), columns=(), layers=(), figures=("UNITS",), margins=True, **filters
) -> pb.QueryTableRequest:
    """A request; filters as `female=["1"]` or `age__broad=["0-17"]`."""
    request = pb.QueryTableRequest(dataset=dataset, margins=margins)
    for name, group in (("rows", rows), ("columns", columns), ("layers", layers)):
        for asked in group:
            variable, _, level = asked.partition(":")
            getattr(request, name).add(variable=variable, level=level)
    for asked in figures:
        statistic, _, measure = asked.partition(":")
        request.figures.add(statistic=table_pb2.Statistic.Value(f"STATISTIC_{statistic}"), measure=measure)
    for name, codes in filters.items():
        variable, _, level = name.partition("__")
        request.filter.add(variable=variable, level=level, codes=codes)
    return request


def model_request(
    formula: str,
    kind: str = "LINEAR",
    dataset: str = "randhie",
    groups: str = "",
    instruments: str = "",
    **filters,
) -> pb.QueryModelRequest:
    """A request for a model; filters as `table_request` has them."""
    return pb.QueryModelRequest(
        dataset=dataset,
        kind=model_pb2.ModelKind.Value(f"MODEL_KIND_{kind}"),
        formula=formula,
        groups=groups,
        instruments=instruments,
        filter=table_request(**filters).filter,
    )


def verdict(answered) -> str:
    decision = getattr(answered, "decision", answered)
    return pb.Verdict.Name(decision.verdict).removeprefix("VERDICT_")


def cells(answered) -> dict[tuple[str, ...], tuple[float | None, ...]]:
    """Figures of each cell by its codes, None where withheld."""
    table = getattr(answered, "decision", answered).table
    codes = list(zip(*([d.codes[c] for c in d.cells] for d in table.dimensions), strict=True))
    shown = [status in SHOWN for status in table.statuses]
    return {
        code: tuple(f.values[i] if shown[i] else None for f in table.figures) for i, code in enumerate(codes)
    }


def reasons(answered) -> list[str]:
    decision = getattr(answered, "decision", answered)
    names = (type(reason).DESCRIPTOR.fields_by_name["code"].enum_type for reason in decision.reasons)
    return [
        kind.values_by_number[reason.code].name.removeprefix("REASON_CODE_")
        for kind, reason in zip(names, decision.reasons, strict=True)
    ]
