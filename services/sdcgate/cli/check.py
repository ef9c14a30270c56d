"""`sdcgate check`: judge a result in a file by rules, here; or submit what a job printed, for verdicts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sdcgate.cli.connection import DEFAULT_URL, FAILED, ApiKey, Url, connected, give_up, told

if TYPE_CHECKING:
    from sdcgate.methods.rules import Finding, Rules
    from sdcgate.methods.tables.assessment import Assessment
    from sdcgate.policy.effective import EffectivePolicy
    from sdcgate.wire.risk import TableToAssess
    from sdcgate_client import JudgedResult

SHOWN_CELLS = 20


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
        effective = _policy_of(policy, access_level) if policy else None
        kind, lines, passes = judged(path.read_bytes(), effective)
        for line in lines or ["No rule finds anything."]:
            typer.echo(printable(line))
        if not passes:
            give_up(f"The {kind} does not pass.", FAILED)


def judged(body: bytes, policy: "EffectivePolicy | None") -> tuple[str, list[str], bool]:
    """What a body is, what rules find in it, its own if no policy is given, and whether it passes.

    Raises:
        ValueError: with all that is wrong with it, each with its path.
    """
    from sdcgate.cli.own_results import MODEL, STATISTIC, judged_model, judged_statistic, kind_of

    kind = kind_of(body)
    if kind == MODEL:
        lines = judged_model(body, policy)
        return kind, lines, not lines
    if kind == STATISTIC:
        return kind, *judged_statistic(body, policy)
    table, found = assessed(body, None if policy is None else policy.rules)
    return kind, lines_of(table, found), not (found.findings or found.unchecked)


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
    """The verdict on an output, and its reasons."""
    name = ": ".join(part for part in (output.name, output.part) if part)
    answer = output.answer
    again = "  (answered before)" if answer.repeated else ""
    lines = [f"{answer.verdict}  {answer.query}  {output.read_as.lower()}  {printable(name)}{again}"]
    return lines + [f"  {reason.code}: {printable(reason.message)}" for reason in answer.reasons]


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


def assessed(body: bytes, rules: "Rules | None") -> tuple["TableToAssess", "Assessment"]:
    """The table of a body and what rules find in it, its own if none are given.

    Raises ValueError with all that is wrong, each with its path.
    """
    from sdcgate.methods.positions import FactsError
    from sdcgate.methods.tables.assessment import assess_table
    from sdcgate.wire.json import from_json
    from sdcgate.wire.problems import InvalidMessageError
    from sdcgate.wire.risk import table_to_assess
    from sdcgate.wire.rules import rules_to_message
    from sdcgate.wire.tables import facts_problems
    from sdcgate_proto.sdcgate.risk.v1.risk_pb2 import AssessTableRequest

    try:
        request = from_json(body, AssessTableRequest)
        if rules is not None:
            request.rules.CopyFrom(rules_to_message(rules))
        table = table_to_assess(request)
        return table, assess_table(table.axes, table.facts, table.rules, table.base_units, table.key)
    except InvalidMessageError as error:
        problems = error.problems
    except FactsError as error:
        problems = tuple(facts_problems(error, request.facts, table.order))
    raise ValueError("\n".join(map(str, problems)))


def lines_of(table: "TableToAssess", found: "Assessment") -> list[str]:
    """What was found, a line a rule and a line a cell, and what could not be judged."""
    lines = []
    for finding in found.findings:
        of_measure = f" of {finding.measure}" if finding.measure else ""
        figures = "" if finding.cells else f": {finding.figure:g}, allowed {finding.bound:g}"
        lines.append(f"{finding.rule.name} ({finding.consequence.name.lower()}){of_measure}{figures}")
        lines += _cells(table, finding)
    if found.unchecked:
        rules = ", ".join(rule.name for rule in found.unchecked)
        lines.append(f"not judged: {rules}; what is absent: {', '.join(found.absent)}")
    return lines or ["No rule finds anything."]


def _cells(table: "TableToAssess", finding: "Finding") -> list[str]:
    from sdcgate.methods.cells import cell_codes

    codes = cell_codes(table.axes)
    lines = []
    for place, cell in enumerate(finding.cells[:SHOWN_CELLS]):
        name = "/".join(axis.codes[codes[at, cell]] for at, axis in enumerate(table.axes))
        told = [
            f"{side} {levels[place]:g}"
            for side in ("upper", "lower", "sliding")
            if (levels := getattr(finding.levels, side))
        ]
        lines.append(f"  {name}" + (f": {', '.join(told)}" if told else ""))
    more = len(finding.cells) - SHOWN_CELLS
    return [*lines, f"  and {more} more"] if more > 0 else lines
