"""What a steward asks of a registered dataset's risk: scenarios, numbers, another release; all checked."""

from collections.abc import Sequence
from dataclasses import dataclass

from sdcgate.engine.counted_units import Levels
from sdcgate.engine.dataset import Dataset, UnknownDataset, UnknownName
from sdcgate.engine.descriptor import DeclaredScenario, parse_scenarios
from sdcgate.engine.engine import Engine
from sdcgate.engine.scenarios import check_declared_scenarios
from sdcgate.facility.errors import InvalidRequest
from sdcgate.methods.risk.file_numbers import NumberWidth
from sdcgate.methods.risk.file_options import Options
from sdcgate.wire.json import to_value
from sdcgate.wire.microdata import given, number_widths
from sdcgate.wire.problems import FieldProblem, InvalidMessageError, Problems
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

NEIGHBOURS = Options().neighbours


@dataclass(frozen=True, slots=True)
class OtherRelease:
    """Another registered release of the source, with the levels of its key."""

    dataset: Dataset
    levels: Levels

    @property
    def name(self) -> str:
        """What a report calls it."""
        return f"{self.dataset.name} version {self.dataset.version}"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a dataset beside what is always told."""

    scenarios: tuple[DeclaredScenario, ...] = ()
    other: OtherRelease | None = None
    numbers: tuple[NumberWidth, ...] = ()
    """Names of measures with their widths."""
    neighbours: int = NEIGHBOURS


def asked_of(engine: Engine, dataset: Dataset, request: pb.AssessDatasetRequest) -> Asked:
    """What a request asks. Raises InvalidRequest with all that is wrong."""
    problems = Problems()
    scenarios = problems.of(_scenarios, dataset, request)
    other = problems.of(_other, engine, dataset, request.other) if request.HasField("other") else None
    numbers = problems.of(_numbers, dataset, request)
    if problems.found:
        raise InvalidRequest(problems.found)
    return Asked(scenarios or (), other, numbers or (), given(request, "neighbours", NEIGHBOURS))


def identifying(dataset: Dataset) -> list[str]:
    """Names of the identifying variables of a dataset."""
    return [one.name for one in dataset.descriptor.variables if one.identifying != "NO"]


def _scenarios(dataset: Dataset, request: pb.AssessDatasetRequest) -> tuple[DeclaredScenario, ...]:
    """The scenarios that a request has, else those of the descriptor."""
    if not request.scenarios:
        return dataset.descriptor.scenarios
    scenarios = parse_scenarios([to_value(one, {}) for one in request.scenarios])
    descriptor = dataset.descriptor.model_copy(update={"scenarios": scenarios})
    found = check_declared_scenarios(descriptor)
    if found:
        raise InvalidMessageError(FieldProblem(one.path, one.message) for one in found)
    return scenarios


def _other(engine: Engine, dataset: Dataset, message: pb.OtherDataset) -> OtherRelease:
    name = message.dataset or dataset.name
    try:
        other = engine.dataset(name, message.version or None)
    except UnknownDataset as error:
        path = "other.version" if name in (one.name for one in engine.datasets()) else "other.dataset"
        raise InvalidMessageError([FieldProblem(path, str(error))]) from None
    if other.source != dataset.source:
        text = f"{other.name} is of the source {other.source}, {dataset.name} of {dataset.source}"
        raise InvalidMessageError([FieldProblem("other.dataset", text)])
    same = (other.name, other.version) == (dataset.name, dataset.version)
    if same and not message.keys:
        text = "is the release that is assessed: name another dataset or version, or other keys"
        raise InvalidMessageError([FieldProblem("other", text)])
    return OtherRelease(other, _levels(other, message.keys or identifying(other)))


def _levels(dataset: Dataset, keys: Sequence[str]) -> Levels:
    found, problems = [], []
    for position, key in enumerate(keys):
        variable, _, level = key.partition(":")
        try:
            dataset.level(variable, level)
        except UnknownName as error:
            problems.append(FieldProblem(f"other.keys[{position}]", str(error)))
        found.append((variable, level))
    if len({variable for variable, _ in found}) < len(found):
        problems.append(FieldProblem("other.keys", "a variable stands more than once"))
    if not found:
        problems.append(FieldProblem("other.keys", "there is no identifying variable: name some"))
    if problems:
        raise InvalidMessageError(problems)
    return found


def _numbers(dataset: Dataset, request: pb.AssessDatasetRequest) -> tuple[NumberWidth, ...]:
    numbers = number_widths(request.numbers, "numbers")
    problems = []
    for position, one in enumerate(numbers):
        try:
            dataset.measure(one.name)
        except UnknownName as error:
            problems.append(FieldProblem(f"numbers[{position}].column", str(error)))
    if len({one.name for one in numbers}) < len(numbers):
        problems.append(FieldProblem("numbers", "a number stands more than once"))
    if problems:
        raise InvalidMessageError(problems)
    return numbers
