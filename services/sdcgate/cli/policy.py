"""`sdcgate policy`: list, show, validate."""

from typing import Annotated

import typer

from sdcgate.cli.connection import told

app = typer.Typer(
    help="Policies: list the bundled ones, show what applies, validate a file.", no_args_is_help=True
)

PolicyName = Annotated[str, typer.Argument(help="Name of a bundled policy, or path of a file.")]


@app.command("list")
def list_policies() -> None:
    """List the bundled policies."""
    from sdcgate.policy import bundled_policies, load_policy
    from sdcgate_client.printing import format_columns

    policies = [load_policy(name) for name in bundled_policies()]
    rows = [(policy.name, policy.version, ", ".join(policy.access_levels)) for policy in policies]
    typer.echo(format_columns(rows, ("policy", "version", "access levels")))


@app.command()
def show(
    policy: PolicyName,
    access_level: Annotated[str, typer.Option(help="public, licensed, remote or on-site.")] = "",
    dataset: Annotated[str, typer.Option(help="For this dataset.")] = "",
) -> None:
    """Show in words what applies, at one access level or at each."""
    from sdcgate.policy import AccessLevelUnknown, load_policy

    with told():
        found = load_policy(policy)
        try:
            texts = [
                found.effective(level, dataset).explain()
                for level in ([access_level] if access_level else found.access_levels)
            ]
        except AccessLevelUnknown as error:
            raise ValueError(str(error)) from error
        typer.echo("\n\n".join([found.description, *texts]))


@app.command()
def validate(policy: PolicyName) -> None:
    """Validate a policy file; all problems are told, each with its path."""
    from sdcgate.policy import load_policy

    with told():
        found = load_policy(policy)
        levels = ", ".join(found.access_levels)
        typer.echo(f"{found.name} version {found.version} is valid (access levels: {levels})")
