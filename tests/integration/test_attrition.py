"""In a panel unit counts of several years do not tell how few came or left, where the policy says so."""

import itertools

import pytest

from house import cells, verdict, with_randhie
from sdcgate.methods.tables.boxes import is_inside, make_box
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.loading import load_policies

YEARS, PLANS, SITES = ("1", "2", "3", "4", "5"), tuple(map(str, range(1, 20))), ("1", "2", "3", "4", "5", "6")
ASKED = [
    {"rows": ["plan"], "columns": ["year"], "year": ["1", "2"]},
    {"rows": ["plan"], "year": ["2"]},
    {"rows": ["plan"], "columns": ["year"]},
    {"rows": ["site"], "columns": ["plan"], "year": ["1", "2", "3"]},
    {"rows": ["site"], "columns": ["year"], "plan": ["1", "2", "3", "4"]},
    {"rows": ["site"], "year": ["1", "3"]},
]
"""Tables that a subtraction could use, in one filter or another."""
FULL = {"plan": (1 << len(PLANS)) - 1, "year": 0b11111, "site": 0b111111}
CODES = {"plan": PLANS, "year": YEARS, "site": SITES}


@pytest.fixture
def hidden(tmp_path):
    text = (BUNDLED / "israel-cbs.yaml").read_text()
    (tmp_path / "policies").mkdir()
    changed = text.replace("    zeros_withheld: null", "    attrition: hidden\n    zeros_withheld: null")
    (tmp_path / "policies" / "israel-cbs.yaml").write_text(changed)
    return with_randhie(tmp_path, policies=load_policies(tmp_path / "policies"))


def heard(house):
    """Boxes and units of all cells that leave."""
    found = {}
    for asked in ASKED:
        answered = house.ask(**asked)
        if not answered.decision.HasField("table"):
            assert verdict(answered) in ("REFUSED", "REFERRED")
            continue
        axes = [*asked["rows"], *asked.get("columns", ())]
        given = {name: codes for name, codes in asked.items() if name in FULL}
        for codes, figures in cells(answered).items():
            if figures[0] is None or "_U" in codes:
                continue
            masks = [(name, mask(name, chosen)) for name, chosen in given.items()]
            masks += [
                (name, mask(name, [code])) for name, code in zip(axes, codes, strict=True) if code != "_T"
            ]
            found[make_box(masks, FULL)] = figures[0]
    return found


def mask(name, codes):
    return sum(1 << CODES[name].index(code) for code in codes)


def few_apart(found):
    """Pairs of nested cells that differ in years, and by fewer than ten people."""
    return [
        (inner, outer)
        for inner, outer in itertools.permutations(found, 2)
        if dict(inner).get("year") != dict(outer).get("year")
        and is_inside(inner, outer)
        and 0 < found[outer] - found[inner] < 10
    ]


def test_who_came_or_left_is_not_told_by_any_two_cells_of_six_tables(hidden):
    found = heard(hidden)
    assert len(found) > 60
    assert few_apart(found) == []


def test_it_is_where_the_policy_does_not_say_so(tmp_path):
    assert few_apart(heard(with_randhie(tmp_path)))
