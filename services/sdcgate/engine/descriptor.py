"""What a data steward declares about a dataset: the models of proto/sdcgate/facility/v1/descriptor.proto.

The models hold types only; what a descriptor must fulfil beyond them is checked on registration, so that a
steward learns of all problems at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

FileFormat = Literal["UNSPECIFIED", "CSV", "PARQUET"]
Coverage = Literal["UNSPECIFIED", "SAMPLE", "CENSUS"]
RegionalClass = Literal["UNSPECIFIED", "DIRECT", "INDIRECT"]
TopicName = Literal[
    "UNSPECIFIED", "NATIONALITY", "COUNTRY_OF_BIRTH", "ETHNICITY", "OCCUPATION", "FIRM", "EDUCATION"
]
ThresholdBase = Literal["UNSPECIFIED", "SAMPLE", "POPULATION"]
KindOfScenario = Literal["UNSPECIFIED", "NOSY_NEIGHBOUR", "INDIVIDUAL_ARCHIVE", "HOUSEHOLD_ARCHIVE"]
TargetOfScenario = Literal["UNSPECIFIED", "INDIVIDUAL", "HOUSEHOLD"]
MissingValues = Literal["UNSPECIFIED", "CATEGORY", "WILDCARD"]


@dataclass(frozen=True, slots=True)
class DescriptorProblem:
    """What is wrong at one field of a descriptor, such as `variables[2].levels[1].codes[0].parts`."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class DescriptorInvalid(Exception):
    """A dataset cannot be registered; `problems` has everything that was found."""

    def __init__(self, problems: tuple[DescriptorProblem, ...]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = problems


def _text_of_number(value: object) -> object:
    """Let YAML's `code: 1` mean "1"; `no` and `yes` have become booleans and are refused."""
    if isinstance(value, bool):
        # pydantic collects a ValueError as a problem of the field, not a TypeError.
        raise ValueError("true, false, yes and no must stand in quotes")  # noqa: TRY004
    return str(value) if isinstance(value, int | float) else value


def _text_of_date(value: object) -> object:
    """Let YAML's `2024-06-30`, which it reads as a date, be written without quotes."""
    return value.isoformat() if type(value) is date else value


CodeText = Annotated[str, BeforeValidator(_text_of_number)]
DateText = Annotated[str, BeforeValidator(_text_of_date)]
Identifying = Annotated[
    Literal["UNSPECIFIED", "NO", "YES", "VERY", "EXTREMELY"], BeforeValidator(_text_of_number)
]


class _Declared(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class IntegerRange(_Declared):
    """All integers from first to last."""

    first: int = 0
    last: int = 0


class Code(_Declared):
    """A code of a level; coarser levels say what belongs to it."""

    code: CodeText = ""
    label: str = ""
    parts: tuple[CodeText, ...] = ()
    integers: IntegerRange | None = None
    harmless: bool = False


class Level(_Declared):
    """A level of a variable: codes, an integer range (finest) or bands of integers."""

    name: str = ""
    label: str = ""
    codes: tuple[Code, ...] = ()
    integers: IntegerRange | None = None
    band_width: int = 0


class HierarchyFile(_Declared):
    """A file with a line a code: the finest level first, coarser ones after it, a last column `*` ignored."""

    path: str = ""
    delimiter: str = ""
    levels: tuple[str, ...] = ()


class Variable(_Declared):
    """A variable with its nested levels, the finest first."""

    name: str = ""
    label: str = ""
    column: str = ""
    identifying: Identifying = "UNSPECIFIED"
    sensitive: bool = False
    varies_within_unit: bool = False
    floor: bool = False
    levels: tuple[Level, ...] = ()
    hierarchy: HierarchyFile | None = None
    missing: tuple[CodeText, ...] = ()
    regional: RegionalClass = "UNSPECIFIED"
    regional_kind: str = ""
    topic: TopicName = "UNSPECIFIED"
    household_variable: bool = False


class Measure(_Declared):
    """A numeric variable that can be summed, exactly to `decimals` places."""

    name: str = ""
    label: str = ""
    column: str = ""
    decimals: int = 0
    lower_bound: float | None = None
    upper_bound: float | None = None
    unit: str = ""
    knots: tuple[float, ...] = ()
    parts: tuple[str, ...] = ()


class DataFile(_Declared):
    """The data file, under the data root or `package:NAME/PATH`."""

    path: str = ""
    format: FileFormat = "UNSPECIFIED"
    delimiter: str = ""
    missing: tuple[CodeText, ...] = ()


class UnitId(_Declared):
    """The column with the unit's id (each record is a unit where empty), and what a unit is called."""

    column: str = ""
    label: str = ""


class Household(_Declared):
    """The household: a column with its id, or one with the number of its members."""

    column: str = ""
    size_column: str = ""


class Holding(_Declared):
    """The column with the id of the group that a unit belongs to; units of one group are one respondent."""

    column: str = ""


class Waiver(_Declared):
    """The column that says who gave a waiver, and the values that mean it."""

    column: str = ""
    codes: tuple[CodeText, ...] = ()


class Weight(_Declared):
    """The column with the weight of a record."""

    column: str = ""
    varies_within_unit: bool = False
    decimals: int = 0


class Design(_Declared):
    """The sampling design, as far as the individual risk and the errors of estimates need it."""

    coverage: Coverage = "UNSPECIFIED"
    sampling_fraction: float = 0.0
    population_size: int = 0
    threshold_base: ThresholdBase = "UNSPECIFIED"
    stratum: str = ""
    psu: str = ""


class RegionalCode(_Declared):
    """The code of a municipality in the finest level of a regional variable."""

    variable: str = ""
    code: CodeText = ""


class VariableCode(_Declared):
    """A code of a variable's finest level."""

    variable: str = ""
    code: CodeText = ""


class ExclusiveCodes(_Declared):
    """Codes of yes-or-no variables of which everybody knows that no record has two."""

    codes: tuple[VariableCode, ...] = ()


class Municipality(_Declared):
    """A municipality of the target population, for rules on regions of a file that is released."""

    name: str = ""
    inhabitants: int = 0
    province: CodeText = ""
    codes: tuple[RegionalCode, ...] = ()


class DeclaredScenario(_Declared):
    """A disclosure scenario: its keys, each `variable` or `variable:level`, and what the intruder does."""

    name: str = ""
    kind: KindOfScenario = "UNSPECIFIED"
    keys: tuple[str, ...] = ()
    missing: MissingValues = "UNSPECIFIED"
    response_known: bool = False
    quality: float | None = None
    coverage: float | None = None
    attempt: float | None = None
    target: TargetOfScenario = "UNSPECIFIED"
    threshold: float | None = None


class Descriptor(_Declared):
    """A dataset: where it lies, what a unit is, what may be asked."""

    name: str = ""
    label: str = ""
    source: str = ""
    other_people: str = ""
    data: DataFile = Field(default_factory=DataFile)
    unit: UnitId = Field(default_factory=UnitId)
    household: Household | None = None
    holding: Holding | None = None
    waiver: Waiver | None = None
    weight: Weight | None = None
    design: Design = Field(default_factory=Design)
    reference_date: DateText = ""
    panel: bool = False
    wave: str = ""
    variables: tuple[Variable, ...] = ()
    measures: tuple[Measure, ...] = ()
    policy: str = ""
    access_level: str = ""
    municipalities: tuple[Municipality, ...] = ()
    scenarios: tuple[DeclaredScenario, ...] = ()
    exclusive: tuple[ExclusiveCodes, ...] = ()


def parse_descriptor(declared: Mapping[str, Any]) -> Descriptor:
    """The descriptor that a mapping (from YAML, say) declares.

    Raises DescriptorInvalid with the path of every unknown field and every value of a wrong type.
    """
    try:
        return Descriptor.model_validate(declared)
    except ValidationError as error:
        problems = tuple(
            DescriptorProblem(_path(found["loc"]), _message(found["type"], found["msg"]))
            for found in error.errors(include_input=False, include_url=False)
        )
        raise DescriptorInvalid(problems) from None


def parse_scenarios(declared: object) -> tuple[DeclaredScenario, ...]:
    """Scenarios by themselves: a list of them, or an object that holds one as `scenarios`.

    Raises DescriptorInvalid as `parse_descriptor`.
    """
    listed = declared.get("scenarios") if isinstance(declared, Mapping) else declared
    if not isinstance(listed, list | tuple) or not listed:
        problem = DescriptorProblem("scenarios", "give a list of scenarios, each with name, kind and keys")
        raise DescriptorInvalid((problem,))
    return parse_descriptor({"scenarios": listed}).scenarios


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return path


def _message(kind: str, message: str) -> str:
    return "unknown field" if kind == "extra_forbidden" else message.removeprefix("Value error, ")
