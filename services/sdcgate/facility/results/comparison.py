"""Estimates that a job printed, held against those of the model on the dataset, as they leave."""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

from sdcgate.facility.asked import Asked
from sdcgate.facility.decisions import new_decision
from sdcgate.facility.reasons import binding_reason
from sdcgate.facility.results.acro_models import in_order
from sdcgate.facility.results.printed import Estimates
from sdcgate.methods.outputs.printed_estimates import Written
from sdcgate.methods.rules import Consequence, ReasonCode
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2

DIFFERS = "Published estimates of the model are not those of its dataset."
REFERRED = "An output checker will look at this model."
PRINTED_DIGITS = {"estimate": 4, "standard_error": 3}
"""Decimals of statsmodels' summaries; of figures from 10^4 on or below 10^-4 significant digits."""
COMPUTED = 1e-6
"""As closely as two programs compute a figure, as a share of it: where the slower search stops."""
_MOST_NAMED = 5
_OTHERWISE_FITTED = (ReasonCode.DIFFERENCING.value, ReasonCode.MINIMUM_UNITS.value)
"""Of what leaves protected: units were left out, or categories that may not be told were fitted as one."""


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
        figures = [sorted(column.items()) for column in estimates.columns.values()]
        if estimates.every_digit:
            figures += [sorted(estimates.fit.items()), sorted(estimates.counts.items())]
        content = bare.SerializeToString(deterministic=True) + json.dumps(figures).encode()
        digest = hashlib.blake2b(content, key=key, digest_size=32).hexdigest()
        return cls(estimates, f'{{"printed_model":"{digest}"}}'.encode())

    def compared(
        self, asked: Asked, decision: pb.Decision, digits: int, counts_base: int
    ) -> tuple[pb.Decision, tuple[str, ...]]:
        """The decision about what was printed, and where it differs from the dataset's model.

        What is compared is told by the answer, so the model counts as released all the same.
        """
        binding: tuple[str, ...] = ()
        if decision.HasField("model"):
            protected = decision.verdict == pb.VERDICT_RELEASED_PROTECTED
            binding = tuple(self._differing(decision.model, digits, counts_base, protected))
        if not binding:
            return decision, ()
        referred = new_decision(asked, Consequence.REFER)
        referred.reasons.append(binding_reason(f"{DIFFERS} {' '.join(binding)} {REFERRED}"))
        # Right figures differ where units were left out of ours or categories fitted as one, as these say.
        referred.reasons.extend(one for one in decision.reasons if one.code in _OTHERWISE_FITTED)
        return referred, binding

    def _differing(
        self, model: model_pb2.Model, digits: int, counts_base: int, protected: bool
    ) -> Iterator[str]:
        """Where what is published of a model is not what was printed; nothing where all agrees.

        Figures are compared as they leave, and as exactly as they were printed. One that does not leave is
        not compared where the model is `protected`, and else is none of the model's.
        """
        ours = {coefficient_name(one): one for one in model.coefficients}
        printed = dict.fromkeys(name for column in self.estimates.columns.values() for name in column)
        yield from (f"{name[:64]!r} is no coefficient of it." for name in printed if name not in ours)
        for what, column in self.estimates.columns.items():
            known = {name: value for name, value in column.items() if name in ours}
            shown = {name: value for name, value in known.items() if ours[name].HasField(what)}
            decimals = None if self.estimates.every_digit else PRINTED_DIGITS[what]
            written = Written.of(column.values())
            wrong = [
                name
                for name, value in shown.items()
                if not _agree(getattr(ours[name], what), value, written, digits, decimals)
            ]
            if not protected:
                wrong += [name for name in known if name not in shown]
            if wrong:
                more = f" and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
                yield f"{what.replace('_', ' ')} of {', '.join(wrong[:_MOST_NAMED])}{more}."
        yield from self._of_fit(model, digits, counts_base, protected)

    def _of_fit(
        self, model: model_pb2.Model, digits: int, counts_base: int, protected: bool
    ) -> Iterator[str]:
        ours = {model_pb2.FitStatistic.Name(one.statistic): one.value for one in model.fit}
        for name, value in self.estimates.fit.items():
            differs = (
                not _agree(ours[name], value, Written.of([value]), digits, None)
                if name in ours
                else not protected
            )
            if differs:
                yield f"{name.removeprefix('FIT_STATISTIC_')}."
        for name, count in self.estimates.counts.items():
            # As it leaves, rounded: whether a count is exactly the dataset's is not told.
            if abs(getattr(model, name) - count) >= max(counts_base, 1):
                yield f"{name.replace('_', ' ')}."


def coefficient_name(one: model_pb2.Coefficient) -> str:
    """The name of a coefficient, whatever the order of its parts, with the class that it is about."""
    name = in_order(one.name.split(":"))
    return f"{one.outcome}: {name}" if one.outcome else name


def _agree(ours: float, printed: float, written: Written, digits: int, decimals: int | None) -> bool:
    """Whether two roundings of one figure can be: ours to digits, the printed one to decimals or digits.

    Where neither is known of the printed one, it is as exact as its column was written.
    """
    if decimals is None:
        slack = 0.5001 * 10.0 ** written.place(printed) + COMPUTED * abs(printed)
    else:
        slack = 0.5001 * 10.0**-decimals
        if abs(printed) >= 10**4 or abs(printed) < 10**-4:
            slack = max(abs(printed) * 10.0 ** (1 - decimals), slack if printed == 0 else 0.0)
    if ours:
        slack += 0.5001 * 10.0 ** (math.floor(math.log10(abs(ours))) + 1 - digits)
    return abs(ours - printed) <= slack
