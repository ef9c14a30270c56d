"""What a policy says withholding costs, and how much effort it spends on less, decides what is withheld."""

import pytest

from house import cells, verdict, with_randhie
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.loading import load_policies

ASKED = {"rows": ["site"], "columns": ["plan"], "year": ["1"]}


@pytest.fixture
def asked_under(tmp_path):
    """Cells of one table under the bundled policy with other settings of protection: None is withheld."""
    text = (BUNDLED / "israel-cbs.yaml").read_text()

    def answer(name, settings):
        folder = tmp_path / name
        (folder / "policies").mkdir(parents=True)
        line = next(line for line in text.splitlines() if line.startswith("    effort_ms: 700"))
        (folder / "policies" / "israel-cbs.yaml").write_text(text.replace(line, settings))
        house = with_randhie(folder, policies=load_policies(folder / "policies"))
        answered = house.ask(**ASKED)
        assert verdict(answered) == "RELEASED_PROTECTED"
        found = cells(answered)
        return {codes for codes, figures in found.items() if figures[0] is None}, found

    return answer


def test_fewer_cells_or_near_ones_are_withheld_where_the_policy_says_so(asked_under):
    by_records, figures = asked_under("records", "    costs: records")
    by_unit, _ = asked_under("unit", "    costs: unit")
    by_distance, _ = asked_under("distance", "    costs: distance")
    assert len(by_unit) <= len(by_records)
    assert by_records != by_distance
    assert figures.keys() > by_unit | by_distance


def test_effort_withholds_no_more_and_is_the_same_each_time(asked_under):
    without, _ = asked_under("without", "    effort_ms: 0")
    found, again = (asked_under(name, "    effort_ms: 800")[0] for name in ("first", "second"))
    assert found == again
    assert len(found) <= len(without)
