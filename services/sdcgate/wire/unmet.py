"""Why no pattern protects a table, as messages."""

from sdcgate.methods.tables.proved_pattern import Protection
from sdcgate.methods.tables.unmet import Requirement, Unmet, unmet
from sdcgate.wire.arithmetic import fact_names
from sdcgate.wire.protection import TableToProtect
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb

WITHIN = "{fact} of [{cell}] can be told to within {possible:.10g}"
BESIDE = "{fact} of [{cell}] can be no more than {possible:.10g} {side} what they are"
SENTENCES = {
    Requirement.COUNT_WIDTH: WITHIN,
    Requirement.SUM_WIDTH: WITHIN,
    Requirement.UPPER_LEVEL: BESIDE.replace("{side}", "above"),
    Requirement.LOWER_LEVEL: BESIDE.replace("{side}", "below"),
}
ASKED = " even with all withheld that may be, and {requirement} asks for {required:.10g}"


def unmet_to_messages(found: Protection, table: TableToProtect) -> list[pb.UnmetRequirement]:
    """Write what cannot be met, cell after cell as the sender has them."""
    messages = [_message(one, table) for one in unmet(table.problem, found)]
    return sorted(messages, key=lambda message: message.cell)


def _message(one: Unmet, table: TableToProtect) -> pb.UnmetRequirement:
    fact = fact_names(table)[one.quantity]
    sentence = (SENTENCES[one.requirement] + ASKED).format(
        fact=fact,
        cell=table.name_of(one.cell),
        possible=one.possible,
        requirement=one.requirement.value,
        required=one.required,
    )
    return pb.UnmetRequirement(
        cell=table.order.told([one.cell])[0],
        fact=fact,
        requirement=one.requirement.value,
        required=one.required,
        possible=one.possible,
        sentence=sentence,
    )
