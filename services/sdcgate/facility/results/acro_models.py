"""Regressions that ACRO wrote: statsmodels' summaries, read as the formula of a model on the dataset."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.results.grids import csv_grid, number
from sdcgate.facility.results.messages import enveloped
from sdcgate.facility.results.names import code_of, level_of, measure_named, variable_named
from sdcgate.facility.results.printed import Estimates, Unreadable
from sdcgate.methods.cells import MISSING
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb
from sdcgate_proto.sdcgate.types.v1 import model_pb2

KINDS = {
    "ols": model_pb2.MODEL_KIND_LINEAR,
    "logit": model_pb2.MODEL_KIND_LOGIT,
    "probit": model_pb2.MODEL_KIND_PROBIT,
}
CONSTANTS = ("Intercept", "const")
_CLASS = re.compile(
    r"(?:C\((?P<inner>[^,()\[\]]+)(?:,[^\[\]]*)?\)|(?P<bare>\w+))\[(?P<full>T\.)?(?P<text>[^\[\]]*)\]"
)
_FUNCTION = re.compile(r"(?:np\.)?(?P<function>log|log1p|sqrt)\((?P<name>\w+)\)")
_SQUARE = re.compile(r"I\((?P<name>\w+) ?\*\* ?2(?:\.0)?\)")
_PLAIN = re.compile(r"\w+")


def model_output(
    dataset: Dataset, entry: Mapping[str, Any], contents: Sequence[bytes]
) -> tuple[pb.QueryModelRequest, Estimates]:
    """The model that a regression's files show, and the estimates that they print.

    Raises:
        Unreadable: with what cannot be fitted again.
    """
    properties = entry.get("properties")
    method = str(properties.get("method", "")) if isinstance(properties, dict) else ""
    kind = KINDS.get(method.removesuffix("r"))
    if kind is None:
        raise Unreadable(f"Regressions of the method {method[:64]!r} are not fitted again.")
    general: dict[str, str] = {}
    printed: dict[str, tuple[float | None, float | None]] = {}
    for content in contents:
        rows = csv_grid(content).rows
        if rows[0][:3] == ("", "coef", "std err"):
            printed |= {row[0]: (number(row[1], row[0]), number(row[2], row[0])) for row in rows[1:]}
        elif rows[0][0] == "Dep. Variable:" and len(rows[0]) > 1:
            general |= {row[0]: row[1] for row in rows}
    if not printed or "Dep. Variable:" not in general:
        raise Unreadable("Its files do not show the dependent variable and the coefficients.")
    covariance = general.get("Covariance Type:", "nonrobust")
    if covariance != "nonrobust":
        raise Unreadable(
            f"Its standard errors are {covariance[:64]!r}; ask the facility for the model instead."
        )
    reading = _Reading(dataset, [name for name in printed if name not in CONSTANTS])
    terms = [reading.term(name) for name in reading.names]
    constant = "1" if any(name in printed for name in CONSTANTS) else "0"
    outcome = _outcome(dataset, general["Dep. Variable:"], kind)
    formula = f"{outcome} ~ {' + '.join(dict.fromkeys([constant, *terms]))}"
    own = {name: "Intercept" if name in CONSTANTS else reading.ours(name) for name in printed}
    return (
        enveloped(pb.QueryModelRequest(dataset=dataset.name, kind=kind, formula=formula)),
        Estimates(
            {
                "estimate": {own[name]: value for name, (value, _) in printed.items() if value is not None},
                "standard_error": {
                    own[name]: error for name, (_, error) in printed.items() if error is not None
                },
            }
        ),
    )


def _outcome(dataset: Dataset, name: str, kind: model_pb2.ModelKind) -> str:
    if kind == model_pb2.MODEL_KIND_LINEAR:
        return _number(dataset, name)
    variable = variable_named(dataset, name)
    codes = [code for code in dataset.levels(variable)[0].codes if code != MISSING] if variable else []
    if sorted(codes) != ["0", "1"]:
        raise Unreadable(
            f"Its outcome {name[:64]!r} is no variable of {dataset.name} with the codes 0 and 1."
        )
    return f'C({variable}, event="1")'


def _number(dataset: Dataset, name: str) -> str:
    """A measure, or a variable whose codes are used as numbers."""
    if measure := measure_named(dataset, name):
        return measure
    if variable := variable_named(dataset, name):
        return f"numeric({variable})"
    raise Unreadable(f"{name[:64]!r} is neither a measure nor a variable of {dataset.name}.")


def in_order(parts: Sequence[str]) -> str:
    """The name of a coefficient, whatever the order of its parts."""
    return ":".join(sorted(parts))


class _Reading:
    """Names of coefficients as terms of our formulas; the reference of a factor is what they leave out."""

    def __init__(self, dataset: Dataset, names: Sequence[str]) -> None:
        self._dataset = dataset
        self.names = names
        self._shown: dict[str, list[str]] = {}
        self._contrast: set[str] = set()
        for name in names:
            for part in name.split(":"):
                if found := _CLASS.fullmatch(part):
                    variable = variable_named(dataset, (found["inner"] or found["bare"]).strip())
                    self._shown.setdefault(variable, []).append(found["text"])
                    if found["full"]:
                        self._contrast.add(variable)
        self._levels = {
            variable: level_of(dataset, variable, texts)
            for variable, texts in self._shown.items()
            if variable
        }

    def term(self, name: str) -> str:
        """The term that a coefficient belongs to."""
        return ":".join(self._part(part)[0] for part in name.split(":"))

    def ours(self, name: str) -> str:
        """What we call the coefficient, its parts in alphabetical order."""
        return in_order([self._part(part)[1] for part in name.split(":")])

    def _part(self, part: str) -> tuple[str, str]:
        if found := _CLASS.fullmatch(part):
            return self._class((found["inner"] or found["bare"]).strip(), found["full"] or "", found["text"])
        if found := _FUNCTION.fullmatch(part):
            text = f"{found['function']}({_number(self._dataset, found['name'])})"
        elif found := _SQUARE.fullmatch(part):
            text = f"square({_number(self._dataset, found['name'])})"
        elif _PLAIN.fullmatch(part):
            text = _number(self._dataset, part)
        else:
            raise Unreadable(f"Its coefficient {part[:64]!r} is of no term that is known here.")
        return text, text

    def _class(self, name: str, contrast: str, text: str) -> tuple[str, str]:
        variable = variable_named(self._dataset, name)
        if not variable:
            raise Unreadable(f"{name[:64]!r} is no variable of {self._dataset.name}.")
        level = self._levels[variable]
        code = code_of(self._dataset, variable, level, text)
        if not code:
            raise Unreadable(f"{text[:64]!r} is no code of {variable}.")
        options = ""
        finest = level == self._dataset.levels(variable)[0].name
        if not finest:
            options += f', level="{level}"'
        if variable in self._contrast:
            options += f', reference="{self._reference(variable, level)}"'
        own = variable if finest else f'C({variable}, level="{level}")'
        return f"C({variable}{options})", f"{own}[{contrast}{code}]"

    def _reference(self, variable: str, level: str) -> str:
        """The first code that has no coefficient of its own, as pandas orders them."""
        shown = {code_of(self._dataset, variable, level, text) for text in self._shown[variable]}
        codes = [code for code in self._dataset.level(variable, level).codes if code != MISSING]
        return next((code for code in codes if code not in shown), codes[0])
