"""The contract of the version before: what it means it still means, and nothing is lost between the two."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from google.protobuf import descriptor_pb2
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.messages import messages
from previous_contract import IMAGE, PREVIOUS, Contract, previous_files

DESCRIPTORS = descriptor_pb2.FileDescriptorSet.FromString(
    (files("sdcgate_proto") / "descriptors.bin").read_bytes()
)
NOW = Contract(DESCRIPTORS)
ROOT = Path(__file__).parents[2]
BUF = Path(sys.executable).parent / "buf"
NAMES = sorted(
    f"{file.package}.{message.name}"
    for file in PREVIOUS.files.file
    if file.package.startswith("sdcgate.")
    for message in file.message_type
)
ROOTS = [
    name for name in NAMES if name.endswith(("Request", "Response")) or name.endswith((".Decision", "Record"))
]


def present(name: str) -> type[Message]:
    return NOW.message(name)


def test_no_meaning_of_before_is_broken():
    compared = subprocess.run(
        [BUF, "breaking", "--against", IMAGE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (compared.returncode, compared.stdout) == (0, ""), compared.stdout + compared.stderr


def test_a_field_that_changes_its_type_would_be_found(tmp_path):
    older = previous_files()
    (policy,) = [file for file in older.file if file.name == "sdcgate/types/v1/policy.proto"]
    (rules,) = [message for message in policy.message_type if message.name == "Rules"]
    inner = rules.nested_type[0].field[0]
    inner.type = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
    image = tmp_path / "other.binpb"
    image.write_bytes(older.SerializeToString())
    compared = subprocess.run(
        [BUF, "breaking", "--against", image], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (compared.returncode, "changed type" in compared.stdout) == (100, True), compared.stderr


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_is_new_goes_through_a_program_of_before_unharmed(data):
    name = data.draw(st.sampled_from(ROOTS))
    sent = data.draw(messages(present(name).DESCRIPTOR))
    passed_on = PREVIOUS.message(name).FromString(sent.SerializeToString()).SerializeToString()
    assert same(present(name).FromString(passed_on), sent)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_a_program_of_before_says_is_understood_as_it_meant_it(data):
    name = data.draw(st.sampled_from(ROOTS))
    said = data.draw(messages(PREVIOUS.message(name).DESCRIPTOR))
    understood = present(name).FromString(said.SerializeToString())
    assert same(PREVIOUS.message(name).FromString(understood.SerializeToString()), said)
    # Nothing of it is unheard of: all of its fields are still there.
    content = understood.SerializeToString(deterministic=True)
    understood.DiscardUnknownFields()
    assert understood.SerializeToString(deterministic=True) == content


def same(one: Message, other: Message) -> bool:
    """Whether two messages are the same, NaN and all."""
    return one.SerializeToString(deterministic=True) == other.SerializeToString(deterministic=True)


def test_every_call_of_before_is_there_with_the_same_messages():
    def calls(contract):
        return {
            f"/{file.package}.{service.name}/{call.name}": (call.input_type, call.output_type)
            for file in contract
            for service in file.service
            if file.package.startswith("sdcgate.")
            for call in service.method
        }

    before, now = calls(PREVIOUS.files.file), calls(DESCRIPTORS.file)
    assert len(before) > 20
    assert {method: now.get(method) for method in before} == before
