"""`sdcgate policy`: list, show, validate, schema, explain; `policy_examples` and `policy_diff` add theirs."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sdcgate.cli import policy_diff, policy_examples
from sdcgate.cli.connection import DEFAULT_URL, WRONGLY_ASKED, ApiKey, Url, connected, give_up, told
from sdcgate.cli.policies import find, own_folder

if TYPE_CHECKING:
    from sdcgate.policy import EffectivePolicy, Policy

app = typer.Typer(
    help="Policies: list and show them, validate a file, test it by examples, say what a change changes.",
    no_args_is_help=True,
)
app.command("test")(policy_examples.run)
app.command("diff")(policy_diff.diff)

PolicyName = Annotated[
    str, typer.Argument(help="Name of a policy (bundled, or in SDCGATE_POLICY_DIR), or path of a file.")
]


class Form(StrEnum):
    """How an effective policy is shown."""

    WORDS = "words"
    YAML = "yaml"
    JSON = "json"


@app.command("list")
def list_policies() -> None:
    """List the bundled policies, and those of SDCGATE_POLICY_DIR."""
    from sdcgate.policy.loading import load_policies
    from sdcgate_client.printing import format_columns

    with told():
        policies = load_policies(own_folder())
        rows = [(name, found.version, ", ".join(found.access_levels)) for name, found in policies.items()]
        typer.echo(format_columns(rows, ("policy", "version", "access levels")))


@app.command()
def show(
    policy: PolicyName,
    access_level: Annotated[str, typer.Option(help="public, licensed, remote or on-site.")] = "",
    dataset: Annotated[str, typer.Option(help="For this dataset.")] = "",
    form: Annotated[Form, typer.Option("--format", help="In words, or all settings.")] = Form.WORDS,
) -> None:
    """Show what applies, at one access level or at each: defaults and changes merged."""
    from sdcgate.policy import AccessLevelUnknown

    with told():
        found = find(policy)
        try:
            shown = [
                found.effective(level, dataset)
                for level in ([access_level] if access_level else found.access_levels)
            ]
        except AccessLevelUnknown as error:
            raise ValueError(str(error)) from error
        if form is Form.WORDS:
            typer.echo("\n\n".join([found.description, *(effective.explain() for effective in shown)]))
        else:
            typer.echo(_written(found, shown, form))


@app.command()
def validate(
    files: Annotated[list[str], typer.Argument(help="Policy files or names; files of examples as well.")],
) -> None:
    """Validate policy files; all problems are told, each with line and path. Ends with 2 if there are any."""
    from sdcgate.policy import PolicyInvalid
    from sdcgate.policy.examples import load_examples
    from sdcgate.policy.files import EXAMPLES

    problems = []
    with told():
        for name in files:
            try:
                if name.endswith(EXAMPLES):
                    examples = load_examples(Path(name))
                    typer.echo(f"{name} is valid ({len(examples.examples)} examples of {examples.policy})")
                else:
                    found = find(name)
                    levels = ", ".join(found.access_levels)
                    typer.echo(f"{found.name} version {found.version} is valid (access levels: {levels})")
            except PolicyInvalid as error:
                problems.append(str(error))
    if problems:
        give_up("\n".join(problems), WRONGLY_ASKED)


@app.command()
def schema(
    examples: Annotated[bool, typer.Option("--examples", help="Of files of examples.")] = False,
) -> None:
    """Print the JSON schema of policy files, for editors."""
    from sdcgate.policy.json_schema import EXAMPLES_FILE, POLICY_FILE, schemas

    typer.echo(schemas()[EXAMPLES_FILE if examples else POLICY_FILE], nl=False)


@app.command()
def explain(
    dataset: Annotated[str, typer.Option(help="The policy that applies to this dataset now.")] = "",
    query: Annotated[str, typer.Option(help="The policy as it was when this query was decided.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Ask the facility for the policy of a dataset or of a query, setting by setting."""
    with connected(url, api_key) as client:
        shown = client.policy(dataset=dataset, query=query)
    typer.echo(json.dumps(shown, indent=2, ensure_ascii=False) if as_json else describe(shown))


def describe(shown: dict[str, Any]) -> str:
    """A policy that the facility told, as text."""
    policy = shown.get("policy", {})
    lines = [
        f"Policy {policy.get('name', '')}, access level {shown.get('access_level', '')}, "
        f"dataset {shown.get('dataset', '')}",
        str(policy.get("hash", "")),
    ]
    for setting in shown.get("settings", ()):
        lines += ["", f"{setting['name']}: {setting['value']}", f"  {setting['explanation']}"]
    return "\n".join(lines)


def _written(policy: "Policy", shown: "list[EffectivePolicy]", form: Form) -> str:
    """A whole policy file in which every level says everything."""
    import yaml

    from sdcgate.policy.settings import as_file

    file = {
        "name": policy.name,
        "version": policy.version,
        "description": policy.description,
        "access_levels": {effective.access_level: as_file(effective) for effective in shown},
    }
    if form is Form.JSON:
        return json.dumps(file, indent=2, ensure_ascii=False)
    return yaml.safe_dump(file, sort_keys=False, allow_unicode=True, width=110).rstrip()
