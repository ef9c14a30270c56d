"""Cell keys in a policy file: what goes together, and what is told of what does not."""

import pytest
import yaml

from sdcgate.policy import PolicyInvalid, load_policy, parse_policy
from sdcgate.policy.effective import canonical_text
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.recorded import read_canonical

TREE = yaml.safe_load((BUNDLED / "cell-key.yaml").read_text())
NOISE = TREE["defaults"]["protection"]["cell_keys"]
SMALL_TABLE = {"counts": [0, 1, 1, 1], "noise": [0, -1, 0, 1], "probabilities": [1.0, 0.25, 0.5, 0.25]}


def changed(section: str, **members) -> str:
    """The bundled policy with other members of a section of its defaults, as YAML."""
    defaults = {**TREE["defaults"], section: {**TREE["defaults"].get(section, {}), **members}}
    return yaml.safe_dump({**TREE, "defaults": defaults})


def with_noise(**members) -> str:
    return changed("protection", cell_keys={**NOISE, **members})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (changed("protection", cell_keys=None), "go together, or neither is there"),
        (changed("protection", method="suppression"), "go together, or neither is there"),
        (changed("redesign", proposals=2), "redesign.proposals must be 0 with cell keys"),
        (
            changed("rules", group_disclosure={"share": 0.9, "consequence": "protect"}),
            "group_disclosure must be null",
        ),
        (changed("rules", minimum_units={"units": 10, "consequence": "refuse"}), "rules.minimum_units: its"),
        (with_noise(variance=None), "name maximum_noise and variance, or a table"),
        (with_noise(table=SMALL_TABLE), "name maximum_noise and variance, or a table"),
        (with_noise(maximum_noise=31), "maximum_noise must be from 1 to 30"),
        (with_noise(variance=1.9), "variance must be greater than"),
        (with_noise(sum_shares=[0.2, 0.3]), "shares must not grow"),
        (
            with_noise(
                maximum_noise=None,
                variance=None,
                largest_blocked_count=0,
                table={**SMALL_TABLE, "noise": [0]},
            ),
            "noise must have a value for each of 4 rows",
        ),
        (
            with_noise(maximum_noise=None, variance=None, table=SMALL_TABLE),
            "a table has no parameters beside it",
        ),
    ],
)
def test_what_does_not_go_together_is_told(text: str, said: str) -> None:
    with pytest.raises(PolicyInvalid) as invalid:
        parse_policy(text)
    assert said in str(invalid.value)


def test_a_table_made_elsewhere_gives_the_noise() -> None:
    text = with_noise(maximum_noise=None, variance=None, largest_blocked_count=0, table=SMALL_TABLE)
    noise = parse_policy(text).effective("remote", "x").cell_keys
    assert noise is not None
    assert noise.ptable().probabilities.tolist() == SMALL_TABLE["probabilities"]
    assert (
        parse_policy(text).effective("remote", "x").hash
        != load_policy("cell-key").effective("remote", "x").hash
    )


@pytest.mark.parametrize(
    "members",
    [{}, {"maximum_noise": None, "variance": None, "largest_blocked_count": 0, "table": SMALL_TABLE}],
)
def test_the_recorded_text_reads_back_as_the_same_noise(members: dict) -> None:
    policy = parse_policy(with_noise(**members)).effective("remote", "x")
    assert read_canonical(canonical_text(policy)).cell_keys == policy.cell_keys


def test_the_bundled_policy_says_its_numbers_in_words() -> None:
    said = load_policy("cell-key").effective("remote", "x").explain()
    assert "of mean 0, variance 9 and at most 15. None leaves as 1 to 2." in said
    assert "A cell of fewer than 10 units stays hidden by its noise" in said
