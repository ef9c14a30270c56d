import grpc
import pytest
from google.rpc import error_details_pb2

from sdcgate.servers import errors
from sdcgate.servers.errors import FieldProblem
from sdcgate.wire.problems import InvalidMessageError

REST = [
    (errors.InvalidArgument, 400, grpc.StatusCode.INVALID_ARGUMENT),
    (errors.Unauthenticated, 401, grpc.StatusCode.UNAUTHENTICATED),
    (errors.PermissionDenied, 403, grpc.StatusCode.PERMISSION_DENIED),
    (errors.NotFound, 404, grpc.StatusCode.NOT_FOUND),
    (errors.AlreadyExists, 409, grpc.StatusCode.ALREADY_EXISTS),
    (errors.FailedPrecondition, 409, grpc.StatusCode.FAILED_PRECONDITION),
    (errors.Aborted, 409, grpc.StatusCode.ABORTED),
    (errors.ResourceExhausted, 429, grpc.StatusCode.RESOURCE_EXHAUSTED),
    (errors.Internal, 500, grpc.StatusCode.INTERNAL),
    (errors.Unimplemented, 501, grpc.StatusCode.UNIMPLEMENTED),
    (errors.Unavailable, 503, grpc.StatusCode.UNAVAILABLE),
    (errors.DeadlineExceeded, 504, grpc.StatusCode.DEADLINE_EXCEEDED),
]


class Failed(grpc.RpcError, grpc.Call):
    """A call that failed with a status."""

    def __init__(self, code, status=None, details="10.0.0.7:7440 refused the connection"):
        self._code, self._status, self._details = code, status, details

    def code(self):
        return self._code

    def details(self):
        return self._status.message if self._status else self._details

    def trailing_metadata(self):
        if self._status is None:
            return ()
        return (("grpc-status-details-bin", self._status.SerializeToString()),)

    initial_metadata = is_active = time_remaining = cancel = add_callback = None


Failed.__abstractmethods__ = frozenset()


@pytest.mark.parametrize(("kind", "http", "code"), REST)
def test_each_kind_has_its_status_on_both_sides_and_survives_the_way(kind, http, code):
    problem = kind(detail="what to do")
    assert (problem.http_status, problem.code) == (http, code)
    status = errors.to_status(problem, "r-1")
    back = errors.from_rpc_error(Failed(code, status))
    assert type(back) is kind
    if kind is not errors.Internal:
        assert back.detail == "what to do"
    assert back.retry_after == problem.retry_after


def test_bad_fields_travel_as_bad_request_with_a_machine_readable_reason():
    problem = errors.InvalidArgument([FieldProblem("rows[0].variable", "must not be empty")])
    status = errors.to_status(problem, "r-1")
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    assert status.details[0].Unpack(info)
    assert (info.reason, info.domain, info.metadata["request_id"]) == ("INVALID_ARGUMENT", "sdcgate", "r-1")
    assert status.details[1].Unpack(bad)
    assert [(v.field, v.description) for v in bad.field_violations] == [
        ("rows[0].variable", "must not be empty")
    ]
    assert errors.from_rpc_error(Failed(problem.code, status)).fields == problem.fields


def test_what_the_transport_says_stays_inside():
    problem = errors.from_rpc_error(Failed(grpc.StatusCode.UNAVAILABLE))
    assert type(problem) is errors.Unavailable
    assert "10.0.0.7" not in str(errors.to_problem_json(problem, "r-1"))


@pytest.mark.parametrize("code", [grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS])
def test_an_unknown_failure_is_internal_without_its_text(code):
    status = errors.to_status(errors.NotFound("the secret is 42"))
    status.code = code.value[0]
    problem = errors.from_rpc_error(Failed(code, status))
    assert problem.http_status == 500
    assert "42" not in problem.detail


def test_a_call_that_was_cut_off_can_be_tried_again():
    assert errors.from_rpc_error(Failed(grpc.StatusCode.CANCELLED)).http_status == 503


def test_an_exception_that_nobody_foresaw_keeps_its_text_to_itself():
    problem = errors.problem_of(KeyError("withheld value 17"))
    assert type(problem) is errors.Internal
    assert "17" not in str(errors.to_status(problem))


def test_failures_of_services_behind_are_failures_of_ours_not_the_callers():
    assert type(errors.problem_of(Failed(grpc.StatusCode.INVALID_ARGUMENT))) is errors.Unavailable
    assert type(errors.problem_of(Failed(grpc.StatusCode.DEADLINE_EXCEEDED))) is errors.DeadlineExceeded


def test_messages_that_cannot_be_read_are_bad_requests():
    problem = errors.problem_of(InvalidMessageError([FieldProblem("facts.units", "is short")]))
    assert problem.http_status == 400
    assert problem.detail == "facts.units: is short"


def test_problem_json_has_the_members_of_rfc_9457_and_all_errors():
    problem = errors.InvalidArgument([FieldProblem("rows[0]", "a"), FieldProblem("margins", "b")])
    assert errors.to_problem_json(problem, "r-1") == {
        "type": "urn:sdcgate:problem:invalid-argument",
        "title": "The request is not valid",
        "status": 400,
        "detail": "rows[0]: a; margins: b",
        "code": "INVALID_ARGUMENT",
        "request": "r-1",
        "errors": [{"path": "rows[0]", "message": "a"}, {"path": "margins", "message": "b"}],
    }


def test_a_long_list_of_problems_is_cut_to_what_the_caller_can_take():
    fields = [FieldProblem(f"descriptor.variables[{i}].name", "x" * 50) for i in range(1000)]
    problem = errors.InvalidArgument(fields)
    assert problem.detail.endswith("; and 995 more")
    status = errors.to_status(problem)
    assert status.ByteSize() < 8192
    back = errors.from_rpc_error(Failed(problem.code, status))
    shown = len(back.fields) - 1
    assert 20 < shown < 1000
    assert back.fields[-1] == FieldProblem("", f"and {1000 - shown} more problems")
    whole = errors.from_rpc_error(Failed(problem.code, errors.to_status(problem, "", 200_000)))
    assert list(whole.fields) == fields


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (
            "CLIENT: Sent message larger than max (70000000 vs. 67108864)",
            errors.TooLarge,
            "at most 67108864 bytes",
        ),
        (
            "SERVER: Received message larger than max (11 vs. 10)",
            errors.TooLarge,
            "request must have at most 10 bytes",
        ),
        (
            "CLIENT: Received message larger than max (11 vs. 10)",
            errors.TooLarge,
            "answer would have more than 10",
        ),
        ("SERVER: Sent message larger than max (11 vs. 10)", errors.TooLarge, "ask for less"),
        ("received metadata size exceeds hard limit at 10.0.0.1", errors.ResourceExhausted, "try again"),
    ],
)
def test_a_message_beyond_the_limit_is_too_large_and_no_reason_to_come_again(said, kind, words):
    back = errors.from_rpc_error(Failed(grpc.StatusCode.RESOURCE_EXHAUSTED, details=said))
    assert type(back) is kind
    assert words in back.detail
    assert "10.0.0.1" not in back.detail
    assert (back.retry_after is None) == (kind is errors.TooLarge)


def test_the_words_of_an_error_fit_into_what_grpc_sends_whatever_letters_they_have():
    for text in ("国" * 5000, "\x00\n" * 5000, "word " * 5000, "\U0001f512" * 5000):
        status = errors.to_status(errors.InvalidArgument(detail=text))
        assert text.startswith(status.message)
        sent = sum(1 if " " <= letter <= "~" else 3 * len(letter.encode()) for letter in status.message)
        assert 900 < sent <= 1000
