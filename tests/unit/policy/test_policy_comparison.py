"""What a new policy changes, setting by setting, told once however many access levels it concerns."""

import pytest

from sdcgate.policy import parse_policy
from sdcgate.policy.comparison import Change, compare
from sdcgate.policy.files import BUNDLED

OLD = (BUNDLED / "five-safes.yaml").read_text()


def compared(*changes: tuple[str, str]):
    text = OLD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return compare(parse_policy(OLD), parse_policy(text))


def told(change: Change) -> tuple[str, tuple[str, ...], str, str]:
    return change.old.name, change.where, change.old.text, change.new.text


def test_a_policy_does_not_differ_from_itself_or_from_another_spelling_of_it():
    assert compared() == compared(("{units: 10, consequence: protect}", "{consequence: protect, units: 10}"))
    assert (compared().changes, compared().decided_anew) == ((), ())


def test_a_default_that_changes_is_told_once_for_all_levels():
    (change,) = compared(
        ("{tolerance: 0.01, consequence: protect}", "{tolerance: 0.05, consequence: refer}")
    ).changes
    assert told(change) == (
        "rules.equal_values",
        ("public", "licensed", "remote", "on-site"),
        "{tolerance: 0.01, consequence: protect}",
        "{tolerance: 0.05, consequence: refer}",
    )
    assert change.new.explanation == (
        "A figure over values within 5% of each other is referred to an output checker."
    )


def test_what_follows_from_a_change_is_told_too():
    found = compared(("minimum_units: {units: 10,", "minimum_units: {units: 12,"))
    assert [told(change)[0] for change in found.changes] == ["rules.minimum_units", "protection.count_width"]
    assert found.decided_anew == ("public", "licensed", "remote", "on-site")


def test_levels_that_come_and_go_are_told():
    found = compared(("  licensed: {}\n", ""))
    assert (found.levels_gone, found.levels_new) == (("licensed",), ())
    assert compare(parse_policy(OLD.replace("  licensed: {}\n", "")), parse_policy(OLD)).levels_new == (
        "licensed",
    )


def test_a_dataset_is_told_where_it_differs_from_its_level_only():
    changes = (
        ("minimum_units: {units: 10,", "minimum_units: {units: 12,"),
        ("  on-site: {}", "  on-site: {}\ndatasets: {survey: {remote: {output: {digits: 0}}}}"),
    )
    found = compared(*changes)
    assert [told(change)[:2] for change in found.changes] == [
        ("rules.minimum_units", ("public", "licensed", "remote", "on-site")),
        ("protection.count_width", ("public", "licensed", "remote", "on-site")),
        ("output.digits", ("survey at remote",)),
    ]
    assert "survey at remote" in found.decided_anew


def test_when_answers_leave_changes_no_answer():
    found = compared(("latency_step_ms: 500", "latency_step_ms: 1000"))
    assert [told(change)[:2] for change in found.changes] == [("output.latency_step_ms", ("public",))]
    assert found.decided_anew == ()


@pytest.mark.parametrize("other", ["israel-cbs", "statistics-netherlands-public"])
def test_any_two_policies_can_be_compared(other):
    found = compare(parse_policy(OLD), parse_policy((BUNDLED / f"{other}.yaml").read_text()))
    assert found.changes
    assert all(change.old.text != change.new.text for change in found.changes)
