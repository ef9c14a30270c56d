"""Automated intruders with researchers' keys, at four real processes: none may learn what is withheld.

Each attack is first run where only small cells are withheld, and must succeed there: an attack that fails
everywhere shows nothing. What is known to be open is expected to succeed, strictly. `make attack` runs the
same attacks against ACRO, too, and those that take minutes.
"""

from collections.abc import Iterator

import pytest

from attack import results
from attack.claims import Attack
from attack.served import Sdcgate
from attack.suite import ATTACKS, CLOSABLE, CLOSED, CLOSED_POLICY, OPEN, outcome, write_closed_policy
from served_house import ServedHouse


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    policies = tmp_path_factory.mktemp("policies")
    write_closed_policy(policies)
    made = ServedHouse(tmp_path_factory.mktemp("attacked"), {"policy_dir": policies})
    yield made
    made.stop()


def by_name(attack: Attack) -> str:
    return attack.name


class NotTriedError(Exception):
    """The house did not answer as the attack needs it; no AssertionError, which an open attack may end in."""


def learnt(house: ServedHouse, attack: Attack, policy: str = "") -> bool:
    world = attack.world()
    name = f"attack-{ATTACKS.index(attack)}{policy and f'-{policy}'}"
    found = outcome(attack, world, Sdcgate(world, house, name, policy))
    if found.invalid:
        raise NotTriedError(found.invalid)
    return found.success


def test_there_are_more_than_thirty_attacks_with_names_of_their_own() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) > 30


def test_the_last_full_run_is_of_these_attacks_and_the_page_shows_it() -> None:
    rows, page = results.stored()["attacks"], results.PAGE.read_text(encoding="utf-8")
    assert [row["attack"] for row in rows] == [attack.name for attack in ATTACKS]
    assert all(row["careless"] and row["sdcgate"] == bool(row["open"]) for row in rows)
    assert not any(row["invalid"] for row in rows)
    assert sum(row["acro"] is True for row in rows) > 35
    assert results.page_table(rows) in page


@pytest.mark.parametrize("attack", ATTACKS, ids=by_name)
def test_an_attack_works_where_only_small_cells_are_withheld(attack: Attack) -> None:
    world = attack.world()
    assert outcome(attack, world, attack.careless(world)).success


@pytest.mark.parametrize("attack", CLOSED, ids=by_name)
def test_an_attack_learns_nothing(house: ServedHouse, attack: Attack) -> None:
    assert not learnt(house, attack)


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="open: docs/threat-model.md says why")
@pytest.mark.parametrize("attack", OPEN, ids=by_name)
def test_what_is_open_is_open(house: ServedHouse, attack: Attack) -> None:
    assert not learnt(house, attack)


@pytest.mark.parametrize("attack", CLOSABLE, ids=by_name)
def test_what_the_bundled_policy_leaves_open_a_stricter_one_closes(
    house: ServedHouse, attack: Attack
) -> None:
    assert not learnt(house, attack, CLOSED_POLICY)
