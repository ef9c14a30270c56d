"""Who is counted as whom at the gateway of a running house: keys, an identity provider's tokens, a portal."""

import pytest

from identity_provider import AUDIENCE, identity_provider
from sdcgate.ledger.credentials import Credentials, Scope
from sdcgate.servers.openapi_examples import BODIES
from served_house import ServedHouse

CALLS = 6


@pytest.fixture(scope="module")
def provider():
    with identity_provider() as provider:
        provider.add("not published", published=False)
        yield provider


@pytest.fixture(scope="module")
def house(provider, tmp_path_factory):
    identity = {"issuer": provider.url, "audience": AUDIENCE, "jwks_url": f"{provider.url}/keys"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SDCGATE_GATEWAY__EDGE__CALLS_PER_MINUTE", str(CALLS))
        patch.setenv("SDCGATE_IDENTITY__JWKS_REFRESH_SECONDS", "0")
        house = ServedHouse(tmp_path_factory.mktemp("house"), identity=identity)
    with house.ledger() as ledger:
        scope = Scope(acts_for=("ada", "bob"))
        house.keys["acting portal"], _ = Credentials(ledger).create(
            "portal", "portal-1", "test", 1, scope=scope
        )
    yield house
    house.stop()


def whose(house, key, name=""):
    headers = {"X-On-Behalf-Of": name} if name else {}
    return house.send("GET", "/v1/caller", key=key, headers=headers).status_code


def test_a_person_is_counted_over_all_his_tokens(house, provider):
    tokens = [provider.sign(sub="tom", jti=str(number)) for number in range(CALLS + 1)]
    assert [whose(house, token) for token in tokens] == [200] * CALLS + [429]
    assert whose(house, provider.sign(sub="tim")) == 200


def test_a_token_that_somebody_made_up_uses_up_nothing_of_whom_it_names(house, provider):
    assert whose(house, provider.sign(sub="eve")) == 200
    forged = [provider.sign("not published", sub="eve", jti=str(number)) for number in range(2 * CALLS)]
    assert {whose(house, token) for token in forged} == {401}
    assert whose(house, provider.sign(sub="eve")) == 200


def test_researchers_of_one_portal_do_not_use_up_each_others_calls(house):
    # The first call with a name, before anybody has said whether the portal may act for him, is the portal's.
    answers = [whose(house, "acting portal", "ada") for _ in range(CALLS + 2)]
    assert answers == [200] * (CALLS + 1) + [429]
    assert whose(house, "acting portal", "bob") == 200


def test_names_that_are_made_up_are_no_way_around_the_limit(house):
    answers = [
        house.send(
            "POST",
            "/v1/protection:auditTable",
            BODIES["AuditTable"],
            "bob",
            headers={"X-On-Behalf-Of": f"x{number % 2}"},
        ).status_code
        for number in range(CALLS + 1)
    ]
    # The check side does not look for whom somebody acts, so an answer of it makes no name known.
    assert answers == [200] * CALLS + [429]
