"""Decisions about what a job printed: one for each output, in the ledger like any other."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sdcgate.engine.dataset import Dataset
from sdcgate.engine.engine import Engine
from sdcgate.facility import datasets
from sdcgate.facility.asked import asked_files
from sdcgate.facility.decisions import new_decision
from sdcgate.facility.errors import Conflict, InvalidRequest, NotFound
from sdcgate.facility.pace import Pace
from sdcgate.facility.reasons import binding_reason, reviewed_reason
from sdcgate.facility.recording import Answered, Found
from sdcgate.facility.results.comparison import Comparison
from sdcgate.facility.results.figure_comparison import FigureComparison
from sdcgate.facility.results.folder import Files, unpack
from sdcgate.facility.results.printed import Printed
from sdcgate.facility.results.reading import read_results
from sdcgate.facility.road import Judging, Road
from sdcgate.ledger.credentials import Caller
from sdcgate.methods.rules import Consequence
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.facility.v1 import release_pb2

UNREAD = "The output cannot be read. {problems} An output checker will look at it."
NEVER = "The output may not leave. {problems}"
NEEDS_EXCEPTION = (
    "The files cannot be read, so nothing can be proved of them; refuse them, or approve them with "
    "`exception`, which the ledger records."
)
EXCEPTION = "An output checker released these files on his own responsibility; nothing is proved of them."
LARGEST_FILE = 8 << 20
"""Of the files that are kept for a checker."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The ways of outputs, tables, models and statistics that the facility has."""

    output: Callable[[Caller, pb.SubmitOutputRequest, Pace], Answered]
    table: Callable[[Caller, pb.QueryTableRequest, Pace, FigureComparison | None], Answered]
    model: Callable[[Caller, pb.QueryModelRequest, Pace, Comparison | None], Answered]
    statistic: Callable[[Caller, pb.QueryStatisticRequest, Pace, FigureComparison | None], Answered]


class ResultQueries:
    """The verdict on each output of a folder. What the facility shares with other queries is passed in."""

    def __init__(
        self,
        engine: Engine,
        box_key: bytes,
        answers: Answers,
        road: Road,
    ) -> None:
        self._engine = engine
        self._road = road
        self._box_key = box_key
        self._answers = answers

    def submit(
        self, caller: Caller, options: pb.ResultsOptions, content: bytes, pace: Pace
    ) -> pb.SubmitResultsResponse:
        """The verdict on each output of an archive or a file.

        Raises:
            NotFound, InvalidRequest: there is no such dataset, or the archive as a whole cannot be taken.
            Unavailable: something failed on the way. Outputs that were decided have the same answer again.
        """
        dataset = datasets.find(self._engine, options.dataset)
        files = unpack(options.name, content)
        results = read_results(dataset, files)
        response = pb.SubmitResultsResponse(not_outputs=results.not_outputs)
        for printed in results.outputs:
            response.outputs.append(self._judged(caller, dataset, options, printed, files, pace))
        return response

    def _judged(
        self,
        caller: Caller,
        dataset: Dataset,
        options: pb.ResultsOptions,
        printed: Printed,
        files: Files,
        pace: Pace,
    ) -> pb.JudgedResult:
        answered = None
        if not printed.problems:
            try:
                answered = self._answer(caller, options, printed, pace)
            except (InvalidRequest, NotFound) as error:
                problems = map(str, error.problems) if isinstance(error, InvalidRequest) else (str(error),)
                printed = printed.unread(tuple(problems))
        if answered is None:
            answered = self._refer(caller, dataset, options, printed, files, pace)
        return pb.JudgedResult(
            name=printed.name,
            part=printed.part,
            read_as=_kind(printed),
            files=printed.files,
            problems=printed.problems,
            decision=answered.decision,
            repeated_answer=answered.repeated,
        )

    def _answer(
        self, caller: Caller, options: pb.ResultsOptions, printed: Printed, pace: Pace
    ) -> Answered | None:
        """The verdict on what could be read; None where nothing was."""
        if printed.output is not None:
            label = ": ".join(part for part in (options.label, printed.name, printed.part) if part)
            _complete(printed.output, options, label)
            return self._answers.output(caller, printed.output, pace)
        if printed.model is not None:
            _complete(printed.model, options)
            estimates = printed.estimates
            compared = (
                Comparison.of(printed.model, estimates, self._box_key) if estimates is not None else None
            )
            return self._answers.model(caller, printed.model, pace, compared)
        figures = printed.figures
        if printed.table is not None:
            _complete(printed.table, options)
            shares = FigureComparison.of(printed.table, figures, self._box_key) if figures else None
            return self._answers.table(caller, printed.table, pace, shares)
        if printed.statistic is not None:
            _complete(printed.statistic, options)
            told = FigureComparison.of(printed.statistic, figures, self._box_key) if figures else None
            return self._answers.statistic(caller, printed.statistic, pace, told)
        return None

    def _refer(
        self,
        caller: Caller,
        dataset: Dataset,
        options: pb.ResultsOptions,
        printed: Printed,
        files: Files,
        pace: Pace,
    ) -> Answered:
        """Keep what cannot be read, for a checker to look at."""
        kept = pb.SubmittedFiles(
            dataset=dataset.name,
            name=": ".join(filter(None, (printed.name, printed.part))),
            label=options.label,
            project=options.project,
            files=_kept(printed.files, files),
            problems=printed.problems,
        )
        return self.refer(caller, kept, pace, printed.never)

    def refer(self, caller: Caller, files: pb.SubmittedFiles, pace: Pace, never: bool = False) -> Answered:
        """The decision about files that cannot be read; `never`: they are refused for what they have."""
        dataset = datasets.find(self._engine, files.dataset)
        asked = asked_files(dataset, self._road.policies.of(dataset), files, self._box_key)
        earlier = self._road.recorder.answered(asked)
        if earlier is not None:
            return earlier
        decision = new_decision(asked, Consequence.REFUSE if never else Consequence.REFER)
        told = (NEVER if never else UNREAD).format(problems=" ".join(files.problems))
        decision.reasons.append(binding_reason(told))
        found = Found(binding=tuple(files.problems))
        return self._road.spending.pay(
            caller, asked, 0, pace, lambda paid: self._road.recorder.record(caller, paid, decision, found)
        )

    def review(
        self,
        caller: Caller,
        request: pb.ReviewQueryRequest,
        record: release_pb2.DecisionRecord,
        version: int,
        pace: Pace,
    ) -> pb.Decision:
        """Refuse files, or release them on the checker's own responsibility.

        Raises:
            Conflict: the checker has not said that he means it.
        """
        dataset = datasets.find(self._engine, record.files.dataset, version)
        policy = self._road.policies.ruling(self._engine, record.files.dataset)
        asked = asked_files(dataset, policy, record.files, self._box_key)

        def excepting() -> Judging:
            if not request.exception:
                raise Conflict(NEEDS_EXCEPTION)
            decision = new_decision(asked, None, request.query)
            decision.reasons.append(reviewed_reason(EXCEPTION))
            decision.files.CopyFrom(without_content(record.files))
            return lambda known: (None, decision, Found(sequence=known.sequence, exception=True))

        return self._road.review(caller, request, asked, record, pace, excepting)


def seen_files(files: pb.SubmittedFiles, checks: bool) -> pb.SubmittedFiles:
    """Files as a caller sees them: the bytes are for whoever checks."""
    if checks:
        return files
    bare = without_content(files)
    bare.problems.extend(files.problems)
    return bare


def without_content(files: pb.SubmittedFiles) -> pb.SubmittedFiles:
    """Files by name and checksum, without their bytes and what is wrong with them."""
    bare = pb.SubmittedFiles()
    bare.CopyFrom(files)
    bare.ClearField("problems")
    for file in bare.files:
        file.ClearField("content")
    return bare


def _complete(
    request: pb.SubmitOutputRequest | pb.QueryModelRequest | pb.QueryTableRequest | pb.QueryStatisticRequest,
    options: pb.ResultsOptions,
    label: str = "",
) -> None:
    """Say on whose behalf it was computed, and what it is called, where the file does not."""
    request.project = request.project or options.project
    if isinstance(request, pb.SubmitOutputRequest):
        request.label = request.label or label[:1000]


def _kept(names: Iterable[str], files: Files) -> list[pb.SubmittedFile]:
    """Files as a checker sees them; of one that is too large its checksum only."""
    return [
        pb.SubmittedFile(
            name=name,
            sha256=hashlib.sha256(files[name]).hexdigest(),
            content=files[name] if len(files[name]) <= LARGEST_FILE else b"",
        )
        for name in names
    ]


def _kind(printed: Printed) -> pb.ResultKind:
    if printed.output is not None or (printed.table is not None and printed.figures is not None):
        return pb.RESULT_KIND_TABLE
    if printed.statistic is not None and printed.figures is not None:
        return pb.RESULT_KIND_STATISTIC
    if printed.model is not None and printed.estimates is not None:
        return pb.RESULT_KIND_MODEL
    if printed.model is not None or printed.table is not None or printed.statistic is not None:
        return pb.RESULT_KIND_REQUEST
    return pb.RESULT_KIND_FILE
