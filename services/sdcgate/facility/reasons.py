"""What a researcher is told: why, and what to ask instead; nothing that depends on withheld figures."""

from collections.abc import Iterable, Iterator, Sequence

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.plan import Plan
from sdcgate.methods.rules import ReasonCode
from sdcgate.policy.effective import EffectivePolicy
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import policy_pb2

CELLS_WITHHELD = "Cells that rest on too few units are withheld, with others that would reveal them."

MESSAGES = {
    ReasonCode.MINIMUM_UNITS: CELLS_WITHHELD,
    ReasonCode.MINIMUM_BASE: (
        "The population that the filter leaves is too small for a table, or its size must not be known."
    ),
    ReasonCode.INDIVIDUAL_RISK: (
        "The identifying variables are combined in so much detail that too many units could be recognised."
    ),
    ReasonCode.DIFFERENCING: (
        "Together with what was released before, this table would reveal figures that must not be known."
    ),
    ReasonCode.UNPROVED: "It could not be proved that the table is safe.",
    ReasonCode.VERSION_DIFFERENCE: (
        "Tables of another version of this source were released before; an output checker will compare them."
    ),
    ReasonCode.REVIEW: "An output checker has decided.",
    ReasonCode.PERTURBED: (
        "Counts have small random changes, the same for the same persons in every table; totals have changes "
        "of their own, so that they need not be the sums of their parts."
    ),
}
OF_TABLES = (
    "Wait for the output checker, or ask tables of its variables: they are compared with other versions."
)
"""What may be asked in place of a model or statistic, which are not compared with other versions."""
REFERRED = "An output checker will look at this table."
REFUSED = "The table does not pass the rules of this dataset."


def reason(code: ReasonCode, plan: Plan, message: str = "") -> pb.Reason:
    """The researcher's view of a reason, with a suggestion from the public levels."""
    return pb.Reason(
        code=policy_pb2.ReasonCode.Name(code.value),
        message=message or MESSAGES.get(code, REFUSED),
        suggestion=suggestion(code, plan),
    )


def reviewed_reason(message: str = "", instead: str = "") -> pb.Reason:
    """That an output checker decided, and what he suggests."""
    text = message or MESSAGES[ReasonCode.REVIEW]
    code = policy_pb2.ReasonCode.Name(ReasonCode.REVIEW.value)
    return pb.Reason(code=code, message=text, suggestion=instead)


def binding_reason(message: str) -> pb.Reason:
    """That an output is not shown to be what it is declared to be; nothing but public names and figures."""
    return pb.Reason(
        code=policy_pb2.ReasonCode.Name(ReasonCode.BINDING.value),
        message=message,
        suggestion="Declare the population by a filter, use registered levels and codes, or ask a table.",
    )


def is_not_compared(decision: pb.Decision) -> bool:
    """Whether a decision is held as what left of other versions could not be compared with it."""
    return any(reason.code == policy_pb2.REASON_CODE_VERSION_DIFFERENCE for reason in decision.reasons)


def suggestion(code: ReasonCode, plan: Plan) -> str:
    """What to ask instead, from the dataset's public levels only."""
    coarser = [
        f"{variable} by {level}"
        for variable, asked in plan.dimensions
        if (level := next_level(plan.dataset, plan.policy, variable, asked))
    ]
    match code:
        case ReasonCode.MINIMUM_BASE:
            return "Leave out a condition of the filter, or choose more codes."
        case ReasonCode.DIFFERENCING:
            without = "the table without the filter, or with " if plan.filters else ""
            return f"Ask {without}the groups that were released before."
        case ReasonCode.MAXIMUM_DIMENSIONS | ReasonCode.NOT_ALLOWED | ReasonCode.MAXIMUM_CELLS:
            return _shorter(plan)
        case ReasonCode.UNPROVED | ReasonCode.VERSION_DIFFERENCE | ReasonCode.REVIEW | ReasonCode.PERTURBED:
            return ""
        case _ if coarser:
            return f"Ask {' or '.join(coarser)}."
        case _:
            return _shorter(plan)


def alternatives(plan: Plan, most: int = 3) -> list[pb.Alternative]:
    """Tables that could be asked instead: a dimension coarser, or one less; from public levels only."""
    found = []
    for position, (variable, level) in enumerate(plan.dimensions):
        if coarser := next_level(plan.dataset, plan.policy, variable, level):
            changed = [*plan.dimensions]
            changed[position] = (variable, coarser)
            found.append(_alternative(plan, [*changed]))
    if len(plan.dimensions) > 1:
        for position in reversed(range(len(plan.dimensions))):
            kept: list[tuple[str, str] | None] = [*plan.dimensions]
            kept[position] = None
            found.append(_alternative(plan, kept))
    return found[:most]


def promised(plan: Plan) -> pb.Alternative:
    """A table that was judged: it leaves whole whenever it is asked."""
    found = _alternative(plan, [*plan.dimensions])
    found.judged = True
    return found


def ready_to_ask(
    found: Iterable[pb.Alternative], request: pb.QueryTableRequest | None
) -> Iterator[pb.Alternative]:
    """Alternatives, each with the request that asks it in place of one; as they are where there is none."""
    for alternative in found:
        if request is not None:
            table = alternative.table
            table.CopyFrom(request)
            for name in ("rows", "columns", "layers", "project"):
                table.ClearField(name)
            table.rows.extend(alternative.rows)
            table.columns.extend(alternative.columns)
            table.layers.extend(alternative.layers)
        yield alternative


def fewer_dimensions(plan: Plan, most: int) -> list[pb.Alternative]:
    """The same table without its last dimensions, so that no more than `most` are left."""
    kept = [dimension if place < most else None for place, dimension in enumerate(plan.dimensions)]
    return [_alternative(plan, kept)] if most else []


def _alternative(plan: Plan, dimensions: list[tuple[str, str] | None]) -> pb.Alternative:
    alternative = pb.Alternative()
    for position, dimension in enumerate(dimensions):
        if dimension is None:
            continue
        if position in plan.rows:
            group = alternative.rows
        elif position in plan.columns:
            group = alternative.columns
        else:
            group = alternative.layers
        group.add(variable=dimension[0], level=dimension[1])
    return alternative


def next_level(dataset: Dataset, policy: EffectivePolicy, variable: str, level: str) -> str:
    """The finest level of a variable coarser than one that the policy allows; empty where there is none."""
    levels = [known.name for known in dataset.levels(variable)]
    allowed = policy.allowed_levels.get(variable)
    coarser = levels[levels.index(level) + 1 :]
    return next((name for name in coarser if allowed is None or name in allowed), "")


def either(ways: Sequence[str], otherwise: str) -> str:
    """Ways out as one sentence, each told once; `otherwise` where there is none."""
    text = ", or ".join(dict.fromkeys(ways)) or otherwise
    return f"{text[0].upper()}{text[1:]}."


def _shorter(plan: Plan) -> str:
    if len(plan.dimensions) > 1:
        return f"Drop {plan.dimensions[-1][0]}."
    return "Leave out a condition of the filter." if plan.filters else "Ask another variable."
