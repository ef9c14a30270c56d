"""Files to be assessed, of any bytes, columns and values: a report comes of them, or all that is wrong."""

import datetime
import decimal
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fuzz.campaign import Campaign
from fuzz.messages import damage
from fuzz.test_files import ODD, told
from fuzz.trees import chances
from sdcgate.engine.large_files import count_keys, write_risks
from sdcgate.engine.microdata import MicrodataColumns, MicrodataUnusable
from sdcgate.methods.risk.counted_keys import assess_counted_keys, key_risks
from sdcgate.methods.risk.file_options import Options
from sdcgate.methods.risk.keys import Missing
from sdcgate.servers.errors import InvalidArgument
from sdcgate.servers.microdata import FileAssessor
from sdcgate.servers.received_files import FileLane
from sdcgate_proto.sdcgate.risk.v1 import microdata_pb2 as pb

KEYS = ("region", "age", "sex")
NUMBERS = (0.0, -0.0, 1.0, -1.0, 5e-324, 1e-300, 0.999999, 1.5, 1e15, 1e16, 1e300, 1.7e308, float("nan"),
           float("inf"), float("-inf"), None)  # fmt: skip
INTEGERS = (0, 1, -1, 2, 255, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), None)


def arrow_file(records: int, chance: random.Random) -> dict[str, Any]:
    """Columns of a file that is assessed, as lists."""
    return {
        "id": [f"p{place // 2}" for place in range(records)],
        "wave": [place % 2 for place in range(records)],
        "household": [place // 4 for place in range(records)],
        "weight": [chance.choice([1.0, 2.5, 10.0]) for _ in range(records)],
        "region": [chance.choice(["n", "s", "w", None]) for _ in range(records)],
        "age": [chance.randrange(20, 30) for _ in range(records)],
        "sex": [chance.randrange(2) for _ in range(records)],
        "ill": [chance.choice(["0", "1", "-"]) for _ in range(records)],
    }


def odd_column(records: int, chance: random.Random) -> Any:
    """A column of a type or of values that nobody expects."""

    def any_of(values: Any) -> list[Any]:
        return [chance.choice(values) for _ in range(records)]

    now, day = datetime.datetime(2024, 2, 29, 1, 2, 3), datetime.date(1, 1, 1)
    makers: tuple[Callable[[], Any], ...] = (
        lambda: any_of(ODD),
        lambda: any_of(NUMBERS),
        lambda: pa.array(any_of(INTEGERS), pa.int64()),
        lambda: pa.array(any_of((0, 255, None)), pa.uint8()),
        lambda: pa.array(any_of((0, 2**64 - 1)), pa.uint64()),
        lambda: pa.array(np.array(any_of((0.1, 65504.0, float("nan"))), dtype=np.float16)),
        lambda: pa.nulls(records),
        lambda: any_of((True, False, None)),
        lambda: pa.array(any_of(ODD)).dictionary_encode(),
        lambda: pa.DictionaryArray.from_arrays(
            pa.array([0, None] * records, pa.int8())[:records], ["a", "a"]
        ),
        lambda: pa.DictionaryArray.from_arrays(
            pa.array([0] * records, pa.int32()), pa.array([None], pa.string())
        ),
        lambda: pa.DictionaryArray.from_arrays(
            pa.array([1] * records, pa.int32()), pa.array([1.5, float("nan")])
        ),
        lambda: any_of((b"\xff\xfe", b"", b"a")),
        lambda: any_of(([1], [], None)),
        lambda: any_of(({"a": 1}, {"a": None})),
        lambda: any_of((now, None)),
        lambda: pa.array(any_of((now,)), pa.timestamp("ns", "Europe/Zurich")),
        lambda: any_of((day, datetime.date(9999, 12, 31))),
        lambda: any_of((datetime.time(23, 59), None)),
        lambda: any_of((datetime.timedelta(days=-9),)),
        lambda: any_of((decimal.Decimal("1.50"), decimal.Decimal("-0.00"))),
        lambda: pa.array(any_of(("x" * 10_000, "y")), pa.large_string()),
        lambda: pa.array(any_of(("x", None)), pa.string_view()),
        lambda: pa.array(any_of((1, 2)), pa.int32()).cast(pa.int64()),
        lambda: pa.chunked_array([["1"] * (records // 2), ["1.0"] * (-(-records // 2))], pa.string()),
    )
    return chance.choice(makers)()


def odd_table(chance: random.Random) -> pa.Table:
    """A file with some columns exchanged; few records or many."""
    records = chance.choice((0, 1, 2, 3, 40, 40))
    columns = arrow_file(records, chance)
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        columns[chance.choice(list(columns))] = odd_column(records, chance)
    return pa.table(columns)


def odd_options(chance: random.Random) -> dict[str, Any]:
    """Options that name columns which are there, and then some."""
    chosen: dict[str, Any] = {
        "keys": chance.choice((KEYS, KEYS, ("age",), ("weight", "id"), (*KEYS, "wave", "ill"))),
        "unit": chance.choice(("", "", "id", "household")),
        "wave": chance.choice(("", "", "wave")),
        "household": chance.choice(("", "household")),
        "sensitive": chance.choice(((), ("ill",))),
    }
    chosen |= chance.choice(
        ({"weight": "weight"}, {"weight": "weight"}, {"fraction": 0.1}, {"population": 1e6}, {})
    )
    return chosen


def stream_of(table: pa.Table, batch: int | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, batch)
    content: bytes = sink.getvalue().to_pybytes()
    return content


@pytest.fixture(scope="module")
def assessed() -> Callable[[bytes, dict[str, Any], random.Random], str]:
    assessor = FileAssessor(FileLane(1 << 26, 1))

    def call(content: bytes, options: dict[str, Any], chance: random.Random) -> str:
        chosen = {name: value for name, value in options.items() if value not in ("", ())}
        missing = chance.choice((pb.MISSING_VALUES_CATEGORY, pb.MISSING_VALUES_WILDCARD))
        request = pb.AssessMicrodataRequest(
            options=pb.MicrodataOptions(**chosen, missing=missing), arrow=content
        )
        try:
            answer = assessor.assess([request])
        except InvalidArgument as refused:
            return told(refused.fields)
        if answer.HasField("individual"):
            risk = answer.individual.risk
            assert 0 < risk.maximum <= 1
            assert 0 < risk.expected_matches <= risk.units * (1 + 1e-9)
        return "assessed"

    return call


def test_arrow_files_of_any_bytes(assessed: Any, campaign: Campaign) -> None:
    def check(chance: random.Random) -> str:
        table = pa.table(arrow_file(40, chance))
        content = stream_of(table, chance.choice((None, 7)))
        outcome: str = assessed(damage(content, chance), odd_options(chance), chance)
        return outcome

    campaign.run(chances(), check, examples=25)


def test_arrow_files_with_columns_of_any_type_and_value(assessed: Any, campaign: Campaign) -> None:
    def check(chance: random.Random) -> str:
        content = stream_of(odd_table(chance), chance.choice((None, 7)))
        outcome: str = assessed(content, odd_options(chance), chance)
        return outcome

    campaign.run(chances(), check, examples=25)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    assert not list(tmp_path.glob("risks*")), "half a file was left"


def test_large_files_of_any_bytes_types_and_values(folder: Path, campaign: Campaign) -> None:
    file, risks = folder / "people.parquet", folder / "risks.parquet"

    def check(chance: random.Random) -> str:
        try:
            pq.write_table(odd_table(chance), file, row_group_size=chance.choice((3, 1000)))
        except pa.ArrowNotImplementedError:
            return "no Parquet file"
        if chance.random() < 0.3:
            file.write_bytes(damage(file.read_bytes(), chance))
        chosen = odd_options(chance)
        options = Options(missing=chance.choice(list(Missing)))
        try:
            counted = count_keys(file, MicrodataColumns(**chosen))
            report = assess_counted_keys(counted.counted, options)
            if report.individual is None:
                return "counted"
            assert 0 < report.individual.risk.maximum <= 1
            write_risks(counted, key_risks(counted.counted, options), risks)
            written = pq.read_table(risks)
            risks.unlink()
            assert written.num_rows == counted.counted.records
            assert written["record"].to_pylist() == list(range(1, written.num_rows + 1))
        except MicrodataUnusable as unusable:
            return "refused" if all(message for _, message in unusable.problems) else "without a word"
        return "written"

    campaign.run(chances(), check, examples=25)
