"""Forms with options and files as they come: any pieces, any order of bytes, and what is no form."""

import asyncio
import json

import pytest
from fastapi import Request
from hypothesis import given
from hypothesis import strategies as st

from sdcgate.servers.errors import TooLarge, UnsupportedMediaType
from sdcgate.servers.forms import form_messages
from sdcgate.servers.routes import ROUTES
from sdcgate.wire.problems import InvalidMessageError

(LINK,) = (route for route in ROUTES if route.rpc == "LinkRecords")
OPTIONS = {"method": "DISTANCE", "variables": [{"column": "age", "kind": "NUMERIC"}]}
FILES = {"original": bytes(range(256)) * 3 + b"\r\n--a", "released": b"--x--\r\n\r\n"}


def part(name, content, more=b""):
    head = f'--b\r\nContent-Disposition: form-data; name="{name}"; filename="a.arrow"\r\n'.encode()
    return head + more + b"\r\n" + content + b"\r\n"


def form(options=OPTIONS, files=None, ending=b"--b--\r\n"):
    parts = [part("options", options if isinstance(options, bytes) else json.dumps(options).encode())]
    return b"".join([*parts, *(part(*one) for one in (files or FILES).items()), ending])


def taken(body, size=64, kind="multipart/form-data; boundary=b", maximum=10_000, **headers):
    """The options, the files, and the problem after which no more came."""
    pieces = [body[begin : begin + size] for begin in range(0, len(body), size)]

    async def receive():
        piece = pieces.pop(0) if pieces else b""
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def read():
        sent = {"content-type": kind, **headers}
        scope = {"type": "http", "headers": [(k.encode(), v.encode()) for k, v in sent.items()]}
        made = await form_messages(Request(scope, receive), LINK, maximum, 2_000)
        messages = [message async for message in made]
        files = {name: b"".join(getattr(one, name) for one in messages) for name in FILES}
        return messages[0].options, files, made.problem

    return asyncio.run(read())


@given(st.integers(1, 700))
def test_pieces_may_be_cut_anywhere(size):
    options, files, problem = taken(form(), size)
    assert problem is None
    assert options.variables[0].column == "age"
    assert files == FILES


@given(st.binary(max_size=300), st.integers(1, 50))
def test_files_may_hold_any_bytes(content, size):
    content = content.replace(b"--b", b"-")
    _, files, problem = taken(form(files={"original": content, "released": b""}), size)
    assert problem is None
    assert files == {"original": content, "released": b""}


def told(body, **how):
    with pytest.raises(InvalidMessageError) as caught:
        taken(body, **how)
    return [(problem.path, problem.message) for problem in caught.value.problems]


def test_problems_of_the_options_have_their_paths():
    found = told(form({"metod": "DISTANCE", "variables": [{"kind": "NUMBER"}]}))
    assert [path for path, _ in found] == ["options.metod", "options.variables[0].kind"]
    assert told(form(b"{"))[0][0] == "options"


@pytest.mark.parametrize("body", [b"", b"--b--\r\n", b"none", b"--b\r\nno header\r\n", form()[:80]])
def test_a_body_that_is_no_form_is_told(body):
    assert told(body)[0][0] == ""


def test_the_parts_are_those_of_the_call_each_once_the_options_first():
    assert told(part("original", b"x") + form()) == [("options", "must be the first part of the form")]
    assert told(part("orginal", b"x")) == [
        ("orginal", "is no part of this form; they are options, original, released")
    ]
    again = part("original", b"x") + b"--b--\r\n"
    *_, problem = taken(form(ending=b"") + again)
    assert str(problem) == "original: stands more than once"
    encoded = part("options", b"{}", b"Content-Transfer-Encoding: base64\r\n")
    assert told(encoded) == [("options", "must be sent as it is, without an encoding")]


@pytest.mark.parametrize("ending", [b"", b"--b", b"--c--\r\n"])
def test_a_form_that_does_not_end_is_not_taken_for_whole(ending):
    *_, problem = taken(form(ending=ending))
    assert isinstance(problem, InvalidMessageError)


def test_what_is_too_large_is_told():
    with pytest.raises(TooLarge):
        taken(form({**OPTIONS, "id": "x" * 3_000}))
    *_, problem = taken(form(files={"original": bytes(20_000)}))
    assert isinstance(problem, TooLarge)


@pytest.mark.parametrize(
    ("kind", "headers"),
    [
        ("application/json", {}),
        ("multipart/form-data", {}),
        ("multipart/form-data; boundary=" + "b" * 71, {}),
        ("multipart/form-data; boundary=b", {"content-encoding": "gzip"}),
    ],
)
def test_what_is_sent_as_something_else_is_not_read(kind, headers):
    with pytest.raises(UnsupportedMediaType):
        taken(form(), kind=kind, **headers)
