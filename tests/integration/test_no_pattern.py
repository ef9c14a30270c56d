"""A table that no pattern protects is refused where earlier tables are why, else a checker decides."""

import numpy as np

from house import reasons, verdict, with_randhie
from sdcgate.facility.in_process import LocalProtection
from sdcgate.facility.ports import Pattern
from sdcgate.methods.tables.problem import Proof

FEW = {"rows": ["plan"], "columns": ["site"]}
"""Some of its cells have to be withheld."""


class NoPattern(LocalProtection):
    """Says of every table that there is no pattern, or that none was found in time."""

    def __init__(self, proof: Proof = Proof.REFUTED) -> None:
        self.proof = proof

    def protect_table(self, problem, unsafe, time_limit, timeout, known=None, effort=0) -> Pattern:
        assert unsafe.any()
        return Pattern(np.ones_like(unsafe), self.proof, None)


def test_where_nothing_has_left_before_a_checker_decides(tmp_path):
    house = with_randhie(tmp_path, protection=NoPattern())
    answered = house.ask(**FEW)
    assert (verdict(answered), reasons(answered)) == ("REFERRED", ["UNPROVED"])


def test_where_earlier_tables_leave_no_pattern_the_table_is_refused(tmp_path):
    house = with_randhie(tmp_path, protection=NoPattern())
    assert verdict(house.ask(rows=["site"])) == "RELEASED"
    answered = house.ask(**FEW)
    assert (verdict(answered), reasons(answered)) == ("REFUSED", ["DIFFERENCING"])


def test_what_was_only_not_found_in_time_is_left_to_a_checker(tmp_path):
    house = with_randhie(tmp_path, protection=NoPattern(Proof.UNPROVED))
    assert verdict(house.ask(rows=["site"])) == "RELEASED"
    answered = house.ask(**FEW)
    assert (verdict(answered), reasons(answered)) == ("REFERRED", ["UNPROVED"])


def test_a_service_that_calls_all_withheld_but_proves_nothing_releases_nothing(tmp_path):
    house = with_randhie(tmp_path, protection=NoPattern(Proof.PROVED))
    answered = house.ask(**FEW)
    assert (verdict(answered), reasons(answered)) == ("REFERRED", ["UNPROVED"])
