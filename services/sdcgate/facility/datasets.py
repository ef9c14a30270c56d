"""Datasets: registering them, and what researchers may know of them."""

from collections.abc import Iterable

from sdcgate.engine.dataset import Dataset, UnknownDataset
from sdcgate.engine.descriptor import DescriptorInvalid, DescriptorProblem, parse_descriptor
from sdcgate.engine.engine import Engine
from sdcgate.facility.errors import InvalidRequest, NotFound
from sdcgate.policy.effective import EffectivePolicy
from sdcgate.wire.problems import FieldProblem
from sdcgate_proto.sdcgate.facility.v1 import descriptor_pb2, facility_pb2


def register(engine: Engine, descriptor: dict[str, object]) -> tuple[Dataset, bool]:
    """Register a dataset; False where the same content was registered before.

    Raises:
        InvalidRequest: with all that is wrong with descriptor and data.
    """
    try:
        registration = engine.register(parse_descriptor(descriptor))
    except DescriptorInvalid as invalid:
        raise InvalidRequest(_in_descriptor(invalid.problems)) from None
    return registration.dataset, registration.created


def problems(engine: Engine, descriptor: dict[str, object]) -> list[FieldProblem]:
    """All that is wrong with descriptor and data; nothing is registered."""
    try:
        return _in_descriptor(engine.problems(parse_descriptor(descriptor)))
    except DescriptorInvalid as invalid:
        return _in_descriptor(invalid.problems)


def _in_descriptor(found: Iterable[DescriptorProblem]) -> list[FieldProblem]:
    return [FieldProblem(f"descriptor.{problem.path}".rstrip("."), problem.message) for problem in found]


def find(engine: Engine, name: str, version: int | None = None) -> Dataset:
    """A dataset in its newest version, or in a given one.

    Raises:
        NotFound: there is none of this name.
    """
    try:
        return engine.dataset(name, version)
    except UnknownDataset:
        raise NotFound(f"There is no dataset {name!r}.") from None


def public_view(dataset: Dataset, policy: EffectivePolicy) -> facility_pb2.Dataset:
    """What researchers may know: names, levels, codes and labels; nothing that was counted in the data."""
    view = facility_pb2.Dataset(
        name=dataset.name,
        version=dataset.version,
        source=dataset.source,
        label=dataset.label,
        unit=dataset.unit_label,
        reference_date=dataset.descriptor.reference_date,
        policy=facility_pb2.PolicyReference(name=policy.name, hash=policy.hash),
        weighted=dataset.weighted,
    )
    for variable in dataset.descriptor.variables:
        shown = view.variables.add(
            name=variable.name,
            label=variable.label,
            identifying=descriptor_pb2.Identifying.Value(f"IDENTIFYING_{variable.identifying}"),
        )
        for level in dataset.levels(variable.name):
            shown.levels.add(name=level.name, label=level.label, codes=level.codes, labels=level.labels)
    for measure in dataset.descriptor.measures:
        view.measures.add(
            name=measure.name, label=measure.label, decimals=measure.decimals, unit=measure.unit
        )
    return view
