"""An agency's own policies stand beside the bundled ones."""

import pytest

from sdcgate.policy.loading import BUNDLED, load_policies
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
