"""Our own JSON of models and statistics: the request with what a job printed in answer to it."""

from collections.abc import Iterable
from copy import copy
from typing import Any, TypeVar

from google.protobuf.message import Message

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.results.comparison import coefficient_name
from sdcgate.facility.results.messages import message_of
from sdcgate.facility.results.printed import Estimates, Figures, Printed, Unreadable
from sdcgate.methods.outputs.printed_estimates import COUNTS, FIGURES
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2, statistic_pb2

PER_RECORD = frozenset(
    {
        *("residuals", "residual", "resid", "wresid", "residpearson", "residdeviance", "residdev"),
        *("residresponse", "residworking", "residanscombe", "residgeneralized", "residpress"),
        *("residstudentized", "residstudentizedinternal", "residstudentizedexternal", "studentresid"),
        *("pearsonresiduals", "devianceresiduals", "workingresiduals", "responseresiduals"),
        *("studentizedresiduals", "standardizedresiduals", "standardisedresiduals"),
        *("martingaleresiduals", "schoenfeldresiduals", "scoreresiduals"),
        *("fitted", "fittedvalue", "fittedvalues", "prediction", "predictions", "predicted"),
        *("predictedvalues", "linearpredictor", "linearpredictors", "scores", "scoreobs"),
        *("leverage", "leverages", "hat", "hatvalues", "hatmatrixdiag", "influence"),
        *("cooksd", "cooksdistance", "dffit", "dffits", "dffitsinternal", "dfbeta", "dfbetas"),
        *("stdresid", "sefit", "rstandard", "rstudent", "covratio", "endog", "exog"),
        *("ids", "id", "identifiers", "caseids", "cases", "index", "observations"),
    }
)
"""Names of figures of single records, ours and those of statsmodels' results and of R's.

Without what joins their words: `caseIds`, `case_ids` and `case.ids` are all `caseids`.
"""
PER_GROUP = frozenset({"randomeffects", "ranef", "groupeffects", "fixedeffects", "effects", "blup", "blups"})
"""Names of figures of single groups of a model."""
_NEVER = "{name!r}: {what} never leave; send the file without."
M = TypeVar("M", bound=Message)


def model_of(dataset: Dataset, file: Printed, found: dict[str, Any]) -> Printed:
    """A model that was asked, or with `coefficients` one that a job fitted.

    Raises:
        Unreadable: with what is wrong with its fields, or what of it never leaves.
    """
    asked, shown = _parts(dataset, found, pb.QueryModelRequest, model_pb2.Model)
    if "coefficients" not in found:
        _nothing_beside(shown)
        return Printed(file.name, file.files, model=asked)
    columns: dict[str, dict[str, float]] = {name: {} for name in FIGURES}
    seen: set[str] = set()
    for one in shown.coefficients:
        name = coefficient_name(one)
        if name in seen:
            raise Unreadable(f"It has two coefficients {name[:64]!r}.")
        seen.add(name)
        for figure in (figure for figure in FIGURES if one.HasField(figure)):
            columns[figure][name] = getattr(one, figure)
    if not any(columns.values()):
        raise Unreadable("It shows no figure of any coefficient.")
    fit = {model_pb2.FitStatistic.Name(one.statistic): one.value for one in shown.fit}
    counts = {name: getattr(shown, name) for name in COUNTS if name in found}
    return Printed(
        file.name, file.files, model=asked, estimates=Estimates(columns, fit, counts, every_digit=True)
    )


def statistics_of(dataset: Dataset, file: Printed, found: dict[str, Any]) -> list[Printed]:
    """A statistic that was asked, or with `figures` one that a job computed: an output each figure.

    Raises:
        Unreadable: with what is wrong with its fields, or what of it cannot be compared.
    """
    asked, shown = _parts(dataset, found, pb.QueryStatisticRequest, statistic_pb2.GroupedStatistic)
    if "figures" not in found:
        _nothing_beside(shown)
        return [Printed(file.name, file.files, statistic=asked)]
    if shown.curves or shown.pictures:
        raise Unreadable(
            "Curves and pictures are not compared; send it without `figures`, `curves` and `pictures`, and "
            "it is answered as a request."
        )
    asked.picture = asked.png = False
    groups = _groups_of(asked, shown)
    outputs = []
    for figure in shown.figures:
        values: list[float | str] = [*figure.codes] or [*figure.values]
        if len(values) != len(figure.groups) or any(group >= len(groups) for group in figure.groups):
            raise Unreadable(
                f"Its figure {figure.name[:64]!r} must have one value for each of `groups`, which are "
                f"positions among {len(groups)}."
            )
        if values:
            cells = tuple((groups[at], value) for at, value in zip(figure.groups, values, strict=True))
            if len(dict(cells)) < len(cells):
                raise Unreadable(f"Its figure {figure.name[:64]!r} names a group twice.")
            told = Figures(figure.name, cells)
            outputs.append(Printed(file.name, file.files, figure.name, statistic=asked, figures=told))
    if not outputs:
        raise Unreadable("It shows no figure.")
    if len({one.part for one in outputs}) < len(outputs):
        raise Unreadable("It names a figure twice.")
    return outputs


def _groups_of(
    asked: pb.QueryStatisticRequest, shown: statistic_pb2.GroupedStatistic
) -> list[tuple[str, ...]]:
    """The codes of each group."""
    listed = [one.variable for one in asked.groups]
    if [one.variable for one in shown.dimensions] != listed:
        raise Unreadable(f"Its `dimensions` must be those of `groups`: {', '.join(listed) or 'none'}.")
    if len({len(one.cells) for one in shown.dimensions}) > 1:
        raise Unreadable("Its `dimensions` must have a position in `cells` for each group.")
    if any(place >= len(one.codes) for one in shown.dimensions for place in one.cells):
        raise Unreadable("The `cells` of its `dimensions` must be positions among their `codes`.")
    columns = [[one.codes[place] for place in one.cells] for one in shown.dimensions]
    return list(zip(*columns, strict=True)) if columns else [()]


def _parts(
    dataset: Dataset, found: dict[str, Any], request: type[M], printed: type[Message]
) -> tuple[M, Any]:
    """What was asked, and what was printed: fields that both have say what was asked."""
    if held := sorted(never_leaving(found)):
        raise Unreadable(*held, never=True)
    beside = names_of(printed) - names_of(request)
    shown = message_of({name: value for name, value in found.items() if name in beside}, printed, {})
    # Of the type that it has, which knows of names that stand there twice.
    asked = copy(found)
    for name in beside & found.keys():
        del asked[name]
    return message_of(asked, request, {} if "dataset" in found else {"dataset": dataset.name}), shown


def names_of(kind: type[Message]) -> set[str]:
    """Names of the fields of a kind of messages."""
    return {field.name for field in kind.DESCRIPTOR.fields}


def _nothing_beside(shown: Message) -> None:
    """Figures without the coefficients or the groups that they belong to are no request."""
    if names := [one.name for one, _ in shown.ListFields()]:
        raise Unreadable(f"It has {', '.join(names)}, and no coefficients or figures that could be compared.")


def never_leaving(found: Any) -> Iterable[str]:
    """What of an object is of single records or groups, told by its names, wherever it stands.

    A reason a name, in words for who made the file.
    """
    waiting = [found]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            for name in one:
                plain = "".join(letter for letter in name.lower() if letter.isalnum())
                if plain in PER_RECORD:
                    yield _NEVER.format(name=name[:64], what="figures of single records")
                if plain in PER_GROUP:
                    yield _NEVER.format(name=name[:64], what="effects of single groups")
        waiting += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
