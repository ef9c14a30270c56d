"""Canaries: one person with a category, a value and an id of his own, and how to find traces of him."""

import csv
import io
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from house import COPY


@dataclass(frozen=True)
class Canary:
    """A person who can be recognised by any of three things."""

    category: str
    value: float
    unit: str

    @property
    def spellings(self) -> tuple[bytes, ...]:
        """The value as texts and bytes that could hold it: rounded, with an exponent, packed."""
        whole, thousandths = int(self.value), round(self.value * 1000)
        digits = str(thousandths)
        texts = (str(whole), f"{whole:,}", digits, f"{digits[0]}.{digits[1:6]}")
        packed = (
            struct.pack("<d", self.value),
            struct.pack("<d", round(self.value, 1)),
            struct.pack("<q", thousandths),
            varint(thousandths),
        )
        return (*(text.encode() for text in texts), *packed)

    def traces(self, content: bytes, named: bool = False) -> list[bytes]:
        """What of the canary is in some bytes. `named`: its category may be named there."""
        names = (self.unit.encode(), *(() if named else (self.category.encode(),)))
        plain, lower = IDS.sub(b"", content), content.lower()
        return [
            *(spelling for spelling in self.spellings if spelling in plain),
            *(name for name in names if name.lower() in lower),
        ]


def varint(number: int) -> bytes:
    """A number as protobuf writes it."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


IDS = re.compile(
    rb"(?<![A-Za-z0-9+/])([0-9a-f]{16,64}|[A-Za-z0-9+/]{86}==|[0-9A-HJKMNP-TV-Z]{26})|\d\d:\d\d\.\d+Z"
)
"""Ids, digests, salts, signatures and times: random digits in which any number may turn up."""

DECLARED = Canary("CANARY7f3a", 987654.321, "U-31337")
"""Its category is in the descriptor's code list: everybody may know that there is such a category."""
UNDECLARED = Canary("CANARY8e4b", 876543.219, "U-42424")
"""Its category is in the data only."""

CODES = ("wren", "swift", "robin", "heron")


def people(canary: Canary | None) -> str:
    """Some 520 persons in three regions, and perhaps a canary."""
    rng = np.random.default_rng(7)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["id", "region", "sex", "bird", "income"])
    for number in range(520):
        region = ("north", "south", "west")[number % 3]
        bird = CODES[3] if number % 65 == 0 else CODES[int(rng.integers(3))]
        writer.writerow([f"p{number}", region, "fm"[number % 2], bird, f"{rng.integers(5000, 25000)}.125"])
    if canary is not None:
        writer.writerow([canary.unit, "west", "f", canary.category, f"{canary.value:.3f}"])
    return out.getvalue()


def descriptor(name: str, *more_codes: str) -> dict[str, Any]:
    """The descriptor of `<name>.csv`."""
    return {
        "name": name,
        "label": "People and their birds",
        "data": {"path": f"{name}.csv"},
        "unit": {"column": "id", "label": "person"},
        "source": name,
        **COPY,
        "design": {"coverage": "SAMPLE", "sampling_fraction": 0.01},
        "variables": [
            {
                "name": "region",
                "identifying": "YES",
                "levels": [{"codes": [{"code": code} for code in ("north", "south", "west")]}],
            },
            {"name": "sex", "identifying": "YES", "levels": [{"codes": [{"code": "f"}, {"code": "m"}]}]},
            {
                "name": "bird",
                "identifying": "NO",
                "levels": [{"codes": [{"code": code} for code in (*CODES, *more_codes)]}],
            },
        ],
        "measures": [{"name": "income", "decimals": 3, "lower_bound": 0, "unit": "EUR"}],
    }


def tables() -> Iterator[dict[str, Any]]:
    """Queries that meet the canary in every way: in cells, totals, filters, sums, means and percentages."""
    figures = ("UNITS", "RECORDS", "SUM:income", "MEAN:income", "WEIGHTED_UNITS", "TOTAL_PERCENT")
    for dims in (["bird"], ["region"], ["region", "bird"], ["bird", "sex"], ["region", "sex"], []):
        yield {"rows": dims[:1], "columns": dims[1:]}
        yield {"rows": dims[:1], "columns": dims[1:], "figures": figures}
    yield {"rows": ["region"], "columns": ["bird"], "layers": ["sex"]}
    yield {"rows": ["region"], "columns": ["bird"], "margins": False}
    yield {"rows": ["bird"], "figures": figures, "region": ["west"], "sex": ["f"]}
    yield {"rows": ["region"], "figures": figures, "bird": list(CODES)}
    yield {"rows": ["region"], "figures": figures, "bird": ["heron"]}
    yield {"rows": ["region", "bird"], "columns": ["sex"], "figures": ["MEAN:income"]}
