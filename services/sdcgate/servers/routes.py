"""The routes of the gateway: which address is which call of which service, and how its answer goes out.

The OpenAPI document is made from the same list.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from sdcgate.servers.errors import Internal
from sdcgate_proto.sdcgate.facility.v1 import admission_pb2
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2
from sdcgate_proto.sdcgate.risk.v1 import risk_pb2

SERVICE = pb.DESCRIPTOR.services_by_name["FacilityService"]
SERVICES: dict[str, Any] = {
    "facility": SERVICE,
    "risk": risk_pb2.DESCRIPTOR.services_by_name["RiskService"],
    "protection": protection_pb2.DESCRIPTOR.services_by_name["ProtectionService"],
}
"""Descriptors of the services, by the names of their sections in the settings."""

RELEASED = (pb.VERDICT_RELEASED, pb.VERDICT_RELEASED_PROTECTED)
VERDICTS = (*RELEASED, pb.VERDICT_REFERRED, pb.VERDICT_REFUSED)


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes out: status, body, and where the thing is from now on."""

    status: int
    body: Message
    location: str = ""


@dataclass(frozen=True, slots=True)
class Route:
    """One address. The names in braces are fields of the call's request."""

    method: str
    path: str
    rpc: str
    statuses: dict[int, str]
    """What each status of success means."""
    answer: Callable[[Any], Answer]
    body: str = ""
    """Field of the call's response that is the body of the answer; the whole response where empty."""
    service: str = "facility"
    """Name of the service that is called."""
    located: bool = False
    """Whether the answer says where the thing is from now on."""
    tagged: bool = False
    """Whether the answer has an ETag; only for answers that hold nothing of the data."""
    operation: str = ""
    """Name of the operation, where the call has several addresses."""
    without: tuple[str, ...] = ()
    """Fields of the call's request that this address does not take."""
    file: str = ""
    """Field of the call's requests that carries the body, a file; the query string gives `options`."""
    files: tuple[str, ...] = ()
    """Fields of the call's requests that carry files, parts of a form whose first part gives `options`.

    Where `file` is named, too, a caller may send either.
    """
    optional: tuple[str, ...] = ()
    """Those of the files that a form need not have."""

    what_files_are: str = "An Arrow IPC stream, not compressed."
    """Of the files of a form, for their senders."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the fields that the address gives."""
        return tuple(part[1:].partition("}")[0] for part in self.path.split("/") if part.startswith("{"))

    @property
    def in_query(self) -> tuple[str, ...]:
        """Names of the fields that the query string gives."""
        if self.file:
            return tuple(self.options_type.fields_by_name)
        if self.method == "POST":
            return ()
        elsewhere = (*self.parameters, *self.without)
        return tuple(name for name in self.request_type.fields_by_name if name not in elsewhere)

    @property
    def operation_id(self) -> str:
        """Name of the operation in the OpenAPI document."""
        name = self.operation or self.rpc
        return name[0].lower() + name[1:]

    @property
    def call(self) -> Any:
        """Descriptor of the call."""
        return SERVICES[self.service].methods_by_name[self.rpc]

    @property
    def request_type(self) -> Any:
        """Descriptor of the call's request."""
        return self.call.input_type

    @property
    def options_type(self) -> Any:
        """Descriptor of the options where files are sent, else of the request."""
        if self.file or self.files:
            return self.request_type.fields_by_name["options"].message_type
        return self.request_type

    @property
    def body_type(self) -> Any:
        """Descriptor of the body of the answer."""
        response = self.call.output_type
        return response.fields_by_name[self.body].message_type if self.body else response


def _as_it_is(response: Message) -> Answer:
    return Answer(200, response)


def _registered(response: pb.RegisterDatasetResponse) -> Answer:
    return Answer(201 if response.created else 200, response, f"/v1/datasets/{response.dataset.name}")


def _entered(response: pb.EnterKnowledgeResponse) -> Answer:
    return Answer(200 if response.repeated_answer else 201, response)


def _decided(
    response: pb.QueryTableResponse
    | pb.QueryModelResponse
    | pb.QueryStatisticResponse
    | pb.SubmitOutputResponse,
) -> Answer:
    decision = checked(response.decision)
    status = 200 if response.repeated_answer else 201
    if decision.verdict == pb.VERDICT_REFERRED:
        status = 202
    return Answer(status, decision, f"/v1/queries/{decision.query}")


def _judged(response: pb.SubmitResultsResponse) -> Answer:
    for output in response.outputs:
        checked(output.decision)
    referred = any(output.decision.verdict == pb.VERDICT_REFERRED for output in response.outputs)
    repeated = all(output.repeated_answer for output in response.outputs)
    return Answer(202 if referred else 200 if repeated else 201, response)


def _reviewed(response: pb.ReviewQueryResponse) -> Answer:
    return Answer(200, checked(response.decision))


def _commented(response: pb.CommentQueryResponse) -> Answer:
    return Answer(200, response.comment)


def _requested(response: admission_pb2.RequestAdmissionResponse) -> Answer:
    return Answer(201, response.admission)


def _admission(
    response: admission_pb2.ReviewAdmissionResponse | admission_pb2.WithdrawAdmissionResponse,
) -> Answer:
    return Answer(200, response.admission)


def _shown(response: pb.GetQueryResponse) -> Answer:
    checked(response.decision)
    return Answer(200, response)


def _drawn(response: pb.DrawQueryResponse) -> Answer:
    if not response.svg.startswith("<svg "):
        raise Internal()
    return Answer(200, response)


def checked(decision: pb.Decision) -> pb.Decision:
    """The decision, where it is one: a verdict that is known, and one answer exactly if it releases.

    Raises Internal otherwise: what is not clearly a release does not go out as one.
    """
    released = decision.verdict in RELEASED
    answers = [decision.HasField(field) for field in ("table", "model", "statistic", "files")]
    if decision.verdict not in VERDICTS or not decision.query or released != (sum(answers) == 1):
        raise Internal()
    if any(answers) and not released:
        raise Internal()
    return decision


ROUTES: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/datasets",
        "RegisterDataset",
        {201: "A new dataset or version.", 200: "The same content was registered before."},
        _registered,
        located=True,
    ),
    Route("GET", "/v1/datasets", "ListDatasets", {200: "All datasets."}, _as_it_is),
    Route("GET", "/v1/datasets/{dataset}", "GetDataset", {200: "The dataset."}, _as_it_is),
    Route(
        "GET",
        "/v1/datasets/{dataset}/policy",
        "GetPolicy",
        {200: "The policy that applies to the dataset now."},
        _as_it_is,
        operation="GetPolicyOfDataset",
        without=("query",),
    ),
    Route(
        "POST",
        "/v1/datasets/{dataset}:assess",
        "AssessDataset",
        {200: "The risk of the dataset as a file. No verdict; nothing is kept."},
        _as_it_is,
    ),
    Route(
        "POST",
        "/v1/datasets/{dataset}:enterKnowledge",
        "EnterKnowledge",
        {201: "Entered: every audit reckons with it from now on.", 200: "It was entered before."},
        _entered,
    ),
    Route(
        "POST",
        "/v1/datasets/{dataset}/tables",
        "QueryTable",
        {
            201: "Decided: released, released with protection, or refused.",
            200: "The same query was answered before; this is that answer.",
            202: "Referred: an output checker decides. Ask again at `Location`.",
        },
        _decided,
        "decision",
        located=True,
    ),
    Route(
        "POST",
        "/v1/datasets/{dataset}/models",
        "QueryModel",
        {
            201: "Decided: released, released with protection, or refused.",
            200: "The same query was answered before; this is that answer.",
            202: "Referred: an output checker decides. Ask again at `Location`.",
        },
        _decided,
        "decision",
        located=True,
    ),
    Route(
        "POST",
        "/v1/datasets/{dataset}/statistics",
        "QueryStatistic",
        {
            201: "Decided: released, released with protection, or refused.",
            200: "The same query was answered before; this is that answer.",
            202: "Referred: an output checker decides. Ask again at `Location`.",
        },
        _decided,
        "decision",
        located=True,
    ),
    Route(
        "POST",
        "/v1/datasets/{dataset}/outputs",
        "SubmitOutput",
        {
            201: "Decided: released, released with protection, or refused.",
            200: "The same output was submitted before; this is that answer.",
            202: "Referred: an output checker decides. Ask again at `Location`.",
        },
        _decided,
        "decision",
        located=True,
    ),
    Route(
        "POST",
        "/v1/datasets/{dataset}/results",
        "SubmitResults",
        {
            201: "Each output is decided: released, released with protection, or refused.",
            200: "All of them were submitted before; these are those answers.",
            202: "Some are referred: an output checker decides. Ask again by their queries.",
        },
        _judged,
        files=("results",),
        what_files_are="A zip archive of the folder, or the one file that `name` names.",
    ),
    Route("GET", "/v1/queries", "ListQueries", {200: "Queries, the newest first."}, _as_it_is),
    Route("GET", "/v1/queries/{query}", "GetQuery", {200: "The query and its decision."}, _shown),
    Route(
        "GET",
        "/v1/queries/{query}/picture",
        "DrawQuery",
        {200: "The drawing: SVG, and PNG in base64 where that was asked for."},
        _drawn,
    ),
    Route(
        "GET",
        "/v1/queries/{query}/policy",
        "GetPolicy",
        {200: "The policy as it was when the query was decided."},
        _as_it_is,
        operation="GetPolicyOfQuery",
        without=("dataset",),
    ),
    Route(
        "POST",
        "/v1/queries/{query}:review",
        "ReviewQuery",
        {200: "The decision after the review."},
        _reviewed,
        "decision",
    ),
    Route(
        "POST",
        "/v1/queries/{query}:comment",
        "CommentQuery",
        {200: "The comment as it was recorded."},
        _commented,
        "comment",
    ),
    Route(
        "POST",
        "/v1/risk:assessTable",
        "AssessTable",
        {200: "What failed, and what could not be judged. No verdict; nothing is kept."},
        _as_it_is,
        service="risk",
    ),
    Route(
        "POST",
        "/v1/risk:assessModel",
        "AssessModel",
        {200: "What failed. No verdict; nothing is kept."},
        _as_it_is,
        service="risk",
    ),
    Route(
        "POST",
        "/v1/risk:assessStatistic",
        "AssessStatistic",
        {200: "What failed, and what could not be judged. No verdict; nothing is kept."},
        _as_it_is,
        service="risk",
    ),
    Route(
        "POST",
        "/v1/risk:estimateIndividualRisk",
        "EstimateIndividualRisk",
        {200: "The risks of what was sent, in its order. Nothing is kept."},
        _as_it_is,
        service="risk",
    ),
    Route(
        "POST",
        "/v1/risk:mapConfidentiality",
        "MapConfidentiality",
        {200: "Risk and utility of noise and of recodings. Nothing is kept."},
        _as_it_is,
        service="risk",
    ),
    Route(
        "POST",
        "/v1/risk:assessMicrodata",
        "AssessMicrodata",
        {200: "The report on the file. Nothing of the file is kept."},
        _as_it_is,
        service="risk",
        file="arrow",
        files=("arrow", "other"),
        optional=("other",),
    ),
    Route(
        "POST",
        "/v1/risk:compareRecodings",
        "CompareRecodings",
        {200: "Risk and loss of information of each recoding, and the best. Nothing of the file is kept."},
        _as_it_is,
        service="risk",
        files=("arrow",),
    ),
    Route(
        "POST",
        "/v1/risk:linkRecords",
        "LinkRecords",
        {200: "What could be linked. Nothing of the files is kept."},
        _as_it_is,
        service="risk",
        files=("original", "released"),
    ),
    Route(
        "POST",
        "/v1/protection:protectTable",
        "ProtectTable",
        {200: "A pattern, and whether it is proved. No verdict; nothing is kept."},
        _as_it_is,
        service="protection",
    ),
    Route(
        "POST",
        "/v1/protection:auditTable",
        "AuditTable",
        {200: "What the audit found. No verdict; nothing is kept."},
        _as_it_is,
        service="protection",
    ),
    Route(
        "POST",
        "/v1/protection:redesignTable",
        "RedesignTable",
        {200: "Coarser tables that pass. No verdict; nothing is kept."},
        _as_it_is,
        service="protection",
    ),
    Route(
        "POST",
        "/v1/admissions",
        "RequestAdmission",
        {201: "Requested; a steward decides."},
        _requested,
        "admission",
    ),
    Route("GET", "/v1/admissions", "ListAdmissions", {200: "The admissions."}, _as_it_is),
    Route(
        "POST",
        "/v1/admissions/{admission}:review",
        "ReviewAdmission",
        {200: "The admission after the review."},
        _admission,
        "admission",
    ),
    Route(
        "POST",
        "/v1/admissions/{admission}:withdraw",
        "WithdrawAdmission",
        {200: "The admission after its end."},
        _admission,
        "admission",
    ),
    Route("GET", "/v1/budget", "GetBudget", {200: "What may still be asked."}, _as_it_is),
    Route("GET", "/v1/caller", "GetCaller", {200: "Whom the key belongs to."}, _as_it_is),
    Route("GET", "/v1/status", "GetStatus", {200: "The facility answers."}, _as_it_is, tagged=True),
)
