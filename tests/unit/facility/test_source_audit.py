"""When the audit of a source says that everything is proved."""

from types import SimpleNamespace

import pytest

from sdcgate.cli.ledger_audit import describe
from sdcgate.facility.audited_quantities import AuditedQuantity
from sdcgate.facility.ledger_audit import AuditedNoise, SourceAudit
from sdcgate.methods.tables.joint_history import AuditedBox, Standing


def of_one_cell(standing):
    cell = AuditedBox((("region", 1),), standing, frozenset({"region"}))
    return AuditedQuantity(None, "records", "records", 10, 5, (cell,))


@pytest.mark.parametrize("standing", list(Standing))
def test_a_source_is_proved_where_every_cell_is(standing):
    several = (of_one_cell(Standing.PROVED), of_one_cell(standing))
    harmless = standing in (Standing.PROVED, Standing.ELSEWHERE)
    assert SourceAudit(2, (), several).proved is harmless
    assert SourceAudit(2, (), several).refuted is (standing is Standing.REFUTED)


@pytest.mark.parametrize(("unproved", "expected"), [(0, True), (3, False), (None, False)])
def test_noise_that_is_not_shown_to_hide_what_it_must_is_not_proved(unproved, expected):
    noise = AuditedNoise(None, 40, 6, unproved, 2, 1.5, 0.1)
    assert SourceAudit(1, (), (), (noise,)).proved is expected


@pytest.mark.parametrize(("late", "refuted"), [(True, True), (True, False), (False, True)])
def test_what_is_refuted_is_said_not_to_have_been_looked_at_to_the_end_where_time_was_over(late, refuted):
    """Told before it was withheld is harmless; it is looked for last."""
    nothing = {"quantities": (), "versions": (), "noise": (), "overrides": ()}
    said = describe(SimpleNamespace(tables=2, out_of_time=late, refuted=refuted, **nothing))
    assert ("--time-limit" in said) is (late and refuted)
