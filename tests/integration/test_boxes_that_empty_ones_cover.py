"""Nobody learns that a withheld cell is empty from many empty cells that cover it together."""

from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from house import House, build, cells, people_descriptor
from sdcgate.cli.ledger_audit import describe
from sdcgate.facility.ledger_audit import audit_source
from sdcgate.facility.policies import Policies
from sdcgate.facility.told_together import Together
from sdcgate.methods.tables.joint_history import Standing
from sdcgate.policy.loading import BUNDLED, load_policies

CODES = {"region": "abcd", "school": "nps", "job": "uvwx", "band": "12345"}
WHOLE = {name: (*codes, "_U") for name, codes in CODES.items()}
ATOMS = [dict(zip(CODES, codes, strict=True)) for codes in product(*WHOLE.values())]


def registered(folder: Path, seed: int) -> House:
    """Three hundred people, under a policy by which programs look at hardly more than a table's variables.

    More is withheld than needs be, so that there is more that empty cells can cover.
    """
    rng = np.random.default_rng(seed)
    likely = {name: rng.dirichlet(np.full(len(codes), 0.8)) for name, codes in CODES.items()}
    people = [[rng.choice([*codes], p=likely[name]) for name, codes in CODES.items()] for _ in range(300)]
    (folder / "people.csv").write_text("\n".join(map(",".join, [[*CODES], *people])))
    (folder / "policies").mkdir()
    text = (BUNDLED / "israel-cbs.yaml").read_text()
    changed = text.replace("    zeros_withheld: null", "    joint_codes: 100\n    zeros_withheld: true")
    changed = changed.replace("    effort_ms: 700", "    effort_ms: 0")
    assert changed.count("effort_ms: 0") == 1
    assert changed.count("joint_codes: 100") == 1
    (folder / "policies" / "israel-cbs.yaml").write_text(changed)
    house = build(folder, policies=load_policies(folder / "policies"))
    house.engine.register(people_descriptor(CODES))
    return house


def session(house: House, seed: int) -> set[str]:
    """Cells that a session of two- and three-way tables withholds and that empty cells cover together."""
    rng = np.random.default_rng(seed)
    tables = [names for size in (2, 3) for names in combinations(CODES, size)]
    somebody, withheld = np.ones(len(ATOMS), dtype=bool), {}
    for place in rng.permutation(len(tables)):
        names = tables[place]
        answer = house.ask(dataset="people", rows=names[:1], columns=names[1:2], layers=names[2:])
        for cell, (count, *_) in cells(answer).items():
            told = {name: code for name, code in zip(names, cell, strict=True) if code != "_T"}
            inside = np.array([told.items() <= atom.items() for atom in ATOMS])
            if count is None:
                withheld[str(told)] = inside
            elif count == 0:
                somebody &= ~inside
    assert withheld
    return {words for words, inside in withheld.items() if not somebody[inside].any()}


@pytest.mark.parametrize("seed", [1, 20, 22, 23])
def test_no_withheld_cell_is_covered_by_empty_ones(tmp_path, seed):
    assert session(registered(tmp_path, seed), seed) == set()


def test_they_would_be_where_nobody_looks_beyond_the_variables_of_programs(tmp_path, monkeypatch):
    monkeypatch.setattr(Together, "_emptying", lambda _, counts: np.zeros(len(counts.tables[0].boxes), bool))
    house = registered(tmp_path, 23)
    assert len(session(house, 23)) == 5
    policies = Policies(house.ledger, load_policies(tmp_path / "policies"), "israel-cbs")
    audit = audit_source(house.ledger, house.engine, policies, "people", 100, 60.0)
    (records,) = [one for one in audit.quantities if one.quantity == "records"]
    assert records.of(Standing.REFUTED) == 5
    said = describe(audit)
    assert "REFUTED: band 5, region d lies between 0 and 0" not in said
    assert "REFUTED: job u, region b lies between 0 and 0" in said
    assert "at most  0 = 0, with 3 empty ones" in said
