"""What the gateway takes from outside: how often, from whom, from which websites, and how fast."""

import base64
import json
import socket

import httpx
import pytest
from pydantic import ValidationError

from one_gateway import served_gateway
from sdcgate.servers.errors import ResourceExhausted
from sdcgate.servers.rate_limits import RateLimits, network_of
from sdcgate.servers.settings import Edge

ORIGIN = "https://tables.agency.example"
ADDRESS = "203.0.113.7"


def turned_away(count, *arguments):
    """Seconds to wait of the first call that is too much, and how many were let in before it."""
    for number in range(1000):
        try:
            count(*arguments)
        except ResourceExhausted as problem:
            return number, problem.retry_after
    return None


def test_one_caller_is_let_in_so_often_and_others_all_the_same():
    limits = RateLimits(Edge(calls_per_minute=5))
    let_in, wait = turned_away(limits.called, "Bearer a")
    assert let_in == 5
    assert 1 <= wait <= 60
    limits.called("Bearer b")
    limits.arrived(ADDRESS)


def test_one_address_is_let_in_so_often_whatever_keys_it_shows():
    limits = RateLimits(Edge(address_calls_per_minute=3))
    assert turned_away(limits.arrived, ADDRESS)[0] == 3
    limits.arrived("203.0.113.8")
    assert turned_away(limits.called, "Bearer a") is None


def test_an_address_that_guesses_keys_is_not_looked_at_any_more():
    limits = RateLimits(Edge(failures_per_minute=2))
    assert turned_away(limits.arrived, ADDRESS) is None
    limits.failed(ADDRESS)
    limits.arrived(ADDRESS)
    limits.failed(ADDRESS)
    assert turned_away(limits.arrived, ADDRESS)[0] == 0
    limits.arrived("203.0.113.8")


def test_without_limits_nothing_is_counted():
    limits = RateLimits(Edge())
    for _ in range(100):
        limits.failed(ADDRESS)
    assert turned_away(limits.arrived, ADDRESS) is None
    assert turned_away(limits.called, "Bearer a") is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("::ffff:203.0.113.7", "203.0.113.7", True),
        ("203.0.113.7", "203.0.113.8", False),
    ],
)
def test_what_one_subscriber_has_is_one_address(one, other, same):
    assert (network_of(one) == network_of(other)) is same


def test_keys_are_not_kept_in_memory():
    limits = RateLimits(Edge(calls_per_minute=5))
    limits.called("Bearer sdcg_secret")
    assert "secret" not in repr(vars(limits._limiter.storage))


def token(subject, serial, issuer="https://id.agency.example"):
    """What a JWT looks like; nobody has signed it."""
    claims = {"iss": issuer, "sub": subject, "jti": serial}
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"Bearer e30.{body}.c2ln"


def answered(limits, shown, name="", name_checked=True):
    """A call that a service answers."""
    limits.accepted(limits.called(shown, name), name_checked=name_checked)


def test_a_renewed_token_is_the_same_person():
    limits = RateLimits(Edge(calls_per_minute=5))
    for serial in (1, 1, 1, 2, 2):
        answered(limits, token("ada", serial))
    for serial in (1, 2, 3):
        assert turned_away(limits.called, token("ada", serial))[0] == 0
    limits.called(token("bob", 1))
    limits.called(token("ada", 1, issuer="https://elsewhere.example"))


def test_whoever_shows_a_new_token_with_every_call_is_counted():
    limits = RateLimits(Edge(calls_per_minute=5))
    for serial in range(5):
        answered(limits, token("ada", serial))
    assert turned_away(limits.called, token("ada", 99))[0] == 0


def test_calls_that_came_before_a_token_was_taken_count_for_the_person_once_it_is():
    limits = RateLimits(Edge(calls_per_minute=5))
    for call in [limits.called(token("ada", 1)) for _ in range(4)]:
        limits.accepted(call, name_checked=True)
    answered(limits, token("ada", 1))
    assert turned_away(limits.called, token("ada", 1))[0] == 0


def test_forged_tokens_use_up_nothing_of_whom_they_name():
    limits = RateLimits(Edge(calls_per_minute=5))
    answered(limits, token("ada", 1))
    for serial in range(100, 200):
        limits.called(token("ada", serial))
    assert turned_away(limits.called, token("ada", 500))[0] == 5
    for _ in range(4):
        answered(limits, token("ada", 1))
    assert turned_away(limits.called, token("ada", 1))[0] == 0


def test_each_researcher_of_a_portal_has_a_count_of_his_own():
    limits = RateLimits(Edge(calls_per_minute=5))
    for shown in ("Bearer portal", token("portal", 1)):
        for name in ("ada", "bob", "cleo"):
            answered(limits, shown, name)
        assert turned_away(limits.called, shown, "ada")[0] == 5
        assert turned_away(limits.called, shown, "bob")[0] == 5
    # The portal's renewed token knows them, and that they have asked.
    answered(limits, token("portal", 2), "cleo")
    assert turned_away(limits.called, token("portal", 2), "ada")[0] == 0


@pytest.mark.parametrize("checked", [False, None])
def test_names_that_nobody_has_looked_at_share_one_count(checked):
    limits = RateLimits(Edge(calls_per_minute=5))
    for number in range(5):
        call = limits.called("Bearer a", f"name {number % 2}")
        if checked is not None:
            limits.accepted(call, name_checked=checked)
    assert turned_away(limits.called, "Bearer a", "name 0")[0] == 0
    assert turned_away(limits.called, "Bearer a", "another")[0] == 0
    assert turned_away(limits.called, "Bearer a")[0] == 0


@pytest.mark.parametrize(
    "body", ["[]", "[" * 4000, "nothing", '{"iss": 1, "sub": "ada"}', '{"sub": "ada"}', "7" * 5000]
)
def test_a_token_that_names_nobody_is_counted_for_itself(body):
    limits = RateLimits(Edge(calls_per_minute=5))
    shown = f"Bearer e30.{base64.urlsafe_b64encode(body.encode()).decode().rstrip('=')}.c2ln"
    for _ in range(5):
        answered(limits, shown)
    assert turned_away(limits.called, shown)[0] == 0


def test_neither_names_nor_tokens_are_kept_in_memory():
    limits = RateLimits(Edge(calls_per_minute=5))
    answered(limits, token("subject-ada", 1), "researcher-bob")
    kept = repr(vars(limits._limiter.storage)) + repr(limits._accepted)
    assert not any(word in kept for word in ("ada", "bob", "e30."))


def test_whoever_asks_too_often_is_told_when_to_come_again(tmp_path):
    with served_gateway(tmp_path, edge=Edge(calls_per_minute=2)) as address:
        answers = [
            httpx.get(f"http://{address}/nowhere", headers={"Authorization": f"Bearer {key}"})
            for key in ("ada", "ada", "ada", "bob")
        ]
        assert [answer.status_code for answer in answers] == [404, 404, 429, 404]
        assert answers[2].json()["code"] == "RESOURCE_EXHAUSTED"
        assert answers[2].headers["content-type"] == "application/problem+json"
        assert 1 <= int(answers[2].headers["retry-after"]) <= 60


def test_whoever_shows_no_good_key_too_often_is_told_when_to_come_again(tmp_path):
    with served_gateway(tmp_path, edge=Edge(failures_per_minute=2)) as address:
        answers = [httpx.get(f"http://{address}/v1/status") for _ in range(4)]
        assert [answer.status_code for answer in answers] == [401, 401, 429, 429]
        good = httpx.get(f"http://{address}/nowhere", headers={"Authorization": "Bearer good"})
        assert good.status_code == 429


@pytest.mark.parametrize(("trusted", "statuses"), [((), [404, 429, 429]), (("127.0.0.1",), [404, 404, 429])])
def test_forwarded_addresses_are_believed_of_trusted_proxies_only(tmp_path, trusted, statuses):
    edge = Edge(address_calls_per_minute=1, trusted_proxies=trusted)
    with served_gateway(tmp_path, edge=edge) as address:
        # The last one comes through the proxy, too, with a claim of its sender's before the proxy's own.
        forwarded = ("203.0.113.1", "203.0.113.2", "198.51.100.9, 203.0.113.2")
        answers = [
            httpx.get(
                f"http://{address}/nowhere", headers={"Authorization": "Bearer a", "X-Forwarded-For": value}
            )
            for value in forwarded
        ]
        assert [answer.status_code for answer in answers] == statuses


def preflight(address, origin):
    asked = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,x-on-behalf-of",
    }
    return httpx.options(f"http://{address}/v1/datasets/x/tables", headers=asked)


def test_pages_of_websites_that_are_named_may_call_and_no_others(tmp_path):
    with served_gateway(tmp_path, edge=Edge(allowed_origins=(ORIGIN,))) as address:
        allowed = preflight(address, ORIGIN)
        assert (allowed.status_code, allowed.headers["access-control-allow-origin"]) == (200, ORIGIN)
        assert "access-control-allow-credentials" not in allowed.headers
        for origin in (
            "https://elsewhere.example",
            "null",
            f"{ORIGIN}.evil.example",
            "http://tables.agency.example",
        ):
            refused = preflight(address, origin)
            assert refused.status_code == 400
            assert "access-control-allow-origin" not in refused.headers
        told = httpx.get(f"http://{address}/v1/status", headers={"Origin": ORIGIN})
        assert (told.status_code, told.headers["access-control-allow-origin"]) == (401, ORIGIN)
        assert "Retry-After" in told.headers["access-control-expose-headers"]
        assert told.headers["x-content-type-options"] == "nosniff"
        strange = httpx.get(f"http://{address}/v1/status", headers={"Origin": "https://elsewhere.example"})
        assert "access-control-allow-origin" not in strange.headers


def test_without_named_websites_no_page_may_call(tmp_path):
    with served_gateway(tmp_path) as address:
        refused = preflight(address, ORIGIN)
        assert refused.status_code == 401
        assert "access-control-allow-origin" not in refused.headers


def test_a_body_that_trickles_in_is_given_up(tmp_path):
    with served_gateway(tmp_path, edge=Edge(body_seconds=0.2)) as address:
        host, _, port = address.partition(":")
        with socket.create_connection((host, int(port)), 10) as connection:
            connection.sendall(
                b"POST /v1/datasets/x/tables HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\n"
                b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
            )
            answer = b""
            while b"}" not in answer:
                answer += connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"within 0.2 seconds" in answer


@pytest.mark.parametrize(
    "edge",
    [
        {"allowed_origins": ["*"]},
        {"allowed_origins": ["null"]},
        {"allowed_origins": ["https://a.example/path"]},
        {"allowed_origins": ["http://tables.agency.example"]},
        {"trusted_proxies": ["*"]},
        {"trusted_proxies": ["proxy.example"]},
        {"calls_per_minute": -1},
    ],
)
def test_neither_everybody_nor_nonsense_can_be_allowed_or_trusted(edge):
    with pytest.raises(ValidationError):
        Edge(**edge)
