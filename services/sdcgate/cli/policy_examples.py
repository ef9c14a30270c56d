"""`sdcgate policy test`: golden examples on the real facility."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdcgate.cli.connection import FAILED, give_up, told

if TYPE_CHECKING:
    from sdcgate.facility.examples import Result
    from sdcgate.policy import Policy
    from sdcgate.policy.examples import ExampleQuery, Examples


def run(
    policy: Annotated[
        str,
        typer.Argument(help="A policy's name, a file or a folder; all policies where left out."),
    ] = "",
    examples: Annotated[
        Path | None, typer.Option(help="Other examples than those beside the policy.")
    ] = None,
    data_root: Annotated[
        Path | None,
        typer.Option(help="Where data files lie; beside the examples if not given."),
    ] = None,
) -> None:
    """Run the examples of policies in a scratch facility; ends with 1 if something comes out otherwise."""
    from sdcgate.facility.examples import run_examples

    failed = total = 0
    with told():
        for found, golden in _pairs(policy, examples):
            typer.echo(f"{found.name} version {found.version}, {golden.path.name}")
            with tempfile.TemporaryDirectory(prefix="sdcgate-policy-test-") as folder:
                for result in run_examples(found, golden, Path(folder), data_root):
                    total += 1
                    failed += bool(result.differences)
                    typer.echo(describe(result))
    if not total:
        give_up("there are no examples", FAILED)
    if failed:
        give_up(f"{failed} of {total} examples came out otherwise", FAILED)
    typer.echo(f"all {total} examples came out as expected")


def describe(result: "Result") -> str:
    """What came of an example, a line where it came out as expected."""
    example = result.example
    lines = [f"  {'FAIL' if result.differences else 'ok  '}  {example.name}"]
    shown = 0
    for difference in result.differences:
        if difference.query != shown:
            shown = difference.query
            lines.append(f"          query {shown}: {_asked(example.queries[shown - 1])}")
        lines.append(f"            {difference.what}")
        lines.append(f"              - expected  {difference.expected}")
        lines.append(f"              + actual    {difference.actual}")
    return "\n".join(lines)


def _asked(query: "ExampleQuery") -> str:
    parts = [
        f"{name} {', '.join(getattr(query, name))}"
        for name in ("rows", "columns", "layers", "figures")
        if getattr(query, name)
    ]
    parts += [f"where {name} in {', '.join(codes)}" for name, codes in query.filter.items()]
    return "; ".join(parts)


def _pairs(policy: str, examples: Path | None) -> "Iterator[tuple[Policy, Examples]]":
    """Policies with their examples; those without are told, unless they were asked for.

    Raises:
        ValueError: something named does not exist, or has problems.
    """
    from sdcgate.cli.policies import files_of, find
    from sdcgate.policy.examples import examples_beside, load_examples

    if examples is not None:
        if not policy:
            raise ValueError("say which policy is to be tested by these examples")
        yield find(policy), load_examples(examples)
        return
    for path in files_of(policy):
        beside = examples_beside(path)
        if beside is not None:
            found = find(str(path))
            if beside.policy != found.name:
                raise ValueError(f"{beside.path} has examples of {beside.policy} and not of {found.name}")
            yield found, beside
        elif policy and not Path(policy).is_dir():
            raise ValueError(f"{path} has no examples beside it: write {path.stem}.examples.yaml")
        else:
            typer.echo(f"{path.stem}: no examples", err=True)
