"""A folder that ACRO wrote (0.4 or 1.0): the outputs of its results.json with their files."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from sdcgate.engine.dataset import Dataset
from sdcgate.facility.results.acro_models import model_output
from sdcgate.facility.results.acro_tables import table_outputs
from sdcgate.facility.results.folder import Files, wrong_name
from sdcgate.facility.results.printed import Printed, Unreadable

RESULTS = "results.json"
OWN = ("config.json", "session_summary.csv", "session_summary.json")
"""What ACRO writes beside outputs."""
VERSIONS = ("0.4.", "1.")
_CHANGED = "{name} is not the file that ACRO wrote: its checksum differs."
_MOST_OUTPUTS = 1000
_INSTEAD = {"survival table": "KAPLAN_MEIER", "survival plot": "KAPLAN_MEIER", "histogram": "HISTOGRAM"}
"""Statistics of ours that say what outputs of these types do."""
_SURVIVAL = ("surv func", "surv_func")
"""How ACRO spells the method of its tables of survival, which have the type of other tables."""


def acro_results(content: bytes) -> Mapping[str, Any] | None:
    """The content of a results.json; None where it is none of ACRO's.

    Raises:
        Unreadable: it is one of a version that is not known, or has too many outputs.
    """
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("results"), dict) or "version" not in found:
        return None
    version = str(found["version"])
    if not version.startswith(VERSIONS):
        raise Unreadable(f"It is of ACRO {version[:20]!r}; 0.4 and 1.x are read.")
    if len(found["results"]) > _MOST_OUTPUTS:
        raise Unreadable(f"It has more than {_MOST_OUTPUTS} outputs.")
    return found


class AcroFolder:
    """The outputs of one results.json; `taken` are the files that belong to them or to ACRO."""

    def __init__(self, dataset: Dataset, folder: str, files: Files) -> None:
        self._dataset = dataset
        self._folder = folder
        self._files = files
        self.taken: set[str] = set()
        self.own: list[str] = []

    def outputs(self, results: Mapping[str, Any]) -> Iterator[Printed]:
        """Each output, in ACRO's order."""
        self.own += [name for name in map(self._path, (RESULTS, *OWN)) if name in self._files]
        checksums = [name for name in self._files if name.startswith(self._path("checksums/"))]
        self.taken.update(self.own, checksums)
        self.own += [self._path("checksums/")] if checksums else []
        for uid, entry in results["results"].items():
            yield from self._output(str(uid), entry if isinstance(entry, dict) else {})

    def _output(self, uid: str, entry: Mapping[str, Any]) -> Iterator[Printed]:
        listed = entry.get("files")
        names = [
            str(file.get("name", ""))
            for file in (listed if isinstance(listed, list) else ())
            if isinstance(file, dict)
        ]
        problems = [problem for name in names if (problem := self._problem(name))]
        there = tuple(
            self._path(name) for name in names if not wrong_name(name) and self._path(name) in self._files
        )
        if names and all(name in OWN for name in names):
            return
        self.taken.update(there)
        file = Printed(uid[:200], there or (self._path(RESULTS),))
        if problems or not names:
            yield file.unread(tuple(problems) or ("Its entry in results.json names no file.",))
            return
        try:
            yield from self._read(file, entry)
        except Unreadable as error:
            yield file.unread(error.problems)

    def _read(self, file: Printed, entry: Mapping[str, Any]) -> list[Printed]:
        contents = [self._files[name] for name in file.files]
        match _type(entry):
            case "table" if len(contents) == 1:
                return table_outputs(self._dataset, file, entry, contents[0])
            case "regression":
                model, estimates = model_output(self._dataset, entry, contents)
                return [Printed(file.name, file.files, model=model, estimates=estimates)]
            case kind:
                instead = f" Ask {_INSTEAD[kind]} in its place." if kind in _INSTEAD else ""
                raise Unreadable(f"Outputs of the type {kind[:64]!r} cannot be computed again.{instead}")

    def _problem(self, name: str) -> str:
        """What is wrong with a file that an output names; empty where nothing is."""
        if wrong := wrong_name(name):
            return f"A file of it {wrong}."
        content = self._files.get(self._path(name))
        if content is None:
            return f"{name} is not there."
        if self._path(name) in self.taken and name not in OWN:
            return f"{name} is no file of its own: another output has it, or ACRO."
        checksum = self._files.get(self._path(f"checksums/{name}.txt"))
        if checksum is not None and checksum.strip() != hashlib.sha256(content).hexdigest().encode():
            return _CHANGED.format(name=name)
        return ""

    def _path(self, name: str) -> str:
        return name if self._folder == "." else f"{self._folder}/{name}"


def _type(entry: Mapping[str, Any]) -> str:
    """The type of an output."""
    kind, properties = str(entry.get("type")), entry.get("properties")
    method = properties.get("method") if isinstance(properties, dict) else None
    return "survival table" if kind == "table" and method in _SURVIVAL else kind
