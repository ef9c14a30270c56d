"""`sdcgate ledger budget`: what may still be asked."""

from typing import Annotated, Any

import typer

from sdcgate.cli.connection import DEFAULT_URL, ApiKey, Url, connected


def budget(
    dataset: Annotated[str, typer.Option(help="Of this dataset only.")] = "",
    researcher: Annotated[str, typer.Option(help="Of this researcher; yours where left out.")] = "",
    project: Annotated[str, typer.Option(help="For this project, as questions name it.")] = "",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Show what is left of budgets and when they are renewed, as the running facility tells it."""
    with connected(url, api_key) as client:
        budgets = client.budget(dataset=dataset, researcher=researcher, project=project)
    typer.echo(describe(budgets))


def describe(budgets: list[dict[str, Any]]) -> str:
    """Budgets as text, a line for each number that is limited."""
    from sdcgate_client.printing import format_columns

    if not budgets:
        return "no budget: any number of questions may be asked"
    rows = [
        (
            one["dataset"],
            " ".join(
                filter(None, (one["holder"], one.get("name", "") if one["holder"] != "dataset" else ""))
            ),
            one["period"],
            what,
            *(str(one[what].get(name, 0)) for name in ("limit", "spent", "left")),
            one["renews"],
        )
        for one in budgets
        for what in ("queries", "cells")
        if what in one
    ]
    heading = ("dataset", "of", "period", "what", "limit", "spent", "left", "renews")
    return format_columns(rows, heading)
