"""Runs the golden examples of a policy on the real facility, and says what came out otherwise."""

import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sdcgate.engine import engine as engines
from sdcgate.engine.descriptor import Descriptor, DescriptorInvalid, parse_descriptor
from sdcgate.engine.engine import Engine
from sdcgate.facility.errors import FacilityError
from sdcgate.facility.facility import Facility
from sdcgate.facility.in_process import SECRET_BYTES, scratch_facility
from sdcgate.facility.pace import Pace
from sdcgate.ledger.credentials import Caller, Role
from sdcgate.methods.rules import ReasonCode
from sdcgate.policy.examples import Example, ExampleQuery, Examples, Expectation, Range
from sdcgate.policy.files import read_file, text_of
from sdcgate.policy.model import Policy
from sdcgate.policy.strict_yaml import read_yaml
from sdcgate.wire.json import from_value
from sdcgate.wire.problems import InvalidMessageError
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2

DEMONSTRATION = Path(engines.__file__).parent / "demonstration"
RESEARCHER = Caller(key_id="examples", role=Role.RESEARCHER, researcher="examples")
QUERY_SECONDS = 120.0

Status = str
Cells = Mapping[frozenset[tuple[str, str]], Status]
"""Status of each cell, by its variables and codes."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that came out otherwise than expected; never a figure of a table."""

    query: int
    """Which query of the example, from 1."""
    what: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one example."""

    example: Example
    differences: tuple[Difference, ...]


def run_examples(
    policy: Policy, examples: Examples, folder: Path, data_root: Path | None = None
) -> Iterator[Result]:
    """Runs each example from a ledger in which nothing has left.

    Args:
        policy: The policy that applies to every dataset of the examples, whatever its descriptor names.
        examples: The examples; paths of descriptors are relative to their file.
        folder: An empty folder for snapshots and ledgers. They hold microdata: the caller removes it.
        data_root: Where data files lie; the folder of the file of examples where it is not given.

    Raises:
        ValueError: a dataset cannot be registered.
    """
    registered = _Registered(policy, examples.path.parent, data_root, folder)
    try:
        for number, example in enumerate(examples.examples, start=1):
            engine, dataset = registered.of(example)
            place = folder / f"example-{number}"
            with scratch_facility(place, engine, {policy.name: policy}, policy.name) as facility:
                found = [
                    Difference(position, *difference)
                    for position, query in enumerate(example.queries, start=1)
                    for difference in _differences(facility, dataset, query)
                ]
            yield Result(example, tuple(found))
    finally:
        registered.close()


class _Registered:
    """The datasets of the examples, each registered once for each access level."""

    def __init__(self, policy: Policy, beside: Path, data_root: Path | None, folder: Path) -> None:
        self._policy = policy
        self._beside = beside
        self._data_root = data_root or beside
        self._folder = folder
        self._known: dict[tuple[str, str], tuple[Engine, str]] = {}

    def of(self, example: Example) -> tuple[Engine, str]:
        """The engine that has the example's dataset at its access level, and the dataset's name."""
        wanted = (example.dataset, example.access_level)
        if wanted not in self._known:
            descriptor = self._descriptor(example.dataset)
            changes = {"policy": self._policy.name, "access_level": example.access_level}
            store = self._folder / f"snapshots-{len(self._known) + 1}"
            engine = Engine(self._data_root, store, secrets.token_bytes(SECRET_BYTES))
            try:
                engine.register(descriptor.model_copy(update=changes))
            except DescriptorInvalid as error:
                raise _not_registered(example.dataset, error) from error
            self._known[wanted] = engine, descriptor.name
        return self._known[wanted]

    def close(self) -> None:
        """Ends the engines."""
        for engine, _ in self._known.values():
            engine.close()

    def _descriptor(self, name: str) -> Descriptor:
        own = name.endswith((".yaml", ".json"))
        path = self._beside / name if own else DEMONSTRATION / f"{name}.yaml"
        if not path.is_file():
            known = ", ".join(sorted(found.stem for found in DEMONSTRATION.glob("*.yaml")))
            raise ValueError(f"dataset {name}: neither a descriptor beside the examples nor one of {known}")
        content = read_yaml(text_of(read_file(path), str(path)))
        try:
            return parse_descriptor(content if isinstance(content, dict) else {})
        except DescriptorInvalid as error:
            raise _not_registered(name, error) from error


def _not_registered(name: str, error: DescriptorInvalid) -> ValueError:
    problems = "\n".join(f"  {problem}" for problem in error.problems)
    return ValueError(f"dataset {name} cannot be registered:\n{problems}")


def _differences(facility: Facility, dataset: str, query: ExampleQuery) -> Iterator[tuple[str, str, str]]:
    """What came of a query otherwise than expected: what, expected, actual."""
    expect = query.expect
    try:
        request = from_value(_body(query), pb.QueryTableRequest, {"dataset": dataset})
        decision = facility.query_table(RESEARCHER, request, Pace(QUERY_SECONDS)).decision
    except (FacilityError, InvalidMessageError) as error:
        yield "verdict", expect.verdict, f"no verdict: {error}"
        return
    verdict = pb.Verdict.Name(decision.verdict).removeprefix("VERDICT_")
    if verdict != expect.verdict:
        yield "verdict", expect.verdict, verdict
    reasons = [ReasonCode(reason.code).name for reason in decision.reasons]
    if expect.reasons is not None and Counter(reasons) != Counter(expect.reasons):
        yield "reasons", _listed(expect.reasons), _listed(reasons)
    yield from _differences_of_table(expect, _cells(decision.table))


def _differences_of_table(expect: Expectation, cells: Cells) -> Iterator[tuple[str, str, str]]:
    withheld = sum(status == "WITHHELD" for status in cells.values())
    if expect.withheld is not None and not _within(withheld, expect.withheld):
        yield "cells withheld", _bounds(expect.withheld), str(withheld)
    for wanted in expect.cells:
        name = ", ".join(f"{variable} {code}" for variable, code in wanted.codes.items())
        actual = cells.get(frozenset(wanted.codes.items()), "no such cell")
        if actual != wanted.status:
            yield f"cell {name}", wanted.status, actual


def _body(query: ExampleQuery) -> dict[str, Any]:
    """The query as a gateway's caller would send it."""
    return {
        **{
            group: [_named(text, "variable", "level") for text in getattr(query, group)]
            for group in ("rows", "columns", "layers")
        },
        "figures": [_named(text, "statistic", "measure") for text in query.figures],
        "filter": [
            {**_named(text, "variable", "level"), "codes": list(codes)}
            for text, codes in query.filter.items()
        ],
        "margins": query.margins,
    }


def _named(text: str, first: str, second: str) -> dict[str, str]:
    name, _, rest = text.partition(":")
    return {first: name, **({second: rest} if rest else {})}


def _cells(table: table_pb2.Table) -> Cells:
    variables = [dimension.variable for dimension in table.dimensions]
    codes = ([dimension.codes[code] for code in dimension.cells] for dimension in table.dimensions)
    statuses = [table_pb2.CellStatus.Name(status).removeprefix("CELL_STATUS_") for status in table.statuses]
    # A table without dimensions has one cell without codes.
    rows = list(zip(*codes, strict=True)) or [()] * len(statuses)
    return {
        frozenset(zip(variables, row, strict=True)): status
        for row, status in zip(rows, statuses, strict=True)
    }


def _within(number: int, bounds: int | Range) -> bool:
    if isinstance(bounds, int):
        return number == bounds
    return bounds.at_least <= number and (bounds.at_most is None or number <= bounds.at_most)


def _bounds(bounds: int | Range) -> str:
    if isinstance(bounds, int):
        return str(bounds)
    return f"{bounds.at_least} {'or more' if bounds.at_most is None else f'to {bounds.at_most}'}"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(sorted(names)) or "none"
