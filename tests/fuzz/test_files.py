"""Whatever files hold: a dataset or a policy comes of it, or all that is wrong with it."""

import io
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from fuzz.campaign import Campaign
from fuzz.trees import chances, change_tree
from made_files import PEOPLE, write_people
from sdcgate.engine.descriptor import DescriptorInvalid, parse_descriptor
from sdcgate.engine.engine import Engine
from sdcgate.policy.files import BUNDLED, bundled_policies
from sdcgate.policy.loading import load_policy, parse_policy
from sdcgate.policy.model import PolicyInvalid

SECRET = bytes(32)
TEXTS = [(BUNDLED / f"{name}.yaml").read_bytes() for name in bundled_policies()]
ODD = ("", "_U", "_T", "0", "-1", "1e999", "nan", "inf", "-0.0", "0x10", "1_000", "٣", " 3 ", "\0", '"', "'",
       ",", ";", "\r", "\n", "\ufeff", "x" * 300, "国", "true", "2024-02-30", "9" * 400, "1e-400", "NULL",
       "\u2028")  # fmt: skip
ODD_YAML = (b"&a [*a]", b"<<: *x", b"!!python/object:os.system x", b"? [a]", b"1: 2", b"a: &x {b: *x}",
            b"- " * 500, b"{" * 2000, b"!!binary x", b"%YAML 9.9", b"---\n---", b"0x", b"=",
            b"2024-02-30")  # fmt: skip


def told(problems: Sequence[Any]) -> str:
    """A refusal says something of each problem."""
    assert problems
    assert all(problem.message for problem in problems)
    return "refused"


class Bench:
    """A data root with one good file of each kind, and an engine to register it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "data"
        self.root.mkdir()
        write_people(self.root / "people.csv", 60)
        self.csv = (self.root / "people.csv").read_bytes()
        frame = pd.read_csv(self.root / "people.csv", dtype={"region": "category"})
        kept = io.BytesIO()
        frame.to_parquet(kept, compression="snappy")
        self.parquet = kept.getvalue()
        self.hierarchy = b"n1;north;*\nn2;north;*\ns1;south;*\ns2;south;*\n"
        self.engine = Engine(self.root, folder / "store", SECRET, threads=1)

    def register(self, declared: Any) -> str:
        """What becomes of a descriptor: registered, or refused with paths and words."""
        try:
            self.engine.register(parse_descriptor(declared))
        except DescriptorInvalid as invalid:
            return told(invalid.problems)
        return "registered"

    def describe(self, **changes: Any) -> dict[str, Any]:
        return {**json.loads(json.dumps(PEOPLE)), "source": "people", **changes}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(tmp_path_factory.mktemp("files"))
    yield made
    made.engine.close()


def damage(content: bytes, chance: random.Random) -> bytes:
    """The bytes cut short, turned over, repeated, or with something odd in them."""
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 5))):
        place = chance.randrange(len(changed) + 1)
        end = min(len(changed), place + chance.choice((1, 2, 4, 16, 64)))
        match chance.randrange(6):
            case 0:
                del changed[place:]
            case 1:
                changed[place:end] = chance.randbytes(end - place)
            case 2:
                changed[place:place] = chance.choice(ODD).encode()
            case 3:
                changed[place:place] = changed[place:end]
            case 4:
                changed[place:end] = b""
            case _:
                changed[place:place] = chance.choice(
                    (b"\xff", b"\x00", b"\xef\xbb\xbf", b"\xfe\xff", b"\xc3", b'"')
                )
    return bytes(changed)


def test_csv_files_of_any_bytes(bench: Bench, campaign: Campaign) -> None:
    def check(chance: random.Random) -> str:
        (bench.root / "any.csv").write_bytes(damage(bench.csv, chance))
        delimiter = chance.choice(("", "", "", ";", "\t", " ", "é", "\0", "a", "."))
        return bench.register(bench.describe(name="any", data={"path": "any.csv", "delimiter": delimiter}))

    campaign.run(chances(), check, examples=60)


def test_csv_files_with_odd_values(bench: Bench, campaign: Campaign) -> None:
    lines = bench.csv.decode().splitlines()

    def check(chance: random.Random) -> str:
        rows = [line.split(",") for line in lines]
        for _ in range(chance.choice((1, 1, 3))):
            row = chance.choice(rows)
            row[chance.randrange(len(row))] = chance.choice(ODD)
        (bench.root / "odd.csv").write_bytes("\n".join(",".join(row) for row in rows).encode())
        return bench.register(bench.describe(name="odd", data={"path": "odd.csv"}))

    campaign.run(chances(), check, examples=60)


def test_parquet_files_cut_short_and_turned_over(bench: Bench, campaign: Campaign) -> None:
    def check(chance: random.Random) -> str:
        (bench.root / "any.parquet").write_bytes(damage(bench.parquet, chance))
        return bench.register(bench.describe(name="any", data={"path": "any.parquet"}))

    campaign.run(chances(), check, examples=60)


def test_parquet_files_with_columns_of_any_type(bench: Bench, campaign: Campaign) -> None:
    good = pd.read_csv(io.BytesIO(bench.csv))
    makers: tuple[Callable[[int], Any], ...] = (
        lambda n: [[1, 2]] * n, lambda n: [{"a": 1}] * n, lambda n: [b"\xff\x00"] * n, lambda n: [None] * n,
        lambda n: pd.to_datetime(["2024-01-01"] * n), lambda n: [True] * n, lambda n: [2**63 - 1] * n,
        lambda n: [float("nan")] * n, lambda n: pd.to_timedelta([1] * n, unit="s"), lambda n: [b"n1"] * n,
        lambda n: pd.Categorical([1.5] * n), lambda n: pd.Categorical([b"\xff"] * n), lambda n: [1e300] * n,
        lambda n: pd.Series([1] * n, dtype="uint8"), lambda n: ["\0"] * n,
    )  # fmt: skip

    def check(chance: random.Random) -> str:
        frame = good.copy()
        frame[chance.choice(list(frame.columns))] = chance.choice(makers)(len(frame))
        frame.to_parquet(bench.root / "types.parquet")
        return bench.register(bench.describe(name="types", data={"path": "types.parquet"}))

    campaign.run(chances(), check, examples=30)


def test_hierarchy_files_of_any_bytes(bench: Bench, campaign: Campaign) -> None:
    def check(chance: random.Random) -> str:
        (bench.root / "any.txt").write_bytes(damage(bench.hierarchy, chance))
        declared = bench.describe(name="nested")
        hierarchy = {
            "path": "any.txt",
            "levels": ["place", "part"],
            "delimiter": chance.choice(("", "", ";", "é", "n", "\n")),
        }
        declared["variables"][0] = {"name": "region", "identifying": "YES", "hierarchy": hierarchy}
        return bench.register(declared)

    campaign.run(chances(), check, examples=60)


def test_descriptors_changed_anywhere(bench: Bench, campaign: Campaign) -> None:
    def check(chance: random.Random) -> str:
        declared = bench.describe(name="changed")
        for _ in range(chance.choice((1, 1, 2, 4))):
            change_tree(declared, chance)
        return bench.register(declared)

    campaign.run(chances(), check, examples=150)


def test_policies_changed_anywhere(campaign: Campaign) -> None:
    trees = [yaml.safe_load(text) for text in TEXTS]

    def check(chance: random.Random) -> str:
        tree = json.loads(json.dumps(chance.choice(trees)))
        for _ in range(chance.choice((1, 1, 2, 4))):
            change_tree(tree, chance)
        return policy(yaml.safe_dump(tree, allow_unicode=True))

    campaign.run(chances(), check, examples=60)


def test_policy_files_of_any_bytes(campaign: Campaign, tmp_path: Path) -> None:
    file = tmp_path / "any.yaml"

    def check(chance: random.Random) -> str:
        content = chance.choice(TEXTS)
        odd = chance.choice(ODD_YAML)
        place = chance.randrange(len(content))
        file.write_bytes(
            content[:place] + odd + content[place:] if chance.random() < 0.4 else damage(content, chance)
        )
        try:
            load_policy(file)
        except PolicyInvalid as invalid:
            return told(invalid.problems)
        return "loaded"

    campaign.run(chances(), check, examples=60)


def policy(text: str) -> str:
    """What becomes of a policy: loaded, or refused with words."""
    try:
        parse_policy(text)
    except PolicyInvalid as invalid:
        return told(invalid.problems)
    return "loaded"
