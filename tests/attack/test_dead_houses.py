"""Nothing is learnt from a house that answers nothing: no attack may count as withstood by one."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from attack.claims import COUNT_WIDTH, PRESENCE, SUM_WIDTH, Attack, Claim
from attack.hearing import Answer, Needs
from attack.served import Sdcgate
from attack.suite import ATTACKS, OPEN, outcome
from sdcgate.policy.loading import load_policy

REFUSED = {"verdict": "REFUSED", "reasons": [{"code": "MINIMUM_BASE"}]}
EMPTY = {"verdict": "RELEASED_PROTECTED", "reasons": []}


class Unhelpful:
    """A house that registers whatever it is given, and has one answer to all that is asked."""

    def __init__(self, folder: Path, status: int, content: dict[str, Any]) -> None:
        self.settings = SimpleNamespace(data_root=folder)
        self._answer = status, content

    def register(self, described: dict[str, Any]) -> httpx.Response:
        return httpx.Response(201, json={})

    def send(self, *asked: Any, **how: Any) -> httpx.Response:
        return httpx.Response(self._answer[0], json=self._answer[1])


class Unreachable(Unhelpful):
    """A house that goes away once it has registered a file."""

    def send(self, *asked: Any, **how: Any) -> httpx.Response:
        raise httpx.ConnectError("nobody is there")


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
@pytest.mark.parametrize(
    ("status", "content"),
    [
        (503, {"code": "UNAVAILABLE"}),
        (400, {"code": "INVALID_ARGUMENT"}),
        (403, {"code": "PERMISSION_DENIED"}),
        (201, REFUSED),
        (201, EMPTY),
    ],
    ids=["unavailable", "bad request", "forbidden", "refused", "nothing in it"],
)
def test_no_attack_is_withstood_by_a_house_that_gives_nothing(
    tmp_path: Path, attack: Attack, status: int, content: dict[str, Any]
) -> None:
    world = attack.world()
    house: Any = Unhelpful(tmp_path, status, content)
    found = outcome(attack, world, Sdcgate(world, house, "dead"))
    assert not found.withstood
    assert found.invalid or (found.success and attack in OPEN)


def test_a_house_that_cannot_be_reached_withstands_nothing(tmp_path: Path) -> None:
    house: Any = Unreachable(tmp_path, 503, {})
    attack = ATTACKS[0]
    found = outcome(attack, attack.world(), Sdcgate(attack.world(), house, "dead"))
    assert "ConnectError" in found.invalid


GIVEN, REFUSAL = Answer("RELEASED", 201, shown=True), Answer("REFUSED", 201, shown=False)
FORBIDDEN, BROKEN = Answer("ERROR", 403, shown=False), Answer("ERROR", 503, shown=False)


def test_one_error_among_many_answers_is_told() -> None:
    assert Needs(2).unmet([GIVEN, GIVEN, REFUSAL]) == ""
    assert "first with 503" in Needs(2).unmet([GIVEN, GIVEN, BROKEN])
    assert "1 of 2 requests" in Needs(2).unmet([GIVEN, REFUSAL])
    assert Needs(1, errors=(403,)).unmet([GIVEN, FORBIDDEN]) == ""
    assert "first with 403" in Needs(1).unmet([GIVEN, FORBIDDEN])
    assert "0 of 0 requests" in Needs(1).unmet([])


def test_widths_are_those_that_the_bundled_policy_demands() -> None:
    policy = load_policy("israel-cbs").effective("remote", "people")
    assert (policy.count_width, policy.sum_width) == (COUNT_WIDTH, SUM_WIDTH)


def learnt(name: str, *claims: Claim) -> list[bool]:
    attack = next(one for one in ATTACKS if one.name == name)
    world = attack.world()
    return [attack.succeeded(world, claim) for claim in claims]


def test_who_knows_a_count_to_less_than_the_required_width_has_learnt_it() -> None:
    # There are three people: who says four to six is certain, and wrong.
    margin = "Subtraction from a margin"
    assert learnt(margin, Claim(2, 4), Claim(0, 9)) == [True, True]
    assert learnt(margin, Claim(0, 10), Claim(4, 6)) == [False, False]


def test_who_knows_a_sum_to_less_than_a_tenth_has_learnt_it() -> None:
    # The sum is 9,700.
    assert learnt("Sum from its margins", Claim(9000, 9969), Claim(9000, 9971)) == [True, False]


def test_whether_there_is_somebody_is_known_or_not() -> None:
    assert learnt("Presence by a mark", Claim(1, 1), Claim(0, 1)) == [True, False]


def test_a_narrower_width_has_its_reason() -> None:
    narrower = [attack for attack in ATTACKS if attack.narrowest is not None]
    assert [attack.name for attack in narrower] == ["Refusals as inequalities"]
    assert all(attack.exception and attack.of != PRESENCE for attack in narrower)
    assert learnt("Refusals as inequalities", Claim(1, 9), Claim(1, 8)) == [False, True]
