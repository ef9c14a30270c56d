"""Reading what a job printed: which files are one output, and what each of them is."""

import json
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from sdcgate.engine.dataset import Dataset, UnknownName
from sdcgate.facility.results.acro import RESULTS, AcroFolder, acro_results
from sdcgate.facility.results.described import described_outputs
from sdcgate.facility.results.folder import Files
from sdcgate.facility.results.messages import checked_output, message_of, parsed
from sdcgate.facility.results.own_figures import model_of, statistics_of
from sdcgate.facility.results.printed import Printed, Unreadable
from sdcgate_proto.sdcgate.facility.v1 import facility_pb2 as pb

TABLES = (".csv", ".xlsx")
SIDES = (".yaml", ".yml", ".json")
OF_ASSESSMENTS = frozenset({"groups", "parameters", "residual_degrees", "columns", "terms"})
"""Facts that only models or statistics have, as the risk service takes them."""
OWN_FACTS = (
    "It has facts of a model or statistic, which a job tells of itself and which are not believed here; send "
    "the request with its `coefficients` or `figures`, and they are computed again. `sdcgate check` without "
    "--dataset judges such facts as they stand."
)


@dataclass(frozen=True, slots=True)
class Results:
    """The outputs of a job, and files that are none."""

    outputs: tuple[Printed, ...]
    not_outputs: tuple[str, ...]


def read_results(dataset: Dataset, files: Files) -> Results:
    """Each output of the files, in their order; what cannot be read is an output, too."""
    outputs: list[Printed] = []
    beside: list[str] = []
    taken: set[str] = set()
    for name in files:
        if PurePosixPath(name).name == RESULTS:
            found, folder = _of_acro(dataset, name, files)
            outputs += found
            taken |= folder.taken
            beside += folder.own
    sides = {name: side for name in files if name not in taken and (side := _side_of(name, files))}
    taken |= set(sides.values()) - {name for name in sides.values() if _is_own_request(files[name])}
    beside += sorted(set(sides.values()) & taken)
    outputs += [
        output for name in files if name not in taken for output in _of_file(dataset, name, files, sides)
    ]
    return Results(tuple(outputs), tuple(beside))


def _of_acro(dataset: Dataset, name: str, files: Files) -> tuple[list[Printed], AcroFolder]:
    folder = AcroFolder(dataset, str(PurePosixPath(name).parent), files)
    try:
        results = acro_results(files[name])
    except Unreadable as error:
        folder.taken.add(name)
        return [Printed(name, (name,), problems=error.problems)], folder
    return ([*folder.outputs(results)] if results is not None else []), folder


def _side_of(name: str, files: Files) -> str:
    """The side file of a table: `table.yaml`, or `table.csv.yaml`."""
    path = PurePosixPath(name)
    if path.suffix.lower() not in TABLES:
        return ""
    candidates = (str(one) + suffix for one in (path, path.with_suffix("")) for suffix in SIDES)
    return next((one for one in candidates if one in files), "")


def _of_file(dataset: Dataset, name: str, files: Files, sides: dict[str, str]) -> list[Printed]:
    suffix = PurePosixPath(name).suffix.lower()
    side = sides.get(name, "")
    file = Printed(name, (name, side) if side else (name,))
    try:
        if suffix == ".json":
            return _of_json(dataset, file, files[name])
        if suffix not in TABLES:
            raise Unreadable(f"Files of the kind {suffix[:20] or 'without a suffix'} are not read.")
        if not side:
            raise Unreadable(f"No side file {PurePosixPath(name).stem[:100]}.yaml says what it is.")
        return described_outputs(dataset, file, files[side], files[name], suffix == ".xlsx")
    except Unreadable as error:
        return [file.unread(error.problems, error.never)]
    except UnknownName as error:
        # Of a level that the side file names.
        return [file.unread((f"There is an {error}",))]


def _is_own_request(content: bytes) -> bool:
    """Whether a JSON file beside a table is an output of its own."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and not {"facts", "formula", "kind"}.isdisjoint(found)


def _of_json(dataset: Dataset, file: Printed, content: bytes) -> list[Printed]:
    """An output, a model, a statistic or a table as the routes take them, with what a job printed."""
    found = parsed(content)
    if not isinstance(found, dict) or found.get("dataset", dataset.name) != dataset.name:
        raise Unreadable(f"It is no object about the dataset {dataset.name}.")
    given = {} if "dataset" in found else {"dataset": dataset.name}
    if isinstance(facts := found.get("facts"), dict) and OF_ASSESSMENTS & facts.keys():
        raise Unreadable(OWN_FACTS)
    if "facts" in found:
        return [replace(file, output=checked_output(message_of(found, pb.SubmitOutputRequest, given)))]
    if "formula" in found:
        return [model_of(dataset, file, found)]
    if "kind" in found:
        return statistics_of(dataset, file, found)
    if {"rows", "columns", "layers", "figures"} & found.keys():
        return [replace(file, table=message_of(found, pb.QueryTableRequest, given))]
    raise Unreadable(
        "It is none of an output (with facts), a model (with formula), a statistic (with kind), or a table."
    )
