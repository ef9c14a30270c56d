"""Groups of codes that exclude each other may be found in another order, or first, in a later version."""

import pytest

from attack.told_figures import POLICY
from house import House, build, cells, people_descriptor, verdict
from sdcgate.policy.loading import parse_policy

GOOD_AND_FAIR, POOR_AND_ILL = "exclusive:a+b", "exclusive:c+d"


class Flags:
    """People by two pairs of flags, of which nobody has both, as they change."""

    def __init__(self, folder):
        self.folder = folder
        self.people = [ab + cd for ab in ("yn", "ny", "nn") for cd in ("yn", "ny", "nn") for _ in range(8)]
        self.house: House = build(folder, policies={"tiny": parse_policy(POLICY)}, policy="tiny")

    def change(self, before: str, after: str, many: int = 1) -> None:
        """Some of those who have these flags."""
        for place in [place for place, flags in enumerate(self.people) if flags == before][:many]:
            self.people[place] = after

    def registered(self) -> tuple[str, ...]:
        lines = [f"{number},{','.join(flags)}" for number, flags in enumerate(self.people)]
        (self.folder / "people.csv").write_text("\n".join(["id,a,b,c,d", *lines]))
        unit = {"column": "id", "label": "person"}
        return self.house.engine.register(
            people_descriptor(dict.fromkeys("abcd", "yn"), unit=unit)
        ).dataset.exclusive

    def asked(self):
        return self.house.ask(dataset="people", rows=["a"], figures=["UNITS", "RECORDS"])


@pytest.fixture
def flags(tmp_path):
    return Flags(tmp_path)


def test_who_changed_is_counted_by_the_same_group_though_it_was_another_one_in_order(flags):
    flags.change("nnnn", "nnyn", 3)
    assert flags.registered() == (POOR_AND_ILL, GOOD_AND_FAIR)
    assert verdict(flags.asked()) == "RELEASED"
    flags.change("nyyn", "nynn", 6)
    flags.change("nnny", "ynny")
    assert flags.registered() == (GOOD_AND_FAIR, POOR_AND_ILL)
    answer = flags.asked()
    assert (answer.decision.version, verdict(answer)) == (2, "RELEASED_PROTECTED")
    assert [cells(answer)[code,][0] for code in "yn"] == [None, None]


def test_a_group_that_is_new_and_comes_first_changes_nothing_of_the_others(flags):
    flags.change("ynyn", "ynyy")
    flags.change("nnnn", "nnyn", 3)
    assert flags.registered() == (GOOD_AND_FAIR,)
    before = flags.asked()
    flags.change("ynyy", "ynyn")
    flags.change("nyyn", "nyny", 6)
    assert flags.registered() == (POOR_AND_ILL, GOOD_AND_FAIR)
    answer = flags.asked()
    assert (answer.decision.version, verdict(answer)) == (2, "RELEASED")
    assert cells(answer) == cells(before)
