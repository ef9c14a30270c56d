"""The gRPC reference, a page a package: calls, messages with their fields, enums with their values."""

from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from generators.contract import FILES, comments, constraints, enums, file_comment, messages
from generators.markdown import anchor, joined, table

TITLES = {
    "facility": "gRPC: the facility",
    "risk": "gRPC: the risk service",
    "protection": "gRPC: the protection service",
    "types": "gRPC: shared types",
}
_SCALARS = {
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_FLOAT: "float",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_SINT32: "sint32",
    FieldDescriptor.TYPE_SINT64: "sint64",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BYTES: "bytes",
}


def grpc_pages() -> dict[str, str]:
    """The pages by file name."""
    return {f"grpc-{package}.md": _page(package) for package in FILES}


def _page(package: str) -> str:
    modules = FILES[package]
    services = [service for module in modules for service in module.DESCRIPTOR.services_by_name.values()]
    return joined(
        f"# {TITLES[package]}",
        f"Package `sdcgate.{package}.v1`. " + " ".join(file_comment(module) for module in modules),
        *(_service(service, package) for service in services),
        "## Messages",
        *(_message(message, package) for module in modules for message in messages(module)),
        "## Enums" if any(enums(module) for module in modules) else "",
        *(_enum(enum) for module in modules for enum in enums(module)),
    )


def _service(service: Any, package: str) -> str:
    rows = [
        (
            f"`{call.name}`",
            _reference(call.input_type, package),
            _reference(call.output_type, package),
            comments().get(call.full_name, ""),
        )
        for call in service.methods
    ]
    return joined(
        f"## {service.name}",
        comments().get(service.full_name, ""),
        table(("call", "takes", "returns", "what it does"), rows),
    )


def _message(message: Any, package: str) -> str:
    rows = [
        (
            f"`{field.name}`",
            str(field.number),
            _type(field, package),
            comments().get(field.full_name, ""),
            constraints(field),
        )
        for field in message.fields
    ]
    return joined(
        f"### {message.name}",
        comments().get(message.full_name, ""),
        table(("field", "no.", "type", "means", "must be"), rows) if rows else "No fields.",
    )


def _enum(enum: Any) -> str:
    rows = [
        (
            f"`{value.name}`",
            str(value.number),
            comments().get(f"{enum.full_name}.{value.name}", "") or "Never sent.",
        )
        for value in enum.values
    ]
    return joined(
        f"### {enum.name}", comments().get(enum.full_name, ""), table(("value", "no.", "means"), rows)
    )


def _type(field: Any, package: str) -> str:
    kind = field.message_type or field.enum_type
    name = _reference(kind, package) if kind else f"`{_SCALARS[field.type]}`"
    if field.is_repeated:
        return f"repeated {name}"
    optional = field.has_presence and not field.message_type and not field.containing_oneof
    return f"optional {name}" if optional else name


def _reference(kind: Any, package: str) -> str:
    """A link to a message or enum, on whatever page it stands."""
    parts = kind.full_name.split(".")
    if parts[0] != "sdcgate":
        return f"`{kind.full_name}`"
    page = "" if parts[1] == package else f"grpc-{parts[1]}.md"
    return f"[{kind.name}]({page}{anchor(kind.name)})"
