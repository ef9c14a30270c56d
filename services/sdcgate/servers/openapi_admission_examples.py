"""Examples of admissions for the OpenAPI document."""

from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from sdcgate_proto.sdcgate.facility.v1 import admission_pb2 as pb

ID = "a-01M7YK6BP0KHJMJ3X4A2FN7THG"
BODIES: dict[str, dict[str, Any]] = {
    "RequestAdmission": {
        "researchers": ["r.levi"],
        "datasets": ["randhie"],
        "label": "Ruth Levi, University of Haifa, doctoral thesis on health insurance",
        "valid_from": "2026-12-01",
        "valid_until": "2027-11-30",
    },
    "ReviewAdmission": {"approve": True, "note": "Contract 2026/17.", "valid_until": "2027-06-30"},
    "WithdrawAdmission": {"note": "The contract has ended."},
}


def admission(state: str = "REQUESTED") -> pb.Admission:
    """An admission in a state."""
    found = pb.Admission(
        admission=ID,
        **BODIES["RequestAdmission"],
        state=f"ADMISSION_STATE_{state}",
        requested_by="portal-1",
        requested=Timestamp(seconds=1795512600),
    )
    if state != "REQUESTED":
        note = BODIES["ReviewAdmission" if state == "APPROVED" else "WithdrawAdmission"]["note"]
        found.reviewer, found.note, found.valid_until = "s.cohen", note, "2027-06-30"
    return found
