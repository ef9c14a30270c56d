"""Keys counted in the file are those of its records, and each record gets its own risk back."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sdcgate.engine.large_files import count_keys, records_of, write_risks
from sdcgate.engine.microdata import MicrodataColumns, MicrodataUnusable, read_microdata
from sdcgate.methods.risk.counted_keys import assess_counted_keys, key_risks
from sdcgate.methods.risk.file_assessment import assess_file
from sdcgate.methods.risk.file_options import Options
from sdcgate.methods.risk.keys import Missing
from sdcgate.methods.risk.risk_factors import Factors

KEYS = ("sex", 'a "quoted" one', "income")


def people(records: int = 3000) -> dict[str, Any]:
    """Columns of several types, with values that are written in several ways, and missing ones."""
    rng = np.random.default_rng(8)
    income = rng.choice(["1", "1.0", " 1", "2.50", "2.5", "-", ""], records).tolist()
    return {
        "sex": [None if one == 2 else int(one) for one in rng.integers(0, 3, records)],
        'a "quoted" one': pa.array(rng.choice(["n", "s", "w"], records)).dictionary_encode(),
        "income": income,
        "where": rng.integers(0, 40, records).astype(np.float64),
        "w": rng.uniform(1, 200, records),
        "id": np.arange(records),
    }


def written(folder: Path, columns: dict[str, Any], name: str = "it's people.parquet") -> Path:
    """A Parquet file of several row groups."""
    pq.write_table(pa.table(columns), folder / name, row_group_size=700)
    return folder / name


def asked(**changed: Any) -> MicrodataColumns:
    return MicrodataColumns(**{"keys": (*KEYS, "where"), "weight": "w", "missing": ("-",), **changed})


@pytest.mark.parametrize("missing", Missing)
@pytest.mark.parametrize(
    "how", [{}, {"weight": "", "fraction": 0.04}, {"weight": "", "population": 1e6}, {"weight": ""}], ids=str
)
def test_a_file_is_assessed_by_its_keys_as_by_its_records(
    tmp_path: Path, missing: Missing, how: dict[str, Any]
) -> None:
    file, columns = written(tmp_path, people()), asked(**how)
    options = Options(missing=missing, factors=Factors(0.9, 0.8, 0.7), risk_threshold=0.002)
    by_keys = assess_counted_keys(count_keys(file, columns).counted, options)
    by_records = assess_file(read_microdata(file, columns), options)
    assert by_keys.key_cells == by_records.key_cells
    for one, other in zip(by_keys.facts.keys, by_records.facts.keys, strict=True):
        assert one == other
    assert by_keys.facts.population == pytest.approx(by_records.facts.population)
    assert by_keys.facts.fraction == pytest.approx(by_records.facts.fraction)
    if how == {"weight": ""}:
        assert by_keys.individual is by_keys.uniqueness is None
        assert any(one.what == "individual risk" for one in by_keys.not_computed)
        return
    assert by_keys.individual is not None
    assert by_records.individual is not None
    found, wanted = by_keys.individual, by_records.individual
    for name in ("units", "key_cells", "sample_uniques"):
        assert getattr(found.risk, name) == getattr(wanted.risk, name)
    for name in ("expected_matches", "expected_matches_uniques", "reidentification_rate", "maximum"):
        assert getattr(found.risk, name) == pytest.approx(getattr(wanted.risk, name), rel=1e-12)
    assert found.histogram.units.tolist() == wanted.histogram.units.tolist()
    assert found.threshold.unsafe_units == wanted.threshold.unsafe_units
    assert by_keys.uniqueness is not None
    assert by_records.uniqueness is not None
    for mine, other_model in zip(by_keys.uniqueness.models, by_records.uniqueness.models, strict=True):
        assert mine.theta_u == pytest.approx(other_model.theta_u, rel=1e-6)
    assert "threshold rule" in by_keys.not_computed[-4].what


@pytest.mark.parametrize("missing", Missing)
def test_each_record_gets_its_own_risk_in_the_order_of_the_file(tmp_path: Path, missing: Missing) -> None:
    file, options = written(tmp_path, people()), Options(missing=missing)
    counted = count_keys(file, asked())
    write_risks(counted, key_risks(counted.counted, options), tmp_path / "risks.parquet")
    risks = pq.read_table(tmp_path / "risks.parquet")
    individual = assess_file(read_microdata(file, asked()), options).individual
    assert individual is not None
    assert risks.column_names == ["record", "f", "weight_sum", "risk"]
    assert risks["record"].to_pylist() == list(range(1, 3001))
    np.testing.assert_allclose(risks["risk"].to_numpy(), individual.risks, rtol=1e-12)
    assert (risks["weight_sum"].to_numpy() >= risks["f"].to_numpy()).all()


def test_a_file_of_more_rows_than_are_held_at_once_is_written_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = count_keys(written(tmp_path, people()), asked())
    risks = key_risks(counted.counted, Options())
    write_risks(counted, risks, tmp_path / "at once.parquet")
    monkeypatch.setattr("sdcgate.engine.large_files._ROWS", 999)
    write_risks(counted, risks, tmp_path / "in pieces.parquet")
    assert pq.read_table(tmp_path / "in pieces.parquet").equals(pq.read_table(tmp_path / "at once.parquet"))


def test_a_file_that_changes_meanwhile_gets_no_risks(tmp_path: Path) -> None:
    counted = count_keys(written(tmp_path, people()), asked())
    written(tmp_path, people(2000))
    with pytest.raises(MicrodataUnusable, match="could not be written whole") as refused:
        write_risks(counted, key_risks(counted.counted, Options()), tmp_path / "risks.parquet")
    assert "has changed" in str(refused.value.__cause__)
    assert not (tmp_path / "risks.parquet").exists()


def test_the_riskiest_records_are_named_by_their_place_in_the_file(tmp_path: Path) -> None:
    columns = people()
    columns["where"][1234] = 77.0
    columns["w"][1234] = 1.0
    counted = count_keys(written(tmp_path, columns), asked()).counted
    individual = assess_counted_keys(counted, Options(riskiest=1)).individual
    assert individual is not None
    assert individual.riskiest.tolist() == [1235]
    assert individual.risk.maximum == 1.0


@pytest.mark.parametrize("wrong", [None, 0.0, -1.0, float("nan"), float("inf")])
def test_a_weight_that_is_none_is_named_by_its_record(tmp_path: Path, wrong: float | None) -> None:
    columns = people()
    columns["w"] = [*columns["w"][:2000], wrong, *columns["w"][2001:]]
    with pytest.raises(MicrodataUnusable, match=r"weight: .* 1 records .* the first is record 2001$"):
        count_keys(written(tmp_path, columns), asked())


def test_weights_may_be_texts(tmp_path: Path) -> None:
    columns = people() | {"w": ["2.5"] * 3000}
    assert count_keys(written(tmp_path, columns), asked()).counted.weight_sums.sum() == 7500  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"keys": ("sex", "nowhere")}, r"keys\[1\]: the file has no column 'nowhere'"),
        ({"keys": ()}, "at least one key"),
        ({"unit": "id"}, "each record is a unit of its own"),
        ({"weight": "", "population": 100}, "population: the file has 3000 units"),
        ({"keys": ("sex", "nested")}, r"keys\[1\]: column 'nested' has a type"),
    ],
)
def test_what_cannot_be_counted_is_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    file = written(tmp_path, people() | {"nested": [[1, 2]] * 3000})
    with pytest.raises(MicrodataUnusable, match=message):
        count_keys(file, asked(**changed))


def test_a_file_that_is_broken_inside_is_refused_and_leaves_no_half_file(tmp_path: Path) -> None:
    file = written(tmp_path, people())
    counted = count_keys(file, asked())
    content = bytearray(file.read_bytes())
    content[100:6000] = bytes(5900)
    file.write_bytes(content)
    with pytest.raises(MicrodataUnusable, match="is it whole"):
        count_keys(file, asked())
    with pytest.raises(MicrodataUnusable, match="could not be written whole"):
        write_risks(counted, key_risks(counted.counted, Options()), tmp_path / "risks.parquet")
    assert not (tmp_path / "risks.parquet").exists()


def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    file = written(tmp_path, people())
    counted, before = count_keys(file, asked()), file.read_bytes()
    with pytest.raises(MicrodataUnusable, match="cannot be written: File exists"):
        write_risks(counted, key_risks(counted.counted, Options()), file)
    assert file.read_bytes() == before


def test_only_parquet_files_tell_how_many_records_they_have(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a,b\n1,2\n")
    assert records_of(written(tmp_path, people())) == 3000
    assert records_of(tmp_path / "people.csv") == records_of(tmp_path / "nowhere") == 0
