"""Published percentages, means, rounded values and bounds of cells over the wire."""

import grpc
import numpy as np
import pytest

from made_tables import axis, counts, facts, problem, with_margins
from protection_server import served_protection
from sdcgate.methods.tables.published_figures import CellBounds, FactOfCells, PublishedRatios
from sdcgate.methods.tables.witnesses import verify
from sdcgate.servers import errors
from sdcgate.wire.protection import problem_to_message, table_to_protect, witnesses_from_message
from sdcgate_proto.sdcgate.protection.v1 import arithmetic_pb2
from sdcgate_proto.sdcgate.protection.v1 import protection_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import table_pb2

LINE = [[7, 13, 20], [11, 14, 30]]
WITHHELD = [0, 1, 4, 5]


@pytest.fixture(scope="module")
def stub():
    with served_protection() as served:
        yield served


def fact(kind, cells, measure=""):
    return pb.FactOfCells(fact=kind, measure=measure, cells=cells)


def shares(*, value=17.5, half=0.05, cell=0, total=3):
    return pb.PublishedRatios(
        numerators=fact(pb.CELL_FACT_RECORDS, [cell]),
        denominators=fact(pb.CELL_FACT_RECORDS, [total]),
        values=[value],
        half_widths=[half],
        times=100,
    )


def asked(of=None, withheld=WITHHELD, **published):
    message = problem_to_message(of or counts(LINE))
    for name, columns in published.items():
        getattr(message, name).extend(columns)
    return pb.AuditTableRequest(
        problem=message, withheld=withheld, time_limit_ms=20_000, intervals=True, integral=True
    )


def test_a_percentage_that_tells_is_named_by_its_place_and_in_words(stub):
    assert stub.AuditTable(asked()).proof == pb.PROOF_PROVED
    answer = stub.AuditTable(asked(published_ratios=[shares()]))
    assert answer.proof == pb.PROOF_REFUTED
    leak = next(one for one in answer.leaks if one.cell == 0)
    assert (leak.lower, leak.upper) == (7, 7)
    (step,) = leak.at_most.steps
    assert step.kind == arithmetic_pb2.STEP_KIND_PUBLISHED_RATIO
    assert step.figure == "problem.published_ratios[0].values[0]"
    assert leak.at_most.sentence == (
        "0.1755 x 40 [0, _T] = at most 7.02, as [0, 0 / 0, _T is published as 17.5% to within 0.05]"
    )
    own = {one.cell: one for one in answer.intervals if one.fact == "records"}
    assert (own[5].lower, own[5].upper, own[5].exact) == (14, 14, True)


def test_a_percentage_tells_in_a_table_without_totals_too(stub):
    told = pb.PublishedRatios(
        numerators=fact(pb.CELL_FACT_UNITS, [0]),
        denominators=fact(pb.CELL_FACT_UNITS, [1]),
        values=[8.3],
        half_widths=[0.05],
        times=100,
    )
    request = pb.AuditTableRequest(
        problem=pb.ProtectionProblem(
            dimensions=[table_pb2.Dimension(variable="region", codes=["n", "s"])],
            facts=table_pb2.CellFacts(units=[1, 12]),
            units_additive=True,
            records_per_unit=1,
            count_width=3,
            published_ratios=[told],
        ),
        withheld=[1],
        time_limit_ms=20_000,
    )
    answer = stub.AuditTable(request)
    assert answer.proof == pb.PROOF_REFUTED
    (leak,) = answer.leaks
    assert (leak.cell, leak.lower, leak.upper) == (1, 12, 12)
    assert [step.kind for step in leak.at_most.steps] == [arithmetic_pb2.STEP_KIND_PUBLISHED_RATIO]


def test_a_percentage_of_few_digits_leaves_enough_and_whole_numbers_are_told_to_be_exact(stub):
    answer = stub.AuditTable(asked(published_ratios=[shares(value=20, half=5)]))
    assert answer.proof == pb.PROOF_PROVED
    own = next(one for one in answer.intervals if one.cell == 0)
    assert (own.lower, own.upper, own.exact) == (6, 10, True)
    of = table_to_protect(asked(published_ratios=[shares(value=20, half=5)])).problem
    withheld = np.isin(np.arange(12), WITHHELD)
    assert not verify(of, withheld, witnesses_from_message(answer.witnesses, 0)).any()


def test_what_is_written_is_what_is_read():
    records = with_margins(np.array(LINE))
    of = problem(
        [axis("a", "01"), axis("b", "012")],
        facts(records, records, {"x": 10.0 * records}),
        published=(
            PublishedRatios(
                FactOfCells(2, np.array([0, 3])),
                FactOfCells(0, np.array([0, 3]), 0),
                np.array([10.0, 10.2]),
                np.array([0.0, 0.5]),
                1.0,
            ),
            CellBounds(FactOfCells(2, np.array([0, 1])), np.array([1.0, -np.inf]), np.array([99.0, 140.0])),
        ),
    )
    message = pb.AuditTableRequest(problem=problem_to_message(of), withheld=WITHHELD, time_limit_ms=1)
    read = table_to_protect(message).problem
    assert len(read.told) == len(of.told)
    for ours, theirs in ((read.told, of.told),):
        assert np.array_equal(np.sort(ours.lower), np.sort(theirs.lower))
        assert np.array_equal(np.sort(ours.upper), np.sort(theirs.upper))
        assert np.array_equal(ours.cells, theirs.cells)
    assert [one.path for one in read.published] == [
        "problem.published_ratios[0]",
        "problem.cell_bounds[0]",
        "problem.cell_bounds[1]",
    ]


def test_all_that_is_wrong_is_told_at_once_by_its_path(stub):
    wrong = [
        shares(value=float("nan"), half=-1.0, total=99),
        pb.PublishedRatios(
            numerators=fact(pb.CELL_FACT_SUMS, [0], "none"),
            denominators=fact(pb.CELL_FACT_UNITS, [0, 1]),
            values=[1],
            times=0,
        ),
    ]
    with pytest.raises(grpc.RpcError) as error:
        stub.AuditTable(
            asked(
                published_ratios=wrong,
                rounded_values=[pb.RoundedValues(facts=fact(0, [1]), values=[5])],
                cell_bounds=[pb.CellBounds(facts=fact(pb.CELL_FACT_RECORDS, [1]))],
            )
        )
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    told = {problem.path: problem.message for problem in errors.from_rpc_error(error.value).fields}
    assert {
        "problem.published_ratios[0].values",
        "problem.published_ratios[0].half_widths",
        "problem.published_ratios[0].denominators.cells",
        "problem.published_ratios[1].numerators.measure",
        "problem.published_ratios[1].denominators.cells",
        "problem.published_ratios[1].times",
        "problem.rounded_values[0].facts.fact",
        "problem.cell_bounds[0]",
    } <= set(told)


def test_figures_that_contradict_the_facts_or_stand_twice_are_told_by_their_paths(stub):
    with pytest.raises(grpc.RpcError) as error:
        stub.AuditTable(
            asked(
                counts([[0, 13, 20], [11, 14, 30]], zeros_withheld=True),
                published_ratios=[shares(), shares(), shares(cell=1, total=0)],
                cell_bounds=[
                    pb.CellBounds(facts=fact(pb.CELL_FACT_RECORDS, [1, 2]), lower=[14, 1], upper=[30, 19])
                ],
            )
        )
    assert error.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    told = {problem.path: problem.message for problem in errors.from_rpc_error(error.value).fields}
    assert "problem.published_ratios[1].numerators.cells" in told
    with pytest.raises(grpc.RpcError) as error:
        stub.AuditTable(
            asked(
                counts([[0, 13, 20], [11, 14, 30]], zeros_withheld=True),
                published_ratios=[shares(), shares(cell=1, total=0)],
                cell_bounds=[
                    pb.CellBounds(facts=fact(pb.CELL_FACT_RECORDS, [1, 2]), lower=[14, 1], upper=[30, 19])
                ],
            )
        )
    told = {problem.path: problem.message for problem in errors.from_rpc_error(error.value).fields}
    assert set(told) == {
        "problem.published_ratios[0].values",
        "problem.published_ratios[1].denominators.cells",
        "problem.cell_bounds[0].lower",
        "problem.cell_bounds[0].upper",
    }
    assert told["problem.cell_bounds[0].upper"].endswith("(positions 1)")


def test_a_pattern_is_sought_that_holds_against_published_ratios(stub):
    """7 of 40 are told by 17.5% wherever 40 is: it must not be shown, nor follow from other lines."""
    message = problem_to_message(counts(LINE))
    request = pb.ProtectTableRequest(problem=message, unsafe=[0], time_limit_ms=10_000)
    assert 3 not in stub.ProtectTable(request).withheld
    request.problem.published_ratios.append(shares())
    answer = stub.ProtectTable(request)
    assert answer.proof == pb.PROOF_PROVED
    assert 3 in answer.withheld
    again = pb.AuditTableRequest(problem=request.problem, withheld=answer.withheld, time_limit_ms=10_000)
    assert stub.AuditTable(again).proof == pb.PROOF_PROVED


def test_rounded_values_are_for_audits_and_other_methods_take_no_ratios(stub):
    message = problem_to_message(counts(LINE))
    message.rounded_values.add(facts=fact(pb.CELL_FACT_RECORDS, [3]), values=[40], half_widths=[2.5])
    message.published_ratios.append(shares())
    request = pb.ProtectTableRequest(problem=message, unsafe=[0], time_limit_ms=1000)
    request.rounding.kind, request.rounding.base = 1, 5
    with pytest.raises(grpc.RpcError) as error:
        stub.ProtectTable(request)
    told = {problem.path for problem in errors.from_rpc_error(error.value).fields}
    assert told == {"problem.rounded_values", "problem.published_ratios"}


def test_linked_tables_tell_their_figures_at_places_of_their_own(stub):
    first = counts([[7, 13], [11, 14]])
    b = axis("b", "01")
    both = facts([18, 27, 45], [18, 27, 45])
    second = problem_to_message(problem([b], both))
    second.published_ratios.append(shares(value=40, half=0.5, cell=0, total=2))
    request = pb.AuditTableRequest(
        problem=problem_to_message(first), withheld=[0, 1, 3, 4, 6, 7], time_limit_ms=10_000
    )
    request.linked.add(problem=second, cells=[0, 1])
    answer = stub.AuditTable(request)
    assert answer.proof == pb.PROOF_REFUTED
    leak = next(one for one in answer.leaks if one.cell == 6)
    assert {step.figure for step in leak.at_most.steps} >= {"linked[0].problem.published_ratios[0].values[0]"}


def test_what_one_table_rounds_and_another_shows_is_known(stub):
    """2 of 16 are withheld; 6 and 8 are rounded here, so that it is 1 to 6, and as they are there."""
    first = problem_to_message(counts([2, 6, 8]))
    first.rounded_values.add(
        facts=fact(pb.CELL_FACT_RECORDS, [1, 2, 3]), values=[5, 10, 15], half_widths=[2.5]
    )
    alone = pb.AuditTableRequest(problem=first, withheld=[0], time_limit_ms=10_000)
    assert stub.AuditTable(alone).proof == pb.PROOF_PROVED
    # The same cells again, the first of them neither asked for nor shown.
    both = pb.AuditTableRequest(problem=first, withheld=[0], time_limit_ms=10_000)
    again = problem_to_message(counts([2, 6, 8], absent=np.array([True, False, False, False])))
    both.linked.add(problem=again)
    answer = stub.AuditTable(both)
    assert answer.proof == pb.PROOF_REFUTED
    assert (answer.leaks[0].lower, answer.leaks[0].upper) == (2, 2)


def test_whole_numbers_are_of_intervals(stub):
    request = asked()
    request.intervals = False
    with pytest.raises(grpc.RpcError) as error:
        stub.AuditTable(request)
    assert [problem.path for problem in errors.from_rpc_error(error.value).fields] == ["integral"]
