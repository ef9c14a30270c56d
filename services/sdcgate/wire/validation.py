"""The constraints that stand in the protos (buf.validate), checked on envelopes; values by column are not."""

import protovalidate
from google.protobuf.message import Message

from sdcgate.wire.problems import FieldProblem

_VALIDATOR = protovalidate.Validator()


def violations(message: Message) -> list[FieldProblem]:
    """All violated constraints of a message, with paths such as `rows[0].variable`."""
    return [
        FieldProblem(_path(violation.proto), violation.proto.message or "is not valid")
        for violation in _VALIDATOR.collect_violations(message)
    ]


def _path(violation: protovalidate.ViolationPb) -> str:
    parts: list[str] = []
    for element in violation.field.elements if violation.field is not None else ():
        subscript = element.subscript
        suffix = f"[{subscript.value}]" if subscript is not None else ""
        parts.append(f"{element.field_name}{suffix}")
    return ".".join(parts)
