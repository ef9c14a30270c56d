"""What README, CONTRIBUTING and docs/ show is so: snippets parse; commands, fields, files and links exist."""

import json
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from pydantic import BaseModel

from sdcgate.cli import main
from sdcgate.cli.connection import ROLE
from sdcgate.engine import descriptor as descriptors
from sdcgate.engine.code_lists import resolve_levels
from sdcgate.engine.descriptor import parse_descriptor
from sdcgate.engine.descriptor_checks import check_descriptor
from sdcgate.policy import model, parse_policy
from sdcgate.servers import errors
from sdcgate.servers.routes import ROUTES, SERVICE
from sdcgate.servers.settings import SECRETS_DIR, Settings

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
ROOMS = [
    ROOT / part for part in ("", "services/sdcgate", "services/sdcgate/facility", "services/sdcgate/methods")
]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\((?!https?://)([^)#]*)(#[^)]*)?\)")
CLIENT_VARIABLES = {"SDCGATE_URL", "SDCGATE_API_KEY", "SDCGATE_API_KEY_FILE", ROLE, SECRETS_DIR}
GRAFANA_VARIABLES = {"SDCGATE_PROMETHEUS_URL"}
SIGNED_LINES = re.compile("sdcgate (certificate|bundle) 1")
"""Begins what a certificate or a bundle signs; no command."""


def snippets(language: str) -> Iterator[tuple[str, str]]:
    for page in PAGES:
        for _, kind, text in FENCE.findall(page.read_text(encoding="utf-8")):
            if kind == language:
                yield page.relative_to(ROOT).as_posix(), textwrap.dedent(text)


def commands() -> Iterator[list[str]]:
    """Every `sdcgate ...` in shell snippets and in running text, as words."""
    for page in PAGES:
        text = SIGNED_LINES.sub("", page.read_text(encoding="utf-8"))
        shell = [
            line
            for _, kind, block in FENCE.findall(text)
            if kind == "sh"
            for line in block.replace("\\\n", " ").splitlines()
        ]
        spans = CODE.findall(FENCE.sub("", text))
        for line in [
            *shell,
            *(span for span in spans if span.split("=")[0].startswith(("SDCGATE_", "sdcgate "))),
        ]:
            for found in re.findall(r"(?<![\w./-])sdcgate ([a-z-]+(?:'[^']*'|[^`;)'])*)", line):
                yield shlex.split(re.split(r"[&|>]", found)[0], comments=True)


def test_every_link_between_pages_leads_somewhere() -> None:
    broken = [
        f"{page.name}: {target}"
        for page in PAGES
        for target, _ in LINK.findall(page.read_text(encoding="utf-8"))
        if target and not (page.parent / target).exists()
    ]
    assert broken == []


def test_every_file_that_is_named_exists() -> None:
    named = {
        (page.name, span)
        for page in PAGES
        for span in CODE.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
        if re.fullmatch(r"[\w./-]+/[\w./-]*\w\.(py|proto|yaml|md)|[\w-]+/", span) and "/v0002" not in span
    }
    state = {"data/", "keys/", "snapshots/", "spill/", "log/", "run/", "var/", "decision-log/"}
    assert [(page, span) for page, span in sorted(named) if span not in state and not _exists(span)] == []


def _exists(path: str) -> bool:
    return any((room / path).exists() for room in ROOMS) or any((ROOT / "tests").glob(f"**/{path}"))


def test_descriptors_that_are_shown_can_be_registered_as_far_as_no_data_are_needed() -> None:
    shown = [(page, text) for page, text in snippets("yaml") if "variables:" in text and "unit:" in text]
    assert {page for page, _ in shown} == {"README.md", "docs/descriptor.md"}
    for page, text in shown:
        descriptor = parse_descriptor(yaml.safe_load(text))
        problems = check_descriptor(descriptor)
        for position, variable in enumerate(descriptor.variables):
            if variable.hierarchy is None:
                resolve_levels(variable, f"variables[{position}]", None, problems)
        assert problems == [], page


def test_policies_that_are_shown_apply_at_each_of_their_levels() -> None:
    shown = [text for _, text in snippets("yaml") if "access_levels:" in text]
    assert len(shown) == 1
    policy = parse_policy(shown[0])
    assert policy.effective("licensed", "any").rules.minimum_units.units == 10
    assert policy.effective("remote", "any").rules.minimum_units.units == 15
    assert policy.effective("remote", "any").rules.equal_values is not None
    assert policy.effective("remote", "health-survey").rules.equal_values is None


@pytest.mark.parametrize(("page", "text"), [*snippets("python")])
def test_python_that_is_shown_is_python(page: str, text: str) -> None:
    compile(text, page, "exec")


@pytest.mark.parametrize(("page", "text"), [*snippets("json")])
def test_json_that_is_shown_is_json(page: str, text: str) -> None:
    json.loads(text)


def test_every_command_that_is_named_exists_with_its_options() -> None:
    root = typer.main.get_command(main)
    named = list(commands())
    assert len(named) > 20
    assert [words for words in named if _is_unknown(root, words)] == []
    assert _is_unknown(root, ["ledger", "shred"])
    assert _is_unknown(root, ["query", "table", "randhie", "--row", "site"])


def _is_unknown(command: Any, words: list[str]) -> bool:
    """Whether a command line names a command or an option that does not exist."""
    rest = list(words)
    while rest and hasattr(command, "commands") and not rest[0].startswith("-"):
        names = rest.pop(0).split("|")
        if any(name not in command.commands for name in names):
            return True
        command = command.commands[names[0]]
    options = {name for parameter in command.params for name in [*parameter.opts, *parameter.secondary_opts]}
    return any(word.startswith("--") and word not in {*options, "--help"} for word in rest)


def test_every_variable_of_the_environment_that_is_named_is_a_setting() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r"\bSDCGATE_[A-Z_]*[A-Z]\b", text))
    assert named - set(_variables(Settings, "SDCGATE_")) - CLIENT_VARIABLES - GRAFANA_VARIABLES == set()


def _variables(settings: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in settings.model_fields.items():
        yield prefix + name.upper()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _variables(field.annotation, f"{prefix}{name.upper()}__")


def test_every_series_that_is_asked_of_prometheus_exists() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    named = set(re.findall(r'method="([^"]+)"', text))
    calls = {f"/{SERVICE.full_name}/{call.name}" for call in SERVICE.methods}
    assert named
    assert named <= calls | {f"{route.method} {route.path}" for route in ROUTES}


def test_the_codes_of_errors_are_those_that_are_sent() -> None:
    text = (ROOT / "docs/grpc.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^\| `([A-Z_]+)` \| (\d+) \|", text, re.MULTILINE))
    sent = {(kind.code.name, str(kind.http_status)) for kind in errors.Problem.__subclasses__()}
    assert len(shown) == 9
    assert shown <= sent


@pytest.mark.parametrize(
    ("page", "models"),
    [
        ("docs/policy.md", vars(model)),
        ("docs/descriptor.md", vars(descriptors)),
    ],
    ids=["policy", "descriptor"],
)
def test_every_field_of_policies_and_descriptors_is_documented(page: str, models: dict[str, object]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    fields = {
        name
        for kind in models.values()
        if isinstance(kind, type) and issubclass(kind, BaseModel)
        for name in kind.model_fields
    }
    assert len(fields) > 15
    assert sorted(name for name in fields if not re.search(rf"\b{name}\b", text)) == []
