"""Whoever does what a page shows gets what the page says."""

import json
import re
from pathlib import Path
from typing import Any
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest

from page_snippets import ROOT, Snippets
from sdcgate.cli.demo import DATASET, STEPS
from sdcgate.servers.bodies import ARROW
from sdcgate.servers.openapi_examples import BODIES
from sdcgate.servers.openapi_file_examples import FORMS
from sdcgate.servers.routes import ROUTES
from sdcgate_client import Client
from served_house import KEYS, ServedHouse

PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "reference"),
]
PERSONS = 400
ROLES = {"researcher", "portal", "checker", "steward", "auditor", "operator"}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = ServedHouse(tmp_path_factory.mktemp("house"))
    try:
        assert house.register_randhie().status_code == 201
        with Client(house.supervisor.url, house.keys["ada"]) as ada:
            for step in STEPS:  # as `make run` does before its reader asks anything
                ada.table(DATASET, **step.query, project="demo")
        survey().to_csv(house.settings.data_root / "survey2024.csv", index=False)
        yield house
    finally:
        house.stop()


@pytest.fixture(scope="module")
def snippets(house, tmp_path_factory) -> Snippets:
    return Snippets(house, house.keys["ada"], tmp_path_factory.mktemp("pages"))


def survey() -> pd.DataFrame:
    """A file as the README describes it."""
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "person_id": np.arange(PERSONS),
            "household_id": np.arange(PERSONS) // 2,
            "weight": np.round(rng.uniform(100, 150, PERSONS), 4),
            "region": rng.choice(["11", "12", "21"], PERSONS),
            "age": rng.integers(0, 105, PERSONS),
            "disease": rng.choice(["0", "1"], PERSONS, p=[0.7, 0.3]),
            "income": rng.integers(0, 90_000, PERSONS),
        }
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_snippet_of_a_page_does_what_the_page_says(snippets: Snippets, page: Path) -> None:
    document = snippets.parse(page)
    reasons = []
    for example in document:
        try:
            example.evaluate()
        except SkipTest as skipped:
            reasons.append(str(skipped))
    assert all(len(reason) > 10 for reason in reasons), "a reason says why it cannot be run"


def test_the_table_of_calls_has_every_address_with_the_roles_that_are_let_in(house: ServedHouse) -> None:
    text = (ROOT / "docs/rest.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+) (/v1/[^`]*)` \| ([\w, ]+) \|", text, re.MULTILINE)
    said = {
        (method, path): ROLES if roles == "all roles" else set(roles.split(", "))
        for method, path, roles in rows
    }
    assert said.keys() == {(route.method, route.path) for route in ROUTES}
    keys = {role: name for name, (role, _) in KEYS.items()}
    for route in ROUTES:
        address = route.path.replace("{dataset}", DATASET).replace("{query}", "q-01M7YMA65YJ4V3KT6FXFQH004F")
        address = address.replace("{admission}", "a-01M7YMA65YJ4V3KT6FXFQH004F")
        body = BODIES.get(route.rpc) if route.method == "POST" else None
        how: dict[str, Any] = {}
        if route.file:
            how = {"headers": {"Content-Type": ARROW}, "params": {"keys": "sex"}}
        if route.rpc == "DrawQuery":
            how = {"params": {"kind": "BARS"}}
        if route.files:
            how = {"files": {"options": json.dumps(FORMS[route.rpc])} | dict.fromkeys(route.files, b"")}
        answers = {
            role: house.send(route.method, address, body, keys[role], **how).status_code for role in ROLES
        }
        assert {role for role, status in answers.items() if status != 403} == said[
            route.method, route.path
        ], route
