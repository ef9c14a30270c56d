"""The contract is commented throughout, and generated code is what the protos say."""

from importlib.resources import files

import pytest
from google.protobuf import descriptor_pb2

from sdcgate.servers.openapi_schemas import comments

DESCRIPTORS = descriptor_pb2.FileDescriptorSet.FromString(
    (files("sdcgate_proto") / "descriptors.bin").read_bytes()
)
FILES = [file for file in DESCRIPTORS.file if file.package.startswith("sdcgate.")]
COMMENTS = comments()


def names_of(message, scope):
    name = f"{scope}.{message.name}"
    yield name
    for field in message.field:
        yield f"{name}.{field.name}"
    for inner in message.nested_type:
        yield from names_of(inner, name)
    for enum in message.enum_type:
        yield from names_of_enum(enum, name)


def names_of_enum(enum, scope):
    name = f"{scope}.{enum.name}"
    yield name
    for value in enum.value:
        if value.number:
            yield f"{name}.{value.name}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_everything_in_the_contract_has_a_comment(file):
    names = []
    for message in file.message_type:
        names.extend(names_of(message, file.package))
    for enum in file.enum_type:
        names.extend(names_of_enum(enum, file.package))
    for service in file.service:
        names.append(f"{file.package}.{service.name}")
        names.extend(f"{file.package}.{service.name}.{call.name}" for call in service.method)
    assert names
    assert [name for name in names if name not in COMMENTS] == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_zero_of_every_enum_is_unspecified(file):
    for enum in file.enum_type:
        assert enum.value[0].number == 0
        assert enum.value[0].name.endswith("_UNSPECIFIED")


def test_columns_travel_packed():
    for file in FILES:
        assert file.syntax == "proto3"
        for message in file.message_type:
            for field in message.field:
                assert not field.options.HasField("packed")
