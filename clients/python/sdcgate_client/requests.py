"""From what people write (`"age:ten_years"`, `"mean:meddol"`) to the JSON of a table request."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Dimensions = str | Iterable[str | Mapping[str, str]]
Figures = str | Iterable[str | Mapping[str, str]]
Filter = Mapping[str, str | int | Iterable[str | int]] | Iterable[Mapping[str, Any]]

STATISTICS = (
    "UNITS",
    "RECORDS",
    "WEIGHTED_UNITS",
    "SUM",
    "WEIGHTED_SUM",
    "MEAN",
    "WEIGHTED_MEAN",
    "ROW_PERCENT",
    "COLUMN_PERCENT",
    "TOTAL_PERCENT",
)


def table_request(
    rows: Dimensions = (),
    columns: Dimensions = (),
    layers: Dimensions = (),
    *,
    figures: Figures = ("units",),
    filter: Filter | None = None,
    margins: bool = True,
    project: str = "",
) -> dict[str, Any]:
    """The body of `POST /v1/datasets/{dataset}/tables`.

    Raises:
        ValueError: something cannot be read as a dimension, a figure or a filter.
    """
    return {
        "rows": [dimension(item) for item in items(rows)],
        "columns": [dimension(item) for item in items(columns)],
        "layers": [dimension(item) for item in items(layers)],
        "margins": margins,
        "figures": [figure(item) for item in items(figures)],
        "filter": conditions(filter),
        "project": project,
    }


def model_request(
    kind: str,
    formula: str,
    *,
    filter: Filter | None = None,
    weighted: bool = False,
    standard_errors: str = "",
    quantile: float | None = None,
    groups: str = "",
    instruments: str = "",
    project: str = "",
) -> dict[str, Any]:
    """The body of `POST /v1/datasets/{dataset}/models`.

    Raises:
        ValueError: something cannot be read as a filter.
    """
    body: dict[str, Any] = {
        "kind": kind.upper(),
        "formula": formula,
        "filter": conditions(filter),
        "weighted": weighted,
        "project": project,
    }
    body |= {"standard_errors": standard_errors.upper()} if standard_errors else {}
    body |= {name: text for name, text in (("groups", groups), ("instruments", instruments)) if text}
    return body if quantile is None else {**body, "quantile": quantile}


def statistic_request(
    kind: str,
    measure: str = "",
    *,
    second: str = "",
    groups: Dimensions = (),
    filter: Filter | None = None,
    having: Filter | None = None,
    exposed: Filter | None = None,
    mode_of: str | Mapping[str, str] | None = None,
    measures: str | Sequence[str] = (),
    factors: Dimensions = (),
    weighted: bool = False,
    standard_errors: bool = False,
    picture: bool = False,
    png: bool = False,
    project: str = "",
) -> dict[str, Any]:
    """The body of `POST /v1/datasets/{dataset}/statistics`.

    Raises:
        ValueError: something cannot be read as a dimension or a condition.
    """
    body: dict[str, Any] = {
        "kind": kind.upper(),
        "measure": measure,
        "second": second,
        "groups": [dimension(item) for item in items(groups)],
        "filter": conditions(filter),
        "weighted": weighted,
        "standard_errors": standard_errors,
        "picture": picture,
        "project": project,
    }
    for name, given in (("having", having), ("exposed", exposed)):
        found = conditions(given)
        if len(found) > 1:
            raise ValueError(f"{name} names several variables; name one with some of its codes")
        if found:
            body[name] = found[0]
    if mode_of is not None:
        body["mode_of"] = dimension(mode_of)
    if png:
        body["png"] = True
    if wanted := items(measures):
        body["measures"] = wanted
    if by := [dimension(item) for item in items(factors)]:
        body["factors"] = by
    return body


def dimension(item: str | Mapping[str, str]) -> dict[str, str]:
    """`"site"` or `"age:ten_years"`, or a mapping that is sent as it is."""
    if isinstance(item, Mapping):
        return dict(item)
    variable, level = _split(item, "a dimension such as 'site' or 'age:ten_years'")
    return {"variable": variable, "level": level} if level else {"variable": variable}


def figure(item: str | Mapping[str, str]) -> dict[str, str]:
    """`"units"`, `"mean:meddol"`, or a mapping that is sent as it is."""
    if isinstance(item, Mapping):
        return dict(item)
    name, measure = _split(item, "a figure such as 'units' or 'mean:meddol'")
    statistic = name.upper().replace("-", "_")
    if statistic not in STATISTICS:
        known = ", ".join(known.lower() for known in STATISTICS)
        raise ValueError(f"{name!r} is not a statistic; they are {known}")
    return {"statistic": statistic, "measure": measure} if measure else {"statistic": statistic}


def conditions(filter: Filter | None) -> list[dict[str, Any]]:
    """`{"female": ["1"], "age:broad": "0-17"}`, or a list of mappings that are sent as they are."""
    if filter is None:
        return []
    if not isinstance(filter, Mapping):
        return [dict(condition) for condition in filter]
    found = []
    for name, codes in filter.items():
        listed = [codes] if isinstance(codes, str | int) else list(codes)
        if any(isinstance(code, bool) or not isinstance(code, str | int) for code in listed):
            raise ValueError(f"the codes of {name!r} must be texts as the dataset's code list has them")
        found.append({**dimension(name), "codes": [str(code) for code in listed]})
    return found


def items(given: str | Iterable[Any]) -> Sequence[Any]:
    """One item, or several."""
    return [given] if isinstance(given, str | Mapping) else list(given)


def _split(item: Any, wanted: str) -> tuple[str, str]:
    if not isinstance(item, str):
        raise ValueError(f"{item!r} is not {wanted}")  # noqa: TRY004 - documented as one kind of error
    first, separator, second = item.partition(":")
    if not first.strip() or (separator and not second.strip()):
        raise ValueError(f"{item!r} is not {wanted}")
    return first.strip(), second.strip()
