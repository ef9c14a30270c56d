"""What a researcher is told of a table that is held depends on no withheld figure beyond that it is held."""

import pytest

import house as houses
from house import build, reasons, table_request, verdict
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.facility.pace import Pace
from sdcgate.methods.rules import ReasonCode
from sdcgate.policy.loading import parse_policy

RULES = {
    "few units": ReasonCode.MINIMUM_UNITS,
    "few households": ReasonCode.MINIMUM_HOUSEHOLDS,
    "dominated": ReasonCode.DOMINANCE,
    "estimated": ReasonCode.P_PERCENT,
    "equal values": ReasonCode.EQUAL_VALUES,
    "one illness": ReasonCode.GROUP_DISCLOSURE,
}
"""What is the matter, and the rule that it breaks."""


def people(broken: str) -> str:
    """Sixty persons in two villages; in one of them a cell breaks one rule."""
    lines = ["id,household,village,illness,income"]
    for at in range(60):
        village, illness, income = ("up", "down")[at % 2], ("none", "gout")[at // 2 % 2], 1000 + 37 * at
        household = f"h{at}"
        if village == "up":
            match broken:
                case "few units" if at > 8:
                    village = "down"
                case "few households":
                    household = "h0"
                case "dominated":
                    income = 10_000_000 if at == 0 else 10
                case "estimated":
                    income = {0: 20_000, 2: 19_990}.get(at, 10)
                case "equal values":
                    income = 1000
                case "one illness":
                    illness = "gout"
        lines.append(f"p{at},{household},{village},{illness},{income}")
    return "\n".join(lines) + "\n"


DESCRIPTOR = {
    "name": "villages",
    "data": {"path": "villages.csv"},
    "unit": {"column": "id", "label": "person"},
    "household": {"column": "household"},
    "design": {"coverage": "CENSUS"},
    "variables": [
        {"name": "village", "identifying": "NO", "levels": [{"codes": [{"code": "up"}, {"code": "down"}]}]},
        {
            "name": "illness",
            "identifying": "NO",
            "sensitive": True,
            "levels": [{"codes": [{"code": "none", "harmless": True}, {"code": "gout"}]}],
        },
    ],
    "measures": [{"name": "income", "decimals": 0, "lower_bound": 0}],
}


def policy(consequence: str) -> str:
    return f"""
name: israel-cbs
version: "1"
description: Every rule of cells has the same consequence.
defaults:
  rules:
    minimum_units: {{units: 5, consequence: {consequence}}}
    minimum_households: {{households: 3, consequence: {consequence}}}
    dominance: [{{largest: 1, share: 0.5, consequence: {consequence}}}]
    p_percent: {{share: 0.1, consequence: {consequence}}}
    group_disclosure: {{share: 0.9, consequence: {consequence}}}
    equal_values: {{tolerance: 0.01, consequence: {consequence}}}
  dimensions: {{maximum: 3, maximum_filters: 3, filters_count: false, consequence: refuse}}
  protection: {{method: suppression, sum_width: 0.1, time_limit_ms: 5000, unproved: refer}}
  output: {{digits: 1, maximum_cells: 1000}}
  differencing: {{consequence: refuse}}
access_levels: {{remote: {{}}}}
"""


@pytest.mark.parametrize(("consequence", "held"), [("refuse", "REFUSED"), ("refer", "REFERRED")])
def test_whichever_rule_a_cell_breaks_a_held_table_looks_the_same(tmp_path, monkeypatch, consequence, held):
    monkeypatch.setattr(houses, "load_policies", lambda: {"israel-cbs": parse_policy(policy(consequence))})
    asked = table_request("villages", rows=["village"], columns=["illness"], figures=["UNITS", "SUM:income"])
    seen = {}
    for broken, rule in RULES.items():
        folder = tmp_path / broken
        folder.mkdir()
        (folder / "villages.csv").write_text(people(broken))
        house = build(folder)
        house.engine.register(parse_descriptor(DESCRIPTOR))
        answered = house.facility.query_table(house.researcher, asked, Pace(30.0))
        assert verdict(answered) == held
        assert reasons(answered) == ["MINIMUM_UNITS"]
        checked = house.facility.get_query(house.checker, answered.decision.query).checker
        assert rule in {finding.rule for finding in checked.findings}
        for field in ("query", "certificate", "decided"):
            answered.decision.ClearField(field)
        seen[broken] = answered.decision.SerializeToString(deterministic=True)
        house.engine.close()
    # The checker sees six different things, the researcher one.
    assert len(set(seen.values())) == 1
