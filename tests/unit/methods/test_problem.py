"""What an intruder knows of a table, and which problems are refused."""

import numpy as np
import pytest

from made_tables import at, axis, counts, facts, flags, margins_absent, problem, with_margins
from sdcgate.methods.tables.problem import SMALLEST_WIDTH, Proof


def test_proof_has_the_numbers_of_the_wire_and_only_one_is_proved():
    assert [(proof.name, proof.value) for proof in Proof] == [
        ("UNSPECIFIED", 0),
        ("PROVED", 1),
        ("REFUTED", 2),
        ("UNPROVED", 3),
    ]


def test_a_row_of_the_equations_is_its_parts_minus_its_parent():
    of = counts([[1, 2], [3, 4]])
    assert len(of.equations) == 6
    assert np.all(of.equations.residuals(of.facts.records[None]) == 0)
    changed = of.facts.records.copy()
    changed[at(of, 0, 0)] += 1
    wrong = of.equations.residuals(changed[None])[0]
    assert sorted(wrong.tolist()) == [0, 0, 0, 0, 1, 1]


def test_a_known_sum_is_a_row_of_ones_each_cell_once():
    of = counts([[1, 2], [3, 4]], known_sums=(np.array([0, 4, 4]), np.array([], dtype=np.int64)))
    assert len(of.equations) == 7
    assert of.equations.residuals(of.facts.records[None])[0, -1] == 1 + 4


def test_a_table_without_relations_has_no_equations():
    flat = axis("a", ["0", "1"])
    loose = type(flat)("a", "a", ("0", "1"), (-1, -1))
    of = problem([loose], facts([3, 4], [3, 4]))
    assert len(of.equations) == 0
    assert of.equations.residuals(of.facts.records[None]).shape == (1, 0)


def test_unknown_are_the_withheld_and_the_absent_unless_known_from_elsewhere():
    of = counts([[1, 2], [3, 4]])
    absent = flags(of, at(of, -1, -1))
    of = counts([[1, 2], [3, 4]], absent=absent, known=flags(of, at(of, 0, 0)))
    withheld = flags(of, at(of, 0, 0), at(of, 1, 1))
    assert np.flatnonzero(of.unknown(withheld)).tolist() == [at(of, 1, 1), at(of, -1, -1)]


def test_a_withheld_cell_has_a_unit_unless_zeros_are_withheld_and_an_absent_cell_may_have_none():
    axes = [axis("a", "01"), axis("b", "01")]
    inner = with_margins(np.array([[1, 2], [3, 4]]))
    of = problem(axes, facts(inner, inner), absent=margins_absent(axes))
    withheld = flags(of, 0, at(of, -1, -1))
    assert np.flatnonzero(of.floors(withheld)).tolist() == [0]
    of = problem(axes, facts(inner, inner), zeros_withheld=True)
    assert not of.floors(withheld).any()


def test_units_follow_records_where_everybody_has_one_or_where_they_are_equal_and_additive():
    assert counts([[1, 2], [3, 4]]).units_follow
    assert counts([[1, 2], [3, 4]], records_per_unit=5).units_follow
    assert not counts([[1, 2], [3, 4]], records_per_unit=5, units_additive=False).units_follow


def test_the_least_width_of_a_sum_is_a_share_of_it_and_more_than_rounding_where_it_is_zero():
    axes, records = [axis("a", "01")], [3, 4, 7]
    of = problem(axes, facts(records, records, {"cost": [0.0, 200.0, 200.0]}))
    widths = of.sum_widths(flags(of, 0, 1))
    assert widths[0].tolist() == [200 * SMALLEST_WIDTH, 20.0, 20.0]


def test_a_measure_without_any_bound_is_said_to_be_unbounded():
    axes, records = [axis("a", "01")], [3, 4, 7]
    sums = {"cost": [1.0, 2.0, 3.0], "gain": [1.0, 2.0, 3.0], "loss": [-1.0, -2.0, -3.0]}
    bounds = {"cost": (0.0, None), "gain": (None, None), "loss": (None, 0.0)}
    of = problem(axes, facts(records, records, sums, bounds=bounds))
    assert of.unbounded(flags(of, 0, 1)) == (1,)


def test_all_that_does_not_fit_is_named_at_once():
    axes = [axis("a", "01")]
    with pytest.raises(
        ValueError, match=r"known must .* each of 3 cells, not 2.*count_width.*sum_width.*records_per_unit"
    ):
        problem(
            axes,
            facts([1, 2, 3], [1, 2, 3]),
            known=np.zeros(2, dtype=np.bool_),
            count_width=0,
            sum_width=float("nan"),
            records_per_unit=0,
        )
    with pytest.raises(ValueError, match=r"known_sums\[0\]"):
        problem(axes, facts([1, 2, 3], [1, 2, 3]), known_sums=(np.array([3]),))


@pytest.mark.parametrize(
    ("units", "records", "sums", "bounds", "more", "message"),
    [
        ([1, 2, 4], [1, 2, 4], None, None, {}, r"facts.records must be the sum of the parts .*positions 2"),
        (
            [1, 2, 3],
            [1, 2, 3],
            [1.0, 2.0, 4.0],
            (0.0, None),
            {},
            r"measures\[0\].sums must be the sum .*positions 2",
        ),
        ([1, 2, 3], [1, 2, 3], [1.0, 2.0, 3.0], (2.0, None), {}, r"lower_bound must .*positions 0, 1, 2"),
        ([1, 2, 3], [1, 2, 3], [1.0, 2.0, 3.0], (0.0, 0.5), {}, r"upper_bound must .*positions 0, 1, 2"),
        (
            [1, 2, 3],
            [1, 2, 3],
            [1.0, float("nan"), 3.0],
            (0.0, None),
            {},
            r"sums must be finite \(positions 1",
        ),
        ([1, 1, 2], [1, 2, 3], None, None, {}, "records_per_unit"),
        ([1, 1, 1], [1, 2, 3], None, None, {"records_per_unit": 2}, "records_per_unit"),
        ([1, 1, 3], [1, 2, 3], None, None, {"records_per_unit": 2}, "said to add up"),
        (
            [1, 1, 3],
            [1, 2, 3],
            None,
            None,
            {"records_per_unit": 2, "units_additive": False},
            r"must lie between the largest part .*positions 2",
        ),
        ([-1, 2, 1], [-1, 2, 1], None, None, {}, "between 0 and"),
    ],
)
def test_facts_that_contradict_what_everybody_knows_are_refused(units, records, sums, bounds, more, message):
    measures = {"cost": sums} if sums else None
    limits = {"cost": bounds} if bounds else None
    with pytest.raises(ValueError, match=message):
        problem([axis("a", "01")], facts(units, records, measures, bounds=limits), **more)


def test_neither_repr_nor_refusal_shows_a_figure():
    of = problem([axis("a", "01")], facts([7919, 2, 7921], [7919, 2, 7921], {"cost": [104729.0, 1, 104730]}))
    assert "7919" not in repr(of)
    assert "104729" not in repr(of)
    with pytest.raises(ValueError, match="sum of the parts") as refusal:
        problem([axis("a", "01")], facts([7919, 2, 7922], [7919, 2, 7922]))
    assert "79" not in str(refusal.value)


@pytest.mark.filterwarnings("error")
def test_sums_that_no_floating_point_number_adds_up_are_refused():
    huge = [1.7e308, -1.7e308] * 16
    records = np.ones(32, dtype=np.int64)
    for total in (0.0, 1.0):
        of = facts(
            [*records, 32], [*records, 32], {"cost": [*sorted(huge), total]}, bounds={"cost": (None, None)}
        )
        with pytest.raises(ValueError, match=r"sums must be the sum of the parts"):
            problem([axis("a", [str(code) for code in range(32)])], of)
