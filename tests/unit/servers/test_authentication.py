import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from sdcgate.servers.authentication import bearer_token, service_authenticator, service_token
from sdcgate.servers.errors import Unauthenticated


def test_the_token_is_made_once_for_its_owner_only(tmp_path):
    path = tmp_path / "keys" / "service.token"
    token = service_token(path)
    assert len(token) >= 43
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert service_token(path) == token
    assert os.listdir(path.parent) == ["service.token"]


def test_services_that_start_together_agree_on_one_token(tmp_path):
    path = tmp_path / "keys" / "service.token"
    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(lambda _: service_token(path), range(64)))) == 1


def test_a_token_that_others_can_read_is_not_used(tmp_path):
    path = tmp_path / "service.token"
    path.write_text("t" * 43)
    path.chmod(0o644)
    with pytest.raises(PermissionError, match="0600"):
        service_token(path)


def test_a_token_may_be_read_by_a_group_but_not_changed(tmp_path):
    path = tmp_path / "service.token"
    path.write_text("t" * 43)
    path.chmod(0o440)
    assert service_token(path) == "t" * 43
    path.chmod(0o460)
    with pytest.raises(PermissionError, match="0600"):
        service_token(path)


def test_an_empty_token_is_not_used(tmp_path):
    path = tmp_path / "service.token"
    path.write_text("")
    path.chmod(0o600)
    with pytest.raises(ValueError, match="no service token"):
        service_token(path)


def test_only_the_token_itself_is_accepted():
    authenticate = service_authenticator("t" * 43)
    assert authenticate("t" * 43).role == "service"
    for wrong in ("", "t", "t" * 42, "t" * 44, "ü" * 43):
        assert authenticate(wrong) is None


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic abc", "abc", b"\xff"])
def test_a_header_without_a_token_is_none(header):
    with pytest.raises(Unauthenticated):
        bearer_token(header)


def test_the_scheme_may_be_written_in_any_case():
    assert bearer_token("bearer abc") == bearer_token(b"Bearer abc ") == "abc"
