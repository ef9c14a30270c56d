"""`sdcgate check`: judge a result in a file by rules, here; or submit what a job printed, for verdicts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdcgate.cli.connection import DEFAULT_URL, FAILED, ApiKey, Url, connected, give_up, told

if TYPE_CHECKING:
    from sdcgate.policy.effective import EffectivePolicy
    from sdcgate_client import JudgedResult


def check(
    path: Annotated[
        Path,
        typer.Argument(
            help="JSON as `POST /v1/risk:assessTable`, `assessModel` or `assessStatistic` takes it; with "
            "--dataset results of a job."
        ),
    ],
    dataset: Annotated[
        str, typer.Option(help="Submit the results to the facility, as computed from this dataset.")
    ] = "",
    acro_out: Annotated[
        Path | None, typer.Option(help="Write the verdicts into this folder, for SACRO-Viewer.")
    ] = None,
    project: Annotated[str, typer.Option(help="Project on whose behalf they were computed.")] = "",
    label: Annotated[str, typer.Option(help="What they are called, for the output checker.")] = "",
    policy: Annotated[
        str, typer.Option(help="Judge by this policy's rules, a name or a file; else by those in the file.")
    ] = "",
    access_level: Annotated[str, typer.Option(help="Access level of the policy.")] = "remote",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = "",
) -> None:
    """Judge a table, model or statistic here, or with --dataset get a verdict on each output of a job.

    Without --dataset no service is asked, and no ledger knows of it. Results are a folder, a zip archive or
    a file. Ends with 1 if a cell is unsafe, a rule could not be judged, or an output may not leave.
    """
    if dataset:
        with told():
            if policy:
                raise ValueError("--policy judges a table here; with --dataset the dataset's own policy does")
        _submit(path, dataset, project, label, acro_out, url, api_key)
        return
    with told():
        if acro_out is not None or project or label:
            raise ValueError("--acro-out, --project and --label need --dataset")
        from sdcgate.cli.own_results import OF_A_JOB, judged

        if path.is_dir():
            raise ValueError(OF_A_JOB.format(what="a folder"))
        effective = _policy_of(policy, access_level) if policy else None
        kind, lines, passes = judged(path.read_bytes(), effective)
        for line in lines or ["No rule finds anything."]:
            typer.echo(printable(line))
        if not passes:
            give_up(f"The {kind} does not pass.", FAILED)


def _submit(
    path: Path, dataset: str, project: str, label: str, acro_out: Path | None, url: str, api_key: str
) -> None:
    """Submit what a job printed; print a line an output, and why where it may not leave."""
    from sdcgate_client import write_acro

    with connected(url, api_key) as client:
        results = client.submit_results(dataset, path, project=project, label=label)
        for output in results.outputs:
            for line in result_lines(output):
                typer.echo(line)
        if acro_out is not None:
            write_acro(results, acro_out, path)
        if not results.released:
            held = sum(not output.released for output in results.outputs)
            give_up(f"{held} of {len(results.outputs)} outputs may not leave.", FAILED)


def result_lines(output: "JudgedResult") -> list[str]:
    """The verdict on an output, its reasons, and what to do: of a returned one what the checker says."""
    name = ": ".join(part for part in (output.name, output.part) if part)
    answer = output.answer
    again = "  (answered before)" if answer.repeated else ""
    lines = [f"{answer.verdict}  {answer.query}  {output.read_as.lower()}  {printable(name)}{again}"]
    for reason in answer.reasons:
        lines.append(f"  {reason.code}: {printable(reason.message)}")
        if reason.suggestion:
            lines.append(f"    {printable(reason.suggestion)}")
    return lines


def printable(text: str) -> str:
    """The text without characters that would act on a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _policy_of(policy: str, access_level: str) -> "EffectivePolicy":
    from sdcgate.cli.policies import find
    from sdcgate.policy import AccessLevelUnknown

    try:
        return find(policy).effective(access_level, "")
    except AccessLevelUnknown as error:
        raise ValueError(str(error)) from None
