"""Files of microdata as the check side takes them: an Arrow IPC stream of the columns that are needed."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sdcgate_client.requests import items

if TYPE_CHECKING:
    import pandas
    import pyarrow

ARROW = "application/vnd.apache.arrow.stream"
COLUMNS = ("weight", "unit", "wave", "household", "stratum", "psu")
"""Options that name one column each."""

LISTS = (
    "sensitive",
    "missing_texts",
    "ordinal",
    "scenarios",
    "numbers",
    "minimums",
    "models",
    "classes",
    "class_minimums",
)
"""Options that hold several values."""

JSON = "application/json"
Form = list[tuple[str, tuple[str | None, bytes, str]]]
Parameters = list[tuple[str, str | int | float | bool | None]]


def file_options(keys: str | Sequence[str], options: Mapping[str, Any]) -> Parameters:
    """The options of an assessment as a query string: lists repeated, None left out."""
    found: Parameters = [("keys", key) for key in items(keys)]
    for name, value in options.items():
        if isinstance(value, list | tuple):
            found.extend((name, item) for item in value)
        elif value is not None:
            found.append((name, value))
    return found


def file_form(keys: str | Sequence[str], options: Mapping[str, Any], **files: bytes) -> Form:
    """An assessment as a form, for options that hold objects and may be long; None left out."""
    given = {name: value for name, value in options.items() if value is not None}
    listed = {name: list(items(given[name])) for name in LISTS if name in given}
    return form({"keys": list(items(keys)), **given, **listed}, **files)


def arrow_stream(
    data: "bytes | pandas.DataFrame | pyarrow.Table", keys: str | Sequence[str], options: Mapping[str, Any]
) -> bytes:
    """The named columns as an Arrow IPC stream; bytes are taken to be one.

    Raises:
        ValueError: a column is not there.
    """
    named = [str(options[name]) for name in COLUMNS if options.get(name)]
    known = [key for scenario in options.get("scenarios") or () for key in scenario.get("keys", ())]
    known += [one["column"] for one in options.get("numbers") or () if "column" in one]
    return columns_stream(data, [*items(keys), *items(options.get("sensitive", ())), *known, *named])


def model_of(model: str | Mapping[str, Any]) -> dict[str, Any]:
    """A log-linear model as JSON, from its interactions as they are written: `age*sex,region*sex`."""
    if isinstance(model, Mapping):
        return dict(model)
    return {"interactions": [{"keys": one.strip().split("*")} for one in model.split(",")]}


def release_stream(
    data: "bytes | pandas.DataFrame | pyarrow.Table", keys: str | Sequence[str], options: Mapping[str, Any]
) -> bytes:
    """The columns of another release: its keys, and who is who and for how many people.

    Raises:
        ValueError: a column is not there.
    """
    named = [str(options[name]) for name in ("weight", "unit", "wave") if options.get(name)]
    return columns_stream(data, [*items(keys), *named])


def columns_stream(data: "bytes | pandas.DataFrame | pyarrow.Table", columns: Sequence[str]) -> bytes:
    """Some columns as an Arrow IPC stream; bytes are taken to be one.

    Raises:
        ValueError: a column is not there.
    """
    if isinstance(data, bytes):
        return data
    import pyarrow as pa

    table = data if isinstance(data, pa.Table) else pa.Table.from_pandas(data, preserve_index=False)
    wanted = list(dict.fromkeys(columns))
    lacking = [name for name in wanted if name not in table.column_names]
    if lacking:
        raise ValueError(f"there is no column {', '.join(map(repr, lacking))}")
    chosen = table.select(wanted).replace_schema_metadata(None)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, chosen.schema) as writer:
        writer.write_table(chosen)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def form(options: Mapping[str, Any], **files: bytes) -> Form:
    """The parts of a form: the options first, then the files."""
    parts: Form = [("options", (None, json.dumps(options).encode(), JSON))]
    parts += [(name, (f"{name}.arrow", content, ARROW)) for name, content in files.items()]
    return parts


def linkage_options(
    variables: Mapping[str, "str | Mapping[str, Any]"], method: str, options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of a linkage as JSON; None left out."""
    given = {name: value for name, value in options.items() if value is not None}
    return {
        "method": method.upper(),
        "variables": [
            {"column": column, **({"kind": one.upper()} if isinstance(one, str) else one)}
            for column, one in variables.items()
        ],
        **given,
    }


def linkage_columns(options: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The columns that a linkage needs of the original, and of the released file."""
    both = [*([options["id"]] if options.get("id") else ()), *options.get("blocks", ())]
    original = [one["column"] for one in options["variables"]]
    released = [one.get("released_column") or one["column"] for one in options["variables"]]
    counts = [options[name] for name in ("count", "size") if options.get(name)]
    design = [options[name] for name in ("psu", "design_weight") if options.get(name)]
    return [*original, *both, *counts], [*released, *both, *design, *options.get("keys", ())]
