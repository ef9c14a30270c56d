"""What is assessed: a file with its columns named, or a file by its descriptor."""

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sdcgate.engine.descriptor import DeclaredScenario, Descriptor
    from sdcgate.engine.large_files import CountedFile
    from sdcgate.engine.microdata import MicrodataColumns
    from sdcgate.methods.risk.file_numbers import NumberWidth
    from sdcgate.methods.risk.keys import Missing
    from sdcgate.methods.risk.microdata import Microdata
    from sdcgate.methods.risk.several_files import LinkedReleases
    from sdcgate.methods.risk.threshold import Identifying

DESCRIPTORS = (".yaml", ".yml", ".json")
TOLD_BY_DESCRIPTOR = (
    "weight",
    "unit",
    "household",
    "fraction",
    "population",
    "sensitive",
    "recodings",
    "interest",
    "identifying",
)


@dataclass(frozen=True, slots=True)
class Given:
    """The options that name what is assessed."""

    file: Path
    keys: tuple[str, ...] = ()
    weight: str = ""
    unit: str = ""
    wave: str = ""
    household: str = ""
    stratum: str = ""
    psu: str = ""
    sensitive: tuple[str, ...] = ()
    fraction: float | None = None
    population: float | None = None
    missing_text: tuple[str, ...] = ()
    delimiter: str = ""
    data_root: Path | None = None
    scenarios: Path | None = None
    release_date: date | None = None
    recodings: Path | None = None
    """File with coarser levels of key variables."""
    interest: str = ""
    near: "tuple[NumberWidth, ...]" = ()
    identifying: "tuple[tuple[str, Identifying], ...]" = ()


def counted_of(given: Given, asked: bool) -> "CountedFile | None":
    """The keys of a Parquet file, counted where it is large or where that is asked for; else None.

    Raises ValueError where it is asked for, and records have to be looked at.
    """
    from sdcgate.engine.large_files import LARGE, can_be_counted, count_keys, records_of

    columns = _columns(given, ())
    records = records_of(given.file)
    if records and (asked or (records > LARGE and can_be_counted(columns))):
        return count_keys(given.file, columns)
    if asked:
        raise ValueError(f"{given.file}: --risks wants a Parquet file with its columns named by --keys")
    return None


def microdata_of(given: Given) -> "Microdata":
    """Read what is to be assessed. Raises ValueError with all that is wrong."""
    scenarios = () if given.scenarios is None else scenarios_of_file(given.scenarios)
    if given.file.suffix.lower() in DESCRIPTORS:
        told_twice = [name for name in TOLD_BY_DESCRIPTOR if getattr(given, name)]
        if told_twice:
            raise ValueError(
                f"leave out {', '.join(f'--{name}' for name in told_twice)}: the descriptor tells it"
            )
        return _declared(given, scenarios)
    from sdcgate.engine.microdata import read_microdata

    microdata = read_microdata(given.file, _columns(given, scenarios), given.delimiter)
    if given.recodings is None:
        return microdata
    from sdcgate.cli.assessment.levels import read_levels
    from sdcgate.engine.recodings import with_levels

    return with_levels(microdata, read_levels(given.recodings))


def _columns(given: Given, scenarios: "tuple[DeclaredScenario, ...]") -> "MicrodataColumns":
    from sdcgate.engine.microdata import MicrodataColumns

    return MicrodataColumns(
        keys=given.keys,
        weight=given.weight,
        unit=given.unit,
        wave=given.wave,
        household=given.household,
        stratum=given.stratum,
        psu=given.psu,
        fraction=given.fraction,
        population=given.population,
        sensitive=given.sensitive,
        missing=given.missing_text,
        scenarios=scenarios,
        interest=given.interest,
        numbers=given.near,
        classes=given.identifying,
    )


def linked_of(
    given: Given, microdata: "Microdata", file: Path | None, keys: tuple[str, ...], missing: "Missing"
) -> "LinkedReleases":
    """What is assessed beside another release: another file, or other keys of the same one.

    Raises ValueError where nothing is shared, and as `microdata_of`.
    """
    from sdcgate.engine.microdata import MicrodataUnusable
    from sdcgate.engine.releases import linked_releases

    second = replace(
        given,
        file=file or given.file,
        keys=keys or given.keys,
        household="",
        stratum="",
        psu="",
        sensitive=(),
        scenarios=None,
        recodings=None,
        interest="",
        near=(),
        identifying=(),
    )
    other = microdata_of(second)
    try:
        return linked_releases(microdata, other, second.file.name, file is None, missing)
    except MicrodataUnusable as error:
        raise ValueError("; ".join(f"--with-keys: {message}" for _, message in error.problems)) from None


def descriptor_of(file: Path) -> "Descriptor":
    """The descriptor that a file holds. Raises ValueError where it is none."""
    from sdcgate.engine.descriptor import DescriptorInvalid, parse_descriptor

    content = _read(file)
    if not isinstance(content, dict):
        raise ValueError(f"{file} is not a descriptor: it holds no fields")  # noqa: TRY004
    try:
        return parse_descriptor(content)
    except DescriptorInvalid as error:
        raise _unusable(file, error) from error


def _declared(given: Given, scenarios: "tuple[DeclaredScenario, ...]") -> "Microdata":
    from sdcgate.engine.declared_microdata import DeclaredKey, declared_microdata
    from sdcgate.engine.descriptor import DescriptorInvalid

    descriptor = descriptor_of(given.file)
    if scenarios:
        descriptor = descriptor.model_copy(update={"scenarios": scenarios})
    asked = DeclaredKey(given.keys, given.wave, given.stratum, given.psu, given.near, given.release_date)
    try:
        return declared_microdata(descriptor, given.data_root or given.file.parent, asked)
    except DescriptorInvalid as error:
        raise _unusable(given.file, error) from error


def scenarios_of_file(file: Path) -> "tuple[DeclaredScenario, ...]":
    """The scenarios that a file holds. Raises ValueError where it holds none."""
    from sdcgate.engine.descriptor import DescriptorInvalid, parse_scenarios

    try:
        return parse_scenarios(_read(file))
    except DescriptorInvalid as error:
        raise _unusable(file, error) from error


def _read(file: Path) -> Any:
    from sdcgate.policy.strict_yaml import read_yaml

    return read_yaml(file.read_text(encoding="utf-8"))


def _unusable(file: Path, error: Any) -> ValueError:
    problems = "\n".join(f"  {problem}" for problem in error.problems)
    return ValueError(f"{file} cannot be assessed:\n{problems}")
