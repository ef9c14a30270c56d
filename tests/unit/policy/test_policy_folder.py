"""An agency's own policies stand beside the bundled ones."""

import pytest

from sdcgate.policy.files import BUNDLED
from sdcgate.policy.loading import load_policies, load_policy
from sdcgate.policy.model import PolicyInvalid


@pytest.fixture
def own(tmp_path):
    text = (BUNDLED / "israel-cbs.yaml").read_text()
    (tmp_path / "our-agency.yaml").write_text(text.replace("name: israel-cbs", "name: our-agency"))
    return tmp_path


def test_policies_of_the_folder_are_added_to_the_bundled_ones(own):
    policies = load_policies(own)
    assert set(policies) == {*load_policies(), "our-agency"}
    assert policies["our-agency"].effective("remote", "any").name == "our-agency"


def test_two_files_with_one_name_are_a_problem(own):
    (own / "again.yaml").write_text((own / "our-agency.yaml").read_text())
    with pytest.raises(PolicyInvalid) as caught:
        load_policies(own)
    assert caught.value.problems[0][0] == "name"


def test_the_problems_of_all_files_are_told_at_once(own):
    valid = (own / "our-agency.yaml").read_text()
    broken = valid.replace("minimum_units: {units: 10,", "minimum_units: {units: 0,")
    (own / "our-agency.yaml").write_text(broken)
    (own / "second.yaml").write_bytes(b"name: \xff")
    with pytest.raises(PolicyInvalid) as caught:
        load_policies(own)
    assert [problem.path for problem in caught.value.problems] == [
        "our-agency.yaml: defaults.rules.minimum_units.units",
        "second.yaml",
    ]


def test_examples_and_drafts_of_editors_are_no_policies(own):
    for name in ("our-agency.examples.yaml", ".our-agency.yaml", "our-agency.yaml~"):
        (own / name).write_text("not a policy")
    assert set(load_policies(own)) == {*load_policies(), "our-agency"}


def test_a_folder_that_is_not_there_is_a_problem_and_not_the_bundled_policies(tmp_path):
    with pytest.raises(PolicyInvalid, match="there is no such folder"):
        load_policies(tmp_path / "unmounted")


def test_a_policy_of_the_folder_is_found_by_its_name(own):
    assert load_policy("our-agency", own).name == "our-agency"
    with pytest.raises(PolicyInvalid, match="five-safes, israel-cbs"):
        load_policy("our-agency")
