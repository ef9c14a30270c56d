"""Certificates that run out while the house runs: errors in time, and answers again once they are renewed."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from after_a_storm import whole
from certificate_authority import HOUR, MINUTE, CertificateAuthority
from clients_under_load import Clients
from encrypted_house import CALLS, SERVERS, encrypted_house
from jumping_clocks import JumpingClocks, jumping_clocks
from sdcgate.cli.supervisor import SERVICES
from served_house import ServedHouse
from stories import PLANS, patiently
from trials import seed, trials
from truthful_house import TruthfulHouses

MANY = 8
"""Keys are good for a day, and each trial takes two hours of the house's clocks."""
MESSAGE = "the certificate is in force from"


class ExpiringHouse:
    """A house whose clocks go two hours forward at once, while its certificates hold for one."""

    def __init__(self, house: ServedHouse, clocks: JumpingClocks, authority: CertificateAuthority) -> None:
        self.house = house
        self._clocks, self._authority = clocks, authority
        self._now = timedelta(0)

    def expire(self) -> None:
        """Let all certificates run out."""
        self._now += 2 * HOUR
        self._clocks.move(int(self._now.total_seconds()), *SERVICES)

    def ends_at_once(self, service: str) -> bool:
        """Whether the service, killed and started again, says that its certificate is out of date."""
        self.house.kill(service)
        process = self.house.supervisor._processes[service] = self.house.supervisor._spawn(service)
        failed = process.wait(120) != 0
        text = "".join(
            file.read_text() for file in (self.house.settings.state_dir / "log").glob(f"{service}*")
        )
        return failed and MESSAGE in text

    def renew(self, *names: str) -> None:
        """New pairs for services, in force for an hour from now on."""
        for name in names:
            self._authority.make(name, self._now - MINUTE, self._now + HOUR)

    def replace(self, *services: str) -> None:
        """Kill what runs of them, and start them again."""
        for service in services:
            if self.house.supervisor._processes[service].poll() is None:
                self.house.kill(service)
        self.house.restart(*services)


@contextmanager
def expiring_house(folder: Path) -> Iterator[ExpiringHouse]:
    """One that runs meanwhile."""
    (folder / "certificates").mkdir()
    authority = CertificateAuthority(folder / "certificates")
    with jumping_clocks(folder / "clocks") as clocks:
        house = encrypted_house(authority, folder / "our house")
        try:
            yield ExpiringHouse(house, clocks, authority)
        finally:
            house.stop()


@pytest.mark.parametrize(
    "service", ["risk", *(pytest.param(name, marks=pytest.mark.long) for name in SERVERS[::2])]
)
def test_a_service_with_an_expired_certificate_is_not_reached_until_it_is_renewed(service, tmp_path, tell):
    with expiring_house(tmp_path) as expiring:
        house = expiring.house
        house.register_randhie().raise_for_status()
        assert house.ask(rows=["site"]).json()["verdict"] == "RELEASED"
        expiring.expire()
        # Connections that were made in time go on.
        assert house.ask(rows=["plan"]).status_code == 201
        assert expiring.ends_at_once(service)
        assert house.ask(**PLANS).status_code == 503
        expiring.renew(service)
        expiring.replace(service)
        # Its callers show certificates that have expired.
        assert house.ask(**PLANS).status_code == 503
        expiring.renew(*CALLS)
        expiring.replace(*SERVICES)
        assert patiently(lambda: house.ask(**PLANS)).json()["verdict"] == "RELEASED_PROTECTED"
        with house.ledger() as ledger:
            report = ledger.verify()
        assert report.ok
    tell(f"certificate of {service} expired", 1, **{"503": 2, "released": 3})


@pytest.mark.long
def test_certificates_that_expire_under_load_lose_no_answer_and_make_none_up(tmp_path, tell):
    number, rng = min(trials(MANY), 10), random.Random(seed(29))
    truthful = TruthfulHouses(tmp_path / "truth")
    with expiring_house(tmp_path) as expiring:
        house = expiring.house
        with Clients(house, seed(29)) as clients:
            for _ in range(number):
                clients.wait_for_answers(3)
                expiring.expire()
                victim = rng.choice(SERVERS)
                assert expiring.ends_at_once(victim)
                clients.wait_for(lambda asked: asked.status in (503, 504), 1)
                expiring.renew(*CALLS)
                expiring.replace(victim, *(name for name in SERVICES if name != victim))
                clients.wait_for_answers(3, 120)
        checked = whole(house, clients, truthful)
    truthful.engine.close()
    tell("all certificates expire under load, one service ends", number, **checked)
