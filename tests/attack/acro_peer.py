"""ACRO 1.0.2 with suppression on, asked by the same attacks; a process in an environment of its own.

The researcher has the file in his session and lets ACRO check what he takes out. Its margins leave out what
it suppresses, so he asks for each margin as a table of its own.
"""

import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from attack.publishers import (
    TOTAL,
    Api,
    Cells,
    Estimated,
    Heard,
    Question,
    Regression,
    codes_of,
    formula_of,
    plain_names,
)
from attack.world import World

AGGREGATES = {"SUM": "sum", "MEAN": "mean", "MAX": "max"}
NORMALIZE = {"ROW_PERCENT": "index", "COLUMN_PERCENT": "columns", "TOTAL_PERCENT": "all"}


def _spelt(name: str) -> str:
    """A column's name that ACRO can write into a query."""
    return name.replace(":", "_")


class AcroProcess:
    """A session of ACRO's."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._loaded = 0

    def load(self, world: World) -> str:
        """Puts a population into the session. Returns its name there."""
        self._loaded += 1
        name = f"data{self._loaded}"
        file = self._folder / f"{name}.csv"
        records = world.with_levels.rename(columns=_spelt)
        records.to_csv(file, index=False)
        texts = [column for column in records if column not in (*world.measures, "weight")]
        self.call({"load": name, "file": str(file), "texts": texts})
        return name

    def call(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Sends one order and waits for what comes of it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


@contextmanager
def running_acro(python: Path) -> Iterator[AcroProcess]:
    """A session, with the interpreter of an environment that has ACRO."""
    command = [str(python), str(Path(__file__).with_name("acro_side.py"))]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with tempfile.TemporaryDirectory() as folder:
        inside = {"cwd": folder, "env": {**os.environ, "PYTHONPATH": ""}}
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True, **pipes, **inside) as process:
            try:
                assert process.stdout is not None
                if process.stdout.readline().strip() != "{}":
                    raise RuntimeError("ACRO did not start")
                yield AcroProcess(process, Path(folder))
            finally:
                process.kill()


class Acro(Api):
    """Asks ACRO for a table, and for each of its margins."""

    def __init__(self, world: World, process: AcroProcess) -> None:
        super().__init__(world)
        self._process = process
        self._data = {"": process.load(world)}

    def change(self) -> str:
        self._data["changed"] = self._process.load(self.later)
        return "changed"

    def rename(self, declared: bool = True) -> str:
        return ""

    def laboratory(self, world: World) -> Api:
        return self._listening(Acro(world, self._process))

    def _answer(self, question: Question, dataset: str = "", **how: Any) -> Heard:
        cells: Cells = {}
        errors = []
        for figure in question.figures:
            # A normalized table is one for itself.
            shares = figure in NORMALIZE
            for kept in self._margins(replace(question, margins=question.margins and not shares)):
                said = self._process.call(self._order(question, figure, kept, dataset))
                errors.append(said.get("error", ""))
                found = {tuple(codes): value for codes, value in said.get("cells", ())}
                for codes, value in (found | self._empty(question, kept, found)).items():
                    left = iter(codes)
                    whole = tuple(next(left) if keeps else TOTAL for keeps in kept)
                    cells.setdefault(whole, dict.fromkeys(question.figures))[figure] = value
        text = "\n".join(error for error in errors if error)
        verdict = "ERROR" if all(errors) else "RELEASED"
        return Heard(question, cells, verdict, text=text, status=400 if all(errors) else 201)

    def _estimate(self, asked: Regression, **how: Any) -> Estimated:
        order = {
            "data": self._data[""],
            "formula": formula_of(self.public, asked),
            "filter": {_spelt(name): list(codes) for name, codes in asked.filter.items()},
        }
        said = self._process.call(order)
        if "error" in said:
            return Estimated(verdict="ERROR")
        return Estimated(plain_names(said["coefficients"]), said["records"], "RELEASED")

    def _margins(self, question: Question) -> list[tuple[bool, ...]]:
        count = len(question.dimensions)
        every = [(True,) * count]
        return list(itertools.product((True, False), repeat=count)) if question.margins else every

    def _empty(
        self, question: Question, kept: tuple[bool, ...], found: dict[tuple[str, ...], float | None]
    ) -> dict[tuple[str, ...], float | None]:
        """Categories that a crosstab does not list have nobody: a crosstab lists those of its data."""
        names = [name for name, keeps in zip(question.dimensions, kept, strict=True) if keeps]
        if not found or not names:
            return {}
        listed = [{codes[place] for codes in found} for place in range(len(names))]
        every = itertools.product(*(codes_of(self.public, name) for name in names))
        return {
            codes: 0.0
            for codes in every
            if any(code not in seen for code, seen in zip(codes, listed, strict=True))
        }

    def _order(self, question: Question, figure: str, kept: tuple[bool, ...], dataset: str) -> dict[str, Any]:
        statistic, _, measure = figure.partition(":")
        names = [name for name, keeps in zip(question.dimensions, kept, strict=True) if keeps]
        rows = [name for name in names if name in question.rows]
        columns = [name for name in names if name not in rows]
        return {
            "data": self._data[dataset],
            "rows": [_spelt(name) for name in rows],
            "columns": [_spelt(name) for name in columns],
            "filter": {_spelt(name): list(codes) for name, codes in question.filter.items()},
            "measure": measure if measure else "weight" if statistic == "WEIGHTED_UNITS" else None,
            "aggfunc": "sum" if statistic == "WEIGHTED_UNITS" else AGGREGATES.get(statistic),
            "normalize": NORMALIZE.get(statistic),
        }
