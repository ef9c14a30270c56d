"""Results folders as ACRO 0.4.12 and 1.0.2 wrote them on the RAND file, in the least of their fields."""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

COUNTS = "site,0,1\n1,2150,2312\n2,2011,2025\n3,1198,1238\n4,1507,1583\n5,1242,1353\n6,1643,1928\n"
SUMS = (
    "site,0,1,All\n1,373252.6792191,523170.7882578,896423.4674769\n2,298025.1414978,457026.2472888,755051.3887866\n"
    "3,230399.8301837,289646.7260875,520046.5562712\n4,176421.868433,268885.5660752,445307.4345082\n"
    "5,149138.2173833,218768.7196831,367906.9370664\n6,153567.967206,325652.1007614,479220.0679674\n"
    "All,1380805.7039229,2083150.1481538,3463955.8520767\n"
)
MEANS = (
    ",mean,mean,count,count\nfemale,0,1,0,1\nsite,,,,\n1,173.6058973112093,226.2849430180796,2150,2312\n"
    "2,148.19748458368971,225.6919739697778,2011,2025\n3,192.3203924738731,,1198,\n"
)
"""Means and counts, of which a portal suppressed one of each."""
GENERAL = (
    "Dep. Variable:,meddol,R-squared:,0.002\nModel:,OLS,Adj. R-squared:,0.002\n"
    "No. Observations:,20190,AIC:,321600.0\nCovariance Type:,nonrobust,,\n"
)
COEFFICIENTS = (
    ",coef,std err,t,P>|t|,[0.025,0.975]\nIntercept,174.7692,11.999,14.566,0.0,151.251,198.288\n"
    "C(site)[T.2],-14.7231,15.143,-0.972,0.331,-44.405,14.959\n"
)
CHART = b"\x89PNG\r\n\x1a\n123"


def entry(kind: str, files: list[str], command: str, **properties: Any) -> dict[str, Any]:
    """What results.json has of an output; ACRO's own verdict is a pass throughout."""
    return {
        "status": "pass",
        "type": kind,
        "properties": properties,
        "files": [{"name": name, "sdc": {"summary": {}, "cells": {}}} for name in files],
        "outcome": {},
        "command": command,
        "summary": "pass",
        "comments": [],
        "exception": "",
    }


def acro_folder(
    entries: Mapping[str, Any], version: str = "0.4.12", **files: str | bytes
) -> dict[str, bytes]:
    """A folder with its results.json and checksums; names of files with `__` for the dot."""
    made = {
        name.replace("__", "."): text.encode() if isinstance(text, str) else text
        for name, text in files.items()
    }
    outputs = {uid: {"uid": uid, **one} for uid, one in entries.items()}
    results = {"version": version, "results": outputs}
    made["results.json"] = json.dumps(results).encode()
    sums = {f"checksums/{name}.txt": hashlib.sha256(content).hexdigest() for name, content in made.items()}
    return made | {name: text.encode() for name, text in sums.items()} | {"config.json": b"{}"}


def whole_folder(version: str = "0.4.12") -> dict[str, bytes]:
    """Two tables and a chart."""
    crosstab = "acro.crosstab(df.site, df.female)"
    pivot = (
        'a.pivot_table(d, index=["site"], columns=["female"], values="meddol", aggfunc="sum", margins=True)'
    )
    return acro_folder(
        {
            "output_0": entry("table", ["output_0_0.csv"], crosstab, method="crosstab"),
            "output_1": entry("table", ["output_1_0.csv"], pivot, method="pivot_table"),
            "output_2": entry("custom", ["chart.png"], "custom"),
        },
        version,
        output_0_0__csv=COUNTS,
        output_1_0__csv=SUMS,
        chart__png=CHART,
    )


def zipped(files: Mapping[str, bytes], **how: Any) -> bytes:
    """A zip archive of files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return content.getvalue()
