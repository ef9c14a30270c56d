"""The OpenAPI document of the gateway, from its routes and the contract's descriptors."""

import json
from importlib.metadata import version
from typing import Any

import pydantic_core

from sdcgate.servers import errors, openapi_examples, openapi_file_examples
from sdcgate.servers.bodies import ARROW, FORM, JSON, MAXIMUM_QUERY_BYTES
from sdcgate.servers.edge import PROBLEM_JSON
from sdcgate.servers.errors import Problem
from sdcgate.servers.forms import OPTIONS, form_schema
from sdcgate.servers.openapi_schemas import Schema, Schemas
from sdcgate.servers.routes import ROUTES, Route
from sdcgate.wire.json import to_json
from sdcgate.wire.table_json import SHAPES

DESCRIPTION = f"""Output checking at the exit of a remote-access facility: ask for tables, get what may leave.

A verdict is an answer, not an error: `RELEASED`, `RELEASED_PROTECTED`, `REFERRED` and `REFUSED` come with
200, 201 or 202. An error is problem+json (RFC 9457) and never a verdict; 429, 503 and 504 can be tried
again after `Retry-After` seconds. Asking the same again gives the same answer.

A query string has at most {MAXIMUM_QUERY_BYTES:,} bytes; a longer one is not valid (400). An address of more
than 65,535 bytes is answered by a bare 400 in plain text. Longer options of a file go into a form."""

ALWAYS: tuple[type[Problem], ...] = (
    errors.InvalidArgument,
    errors.Unauthenticated,
    errors.PermissionDenied,
    errors.NotFound,
    errors.ResourceExhausted,
    errors.Internal,
    errors.Unimplemented,
    errors.Unavailable,
    errors.DeadlineExceeded,
)
WITH_BODY: tuple[type[Problem], ...] = (
    errors.FailedPrecondition,
    errors.TooSlow,
    errors.TooLarge,
    errors.UnsupportedMediaType,
)
EITHER = (
    "The file, with its options in the query string; or a form with the options and the file, and no query "
    "string: for scenarios, another release of the source, and whatever else may be longer than "
    f"{MAXIMUM_QUERY_BYTES:,} bytes."
)
FILE: Schema = {"type": "string", "format": "binary", "description": "An Arrow IPC stream, not compressed."}
KEY_DESCRIPTION = (
    "An API key of the facility, or a token of the agency's identity provider. A portal that acts for a "
    "researcher names him in the header X-On-Behalf-Of. Whose token carries several roles names "
    "the one in which he calls in X-Role."
)
REQUEST_ID_HEADER: Schema = {
    "description": "Id of the request, the caller's own where it sent one; quote it in a report.",
    "schema": {"type": "string"},
}

ETAG_HEADER: Schema = {
    "description": "What this answer is, for `If-None-Match`.",
    "schema": {"type": "string"},
}
IF_NONE_MATCH: Schema = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The ETag of the answer that the caller has: 304 where it is still this one.",
    "schema": {"type": "string"},
}
NOT_MODIFIED: Schema = {
    "description": "The caller has this answer already.",
    "headers": {"X-Request-Id": REQUEST_ID_HEADER, "ETag": ETAG_HEADER},
}


def document() -> bytes:
    """The document as JSON."""
    schemas = Schemas()
    # Bodies first: what goes both ways gets the name of its answer from that.
    bodies = {route.rpc: _sent(route, schemas) for route in ROUTES}
    paths: dict[str, Any] = {"/openapi.json": {"get": _document_operation()}}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas, bodies[route.rpc])
    for route in ROUTES:
        if route.method == "GET":
            schemas.schemas.pop(route.request_type.name, None)
    problem_kinds = {kind.http_status: kind for kind in (*ALWAYS, *WITH_BODY)}
    return pydantic_core.to_json(
        {
            "openapi": "3.1.0",
            "info": {"title": "sdcgate", "version": version("sdcgate"), "description": DESCRIPTION},
            "paths": paths,
            "security": [{"key": []}],
            "components": {
                "securitySchemes": {
                    "key": {"type": "http", "scheme": "bearer", "description": KEY_DESCRIPTION}
                },
                "schemas": {**schemas.schemas, "Problem": problem_schema()},
                "responses": {str(status): _problem(kind) for status, kind in problem_kinds.items()},
            },
        }
    )


def _operation(route: Route, schemas: Schemas, body: Schema) -> Schema:
    text = schemas.comment(route.call.full_name)
    operation: Schema = {
        "operationId": route.operation_id,
        "summary": text.partition(".")[0].partition(":")[0],
        "description": text,
        "parameters": _parameters(route, schemas),
        "responses": {
            **{str(status): _success(route, status, schemas) for status in route.statuses},
            **({"304": NOT_MODIFIED} if route.tagged else {}),
            **{str(kind.http_status): _shared(kind) for kind in _errors(route)},
        },
    }
    if route.files:
        form = {"schema": body, "encoding": {OPTIONS: {"contentType": JSON}}}
        content = {ARROW: {"schema": FILE}, FORM: form} if route.file else {FORM: form}
        told = {"description": EITHER} if route.file else {}
        operation["requestBody"] = {**told, "required": True, "content": content}
    elif route.method == "POST":
        example = openapi_examples.BODIES[route.rpc]
        operation["requestBody"] = {
            "required": True,
            "content": {JSON: {"schema": body, "example": example}},
        }
    return operation


def _sent(route: Route, schemas: Schemas) -> Schema:
    """Schema of the body of a call that is sent as JSON, or with files in a form."""
    if not route.files:
        return schemas.sent(route.request_type, route.parameters)
    files = dict.fromkeys(route.files, route.what_files_are)
    example = openapi_file_examples.FORMS[route.rpc]
    return form_schema(schemas.sent(route.options_type, route.parameters), files, route.optional, example)


def _errors(route: Route) -> tuple[type[Problem], ...]:
    return (*ALWAYS, *WITH_BODY) if route.method == "POST" else ALWAYS


def _parameters(route: Route, schemas: Schemas) -> list[Schema]:
    fields = route.options_type.fields_by_name
    in_path = route.parameters
    return ([IF_NONE_MATCH] if route.tagged else []) + [
        {
            "name": name,
            "in": "path" if name in in_path else "query",
            "required": name in in_path,
            "description": schemas.comment(fields[name].full_name),
            **_written(fields[name], schemas.parameter(fields[name])),
        }
        for name in (*in_path, *route.in_query)
    ]


def _written(field: Any, schema: Schema) -> Schema:
    """How a parameter is written: objects as JSON."""
    return {"schema": schema} if field.message_type is None else {"content": {JSON: {"schema": schema}}}


def _success(route: Route, status: int, schemas: Schemas) -> Schema:
    message = route.body_type

    example = json.loads(to_json(openapi_examples.answer(route.rpc, status), SHAPES))
    headers = {"X-Request-Id": REQUEST_ID_HEADER}
    if route.tagged:
        headers["ETag"] = ETAG_HEADER
    if route.located:
        headers["Location"] = {"description": "Where it is from now on.", "schema": {"type": "string"}}
    return {
        "description": route.statuses[status],
        "headers": headers,
        "content": {JSON: {"schema": schemas.answered(message), "example": example}},
    }


def _document_operation() -> Schema:
    return {
        "operationId": "getOpenApi",
        "summary": "This document",
        "security": [],
        "responses": {
            "200": {"description": "This document.", "content": {JSON: {"schema": {"type": "object"}}}}
        },
    }


def _shared(kind: type[Problem]) -> Schema:
    return {"$ref": f"#/components/responses/{kind.http_status}"}


def _problem(kind: type[Problem]) -> Schema:
    """The response of one kind of problem."""
    if kind is errors.InvalidArgument:
        problem: Problem = errors.InvalidArgument(
            [errors.FieldProblem("rows[0].variable", "is not known in randhie; did you mean site?")]
        )
    else:
        problem = kind()
    headers = {"X-Request-Id": REQUEST_ID_HEADER}
    if kind.retry_after is not None:
        headers["Retry-After"] = {"description": "Seconds to wait.", "schema": {"type": "integer"}}
    if kind is errors.Unauthenticated:
        headers["WWW-Authenticate"] = {"description": "Bearer.", "schema": {"type": "string"}}
    example = errors.to_problem_json(problem, "r-01JD3ZQ8N4T7V5W6X9Y0A1B2C3")
    reference = {"$ref": "#/components/schemas/Problem"}
    return {
        "description": (kind.__doc__ or kind.title).partition("\n")[0],
        "headers": headers,
        "content": {PROBLEM_JSON: {"schema": reference, "example": example}},
    }


def problem_schema() -> Schema:
    """Schema of problem+json as sdcgate sends it."""
    text = {"type": "string"}
    field = {
        "type": "object",
        "properties": {
            "path": {**text, "description": "Where, such as `rows[0].variable`; empty for the whole body."},
            "message": {**text, "description": "What is wrong and what to send instead."},
        },
        "required": ["path", "message"],
    }
    properties = {
        "type": {**text, "format": "uri", "description": "What kind of problem."},
        "title": {**text, "description": "The kind in words."},
        "status": {"type": "integer", "description": "HTTP status."},
        "detail": {**text, "description": "What was wrong this time."},
        "code": {**text, "description": "What kind of problem, for programs."},
        "request": {**text, "description": "Id of the request."},
        "errors": {"type": "array", "items": field, "description": "All fields that are wrong."},
    }
    return {
        "type": "object",
        "description": "An error (RFC 9457). Never a verdict.",
        "properties": properties,
        "required": list(properties),
    }
