"""The JSON schemas that editors check policy files with: up to date, and of one mind with the loader."""

import json
from typing import Any

import jsonschema_rs
import pytest
import yaml

from sdcgate.policy import PolicyInvalid, parse_policy
from sdcgate.policy.files import BUNDLED
from sdcgate.policy.json_schema import EXAMPLES_FILE, FOLDER, POLICY_FILE, schemas

POLICIES = sorted(path for path in BUNDLED.glob("*.yaml") if not path.name.endswith(".examples.yaml"))
EXAMPLES = sorted(BUNDLED.glob("*.examples.yaml"))


def validator(name: str) -> Any:
    return jsonschema_rs.Draft202012Validator(json.loads((FOLDER / name).read_text()))


def test_the_schemas_in_the_repository_are_those_of_the_types() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert written == schemas(), "run `make reference`"


@pytest.mark.parametrize("path", [*POLICIES, *EXAMPLES], ids=lambda path: path.name)
def test_every_bundled_file_fits_its_schema_and_names_it_for_editors(path) -> None:
    text = path.read_text(encoding="utf-8")
    name = EXAMPLES_FILE if path in EXAMPLES else POLICY_FILE
    assert [error.message for error in validator(name).iter_errors(yaml.safe_load(text))] == []
    assert text.startswith(f"# yaml-language-server: $schema=../schemas/{name}\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("units: 10", "units: 0"),
        ("units: 10", "units: '10'"),
        ("consequence: protect", "consequence: hide"),
        ("minimum_units:", "minimum_unit:"),
        ("maximum: 5", "maximum: 5, most: 3"),
        ("five-safes", "Five Safes"),
        ("  on-site: {}", "  moon: {}"),
        ("{largest: 1, share: 0.5, consequence: protect}", "{largest: 1, share: 0.5}"),
        ("share: 0.9", "share: 1.1"),
        ("description:", "purpose:"),
        ("defaults:", "defaults: null\nother:"),
        ("  on-site: {}", "  on-site: {}\ndatasets: {survey: {moon: {}}}"),
        ("  on-site: {}", "  on-site: {forbidden: {combinations: [[site]]}}"),
        ("  on-site: {}", "  on-site: {allowed: {statistics: [MEDIAN]}}"),
    ],
)
def test_what_the_loader_refuses_an_editor_marks(old: str, new: str) -> None:
    text = (BUNDLED / "five-safes.yaml").read_text()
    assert old in text
    changed = text.replace(old, new)
    assert not validator(POLICY_FILE).is_valid(yaml.safe_load(changed))
    with pytest.raises(PolicyInvalid):
        parse_policy(changed)


def test_a_layer_may_set_any_part_or_switch_a_rule_off() -> None:
    text = (BUNDLED / "five-safes.yaml").read_text()
    changed = text.replace(
        "  on-site: {}",
        "  on-site: {rules: {equal_values: null, minimum_units: {units: 3}}}\n"
        "datasets: {survey: {remote: {output: {digits: 0}, allowed: {levels: {age: [ten_years]}}}}}",
    )
    assert validator(POLICY_FILE).is_valid(yaml.safe_load(changed))
    assert parse_policy(changed).effective("on-site", "x").rules.minimum_units.units == 3
