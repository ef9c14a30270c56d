"""The folder of a backup: made beside a facility, refused where it would hide or destroy something."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sdcgate.cli import main
from sdcgate.servers.settings import Settings
from sdcgate.servers.state_folder import only_one


class Installation:
    """A state folder with a ledger of keys, a snapshot, and whoever runs commands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.copy = folder / "backup"
        self.keys = folder / "keys apart"
        self.decide()
        snapshot = self.state / "snapshots" / "randhie" / "v1"
        snapshot.mkdir(parents=True)
        (snapshot / "data.parquet").write_bytes(b"records")

    def run(self, *arguments: object) -> Result:
        environment = {"SDCGATE_STATE_DIR": str(self.state), "SDCGATE_LEDGER_URL": ""}
        return CliRunner().invoke(main, ["ledger", *map(str, arguments)], env=environment)

    def decide(self) -> None:
        environment = {"SDCGATE_STATE_DIR": str(self.state), "SDCGATE_LEDGER_URL": ""}
        asked = ["key", "create", "--role", "checker", "--researcher", "carla"]
        assert CliRunner().invoke(main, asked, env=environment).exit_code == 0

    def back_up(self) -> None:
        made = self.run("backup", self.copy, "--keys", self.keys)
        assert made.exit_code == 0, made.output

    def lose(self, *names: str) -> None:
        for name in names:
            for path in self.state.glob(f"{name}*"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_a_ledger_behind_its_heads_takes_nothing_until_its_loss_is_acknowledged(
    installation: Installation,
) -> None:
    installation.back_up()
    installation.decide()
    installation.decide()
    installation.lose("ledger.sqlite")
    restored = installation.run("restore", installation.copy)
    assert restored.exit_code == 1
    assert "event 2, events: events 2 to 3 are missing" in restored.stdout
    assert "head 3 was signed" in restored.stderr
    assert installation.run("verify").exit_code == 1
    acknowledged = installation.run("acknowledge-loss", "--author", "olga", "--note", "the disk died")
    assert acknowledged.stdout == (
        "event 2: olga acknowledges that events 2 to 3, as they were, are lost: the disk died\n"
    )
    installation.decide()
    verified = installation.run("verify")
    assert verified.exit_code == 0
    assert verified.stdout.splitlines() == [
        "event 2: olga acknowledges that events 2 to 3, as they were, are lost: the disk died",
        "3 events: chain, signatures, contents and heads are as they were written",
    ]
    again = installation.run("acknowledge-loss", "--author", "olga", "--note", "again")
    assert (again.exit_code, "nothing to acknowledge" in again.stderr) == (2, True)


def test_a_whole_state_folder_comes_back_as_it_was(installation: Installation) -> None:
    installation.back_up()
    before = contents(installation.state)
    installation.lose("")
    heads = installation.copy / "heads" / "heads.jsonl"
    restored = installation.run("restore", installation.copy, "--keys", installation.keys, "--heads", heads)
    assert restored.exit_code == 0, restored.output
    after = contents(installation.state)
    kept = {name for name in before if name.startswith(("keys", "heads", "snapshots")) and "/." not in name}
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert len(kept) == 4
    assert all(path.stat().st_mode & 0o077 == 0 for path in installation.state.rglob("*.key"))
    assert installation.run("verify").exit_code == 0


def test_a_backup_has_no_secret_unless_another_place_is_named_for_them(installation: Installation) -> None:
    made = installation.run("backup", installation.copy)
    assert "the keys are not in it" in made.stdout
    assert not [name for name in contents(installation.copy) if name.endswith(".key")]
    other = installation.folder / "b"
    inside = installation.run("backup", other, "--keys", other / "keys")
    assert (inside.exit_code, "who has both can forge" in inside.stderr) == (2, True)


def test_heads_that_are_lost_are_not_silently_replaced_by_those_of_the_backup(
    installation: Installation,
) -> None:
    installation.back_up()
    installation.lose("ledger.sqlite", "heads")
    refused = installation.run("restore", installation.copy)
    assert refused.exit_code == 2
    assert "cannot show what left after it" in refused.stderr
    assert not (installation.state / "ledger.sqlite").exists()
    accepted = installation.run("restore", installation.copy, "--heads-of-backup")
    assert accepted.exit_code == 0, accepted.output


@pytest.mark.parametrize("harm", ["altered", "missing", "added", "unfinished"])
def test_a_backup_that_is_not_as_it_was_made_is_not_restored(installation: Installation, harm: str) -> None:
    installation.back_up()
    installation.lose("ledger.sqlite")
    copy = installation.copy
    match harm:
        case "altered":
            with (copy / "ledger.sqlite").open("ab") as file:
                file.write(b"\0")
        case "missing":
            (copy / "snapshots" / "randhie" / "v1" / "data.parquet").unlink()
        case "added":
            (copy / "snapshots" / "more").write_bytes(b"")
        case "unfinished":
            (copy / "manifest.json").unlink()
    refused = installation.run("restore", copy)
    said = {
        "altered": "ledger.sqlite is not what was backed up",
        "missing": "snapshots/randhie/v1/data.parquet is missing from the backup",
        "added": "snapshots/more is not of the backup",
        "unfinished": "it has no manifest",
    }
    assert refused.exit_code == 2
    assert said[harm] in refused.stderr
    assert not (installation.state / "ledger.sqlite").exists()


def test_nothing_that_is_there_is_overwritten(installation: Installation) -> None:
    installation.back_up()
    again = installation.run("backup", installation.copy)
    assert (again.exit_code, "is not empty" in again.stderr) == (2, True)
    installation.lose("snapshots")
    there = installation.run("restore", installation.copy)
    assert (there.exit_code, "there is a ledger already" in there.stderr) == (2, True)
    assert not (installation.state / "snapshots").exists()
    installation.lose("ledger.sqlite")
    (installation.state / "snapshots" / "randhie" / "v1").mkdir(parents=True)
    (installation.state / "snapshots" / "randhie" / "v1" / "data.parquet").write_bytes(b"other records")
    other = installation.run("restore", installation.copy)
    assert other.exit_code == 2
    assert "data.parquet is there already, and is another" in other.stderr


def test_receivers_of_the_decision_log_are_not_put_back_to_where_they_were(
    installation: Installation,
) -> None:
    place = installation.state / "decision-log" / "webhook.json"
    place.parent.mkdir()
    place.write_text("at 1")
    installation.back_up()
    place.write_text("at 2")
    installation.lose("ledger.sqlite")
    assert installation.run("restore", installation.copy).exit_code == 0
    assert place.read_text() == "at 2"
    installation.lose("ledger.sqlite", "decision-log")
    assert installation.run("restore", installation.copy).exit_code == 0
    assert place.read_text() == "at 1"


def test_a_running_facility_is_stopped_first(installation: Installation) -> None:
    installation.back_up()
    installation.lose("ledger.sqlite")
    with only_one(Settings(state_dir=installation.state).state_dir / "facility.lock"):
        refused = installation.run("restore", installation.copy)
    assert (refused.exit_code, "stop it first" in refused.stderr) == (2, True)


def test_no_old_signing_key_comes_back_beside_a_newer_one(installation: Installation) -> None:
    from sdcgate.ledger.signing import KeyRing

    installation.back_up()
    KeyRing.open(installation.state / "keys" / "ledger").rotate()
    installation.lose("ledger.sqlite")
    refused = installation.run("restore", installation.copy, "--keys", installation.keys)
    assert refused.exit_code == 2
    assert "the signing key was replaced" in refused.stderr
    assert installation.run("restore", installation.copy).exit_code == 0


def test_a_ledger_with_a_fault_is_no_backup(installation: Installation) -> None:
    import sqlite3

    with sqlite3.connect(installation.state / "ledger.sqlite") as connection:
        for (name,) in connection.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            connection.execute(f'drop trigger "{name}"')
        connection.execute("update api_keys set role = 'operator'")
    connection.close()
    made = installation.run("backup", installation.copy)
    assert made.exit_code == 2
    assert "event 1, api_keys.role: altered" in made.stderr
    assert not (installation.copy / "manifest.json").exists()


def test_a_manifest_names_every_file(installation: Installation) -> None:
    installation.back_up()
    manifest = json.loads((installation.copy / "manifest.json").read_text())
    assert manifest["events"] == 1
    assert set(manifest["files"]) == set(contents(installation.copy)) - {"manifest.json"}
