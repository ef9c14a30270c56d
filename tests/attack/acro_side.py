"""ACRO's side of the attacks: runs in an environment of its own, under the orders of `acro_peer.py`.

Each line of standard input is a JSON object: `{"load": NAME, "file": CSV, "texts": [...]}`, or one crosstab,
`{"data": NAME, "rows": [...], "columns": [...], "filter": {...}, "measure": ..., "aggfunc": ...,
"normalize": ...}`. Each line of standard output is the crosstab as ACRO gives it with suppression on,
`{"cells": [[codes, value], ...]}`, or `{"error": ...}`.

A line `{"data": NAME, "formula": ..., "filter": {...}}` asks for a regression: `{"coefficients": {...},
"records": ...}`.
"""

import contextlib
import json
import logging
import os
import sys
import warnings
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")
logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

import pandas as pd  # noqa: E402
from acro import ACRO  # noqa: E402

EVERYBODY = ("everybody in rows", "everybody in columns")
"""Dimensions of one category, as ACRO wants two."""


def crosstab(data: pd.DataFrame, asked: dict[str, Any]) -> list[tuple[list[str], float | None]]:
    """The cells of one crosstab; None where ACRO shows nothing."""
    for name, codes in asked["filter"].items():
        data = data[data[name].isin(codes)]
    rows, columns = asked["rows"] or [EVERYBODY[0]], asked["columns"] or [EVERYBODY[1]]
    options: dict[str, Any] = {}
    if asked.get("measure"):
        data = data[data[asked["measure"]].notna()]
        options = {"values": data[asked["measure"]], "aggfunc": asked["aggfunc"]}
    if asked.get("normalize"):
        options["normalize"] = asked["normalize"]
    made = ACRO(suppress=True).crosstab(
        [data[name] for name in rows], [data[name] for name in columns], **options
    )
    cells = []
    for row in made.index:
        for column in made.columns:
            codes = [*_names(row, asked["rows"]), *_names(column, asked["columns"])]
            value = made.loc[row, column]
            cells.append((codes, None if pd.isna(value) else float(value)))
    return cells


def regression(data: pd.DataFrame, asked: dict[str, Any]) -> dict[str, Any]:
    """Least squares, if ACRO lets it pass."""
    for name, codes in asked["filter"].items():
        data = data[data[name].isin(codes)]
    session = ACRO(suppress=True)
    result = session.olsr(asked["formula"], data)
    (record,) = (session.results.get_index(0),)
    if record.status == "fail":
        return {"error": "fail"}
    return {
        "coefficients": {name: float(v) for name, v in result.params.items()},
        "records": float(result.nobs),
    }


def _names(key: Any, asked: list[str]) -> list[str]:
    if not asked:
        return []
    return [str(part) for part in (key if isinstance(key, tuple) else (key,))]


def main() -> None:
    """Answer until the input ends."""
    answers, sys.stdout = sys.stdout, sys.stderr
    loaded: dict[str, pd.DataFrame] = {}
    print("{}", file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                if "load" in asked:
                    data = pd.read_csv(asked["file"], dtype=dict.fromkeys(asked["texts"], str))
                    loaded[asked["load"]] = data.assign(**dict.fromkeys(EVERYBODY, "all"))
                    said: dict[str, Any] = {}
                elif "formula" in asked:
                    said = regression(loaded[asked["data"]], asked)
                else:
                    said = {"cells": crosstab(loaded[asked["data"]], asked)}
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(said), file=answers, flush=True)


if __name__ == "__main__":
    main()
