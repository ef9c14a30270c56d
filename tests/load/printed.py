"""The figures of a load as tables and lines for people."""

from typing import Any

from rich.console import Console
from rich.table import Table

COLUMNS = ("requests", "a second", "answered a second", "p50 ms", "p95", "p99", "of echo", "429", "errors")


def show(found: dict[str, Any]) -> None:
    """Print a load's figures as `build/load.json` has them."""
    console = Console(width=130)
    echo = found["steps"]["bare"][0]["p50"]
    for step, kinds in found["steps"].items():
        shown = Table("what", title=step, title_justify="left")
        for column in COLUMNS:
            shown.add_column(column, justify="right")
        for kind in kinds:
            shown.add_row(*_row(kind, echo))
        console.print(shown)
    for name, seen in found["megabytes"].items():
        if seen:
            console.print(f"{name}: {seen[0]:.0f} MB first, {max(seen):.0f} at most, {seen[-1]:.0f} last")
    console.print(overload(found))


def _row(kind: dict[str, Any], echo: float | None) -> tuple[str, ...]:
    latencies = [kind[name] for name in ("p50", "p95", "p99")]
    ratio = kind["p50"] / echo if kind["p50"] and echo else None
    return (
        kind["name"],
        str(kind["requests"]),
        f"{kind['per_second']:.1f}",
        f"{kind['goodput']:.1f}",
        *("-" if figure is None else f"{figure:.1f}" for figure in (*latencies, ratio)),
        str(kind["turned_away"]),
        str(kind["errors"]),
    )


def overload(found: dict[str, Any]) -> str:
    """What is left of the sustained rate where several times as much is offered, and for whom."""
    sustained, offered = (_tables(found["steps"][step]) for step in ("sustained", "overload"))
    ratio = offered["goodput"] / sustained["goodput"] if sustained["goodput"] else 0.0
    shares = found["answered_share_by_caller"].values()
    return (
        f"overload: {offered['per_second']:.1f} requests a second, {offered['goodput']:.1f} answered, "
        f"{ratio:.2f} of what is sustained; of each caller's {min(shares):.0%} to {max(shares):.0%}; "
        f"{offered['without_retry_after']} turned away without Retry-After"
    )


def _tables(kinds: list[dict[str, Any]]) -> dict[str, Any]:
    """Of the figures of a step those of its tables."""
    return next(kind for kind in kinds if kind["name"] == "Eager: table")
