"""Problems that no pattern solves: what clashes is named, and what cannot be had is told with its reason."""

import grpc
import pytest

from protection_server import served_protection
from sdcgate.servers import errors
from sdcgate_proto.sdcgate.protection.v1 import perturbation_pb2 as perturbation
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb
from sdcgate_proto.sdcgate.protection.v1 import redesign_pb2
from sdcgate_proto.sdcgate.types.v1 import policy_pb2, table_pb2

LINE = [table_pb2.Dimension(variable="region", codes=["n", "s", "w", "_T"])]
TURNED = [table_pb2.Dimension(variable="region", codes=["n", "s", "w", "_T"], cells=[3, 2, 1, 0])]


@pytest.fixture(scope="module")
def stub():
    with served_protection() as served:
        yield served


def line(units=(2, 12, 14, 28), dimensions=LINE, measures=(), **changed):
    said = {"count_width": 3, "records_per_unit": 1, "units_additive": True} | changed
    facts = table_pb2.CellFacts(units=units, measures=measures)
    return pb.ProtectionProblem(dimensions=dimensions, facts=facts, **said)


def protect(problem, unsafe=(0,), **more):
    return pb.ProtectTableRequest(problem=problem, unsafe=unsafe, time_limit_ms=5000, **more)


def income(sums=(30, 100, 200, 330), **bounds):
    return table_pb2.MeasureFacts(measure="income", sums=sums, **bounds)


def wrong(call, request):
    with pytest.raises(grpc.RpcError) as caught:
        call(request)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    fields = errors.from_rpc_error(caught.value).fields
    assert len({field.path for field in fields}) == len(fields)
    return {field.path: field.message for field in fields}


def test_a_cell_that_is_unsafe_and_known_is_named_at_both_lists(stub):
    told = wrong(stub.ProtectTable, protect(line(known=[0, 2]), unsafe=[1, 0]))
    assert told.keys() == {"unsafe", "problem.known"}
    assert told["unsafe"].endswith("see problem.known (positions 0)")
    assert told["problem.known"].endswith("see unsafe (positions 0)")


def test_a_sum_that_is_unsafe_and_known_is_named_at_the_cells_as_they_were_sent(stub):
    sums = [pb.KnownMeasure(measure="income", cells=[3])]
    facts = {"units": (), "measures": [income(lower_bound=0)], "dimensions": TURNED}
    turned = facts | {"measures": [income((330, 200, 100, 30), lower_bound=0)]}
    told = wrong(stub.ProtectTable, protect(line(**turned, sum_width=0.1, known_measures=sums), unsafe=[3]))
    assert told.keys() == {"unsafe", "problem.known_measures[0].cells"}
    assert told["unsafe"].endswith("(positions 3)")


def test_a_cell_of_which_only_the_counts_are_known_may_be_unsafe(stub):
    found = stub.ProtectTable(
        protect(
            line(
                measures=[income(lower_bound=0)],
                sum_width=0.1,
                known=[0],
                known_measures=[pb.KnownMeasure(measure="income", cells=[])],
            )
        )
    )
    assert found.proof == pb.PROOF_PROVED


def test_what_one_table_says_is_unsafe_and_another_known_is_named_in_both(stub):
    beside = pb.LinkedTable(problem=line(known=[0, 1]), cells=[2])
    told = wrong(stub.ProtectTable, protect(line(), unsafe=[0], linked=[beside]))
    assert told.keys() == {"unsafe", "linked[0].problem.known"}
    assert told["linked[0].problem.known"].endswith("see unsafe (positions 0)")


def test_an_audit_may_be_of_withheld_cells_that_are_known(stub):
    request = pb.AuditTableRequest(problem=line(known=[0]), withheld=[0, 1], time_limit_ms=5000)
    assert stub.AuditTable(request).proof == pb.PROOF_REFUTED


EMPTY = (0, 12, 14, 26)


def test_an_empty_cell_cannot_be_withheld_where_zeros_are_published(stub):
    told = wrong(stub.ProtectTable, protect(line(EMPTY), unsafe=[0, 1], intervals=True))
    assert told.keys() == {"unsafe"}
    assert "a cell of 0 cannot be withheld where zeros are published" in told["unsafe"]
    assert told["unsafe"].endswith("(positions 0)")
    audited = pb.AuditTableRequest(problem=line(EMPTY), withheld=[0, 1], time_limit_ms=5000, intervals=True)
    assert wrong(stub.AuditTable, audited).keys() == {"withheld"}


def test_where_zeros_are_withheld_the_interval_of_an_empty_cell_has_the_truth(stub):
    found = stub.ProtectTable(protect(line(EMPTY, zeros_withheld=True), intervals=True))
    assert found.proof == pb.PROOF_PROVED
    ends = {one.cell: (one.lower, one.upper) for one in found.intervals}
    assert ends[0][0] == 0
    assert ends[0][1] >= 3


def test_an_empty_cell_may_be_hidden_by_rounding(stub):
    rounding = perturbation.Rounding(kind="ROUNDING_KIND_NEAREST", base=5)
    assert stub.ProtectTable(protect(line(EMPTY), rounding=rounding)).perturbed.facts


def test_sums_whose_bounds_need_records_say_that_these_lack(stub):
    sums = line((), measures=[income(lower_bound=0, upper_bound=50)], sum_width=0.1)
    told = wrong(stub.ProtectTable, protect(sums))
    assert told.keys() == {"problem.facts.measures[0]"}
    assert "give its valid_records, or the records or units of the table" in told["problem.facts.measures[0]"]


def test_linked_tables_that_contradict_each_other_are_told_once_a_column(stub):
    other = pb.LinkedTable(problem=line((3, 11, 14, 28)), cells=[0])
    told = wrong(stub.ProtectTable, protect(line(), linked=[other]))
    assert told.keys() == {"linked[0].problem.facts.units"}
    assert "(positions 0, 1)" in told["linked[0].problem.facts.units"]


KEYS = (7, 2**64 - 3, 11, 15)
NOISE = perturbation.NoiseParameters(maximum_noise=3, variance=1.5)


def with_keys(*keys, **changed):
    return protect(line(**changed), cell_keys=perturbation.CellKeys(keys=keys, noise=NOISE))


def test_the_key_of_a_total_is_the_sum_of_its_parts_modulo_2_to_the_64(stub):
    assert stub.ProtectTable(with_keys(*KEYS)).perturbed.facts
    told = wrong(stub.ProtectTable, with_keys(*KEYS[:3], 16))
    assert told.keys() == {"cell_keys.keys"}
    assert told["cell_keys.keys"].endswith("(positions 3)")


def test_keys_of_a_panel_do_not_add_up(stub):
    # A unit of two parts counts once in the total.
    panel = line(units_additive=False, records_per_unit=2)
    panel.facts.records.extend((2, 12, 14, 28))
    panel.facts.units[3] = 27
    keys = perturbation.CellKeys(keys=(*KEYS[:3], 16), noise=NOISE)
    assert stub.ProtectTable(protect(panel, cell_keys=keys)).perturbed.facts


def test_a_panel_without_records_is_told_that_they_lack(stub):
    told = wrong(stub.ProtectTable, protect(line(units_additive=False, records_per_unit=2)))
    assert told == {"problem.facts": "has units that do not add up: give its records, too"}


def test_dimensions_that_vary_within_a_unit_are_positions_where_units_do_not_add_up(stub):
    told = wrong(stub.ProtectTable, protect(line(varying_dimensions=[0, 3])))
    assert told == {
        "problem.varying_dimensions": "must be empty where units_additive: nothing varies within a unit",
        "problem.varying_dimensions[1]": "must be the position of a dimension, 0 to 0",
    }


def test_units_are_held_to_add_up_along_dimensions_that_do_not_vary_within_a_unit(stub):
    years = table_pb2.Dimension(variable="year", codes=["1", "2", "_T"])
    said = {"dimensions": [*LINE, years], "units_additive": False, "records_per_unit": 2}
    # Of all regions 70 in both years, where those of the three are 15, 25 and 33.
    panel = line((10, 12, 15, 20, 20, 25, 30, 28, 33, 60, 60, 70), **said)
    panel.facts.records.extend((10, 12, 22, 20, 20, 40, 30, 28, 58, 60, 60, 120))
    assert stub.ProtectTable(protect(panel)).proof == pb.PROOF_PROVED
    panel.varying_dimensions.append(1)
    told = wrong(stub.ProtectTable, protect(panel))
    assert told.keys() == {"problem.facts.units"}
    assert "are said to add up" in told["problem.facts.units"]
    panel.facts.units[11] = 73
    assert stub.ProtectTable(protect(panel)).proof == pb.PROOF_PROVED


def test_a_width_that_no_pattern_can_have_is_told_with_the_cell(stub):
    found = stub.ProtectTable(protect(line(count_width=3000, known=[3]), unsafe=[1, 0]))
    assert found.proof == pb.PROOF_REFUTED
    assert found.unmet
    for one in found.unmet:
        assert (one.fact, one.requirement, one.required) == ("units", "count_width", 3000)
        # Nothing is as wide as that, so that w is shown, too. Of the 14 that are left each cell has one.
        assert one.possible == 12
    assert "units of [n] can be told to within 12" in found.unmet[0].sentence
    assert "count_width asks for 3000" in found.unmet[0].sentence


def test_what_is_known_all_around_leaves_nothing_to_withhold(stub):
    found = stub.ProtectTable(protect(line(known=[1, 2, 3])))
    assert found.proof == pb.PROOF_REFUTED
    (one,) = found.unmet
    assert (one.cell, one.fact, one.requirement, one.possible) == (0, "units", "count_width", 0)


def test_a_level_beyond_a_bound_is_told_by_its_side(stub):
    measure = income(lower_bound=0, valid_records=(2, 12, 14, 28))
    levels = [pb.SumLevels(measure="income", upper=[5, 0, 0, 0], lower=[90, 0, 0, 0])]
    found = stub.ProtectTable(protect(line(measures=[measure], sum_width=0.1, sum_levels=levels)))
    assert found.proof == pb.PROOF_REFUTED
    below = [one for one in found.unmet if one.requirement == "sum_levels.lower"]
    assert [(one.cell, one.fact) for one in below] == [(0, "sums of income")]
    assert below[0].possible == pytest.approx(30)
    assert below[0].required == pytest.approx(90, rel=1e-3)
    assert "30 below what they are" in below[0].sentence


def test_a_pattern_that_is_proved_has_nothing_unmet(stub):
    assert not stub.ProtectTable(protect(line())).unmet


def redesign(units, rules, **more):
    return redesign_pb2.RedesignTableRequest(
        dimensions=LINE, facts=table_pb2.CellFacts(units=units), rules=rules, time_limit_ms=5000, **more
    )


MINIMUM = policy_pb2.Rules(minimum_units={"units": 3, "consequence": "CONSEQUENCE_PROTECT"})


def test_why_there_is_no_design_is_said(stub):
    few = stub.RedesignTable(redesign((1, 0, 1, 2), MINIMUM))
    assert (list(few.designs), few.finished) == ([], True)
    assert list(few.broken) == [policy_pb2.REASON_CODE_MINIMUM_UNITS]
    assert few.reason.startswith("None exists: even the coarsest table")
    assert few.reason.endswith("breaks MINIMUM_UNITS")
    kept = stub.RedesignTable(redesign((1, 5, 6, 12), MINIMUM, kept=["region"]))
    assert (list(kept.designs), kept.finished) == ([], True)
    assert list(kept.broken) == [policy_pb2.REASON_CODE_MINIMUM_UNITS]


def test_where_there_is_a_design_no_reason_is_given(stub):
    found = stub.RedesignTable(redesign((1, 5, 6, 12), MINIMUM))
    assert len(found.designs) == 1
    assert (found.reason, list(found.broken)) == ("", [])


def test_rules_that_cannot_be_judged_are_the_reason(stub):
    rules = policy_pb2.Rules(minimum_households={"households": 3, "consequence": "CONSEQUENCE_PROTECT"})
    found = stub.RedesignTable(redesign((1, 5, 6, 12), rules))
    assert not found.designs
    assert "cannot be judged without households" in found.reason


def panel_of_two_waves(**more):
    """People of two sexes in two waves: of 7 people there are 12 records, so that 5 to 7 are in each."""
    dimensions = [
        table_pb2.Dimension(variable="sex", codes=["f", "m", "_T"], parents=[2, 2, -1]),
        table_pb2.Dimension(variable="wave", codes=["1", "2", "_T"], parents=[2, 2, -1]),
    ]
    problem = pb.ProtectionProblem(
        dimensions=dimensions,
        units_additive=False,
        varying_dimensions=[1],
        count_width=3,
        sum_width=0.1,
        records_per_unit=2,
        **more,
    )
    problem.facts.units.extend((7, 5, 7, 6, 4, 8, 13, 9, 15))
    problem.facts.records.extend((7, 5, 12, 6, 4, 10, 13, 9, 22))
    return pb.AuditTableRequest(problem=problem, withheld=[0, 1, 3, 4, 6, 7], time_limit_ms=5000)


def test_one_record_of_each_unit_in_a_wave_bounds_both_waves_by_all_records(stub):
    assert stub.AuditTable(panel_of_two_waves()).proof == pb.PROOF_PROVED
    found = stub.AuditTable(panel_of_two_waves(most_records=[1, 1, 2] * 3))
    assert found.proof == pb.PROOF_REFUTED
    assert list(found.unprotected) == [0, 1]


def test_most_records_are_one_number_a_cell_and_no_less_than_the_facts_have(stub):
    told = wrong(stub.AuditTable, panel_of_two_waves(most_records=[1, 1]))
    assert told == {"problem.most_records": "must be one value for each of 9 cells, not 2"}
    told = wrong(stub.AuditTable, panel_of_two_waves(most_records=[1, 0, 2] * 3))
    assert told.keys() == {"problem.most_records"}
    assert "must be at least 1" in told["problem.most_records"]
    told = wrong(stub.AuditTable, panel_of_two_waves(most_records=[1, 1, 1] * 3))
    assert told.keys() == {"problem.facts.records"}
    assert "most_records * units" in told["problem.facts.records"]
