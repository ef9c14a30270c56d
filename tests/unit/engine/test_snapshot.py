"""Snapshots are immutable, verified and versioned; a crash leaves none or a whole one."""

import json
import os
import stat
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from sdcgate.engine import CellQuery, Engine, SnapshotDamaged, UnknownDataset, snapshot_files
from sdcgate.engine import parse_descriptor as parse

PEOPLE = "id,region,sex\n1,north,f\n2,south,m\n3,north,m\n"
SHUFFLED = "id,region,sex\n3,north,m\n1,north,f\n2,south,m\n"


def test_the_same_content_is_the_same_version_whatever_its_order(bench, people):
    bench.write(PEOPLE)
    first = bench.engine.register(parse(people()))
    bench.write(SHUFFLED)
    again = bench.engine.register(parse(people()))
    assert (first.created, again.created) == (True, False)
    assert again.dataset.version == 1


def test_changed_content_or_descriptor_is_the_next_version(bench, people):
    bench.write(PEOPLE)
    bench.register(people())
    assert bench.register(people(label="People")).version == 2
    bench.write(PEOPLE + "4,west,f\n")
    newest = bench.register(people(label="People"))
    assert newest.version == 3
    assert bench.engine.dataset("people", 1).n_units == 3
    assert [dataset.version for dataset in bench.engine.datasets()] == [3]
    assert bench.engine.compute(bench.engine.dataset("people", 1), CellQuery()).facts.units.tolist() == [3]
    with pytest.raises(UnknownDataset, match="no version 4"):
        bench.engine.dataset("people", 4)
    with pytest.raises(UnknownDataset, match="'peopel'"):
        bench.engine.dataset("peopel")


def test_a_unit_keeps_its_key_in_another_dataset_of_the_same_source(bench, people):
    bench.write(PEOPLE)
    keys = {}
    for name, source in (("one", "census"), ("two", "census"), ("three", "other")):
        bench.register(people(name=name, source=source, other_people="a copy for tests"))
        table = pq.read_table(bench.store / name / "v1" / "data.parquet")
        keys[name] = table["unit_key"].to_pylist()
    assert keys["one"] == keys["two"]
    assert not set(keys["one"]) & set(keys["three"])


def test_records_with_the_same_contents_have_marks_of_their_own(bench, people):
    bench.write("id,region,sex\n" + "1,north,f\n" * 3 + "2,north,f\n")
    bench.register(people())
    marks = pq.read_table(bench.store / "people" / "v1" / "data.parquet")["record_mark"].to_pylist()
    assert len(set(marks)) == 4
    assert all(0 <= mark < 2**62 for mark in marks)


def test_no_unit_id_is_kept_and_files_are_private(bench, people):
    bench.write("id,region,sex\nAlice-4711,north,f\n")
    bench.register(people())
    folder = bench.store / "people" / "v1"
    for file in folder.iterdir():
        assert b"Alice-4711" not in file.read_bytes()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_crash_while_writing_leaves_no_version(bench, people, monkeypatch):
    bench.write(PEOPLE)

    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(snapshot_files, "_flush", crash)
    with pytest.raises(KeyboardInterrupt):
        bench.register(people())
    monkeypatch.undo()
    assert bench.engine.datasets() == []
    assert list((bench.store / "people").iterdir()) == []
    assert bench.register(people()).version == 1


def test_a_version_that_another_process_wrote_meanwhile_is_not_overwritten(bench, people, monkeypatch):
    bench.write(PEOPLE)
    other = Engine(bench.data_root, bench.store, bytes(range(32)))
    written = snapshot_files.SnapshotFiles.write
    raced = []

    def write(*arguments):
        if not raced:
            raced.append(0)
            raced[0] = other.register(parse(people(label="the other"))).dataset.version
        return written(*arguments)

    monkeypatch.setattr(snapshot_files.SnapshotFiles, "write", write)
    raced_by = bench.register(people())
    assert (raced, raced_by.version) == ([1], 2)


def test_another_engine_reads_what_was_registered(bench, people):
    bench.write(PEOPLE)
    dataset = bench.register(people())
    (bench.data_root / "people.csv").unlink()
    other = Engine(bench.data_root, bench.store, bytes(range(32)))
    found = other.dataset("people")
    assert (found.n_units, found.descriptor, found.content_hash) == (
        3,
        dataset.descriptor,
        dataset.content_hash,
    )
    other.warm_up()
    assert other.compute(found, CellQuery()).facts.units.tolist() == [3]


def test_a_changed_or_vanished_data_file_is_never_computed_from(bench, people):
    bench.write(PEOPLE)
    dataset = bench.register(people())
    query = CellQuery((("region", ""),))
    assert bench.engine.compute(dataset, query).facts.units[-1] == 3
    file = bench.store / "people" / "v1" / "data.parquet"
    content = bytearray(file.read_bytes())
    os.utime(file)
    assert bench.engine.compute(dataset, query).facts.units[-1] == 3
    content[100] ^= 1
    file.write_bytes(content)
    with pytest.raises(SnapshotDamaged, match="changed"):
        bench.engine.compute(dataset, query)
    file.unlink()
    with pytest.raises(SnapshotDamaged, match="gone"):
        bench.engine.compute(dataset, query)


def test_changed_metadata_and_another_secret_are_refused(bench, people):
    bench.write(PEOPLE)
    bench.register(people())
    with pytest.raises(SnapshotDamaged, match="secret"):
        Engine(bench.data_root, bench.store, b"x" * 32).dataset("people")
    file = bench.store / "people" / "v1" / "dataset.json"
    seal, _, body = file.read_text().partition("\n")
    plain = json.loads(body)
    plain["n_units"] = 1000
    file.write_text(f"{seal}\n{json.dumps(plain)}")
    with pytest.raises(SnapshotDamaged):
        Engine(bench.data_root, bench.store, bytes(range(32))).dataset("people")


def test_one_damaged_snapshot_keeps_nobody_from_the_others(bench, people):
    bench.write(PEOPLE)
    for name in ("good", "gone", "changed"):
        bench.register(people(name=name, source=name, other_people="a copy for tests"))
    (bench.store / "gone" / "v1" / "data.parquet").unlink()
    (bench.store / "changed" / "v1" / "dataset.json").write_text("{}")
    engine = Engine(bench.data_root, bench.store, bytes(range(32)))
    assert sorted(map(str, engine.warm_up())) == [
        "changed v1: metadata were changed or the secret differs",
        "gone v1: the data file is gone",
    ]
    assert [dataset.name for dataset in engine.datasets()] == ["gone", "good"]
    assert engine.compute(engine.dataset("good"), CellQuery()).facts.units.tolist() == [3]
    # Whether they are the same people as in the damaged one cannot be seen: it has to be said.
    declared = parse(people(name="others"))
    with pytest.raises(SnapshotDamaged):
        engine.register(declared)
    declared = parse(people(name="others", source="others", other_people="they live elsewhere"))
    assert engine.register(declared).created


def test_a_variable_of_twenty_thousand_codes_is_kept_and_read_again(bench, people):
    bench.write("id,place\n1,0\n2,19999\n3,\n")
    places = {"name": "place", "identifying": "YES", "levels": [{"integers": {"first": 0, "last": 19_999}}]}
    dataset = bench.register(people(variables=[places]))
    assert dataset.occurring("place") == 1 | 1 << 19_999 | 1 << 20_000
    again = Engine(bench.data_root, bench.store, bytes(range(32))).dataset("people")
    assert again.occurring("place") == dataset.occurring("place")


def test_a_secret_of_another_length_is_refused(tmp_path):
    with pytest.raises(ValueError, match="32 bytes"):
        Engine(tmp_path, tmp_path, b"short")


def test_no_count_and_no_value_stands_in_a_repr(bench, people):
    bench.write("id,region,sex,x\n" + "".join(f"{i},north,f,98765.{i}\n" for i in range(77)))
    dataset = bench.register(people(measures=[{"name": "x", "decimals": 2}]))
    computed = bench.engine.compute(dataset, CellQuery(measures=("x",)))
    for shown in (repr(dataset), repr(computed), repr(dataset.profiles)):
        assert "77" not in shown.replace(dataset.content_hash, "")
        assert "98765" not in shown


def test_an_engine_without_datasets_loads_what_writes_queries(tmp_path):
    """Else whoever asks first would wait for it."""
    (tmp_path / "data").mkdir()
    script = (
        "import sys; from pathlib import Path; from sdcgate.engine import Engine; "
        f"engine = Engine(Path({str(tmp_path / 'data')!r}), Path({str(tmp_path / 'store')!r}), bytes(32)); "
        "before = 'ibis' in sys.modules; assert engine.warm_up() == []; "
        "print(before, 'ibis.backends.sql.compilers.duckdb' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["False", "True"]
