"""Policy files that change under a running facility: what is loaded, what is refused, what is shouted."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from sdcgate.policy import Policy, PolicyInvalid
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.loading import load_policies
from sdcgate.policy.model import Problem
from sdcgate.servers.metrics import PolicyMetrics
from sdcgate.servers.policy_reload import PolicyReload

TEXT = (BUNDLED / "five-safes.yaml").read_text().replace("name: five-safes", "name: ours")


class Facility:
    """Takes policies, unless told otherwise."""

    def __init__(self) -> None:
        self.taken: list[Mapping[str, Policy]] = []
        self.refuses: Exception | None = None

    def __call__(self, policies: Mapping[str, Policy]) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.taken.append(policies)

    @property
    def units(self) -> list[int]:
        return [
            policies["ours"].effective("remote", "x").rules.minimum_units.units for policies in self.taken
        ]


class House:
    def __init__(self, folder: Path, seconds: float = 0) -> None:
        self.file = folder / "ours.yaml"
        self.write(10)
        self.facility = Facility()
        self.registry = CollectorRegistry()
        self.reload = PolicyReload(folder, seconds, PolicyMetrics(self.registry))

    def write(self, units: int | str) -> None:
        self.file.write_text(TEXT.replace("{units: 10,", f"{{units: {units},"))

    def look(self, times: int = 1, told: bool = False) -> None:
        for _ in range(times):
            self.reload.look(self.facility, told)

    def metric(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"sdcgate_policy_{name}", labels)

    @property
    def attempts(self) -> tuple[float | None, ...]:
        return tuple(self.metric("reloads_total", result=result) for result in ("loaded", "failed"))


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


def test_at_the_start_the_bundled_policies_and_those_of_the_folder_apply(house: House) -> None:
    assert set(house.reload.policies) == {*load_policies(), "ours"}
    assert house.metric("reload_failed") == 0
    assert house.metric("loaded_timestamp_seconds") == pytest.approx(time.time(), abs=60)


def test_files_that_did_not_change_are_not_loaded_again(house: House) -> None:
    house.file.touch()
    house.look(3)
    assert house.facility.taken == []


def test_a_changed_file_is_loaded_once_it_was_the_same_in_two_looks(house: House) -> None:
    house.write(20)
    house.look()
    assert house.facility.taken == []
    house.write(30)
    house.look()
    assert house.facility.taken == []
    house.look(3)
    assert house.facility.units == [30]
    assert house.attempts == (1, 0)
    assert set(house.facility.taken[0]) == {*load_policies(), "ours"}


def test_who_tells_us_to_look_is_believed_that_the_files_are_whole(house: House) -> None:
    house.write(20)
    house.look(told=True)
    assert house.facility.units == [20]


def test_a_new_file_is_loaded(house: House, tmp_path: Path) -> None:
    (tmp_path / "second.yaml").write_text(TEXT.replace("name: ours", "name: second"))
    house.look(2)
    assert "second" in house.facility.taken[-1]


def test_a_broken_file_leaves_the_old_policies_and_is_shouted_once(house: House) -> None:
    house.write("ten")
    with capture_logs() as logged:
        house.look(5)
    assert house.facility.taken == []
    assert (house.metric("reload_failed"), house.attempts) == (1, (0, 1))
    assert "defaults.rules.minimum_units.units: input should be a valid integer" in house.reload.problems[0]
    broken = next(n for n, line in enumerate(house.file.read_text().splitlines(), 1) if "units: ten" in line)
    assert f"line {broken}: " in house.reload.problems[0]
    assert [line["event"].partition(":")[0] for line in logged] == ["policies NOT loaded"]
    house.look(told=True)
    assert house.attempts == (0, 2)
    house.write(20)
    house.look(2)
    assert house.facility.units == [20]
    assert (house.reload.problems, house.metric("reload_failed"), house.attempts) == ((), 0, (1, 2))


def test_taking_a_broken_change_back_is_an_end_of_the_shouting(house: House) -> None:
    house.write("ten")
    house.look(2)
    house.write(10)
    house.look(2)
    assert (house.reload.problems, house.metric("reload_failed")) == ((), 0)
    assert house.facility.taken == []


def test_a_folder_that_is_gone_keeps_the_policies_until_it_is_back(house: House, tmp_path: Path) -> None:
    away = tmp_path.with_name(tmp_path.name + "-unmounted")
    tmp_path.rename(away)
    house.look(3)
    assert "there is no such folder" in house.reload.problems[0]
    assert (house.metric("reload_failed"), house.attempts) == (1, (0, 1))
    away.rename(tmp_path)
    house.look()
    assert (house.reload.problems, house.metric("reload_failed")) == ((), 0)
    assert house.facility.taken == []


def test_a_policy_that_is_in_no_file_any_more_is_kept_for_a_bundled_one_could_take_its_place(
    house: House,
) -> None:
    house.file.unlink()
    house.look(2)
    assert "the policy ours is in no file any more; restart to do without it" in house.reload.problems[0]
    assert house.facility.taken == []
    # Under another name of the file it is the same policy.
    house.file = house.file.with_name("renamed.yaml")
    house.write(20)
    house.look(2)
    assert house.facility.units == [20]


def test_what_the_facility_refuses_stays_refused_until_the_files_change(house: House) -> None:
    house.facility.refuses = PolicyInvalid("files", [Problem("", "dataset survey needs the policy theirs")])
    house.write(20)
    house.look(5)
    assert house.attempts == (0, 1)
    assert "dataset survey needs the policy theirs" in house.reload.problems[0]


def test_a_failure_that_is_not_the_files_is_tried_again_by_itself(tmp_path: Path) -> None:
    house = House(tmp_path, seconds=0.01)
    house.facility.refuses = OSError("CANARY")
    house.reload.start(house.facility)
    try:
        house.write(20)
        assert until(lambda: house.metric("reload_failed") == 1)
        assert house.reload.problems == ("could not be applied: OSError",)
        house.facility.refuses = None
        assert until(lambda: house.facility.units == [20])
        assert until(lambda: house.metric("reload_failed") == 0)
    finally:
        house.reload.stop()


def test_without_polling_files_are_loaded_when_we_are_told(tmp_path: Path) -> None:
    house = House(tmp_path, seconds=0)
    house.reload.start(house.facility)
    try:
        house.write(20)
        time.sleep(0.1)
        assert house.facility.taken == []
        house.reload._hangup(1, None)
        assert until(lambda: house.facility.units == [20])
    finally:
        house.reload.stop()


def test_who_tells_us_just_as_a_wait_has_ended_by_the_clock_is_heard(tmp_path: Path) -> None:
    class ToldTooLate(Event):
        late = True

        def wait(self, timeout: float | None = None) -> bool:
            told = super().wait(timeout)
            if not told and self.late:
                self.late = False
                self.set()
            return told

    house = House(tmp_path, seconds=0.01)
    house.reload._told = ToldTooLate()
    house.reload.start(house.facility)
    try:
        assert until(lambda: house.attempts == (1, 0))
    finally:
        house.reload.stop()


def test_without_a_folder_there_is_nothing_to_load() -> None:
    reload = PolicyReload(None, 0, PolicyMetrics(CollectorRegistry()))
    facility = Facility()
    reload.look(facility, told=True)
    assert (dict(reload.policies), facility.taken, reload.problems) == (load_policies(), [], ())
