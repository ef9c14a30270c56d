"""Estimates that a job printed, held against those of the model on the dataset, as they leave."""

import hashlib
import json
import math
from dataclasses import dataclass

from sdcgate.facility.asked import Asked
from sdcgate.facility.decisions import new_decision
from sdcgate.facility.reasons import binding_reason
from sdcgate.facility.results.acro_models import in_order
from sdcgate.facility.results.printed import Estimates
from sdcgate.methods.rules import Consequence
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, table_pb2

DIFFERS = "Published estimates of the model are not those of its dataset."
REFERRED = "An output checker will look at this model."
PRINTED_DIGITS = {"estimate": 4, "standard_error": 3}
"""Decimals of statsmodels' summaries; of figures from 10^4 on or below 10^-4 significant digits."""
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Comparison:
    """Estimates that a job printed, to be compared with those of the dataset."""

    estimates: Estimates
    canonical: bytes
    """Stands for the model and the estimates together."""

    @classmethod
    def of(cls, request: pb.QueryModelRequest, estimates: Estimates, key: bytes) -> "Comparison":
        """Of a model that was printed; its figures may be confidential, so they stand as a keyed digest."""
        bare = pb.QueryModelRequest()
        bare.CopyFrom(request)
        bare.ClearField("project")
        figures = [sorted(estimates.estimates.items()), sorted(estimates.errors.items())]
        content = bare.SerializeToString(deterministic=True) + json.dumps(figures).encode()
        digest = hashlib.blake2b(content, key=key, digest_size=32).hexdigest()
        return cls(estimates, f'{{"printed_model":"{digest}"}}'.encode())

    def compared(
        self, asked: Asked, decision: pb.Decision, digits: int
    ) -> tuple[pb.Decision, tuple[str, ...]]:
        """The decision about what was printed, and where it differs from the dataset's model.

        What is compared is told by the answer, so the model counts as released all the same.
        """
        binding = self.differing(decision.model, digits) if decision.HasField("model") else ()
        if not binding:
            return decision, ()
        referred = new_decision(asked, Consequence.REFER)
        referred.reasons.append(binding_reason(f"{DIFFERS} {' '.join(binding)} {REFERRED}"))
        return referred, binding

    def differing(self, model: model_pb2.Model, digits: int) -> tuple[str, ...]:
        """Where what is published of a model is not what was printed; empty where all agrees.

        Figures are compared as they leave, and as exactly as they were printed: by four decimals or digits of
        an estimate, three of its standard error.
        """
        ours = {in_order(one.name.split(":")): one for one in model.coefficients}
        found = [
            f"{name[:64]!r} is no coefficient of it." for name in self.estimates.estimates if name not in ours
        ]
        for what, printed in (
            ("estimate", self.estimates.estimates),
            ("standard_error", self.estimates.errors),
        ):
            wrong = [
                name
                for name, value in printed.items()
                if name in ours
                and ours[name].status == table_pb2.CELL_STATUS_PUBLISHED
                and not _agree(getattr(ours[name], what), value, digits, PRINTED_DIGITS[what])
            ]
            if wrong:
                more = f" and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
                found.append(f"{what.replace('_', ' ')} of {', '.join(wrong[:_MOST_NAMED])}{more}.")
        return tuple(found)


def _agree(ours: float, printed: float, digits: int, decimals: int) -> bool:
    """Whether two roundings of one figure can be: ours to digits, the printed one to decimals or digits."""
    slack = 0.5001 * 10.0**-decimals
    if abs(printed) >= 10**4 or abs(printed) < 10**-4:
        slack = max(abs(printed) * 10.0 ** (1 - decimals), slack if printed == 0 else 0.0)
    if ours:
        slack += 0.5001 * 10.0 ** (math.floor(math.log10(abs(ours))) + 1 - digits)
    return abs(ours - printed) <= slack
