"""Periods and legal holds as an operator lives with them, beside a facility that answers meanwhile."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from house import COPY, RANDHIE
from sdcgate.cli import main
from served_house import ServedHouse

SITE = {"rows": ["site"], "figures": ["UNITS"]}
FEMALE = {"rows": ["female"], "figures": ["UNITS"]}
LET_OUT = {"approve": True, "exception": True, "note": "fine"}
WHO = ("--author", "olga", "--note", "yearly")
DAYS = {f"SDCGATE_RETENTION__{name}_DAYS": "0" for name in ("CHECKER_VIEWS", "NOTES", "ANSWERS")}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHouse]:
    made = ServedHouse(tmp_path_factory.mktemp("house"))
    yield made
    made.stop()


def run(house: ServedHouse, *arguments: str, **environment: str) -> Result:
    state = {"SDCGATE_STATE_DIR": str(house.settings.state_dir), "SDCGATE_LEDGER_URL": ""}
    return CliRunner().invoke(main, ["ledger", *arguments], env={**state, **environment})


def test_answers_go_when_nobody_can_ask_for_them_any_more_and_all_else_goes_on(
    house: ServedHouse, tmp_path: Path
) -> None:
    assert house.register_randhie().status_code == 201
    first = house.ask(**SITE)
    assert first.json()["verdict"] == "RELEASED"

    refused = run(house, "retention", "--dry-run")
    assert refused.exit_code == 2
    assert "everything is kept for ever" in refused.stderr
    unsaid = run(house, "retention", "--apply", **DAYS)
    assert (unsaid.exit_code, "need" in unsaid.stderr) == (2, True)

    # What the checker saw goes at once; who asks again gets what he got.
    told = run(house, "retention", **DAYS)
    assert "what checkers saw: 1 older than 0 days, 0 more kept by legal holds" in told.stdout
    assert "1 attachments would be removed" in told.stdout
    before = house.send("GET", first.headers["location"], key="grace").json()
    assert before["checker"]["facts"]
    applied = run(house, "retention", "--apply", *WHO, **DAYS)
    assert (applied.exit_code, "1 attachments are removed, recorded as event" in applied.stdout) == (0, True)
    seen = house.send("GET", first.headers["location"], key="grace").json()
    assert "removed under retention, as event" in seen["checker"]["note"]
    assert "facts" not in seen["checker"]
    assert seen["decision"] == before["decision"]
    again = house.ask(**SITE)
    assert (again.status_code, again.json()) == (200, first.json())

    # A new version that means something else: what leaves of it, a checker lets out.
    descriptor = yaml.safe_load(RANDHIE.read_text()) | {"source": "randhie", **COPY}
    descriptor["measures"] = descriptor["measures"][:-1]
    assert house.register(descriptor).status_code == 201
    second = house.ask(**FEMALE)
    assert second.json()["verdict"] == "REFERRED"
    query = second.json()["query"]
    review = house.send("POST", f"/v1/queries/{query}:review", LET_OUT, "grace")
    assert review.json()["verdict"] == "RELEASED", review.text

    held = run(house, "hold", "add", "--query", first.json()["query"], *WHO)
    assert held.exit_code == 0, held.output
    hold = held.stdout.strip()
    assert (
        "requests, answers and records: 0 older than 0 days, 3 more kept"
        in run(house, "retention", **DAYS).stdout
    )
    assert hold in run(house, "hold", "list").stdout
    assert run(house, "hold", "release", hold, *WHO).exit_code == 0
    assert run(house, "hold", "release", hold, *WHO).exit_code != 0

    assert run(house, "retention", "--apply", *WHO, **DAYS).exit_code == 0
    gone = house.send("GET", first.headers["location"])
    assert (gone.status_code, "removed under retention" in gone.json()["detail"]) == (404, True)
    stranger = house.send("GET", first.headers["location"], key="bob")
    assert (stranger.status_code, "retention" in stranger.text) == (404, False)
    listed = house.send("GET", "/v1/queries").json()["queries"]
    assert first.json()["query"] in {one["query"] for one in listed}
    assert house.ask(**FEMALE).json()["verdict"] == "RELEASED"
    # What the first one showed is known as before: beside the other version it is for a checker.
    assert house.ask(**SITE).json()["verdict"] == "REFERRED"

    verified = run(house, "verify")
    assert verified.exit_code == 0, verified.output
    assert "attachments were removed under retention by olga" in verified.stdout
    assert (
        run(
            house, "export", str(tmp_path / "b.zip"), "--from", "2020-01-01", "--until", "2100-01-01"
        ).exit_code
        == 0
    )
    (tmp_path / "keys.pem").write_text(house.send("GET", "/v1/status").json()["public_key"])
    checked = run(house, "verify-bundle", str(tmp_path / "b.zip"), "--public-key", str(tmp_path / "keys.pem"))
    assert (checked.exit_code, "removed under retention" in checked.stdout) == (0, True), checked.output
    (tmp_path / "answer.json").write_text(first.text)
    certified = run(
        house, "verify-certificate", str(tmp_path / "answer.json"), "--public-key", str(tmp_path / "keys.pem")
    )
    assert certified.exit_code == 0
    assert run(house, "backup", str(tmp_path / "copy"), "--keys", str(tmp_path / "k")).exit_code == 0


def test_a_hold_needs_one_thing_to_hold(house: ServedHouse) -> None:
    for named in ((), ("--source", "a", "--project", "b")):
        result = run(house, "hold", "add", *named, *WHO)
        assert (result.exit_code, "name one of" in result.stderr) == (2, True)
