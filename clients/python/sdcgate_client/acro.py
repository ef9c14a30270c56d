"""Verdicts as a folder that SACRO-Viewer opens: ACRO's results.json, CSV files, checksums."""

import csv
import hashlib
import html
import io
import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from sdcgate_client.answer import ABSENT, PERTURBED, PUBLISHED, WITHHELD, Answer, Figure, Reason, Table
from sdcgate_client.results import JudgedResult, Results
from sdcgate_client.statistics import Statistic

VERSION = "1.0.2"
STATUSES = {"RELEASED": "pass", "RELEASED_PROTECTED": "pass", "REFERRED": "review", "REFUSED": "fail"}
TYPES = {"TABLE": "table", "MODEL": "regression", "STATISTIC": "table", "REQUEST": "table", "FILE": "custom"}
OK = "ok"
VERDICTS = {"pass": "pass", "review": "referred", "fail": "fail"}
"""First word of a summary by status: of "review" SACRO-Viewer says only that nothing could be checked."""
_RUN = ("=", "+", "-", "@", "\t", "\r")

Rows = list[list[str]]


def write_acro(results: Results, folder: str | Path, source: str | Path | None = None) -> None:
    """Writes verdicts into a folder as ACRO 1.0 does, to be looked at with SACRO-Viewer.

    An output that may leave is there as the facility released it, what it withheld empty. Files that wait
    for an output checker, or that one released by exception, are copied from `source`, the folder, archive or
    file that was submitted, where it is given; of JSON the copy ends in `.json.txt`, as the viewer takes each
    JSON file of a folder for one of ACRO's. Summaries and comments are HTML, which is what the viewer takes
    them for.

    Raises:
        OSError: the folder is not empty, or cannot be written.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    if any(place.iterdir()):
        raise FileExistsError(f"{place} is not empty; name another folder")
    written = {
        uid: _written(place, uid, output, Path(source) if source is not None else None)
        for uid, output in ((f"output_{number}", one) for number, one in enumerate(results.outputs))
    }
    tool = {"@type": "SoftwareApplication", "name": "sdcgate"}
    content = {"version": VERSION, "tool": tool, "results": written}
    (place / "results.json").write_text(json.dumps(content, indent=4), encoding="utf-8")
    sums = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in place.iterdir() if file.is_file()
    }
    (place / "checksums").mkdir()
    for name, checksum in sums.items():
        (place / "checksums" / f"{name}.txt").write_text(checksum, encoding="utf-8")


def _written(place: Path, uid: str, output: JudgedResult, source: Path | None) -> dict[str, Any]:
    """The entry of an output, whose files it writes."""
    answer = output.answer
    files: list[dict[str, Any]] = []
    outcome: dict[str, dict[str, str]] = {}
    for number, (rows, marks) in enumerate(_grids(answer)):
        name = f"{uid}_{number}.csv"
        (place / name).write_text(_csv(rows), encoding="utf-8", newline="")
        files.append({"name": name, "sdc": _masks(marks)})
        outcome |= outcome or _outcome(rows, marks)
    if source is not None:
        files += [{"name": name, "sdc": {}} for name in _copied(place, uid, output, source)]
    if not files:
        name = f"{uid}.txt"
        (place / name).write_text(f"{_why(answer)}\n", encoding="utf-8")
        files.append({"name": name, "sdc": {}})
    status = STATUSES.get(answer.verdict, "fail")
    return {
        "uid": uid,
        "status": status,
        "type": TYPES[output.read_as] if answer.model is None else "regression",
        "properties": {
            "method": "sdcgate",
            "query": answer.query,
            "verdict": answer.verdict,
            "name": output.name,
        },
        "files": files,
        "outcome": outcome,
        "command": " ".join(part for part in (output.name, output.part) if part),
        "summary": html.escape(f"{VERDICTS[status]}; {_why(answer)}", quote=False),
        "timestamp": answer.decided or datetime.now(UTC).isoformat(),
        "comments": [
            html.escape(f"{reason.code}: {_told(reason)}", quote=False) for reason in answer.reasons
        ],
        "exception": "",
        "fair": {},
    }


def _why(answer: Answer) -> str:
    reasons = " ".join(map(_told, answer.reasons))
    return f"{answer.verdict} {answer.query} {reasons}".strip()


def _told(reason: Reason) -> str:
    """What is the matter and what to do: of a returned output only the latter says what is wrong."""
    return f"{reason.message} {reason.suggestion}".strip()


def _copied(place: Path, uid: str, output: JudgedResult, source: Path) -> Iterator[str]:
    """Names of the copies of the files that an output checker looks at, or that one released as they are."""
    answer = output.answer
    left = {one["name"]: one["sha256"] for one in (answer.content.get("files") or {}).get("files", ())}
    for number, name in enumerate(output.files if answer.verdict == "REFERRED" else left):
        content = _submitted(source, name)
        if content is None or left.get(name) not in (None, hashlib.sha256(content).hexdigest()):
            continue
        suffix = PurePosixPath(name).suffix.lower()
        copy = f"{uid}_{number}{suffix}.txt" if suffix == ".json" else f"{uid}_{number}{suffix}"
        (place / copy).write_bytes(content)
        yield copy


def _submitted(source: Path, name: str) -> bytes | None:
    """A file of what was submitted; None where it is not there."""
    if source.is_dir() or source.suffix.lower() != ".zip":
        file = source / name if source.is_dir() else source
        return file.read_bytes() if file.is_file() else None
    with zipfile.ZipFile(source) as archive:
        # The facility leaves a folder that holds all of them out of their names.
        members = (one for one in archive.namelist() if name in (one, one.partition("/")[2]))
        return next(map(archive.read, members), None)


def _grids(answer: Answer) -> Iterator[tuple[Rows, Rows]]:
    """What left, for each figure of a table or for a model: texts with headers, a mark for each figure."""
    if answer.table is not None:
        for figure in answer.table.figures:
            yield _crossed(answer.table, figure)
    elif answer.model is not None:
        frame = answer.model.to_pandas()
        names = [str(name) for name in frame.columns if name != "status"]
        rows = [
            [str(row[name]) if row[name] == row[name] else "" for name in names]
            for _, row in frame.iterrows()
        ]
        marks = [
            [OK if row["status"] == PUBLISHED else "withheld"] * (len(names) - 1)
            for _, row in frame.iterrows()
        ]
        yield [names, *rows], marks
    elif answer.statistic is not None:
        for name in answer.statistic.figures:
            yield _of_groups(answer.statistic, name)


def _of_groups(statistic: Statistic, figure: str) -> tuple[Rows, Rows]:
    """One figure of a statistic, a row a group."""
    rows = [[" / ".join(statistic.variables), figure]]
    marks = []
    for group in statistic.groups:
        value = group.figures.get(figure)
        rows.append([" / ".join(group.codes), value if isinstance(value, str) else _text(value)])
        marks.append(["withheld" if value is None else OK])
    return rows, marks


def _crossed(table: Table, figure: Figure) -> tuple[Rows, Rows]:
    """One figure with the first dimension down and the others across, in the order of their codes."""
    positions = list(zip(*(dimension.cells for dimension in table.dimensions), strict=True))
    shown = [cell for cell, status in enumerate(table.statuses) if status != ABSENT]
    places = {}
    for cell in sorted(shown, key=lambda cell: positions[cell] if positions else ()):
        codes = tuple(dimension.codes[dimension.cells[cell]] for dimension in table.dimensions)
        places[codes[:1], codes[1:]] = cell
    down = list(dict.fromkeys(key for key, _ in places))
    across = [key for _, key in sorted((_order(table, key), key) for key in {key for _, key in places})]
    name = " / ".join(dimension.variable for dimension in table.dimensions)
    rows = [[name, *(" / ".join(key) or figure.column for key in across)]]
    marks = []
    for key in down:
        cells = [places.get((key, other)) for other in across]
        rows.append(
            [*(key or ("",)), *("" if cell is None else _text(figure.values[cell]) for cell in cells)]
        )
        marks.append([_MARKS.get(table.statuses[cell], OK) if cell is not None else "" for cell in cells])
    return rows, marks


def _order(table: Table, key: tuple[str, ...]) -> tuple[int, ...]:
    others = table.dimensions[1:]
    return tuple(dimension.codes.index(code) for dimension, code in zip(others, key, strict=True))


_MARKS = {PUBLISHED: OK, WITHHELD: "withheld", PERTURBED: "perturbed"}


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.17g}"


def _masks(marks: Rows) -> dict[str, Any]:
    """ACRO's masks: positions of cells by what befell them."""
    cells = {
        kind: [
            [row, column]
            for row, line in enumerate(marks)
            for column, mark in enumerate(line)
            if mark == kind
        ]
        for kind in ("withheld", "perturbed")
    }
    return {
        "summary": {
            "suppressed": bool(cells["withheld"]),
            **{kind: len(found) for kind, found in cells.items()},
        },
        "cells": cells,
    }


def _outcome(rows: Rows, marks: Rows) -> dict[str, dict[str, str]]:
    labels = [row[0] for row in rows[1:]]
    return {
        name: {label: line[column] for label, line in zip(labels, marks, strict=True)}
        for column, name in enumerate(rows[0][1:])
    }


def _csv(rows: Rows) -> str:
    """The texts as CSV; what a spreadsheet would run is marked as text."""
    content = io.StringIO()
    csv.writer(content).writerows([[_safe(text) for text in row] for row in rows])
    return content.getvalue()


def _safe(text: str) -> str:
    try:
        float(text)
    except ValueError:
        return f"'{text}" if text.startswith(_RUN) else text
    return text
