"""Two facilities on one PostgreSQL: what one released bounds what the other may tell."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from house import COPY
from postgresql_server import empty_database, running_server
from served_house import ServedHouse, cells

BUNDLED = Path(__file__).parents[2] / "services/sdcgate/policy/bundled/israel-cbs.yaml"
PEOPLE = {("1", "f"): 40, ("1", "m"): 40, ("2", "f"): 40, ("2", "m"): 40}
PEOPLE |= {("3", "f"): 14, ("3", "m"): 40, ("4", "f"): 3, ("4", "m"): 8}
"""Of each region and sex."""
WIDTH = 15
"""How far the bounds of a withheld count must be apart. Who knows that region 4 has eleven people knows that
none to eleven of them are women."""
WOMEN = {"rows": ["region"], "sex": ["f"]}
EVERYBODY = {"rows": ["region"]}


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServedHouse, ServedHouse]]:
    folder = tmp_path_factory.mktemp("two")
    policy = yaml.safe_load(BUNDLED.read_text())
    policy["name"] = "wide"
    policy["defaults"]["protection"]["count_width"] = WIDTH
    (folder / "policies").mkdir()
    (folder / "policies" / "wide.yaml").write_text(yaml.safe_dump(policy))
    with running_server() as server:
        common = {"ledger_url": empty_database(server), "policy_dir": folder / "policies"}
        first = ServedHouse(folder / "replicas", common)
        second = first.beside()
        (first.settings.data_root / "people.csv").write_text(people())
        yield first, second
        second.stop()
        first.stop()


def people() -> str:
    kinds = [kind for kind, number in PEOPLE.items() for _ in range(number)]
    lines = [f"p{place},{region},{sex}" for place, (region, sex) in enumerate(kinds)]
    return "\n".join(["person,region,sex", *lines]) + "\n"


def described(name: str) -> dict[str, Any]:
    """The people, under a name with a history of its own."""
    codes = {"region": ("1", "2", "3", "4"), "sex": ("f", "m")}
    return {
        "name": name,
        "source": name,
        **COPY,
        "policy": "wide",
        "data": {"path": "people.csv"},
        "unit": {"column": "person"},
        "design": {"coverage": "SAMPLE", "sampling_fraction": 0.01},
        "variables": [
            {
                "name": variable,
                "identifying": "YES",
                "levels": [{"codes": [{"code": code} for code in listed]}],
            }
            for variable, listed in codes.items()
        ],
    }


def withheld(decision: dict[str, Any]) -> set[str]:
    return {code for (code,), (count,) in cells(decision).items() if count is None}


def test_what_one_released_is_kept_from_being_bounded_by_the_other(
    replicas: tuple[ServedHouse, ServedHouse],
) -> None:
    one, other = replicas
    for name in ("alone", "both"):
        registered = one.register(described(name))
        assert registered.status_code == 201, registered.text
    # By itself the second table leaves whole.
    alone = other.ask("alone", **EVERYBODY).json()
    assert alone["verdict"] == "RELEASED"
    assert cells(alone)["4",] == (11,)

    women = one.ask("both", **WOMEN).json()
    assert women["verdict"] == "RELEASED_PROTECTED"
    assert "4" in withheld(women)
    assert len(withheld(women)) == 2
    everybody = other.ask("both", **EVERYBODY)
    assert everybody.status_code == 201
    assert everybody.json()["verdict"] == "RELEASED_PROTECTED"
    assert "4" in withheld(everybody.json())
    assert 11 not in {count for (count,) in cells(everybody.json()).values()}
    # The first knows it, too.
    again = one.ask("both", **EVERYBODY)
    assert (again.status_code, again.json()) == (200, everybody.json())
    with one.ledger() as ledger:
        assert ledger.verify().ok
