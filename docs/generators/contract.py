"""What the protos say: their packages, messages, comments and constraints."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from google.protobuf import descriptor_pb2

from generators.markdown import between
from sdcgate.servers import openapi_schemas
from sdcgate_proto.buf.validate import validate_pb2
from sdcgate_proto.sdcgate.facility.v1 import admission_pb2 as facility_admission
from sdcgate_proto.sdcgate.facility.v1 import budget_pb2 as facility_budget
from sdcgate_proto.sdcgate.facility.v1 import descriptor_pb2 as facility_descriptor
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2
from sdcgate_proto.sdcgate.protection.v1 import (
    arithmetic_pb2,
    perturbation_pb2,
    protection_pb2,
    redesign_pb2,
)
from sdcgate_proto.sdcgate.protection.v1 import microdata_pb2 as protection_microdata
from sdcgate_proto.sdcgate.risk.v1 import (
    confidentiality_map_pb2,
    linkage_pb2,
    microdata_pb2,
    models_pb2,
    recodings_pb2,
    risk_pb2,
    statistics_pb2,
)
from sdcgate_proto.sdcgate.types.v1 import model_pb2, policy_pb2, statistic_pb2, table_pb2

FILES: Mapping[str, tuple[Any, ...]] = {
    "facility": (facility_pb2, facility_admission, facility_budget, facility_descriptor),
    "risk": (
        risk_pb2,
        models_pb2,
        statistics_pb2,
        microdata_pb2,
        recodings_pb2,
        linkage_pb2,
        confidentiality_map_pb2,
    ),
    "protection": (protection_pb2, arithmetic_pb2, perturbation_pb2, redesign_pb2, protection_microdata),
    "types": (table_pb2, policy_pb2, model_pb2, statistic_pb2),
}
"""The generated modules of each package, in the order of its page; what only the ledger keeps is in none."""
_PACKAGE = 2
"""Number of the field `package` of a FileDescriptorProto, where the comment on a file stands."""


@cache
def comments() -> dict[str, str]:
    """Comments of messages, fields, enums, values, services and calls, by full name."""
    return openapi_schemas.comments()


def file_comment(module: Any) -> str:
    """The comment at the head of a proto file."""
    descriptors = descriptor_pb2.FileDescriptorSet.FromString(
        (files("sdcgate_proto") / "descriptors.bin").read_bytes()
    )
    for file in descriptors.file:
        if file.name == module.DESCRIPTOR.name:
            for location in file.source_code_info.location:
                if list(location.path) == [_PACKAGE]:
                    return " ".join(location.leading_comments.split())
    return ""


def messages(module: Any) -> list[Any]:
    """The messages of a file in the order in which they are declared, each before those within it."""
    order: list[Any] = []
    for message in module.DESCRIPTOR.message_types_by_name.values():
        order += [message, *message.nested_types]
    return order


def enums(module: Any) -> list[Any]:
    """The enums of a file in the order in which they are declared."""
    return list(module.DESCRIPTOR.enum_types_by_name.values())


def is_required(field: Any) -> bool:
    """Whether a message without the field is refused."""
    rules = field.GetOptions().Extensions[validate_pb2.field]
    return bool(
        rules.required
        or rules.string.min_len
        or not re.search(rules.string.pattern, "")
        or rules.repeated.min_items
        or 0 in rules.enum.not_in
    )


def constraints(field: Any) -> str:
    """What a value of a field must fulfil, in words; empty where it may be anything."""
    found = _of_field(field.GetOptions().Extensions[validate_pb2.field])
    return ", ".join(text for text in ("required" if is_required(field) else "", *found) if text)


def _of_field(rules: Any) -> Iterator[str]:
    kind = rules.WhichOneof("type")
    if kind == "repeated":
        yield between(rules.repeated.min_items, rules.repeated.max_items or None, "entry")
        if rules.repeated.HasField("items"):
            yield from (f"each {text}" for text in _of_field(rules.repeated.items) if text)
    elif kind in ("string", "bytes"):
        limits = getattr(rules, kind)
        yield between(limits.min_len, limits.max_len or None, "character" if kind == "string" else "byte")
        if limits.pattern:
            yield f"matches `{limits.pattern}`"
    elif kind not in ("enum", "bool", None):
        yield from _of_number(getattr(rules, kind))


def _of_number(rules: Any) -> Iterator[str]:
    least = rules.gte if rules.HasField("gte") else None
    most = rules.lte if rules.HasField("lte") else None
    yield between(0 if least is None and most is not None and _unsigned(rules) else least, most)
    if rules.HasField("gt"):
        yield f"more than {rules.gt:,}"
    if rules.HasField("lt"):
        yield f"less than {rules.lt:,}"


def _unsigned(rules: Any) -> bool:
    return str(rules.DESCRIPTOR.name).startswith("UInt")
