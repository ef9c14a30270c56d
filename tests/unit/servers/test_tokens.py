"""Whose a token is: a real issuer on the loopback, with real keys."""

import base64
import hashlib
import hmac
import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from pydantic import ValidationError

from identity_provider import AUDIENCE, identity_provider
from sdcgate.ledger.credentials import Caller, Role
from sdcgate.servers.authentication import authenticated
from sdcgate.servers.errors import PermissionDenied, Unauthenticated, Unavailable
from sdcgate.servers.settings import Identity
from sdcgate.servers.tokens import Tokens

ADA = Caller("token:ada", "researcher", "ada")


@pytest.fixture
def provider():
    with identity_provider() as provider:
        yield provider


def tokens(provider, timer=time.monotonic, **settings):
    given = {"issuer": provider.url, "audience": AUDIENCE, "jwks_url": f"{provider.url}/keys"}
    return Tokens(Identity(**{**given, **settings}), timer)


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_a_token_of_the_issuer_says_who_calls(provider, algorithm):
    provider.add("key", algorithm)
    assert tokens(provider).authenticate(provider.sign("key")) == ADA


def test_the_keys_are_fetched_once_for_many_tokens(provider):
    reader = tokens(provider)
    assert {reader.authenticate(provider.sign(jti=str(number))) for number in range(20)} == {ADA}
    assert provider.asked == 1


def test_a_new_key_of_the_issuer_is_accepted_and_one_it_took_away_is_not(provider):
    reader = tokens(provider, jwks_refresh_seconds=0, jwks_cache_seconds=0.2)
    old = provider.sign()
    assert reader.authenticate(old) == ADA
    provider.add("second")
    assert reader.authenticate(provider.sign("second")) == ADA
    provider.published.remove("first")
    time.sleep(0.25)
    assert reader.authenticate(old) is None
    assert reader.authenticate(provider.sign("second")) == ADA


def test_keys_that_nobody_knows_do_not_make_the_issuer_be_asked_each_time(provider):
    provider.add("hidden", published=False)
    reader = tokens(provider, jwks_refresh_seconds=60)
    assert [reader.authenticate(provider.sign("hidden")) for _ in range(10)] == [None] * 10
    assert provider.asked == 1


WRONG = {
    "expired": {"exp": -60},
    "not yet in force": {"nbf": 600},
    "issued in the future": {"iat": 600, "exp": 900},
    "wrong audience": {"aud": "another-service"},
    "wrong issuer": {"iss": "https://elsewhere.example"},
    "issuer with a slash more": {"iss": "SLASH"},
    "no audience": {"aud": None},
    "no issuer": {"iss": None},
    "no expiry": {"exp": None},
    "no time of issue": {"iat": None},
    "no subject": {"sub": None},
    "an empty subject": {"sub": ""},
    "a subject with a line break": {"sub": "ada\nbob"},
    "a life of a year": {"exp": 365 * 86400},
    "an actor without a name": {"act": {"sub": 7}},
}
"""Claims in place of good ones; of times the seconds from when the test runs, long after it was collected."""


@pytest.mark.parametrize("claims", WRONG.values(), ids=WRONG)
def test_a_token_that_is_not_for_us_or_not_in_force_opens_nothing(provider, claims):
    if claims.get("iss") == "SLASH":
        claims = {"iss": provider.url + "/"}
    now = int(time.time())
    at = {name: value + now if isinstance(value, int) else value for name, value in claims.items()}
    reader = tokens(provider)
    assert reader.authenticate(provider.sign(**at)) is None
    assert reader.authenticate(provider.sign()) == ADA


def test_clocks_may_differ_by_the_leeway_and_no_more(provider):
    now = int(time.time())
    reader = tokens(provider, leeway_seconds=30)
    assert reader.authenticate(provider.sign(iat=now - 300, exp=now - 20)) == ADA
    assert reader.authenticate(provider.sign(iat=now - 300, exp=now - 40)) is None


def test_a_signature_that_is_none_or_changed_opens_nothing(provider):
    reader = tokens(provider)
    header, payload, signature = provider.sign().split(".")
    claims = jwt.decode(provider.sign(), options={"verify_signature": False})
    checker = part({**claims, "roles": ["checker"]})
    for token in (
        f"{part({'alg': 'none', 'kid': 'first'})}.{payload}.",
        f"{part({'alg': 'none', 'kid': 'first'})}.{payload}.{signature}",
        f"{part({'alg': 'None', 'kid': 'first'})}.{payload}.{signature}",
        f"{part({'kid': 'first'})}.{payload}.{signature}",
        f"{header}.{checker}.{signature}",
        f"{header}.{payload}.{signature[:-4]}AAAA",
        f"{header}.{payload}.",
        f"{header}.{payload}",
        "",
        "a.b.c",
        f"{'A' * 5000}.{payload}.{signature}",
    ):
        assert reader.authenticate(token) is None, token


def test_a_public_key_is_no_secret_of_an_hmac(provider):
    reader = tokens(provider)
    _, payload, _ = provider.sign().split(".")
    public = provider.keys["first"][1].public_key()
    secrets = [
        public.public_bytes(encoding, format)
        for encoding, format in (
            (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
            (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo),
            (serialization.Encoding.PEM, serialization.PublicFormat.PKCS1),
        )
    ]
    for secret in secrets:
        signed = f"{part({'alg': 'HS256', 'kid': 'first', 'typ': 'JWT'})}.{payload}"
        mac = hmac.new(secret, signed.encode(), hashlib.sha256).digest()
        assert reader.authenticate(f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}") is None


def test_a_secret_that_the_issuer_publishes_is_no_key_either(provider):
    secret = b"s" * 32
    published = {
        "kty": "oct",
        "kid": "mac",
        "use": "sig",
        "alg": "HS256",
        "k": jwt.utils.base64url_encode(secret),
    }
    published["k"] = published["k"].decode()
    keys = [*json.loads(provider.jwks())["keys"], published]
    provider.body = json.dumps({"keys": keys}).encode()
    reader = tokens(provider)
    claims = jwt.decode(provider.sign(), options={"verify_signature": False})
    assert reader.authenticate(jwt.encode(claims, secret, "HS256", {"kid": "mac"})) is None
    for algorithm in ("RS256", "ES256", "EdDSA"):
        forged = jwt.encode(claims, secret, "HS256", {"kid": "mac"}).split(".")
        forged[0] = part({"alg": algorithm, "kid": "mac"})
        assert reader.authenticate(".".join(forged)) is None
    assert reader.authenticate(provider.sign()) == ADA


def test_a_key_of_one_kind_is_not_used_as_one_of_another(provider):
    provider.add("curve", "ES256")
    reader = tokens(provider)
    assert reader.authenticate(provider.sign("first", {"kid": "curve"})) is None
    assert reader.authenticate(provider.sign("curve", {"kid": "first"})) is None
    assert reader.authenticate(provider.sign("curve")) == ADA


@pytest.mark.filterwarnings("ignore:The RSA key is 1024 bits")
def test_a_key_that_is_too_short_to_be_safe_signs_nothing(provider):
    provider.keys["short"] = ("RS256", rsa.generate_private_key(public_exponent=65537, key_size=1024))
    provider.published.append("short")
    reader = tokens(provider)
    assert reader.authenticate(provider.sign("short")) is None
    assert reader.authenticate(provider.sign()) == ADA


def test_only_the_algorithms_that_are_set_are_accepted_and_no_hmac_can_be_set(provider):
    assert tokens(provider, algorithms=("ES256",)).authenticate(provider.sign()) is None
    assert provider.asked == 0
    for wrong in ("none", "HS256", "HS512", ""):
        with pytest.raises(ValidationError, match="algorithms"):
            Identity(algorithms=(wrong,))
    with pytest.raises(ValidationError, match="algorithms"):
        Identity(algorithms=())


def test_addresses_of_keys_in_the_token_itself_are_not_asked(provider):
    with identity_provider() as stranger:
        headers = {"jku": f"{stranger.url}/keys", "x5u": f"{stranger.url}/keys", "kid": "first"}
        headers["jwk"] = json.loads(stranger.jwks())["keys"][0]
        forged = stranger.sign("first", headers, iss=provider.url)
        assert tokens(provider).authenticate(forged) is None
        assert stranger.asked == 0


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, b"{}"),
        (404, b""),
        (302, b""),
        (200, b"no json"),
        (200, b"[]"),
        (200, b'{"keys": []}'),
        (200, b"{}"),
    ],
)
def test_an_issuer_without_keys_is_unavailable_and_nobody_gets_in(provider, status, body):
    provider.status, provider.body = status, body
    reader = tokens(provider, jwks_refresh_seconds=0)
    with pytest.raises(Unavailable, match="keys cannot be had"):
        reader.authenticate(provider.sign())
    provider.status, provider.body = 200, None
    assert reader.authenticate(provider.sign()) == ADA


def test_an_issuer_that_is_gone_is_unavailable_also_for_keys_nobody_knows(provider):
    reader = tokens(provider, jwks_refresh_seconds=0)
    assert reader.authenticate(provider.sign()) == ADA
    provider.add("second", published=False)
    provider.stop()
    assert reader.authenticate(provider.sign()) == ADA, "the keys are kept for a while"
    with pytest.raises(Unavailable):
        reader.authenticate(provider.sign("second"))


def test_an_issuer_that_hangs_is_not_waited_for_by_one_call_after_the_other(provider):
    provider.hangs = 5.0
    now = [100.0]
    reader = tokens(provider, lambda: now[0], jwks_timeout_seconds=0.2, jwks_refresh_seconds=10)
    for _ in range(20):
        with pytest.raises(Unavailable):
            reader.authenticate(provider.sign())
    assert provider.asked == 1
    provider.hangs = 0.0
    now[0] += 10
    assert reader.authenticate(provider.sign()) == ADA


def test_persons_and_roles_are_read_from_the_claims_that_are_set(provider):
    reader = tokens(
        provider,
        researcher_claim="preferred_username",
        role_claim="realm_access.roles",
        roles={"sdc-output-checkers": "checker", "sdc-users": "researcher"},
    )
    names = {"preferred_username": "grace", "realm_access": {"roles": ["offline", "sdc-output-checkers"]}}
    assert reader.authenticate(provider.sign(**names)) == Caller("token:ada", "checker", "grace")
    assert reader.authenticate(provider.sign(**{**names, "preferred_username": None})) is None
    url = "https://agency.example/role"
    assert (
        tokens(provider, role_claim=url).authenticate(provider.sign(**{url: "openid steward"})).role
        == "steward"
    )


@pytest.mark.parametrize(
    ("roles", "told"),
    [
        (None, "no role"),
        ([], "no role"),
        (["administrator"], "no role"),
        (["service"], "no role"),
        ([["researcher"]], "no role"),
        ({"researcher": True}, "no role"),
        (["researcher", "checker"], "several roles .checker, researcher.: name one of them in x-role"),
    ],
)
def test_a_token_without_a_role_or_with_several_of_which_none_is_named_is_told_so(provider, roles, told):
    with pytest.raises(PermissionDenied, match=told):
        tokens(provider).authenticate(provider.sign(roles=roles))


def test_who_has_several_roles_calls_in_the_one_that_he_names(provider):
    token = provider.sign(roles=["researcher", "checker", "administrator"])

    def called(role):
        shown = {"authorization": f"Bearer {token}", "x-role": role}
        return authenticated(tokens(provider).authenticate, shown)

    assert [called(role).role for role in ("researcher", "checker")] == ["researcher", "checker"]
    assert called("researcher").researcher == called("checker").researcher == "ada"
    for role in ("steward", "administrator", "service", "checker,researcher", "CHECKER", " "):
        with pytest.raises(PermissionDenied, match="not carry the role x-role names: checker, researcher"):
            called(role)
    with pytest.raises(PermissionDenied, match="several roles"):
        called("")


def test_a_key_or_token_of_one_role_is_refused_another():
    key = Caller("k", Role.RESEARCHER, "ada")
    shown = {"authorization": "Bearer k"}
    assert authenticated(lambda _: key, {**shown, "x-role": "researcher"}) is key
    assert authenticated(lambda _: key, shown) is key
    with pytest.raises(PermissionDenied, match="has the role researcher"):
        authenticated(lambda _: key, {**shown, "x-role": "checker"})
    with pytest.raises(Unauthenticated):
        authenticated(lambda _: None, {**shown, "x-role": "checker"})


def test_a_portal_that_the_token_names_as_the_actor_is_known(provider):
    found = tokens(provider).authenticate(provider.sign(act={"sub": "portal-1"}))
    assert found == Caller("token:ada", "researcher", "ada", portal="portal-1")


@pytest.mark.parametrize(
    "settings",
    [
        {"issuer": "https://id.example", "audience": "a"},
        {"issuer": "https://id.example", "jwks_url": "https://id.example/keys"},
        {"issuer": "https://id.example", "audience": "a", "jwks_url": "http://id.example/keys"},
        {"issuer": "https://id.example", "audience": "a", "jwks_url": "file:///etc/passwd"},
        {"roles": {"everybody": "service"}},
    ],
)
def test_half_an_issuer_keys_in_plaintext_and_the_services_role_cannot_be_set(settings):
    with pytest.raises(ValidationError):
        Identity(**settings)
