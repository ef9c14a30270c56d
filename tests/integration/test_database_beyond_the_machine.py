"""A facility says at its start that its ledger's database may be sent everything in plaintext."""

import pytest

from postgresql_server import empty_database, running_server
from served_house import ServedHouse


@pytest.mark.parametrize(("mode", "warned"), [("prefer", True), ("disable", False)])
def test_a_facility_warns_of_a_database_that_nobody_asked_to_encrypt(tmp_path, mode, warned):
    with running_server() as server:
        # The socket answers; the other host would be connected to where it does not.
        url = f"{empty_database(server)}&host=db.internal&sslmode={mode}"
        house = ServedHouse(tmp_path, common={"ledger_url": url})
        try:
            assert house.send("GET", "/v1/status", key="olga").status_code == 200
            lines = [line for line in house.log("facility") if line["event"] == "database not verified"]
        finally:
            house.stop()
    assert [line["setting"] for line in lines] == ["ledger_url"] * warned
    assert all("add sslmode=verify-full" in line["detail"] and line["level"] == "warning" for line in lines)
