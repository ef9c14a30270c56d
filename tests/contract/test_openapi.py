"""The OpenAPI document says what the gateway does: routes, statuses, fields, errors, examples that hold."""

import json
import re

import pytest
from google.protobuf import message_factory

from sdcgate.servers import errors, openapi_examples, openapi_file_examples
from sdcgate.servers.bodies import MAXIMUM_QUERY_BYTES
from sdcgate.servers.openapi import ALWAYS, WITH_BODY, document
from sdcgate.servers.routes import ROUTES
from sdcgate.wire.json import from_value, to_json
from sdcgate.wire.problems import InvalidMessageError
from sdcgate.wire.table_json import SHAPES
from sdcgate.wire.validation import violations

DOCUMENT = json.loads(document())
SCHEMAS = DOCUMENT["components"]["schemas"]
OPERATIONS = {
    (method, path): operation
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
}


TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": int | float,
    "null": type(None),
}


def body_schema(route):
    """The schema of a route's body."""
    body = OPERATIONS["post", route.path]["requestBody"]
    return resolved(body["content"]["application/json"]["schema"])


def resolved(schema):
    """The schema that a reference stands for."""
    while "$ref" in schema:
        place = DOCUMENT
        for part in schema["$ref"].removeprefix("#/").split("/"):
            place = place[part]
        schema = place
    return schema


def misfits(value, schema, path=""):
    """Where a value does not fit a schema: types, required and undocumented members, enums, limits."""
    schema = resolved(schema)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, TYPES[kind]) for kind in kinds):
        return [f"{path}: {value!r} is not {kinds}"]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} is not in the enum")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{path}: does not match")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        found += [f"{path}.{name}: is missing" for name in schema.get("required", []) if name not in value]
        for name, part in value.items():
            inner = known.get(name, schema.get("additionalProperties"))
            if not inner:
                found.append(f"{path}.{name}: is not documented")
            else:
                found += misfits(part, inner, f"{path}.{name}")
    if isinstance(value, list):
        for position, item in enumerate(value):
            found += misfits(item, schema.get("items", {}), f"{path}[{position}]")
    return found


def test_every_route_is_documented_and_nothing_else():
    routes = {(route.method.lower(), route.path) for route in ROUTES}
    assert set(OPERATIONS) == routes | {("get", "/openapi.json")}
    identifiers = [operation["operationId"] for operation in OPERATIONS.values()]
    assert len(set(identifiers)) == len(identifiers)


def test_every_status_that_can_come_is_documented():
    for route in ROUTES:
        documented = set(OPERATIONS[route.method.lower(), route.path]["responses"])
        kinds = (*ALWAYS, *WITH_BODY) if route.method == "POST" else ALWAYS
        conditional = {"304"} if route.tagged else set()
        expected = {str(status) for status in route.statuses} | {str(k.http_status) for k in kinds}
        assert documented == expected | conditional
        assert {"400", "401", "403", "404", "429", "500", "503", "504"} <= documented


def test_every_kind_of_problem_has_a_documented_status():
    documented = set(DOCUMENT["components"]["responses"])
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.Problem)
    ]
    # 405 belongs to no operation.
    statuses = {str(kind.http_status) for kind in kinds} - {"405"}
    assert statuses == documented


def test_every_field_has_a_description():
    bare = []

    def walk(schema, path):
        for name, part in schema.get("properties", {}).items():
            if not part.get("description"):
                bare.append(f"{path}.{name}")
            walk(part, f"{path}.{name}")
        if isinstance(schema.get("items"), dict):
            walk(schema["items"], f"{path}[]")

    for name, schema in SCHEMAS.items():
        if not schema.get("description"):
            bare.append(name)
        walk(schema, name)
    for key, operation in OPERATIONS.items():
        assert operation["summary"]
        bare += [f"{key} {p['name']}" for p in operation.get("parameters", []) if not p["description"]]
    assert bare == []


def test_every_enum_value_is_explained():
    for schema in SCHEMAS.values():
        if "enum" in schema:
            for name in schema["enum"]:
                assert re.search(rf"^- `{name}`: \S", schema["description"], re.MULTILINE)
            assert "UNSPECIFIED" not in schema["enum"]


def test_all_references_lead_somewhere_and_every_schema_is_used():
    text = json.dumps(DOCUMENT)
    names = set(re.findall(r"#/components/schemas/(\w+)", text))
    assert names == set(SCHEMAS)
    for status in re.findall(r"#/components/responses/(\d+)", text):
        assert status in DOCUMENT["components"]["responses"]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.rpc)
def test_examples_of_answers_fit_their_schemas(route):
    for status in route.statuses:
        content = OPERATIONS[route.method.lower(), route.path]["responses"][str(status)]["content"]
        content = content["application/json"]
        assert misfits(content["example"], content["schema"]) == []


@pytest.mark.parametrize("rpc", openapi_examples.BODIES)
def test_examples_of_bodies_fit_their_schemas_and_are_valid_requests(rpc):
    (route,) = [route for route in ROUTES if route.rpc == rpc]
    content = OPERATIONS["post", route.path]["requestBody"]["content"]["application/json"]
    assert misfits(content["example"], content["schema"]) == []
    given = dict.fromkeys(route.parameters, "q-1")
    message = from_value(content["example"], message_factory.GetMessageClass(route.request_type), given)
    assert violations(message) == []


def test_examples_of_problems_fit_their_schema():
    for response in DOCUMENT["components"]["responses"].values():
        content = response["content"]["application/problem+json"]
        assert misfits(content["example"], content["schema"]) == []


def test_what_an_empty_answer_holds_is_what_is_required_of_it():
    for route in ROUTES:
        if not route.body:
            written = json.loads(to_json(message_factory.GetMessageClass(route.body_type)(), SHAPES))
            assert misfits(written, {"$ref": f"#/components/schemas/{route.body_type.name}"}) == []


def test_what_a_body_needs_is_what_the_contract_needs():
    for route in ROUTES:
        if route.method != "POST" or route.file or route.files:
            continue
        message_type = message_factory.GetMessageClass(route.request_type)
        message = from_value({}, message_type, dict.fromkeys(route.parameters, "q-1"))
        needed = {problem.path for problem in violations(message)}
        schema = resolved(
            OPERATIONS["post", route.path]["requestBody"]["content"]["application/json"]["schema"]
        )
        assert set(schema.get("required", [])) == needed
        assert schema["additionalProperties"] is False


def test_the_document_and_the_reader_know_the_same_fields():
    for route in ROUTES:
        if route.method != "POST" or route.file or route.files:
            continue
        schema = resolved(
            OPERATIONS["post", route.path]["requestBody"]["content"]["application/json"]["schema"]
        )
        message_type = message_factory.GetMessageClass(route.request_type)
        with pytest.raises(InvalidMessageError) as caught:
            from_value({"no_such_field": 1}, message_type)
        known = str(caught.value).rpartition("the fields are ")[2].split(", ")
        assert set(schema["properties"]) == set(known) - set(route.parameters)


def test_a_file_is_the_body_and_its_options_stand_in_the_address_or_both_are_a_form():
    (route,) = [route for route in ROUTES if route.file]
    operation = OPERATIONS["post", route.path]
    assert list(operation["requestBody"]["content"]) == [
        "application/vnd.apache.arrow.stream",
        "multipart/form-data",
    ]
    for text in (operation["requestBody"]["description"], DOCUMENT["info"]["description"]):
        assert f"{MAXIMUM_QUERY_BYTES:,} bytes" in text
    written = {parameter["name"]: parameter for parameter in operation["parameters"]}
    named = {name: parameter["schema"] for name, parameter in written.items() if "schema" in parameter}
    assert named["keys"]["type"] == "array"
    assert written["scenarios"]["content"]["application/json"]["schema"]["type"] == "array"
    assert named["fraction"]["maximum"] == 1
    assert {parameter["in"] for parameter in operation["parameters"]} == {"query"}


@pytest.mark.parametrize("route", [route for route in ROUTES if route.files], ids=lambda route: route.rpc)
def test_files_and_their_options_are_parts_of_a_form(route):
    content = OPERATIONS["post", route.path]["requestBody"]["content"]["multipart/form-data"]
    assert content["encoding"] == {"options": {"contentType": "application/json"}}
    schema = content["schema"]
    assert list(schema["properties"]) == ["options", *route.files]
    needed = [name for name in schema["properties"] if name not in route.optional]
    assert schema["required"] == needed
    assert all(schema["properties"][name]["format"] == "binary" for name in route.files)
    example = openapi_file_examples.FORMS[route.rpc]
    assert schema["properties"]["options"]["examples"] == [example]
    assert misfits(example, schema["properties"]["options"]) == []
    given = dict.fromkeys(route.parameters, "q-1")
    assert violations(from_value(example, message_factory.GetMessageClass(route.options_type), given)) == []


def test_only_the_document_itself_needs_no_key():
    assert DOCUMENT["security"] == [{"key": []}]
    open_operations = [key for key, operation in OPERATIONS.items() if operation.get("security") == []]
    assert open_operations == [("get", "/openapi.json")]
