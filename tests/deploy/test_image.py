"""What the documentation promises of the image is in the Containerfile; `make lint-deploy` runs hadolint."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
CONTAINERFILE = (ROOT / "deploy/container/Containerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
NOT_TO_RUN_IT = {"dev", "docs"}


def default_extras() -> set[str]:
    found = re.search(r"^ARG EXTRAS=(\S+)$", CONTAINERFILE, re.MULTILINE)
    assert found is not None
    return set(found.group(1).split(","))


def test_the_image_has_every_extra_but_the_one_that_needs_a_jdk() -> None:
    extras = set(PROJECT["project"]["optional-dependencies"]) - NOT_TO_RUN_IT
    assert default_extras() == extras - {"spark"}
    assert 'install --constraint constraints.txt ".${EXTRAS:+[${EXTRAS}]}"' in CONTAINERFILE


def test_the_page_says_of_every_extra_whether_the_image_has_it() -> None:
    for extra in default_extras():
        assert f"| yes, extra `{extra}`" in PAGE
    assert "| Spark as engine | no |" in PAGE


def test_the_client_of_postgresql_is_no_older_than_the_server_of_the_compose_file() -> None:
    compose = yaml.safe_load((ROOT / "deploy/compose/compose.yaml").read_text(encoding="utf-8"))
    server = re.search(r"postgres:(\d+)", compose["services"]["postgres"]["image"])
    client = re.search(r"postgresql-client-(\d+)=(\d+)\.\*", CONTAINERFILE)
    assert server is not None
    assert client is not None
    assert client.group(1) == client.group(2)
    assert int(client.group(1)) >= int(server.group(1))
    assert f"/usr/lib/postgresql/{client.group(1)}/bin" in CONTAINERFILE
    assert f"| yes, version {client.group(1)}, as compose's server |" in PAGE
