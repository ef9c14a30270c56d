"""Every call of the three services, with anything at all: answered or clearly refused, in time."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st

from fuzz import good_requests
from fuzz.calls import CALLS, Sent, inputs, outcome, sent
from fuzz.campaign import Campaign
from fuzz.house_under_fire import ROLES, HouseUnderFire


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HouseUnderFire]:
    made = HouseUnderFire(tmp_path_factory.mktemp("under fire"))
    try:
        good_requests.prepare(made)
        yield made
        assert made.is_whole()
    finally:
        made.stop()


@pytest.fixture(autouse=True)
def whole(house: HouseUnderFire) -> Iterator[None]:
    before = len(house.faults())
    good_requests.register_again(house)
    yield
    assert house.faults()[before:] == []
    assert house.is_whole()


@pytest.mark.parametrize(("service", "method"), CALLS, ids=[method.name for _, method in CALLS])
def test_every_call_is_answered_or_clearly_refused(
    house: HouseUnderFire, campaign: Campaign, service: str, method: Any
) -> None:
    own = house.role(service, method.name)
    good = house.good.get(method.name, [])

    def answer(content: Sent, role: str) -> str:
        call = partial(house.call, service, method, role)
        return outcome(method, content, call, lambda: house.faults()[-1:])

    for request in good:
        assert answer(sent(request), own) == "OK"
    roles = st.just("service") if service != "facility" else st.sampled_from([own] * 9 + list(ROLES))
    made = inputs(method, good + house.once.get(method.name, []))
    campaign.run(st.tuples(made, roles), lambda pair: answer(*pair), examples=80)
