"""That somebody is in every withheld cell bounds sums: so it does in the ledger's audit."""

import pytest

from attack.told_figures import POLICY
from house import build, people_descriptor, verdict
from sdcgate.facility.ledger_audit import audit_source
from sdcgate.facility.policies import Policies
from sdcgate.methods.tables.joint_history import Standing
from sdcgate.policy.loading import parse_policy

PEOPLE = {
    ("_", "_", "r2"): (19,),
    ("_", "n", "r2"): (4,),
    ("_", "y", "r4"): (6,),
    ("n", "_", "r4"): (6,),
    ("n", "n", "r1"): (17,),
    ("n", "n", "r2"): (13, 17, 11, 12, 8, 18, 14, 10, 8),
    ("n", "n", "r3"): (5, 8, 18, 13, 6, 10, 18),
    ("n", "n", "r4"): (0,),
    ("n", "y", "r1"): (20,),
    ("n", "y", "r2"): (5,),
    ("n", "y", "r3"): (1, 8, 13, 19),
    ("n", "y", "r4"): (20,),
    ("y", "_", "r3"): (18, 1, 6, 15),
    ("y", "n", "_"): (0, 8),
    ("y", "n", "r1"): (18, 17),
    ("y", "n", "r2"): (0, 17, 15, 16, 11, 20, 19, 13, 7, 19, 16, 13, 9, 16, 8, 5, 17, 15, 7, 12, 7, 20, 20),
    ("y", "n", "r3"): (
        9,
        11,
        20,
        20,
        4,
        13,
        10,
        14,
        12,
        5,
        16,
        15,
        11,
        13,
        2,
        4,
        8,
        9,
        1,
        1,
        8,
        20,
        6,
        19,
        12,
        9,
        7,
        18,
        3,
        7,
        4,
        19,
        4,
        8,
        19,
        4,
        5,
        9,
        11,
        13,
        16,
        8,
        18,
        1,
        20,
        8,
        16,
        9,
        14,
        9,
        20,
    ),
    ("y", "n", "r4"): (5, 12, 12, 2, 8),
}
"""Values by good and fair health, never both, and region."""


ASKED = [
    {"rows": ["good"], "columns": ["region"], "figures": ["UNITS", "RECORDS", "SUM:x"], "fair": ["y"]},
    {"rows": ["fair"], "figures": ["UNITS", "RECORDS"]},
    {"rows": ["good"], "figures": ["UNITS", "SUM:x"]},
    {"rows": ["good"], "columns": ["fair"], "figures": ["RECORDS", "SUM:x"]},
]
POLICIES = {"tiny": parse_policy(POLICY)}


@pytest.fixture
def house(tmp_path):
    lines = [
        f"{good},{fair},{region},{value}".replace("_", "")
        for (good, fair, region), values in PEOPLE.items()
        for value in values
    ]
    (tmp_path / "people.csv").write_text("\n".join(["good,fair,region,x", *lines]))
    house = build(tmp_path, policies=POLICIES, policy="tiny")
    measure = {"name": "x", "decimals": 2, "lower_bound": 0, "upper_bound": 20}
    codes = {"good": "yn", "fair": "yn", "region": ("r1", "r2", "r3", "r4")}
    house.engine.register(people_descriptor(codes, [measure]))
    return house


def test_what_the_withholding_of_the_last_table_tells_of_a_sum_the_ledgers_audit_refutes(house):
    """At most four people in good health, each with 20 at most, did not say whether it is fair.

    Nothing of the last table is new, so that the way of a query does not look at sums again (docs/limits.md).
    """
    answers = [house.ask(dataset="people", **one) for one in ASKED]
    assert [verdict(one) for one in answers] == ["RELEASED_PROTECTED"] * 4
    policies = Policies(house.ledger, POLICIES, "tiny")
    audit = audit_source(house.ledger, house.engine, policies, "people", 500, 60.0)
    (sums,) = [one for one in audit.quantities if one.quantity == "x"]
    (told,) = [cell for cell in sums.cells if cell.standing is Standing.REFUTED]
    # As SciPy's programs over every joint code say.
    assert (told.lowest, told.highest) == pytest.approx((886, 966))
    assert sums.width * 926 > 966 - 886
