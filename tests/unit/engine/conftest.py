from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sdcgate.engine import Dataset, Engine, parse_descriptor

SECRET = bytes(range(32))


class Bench:
    """A data root, a store and an engine, with files written and datasets registered in one line."""

    def __init__(self, folder: Path) -> None:
        self.data_root = folder / "data"
        self.store = folder / "store"
        self.data_root.mkdir()
        self.engine = Engine(self.data_root, self.store, SECRET)

    def write(self, content: str | bytes | pd.DataFrame, name: str = "people.csv") -> None:
        file = self.data_root / name
        if isinstance(content, pd.DataFrame):
            content.to_csv(file, index=False) if name.endswith(".csv") else content.to_parquet(file)
        elif isinstance(content, bytes):
            file.write_bytes(content)
        else:
            file.write_text(content, encoding="utf-8")

    def register(self, declared: dict[str, Any]) -> Dataset:
        return self.engine.register(parse_descriptor(declared)).dataset

    def problems(self, declared: dict[str, Any]) -> dict[str, str]:
        from sdcgate.engine import DescriptorInvalid

        with pytest.raises(DescriptorInvalid) as raised:
            self.engine.register(parse_descriptor(declared))
        return {problem.path: problem.message for problem in raised.value.problems}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.engine.close()


@pytest.fixture
def people() -> Callable[..., dict[str, Any]]:
    """A valid descriptor of people.csv with columns id, region, sex; fields can be replaced."""

    def declare(**fields: Any) -> dict[str, Any]:
        return {
            "name": "people",
            "data": {"path": "people.csv"},
            "unit": {"column": "id", "label": "person"},
            "design": {"coverage": "CENSUS"},
            "variables": [
                {
                    "name": "region",
                    "identifying": "YES",
                    "levels": [{"codes": [{"code": "north"}, {"code": "south"}, {"code": "west"}]}],
                },
                {"name": "sex", "identifying": "YES", "levels": [{"codes": [{"code": "f"}, {"code": "m"}]}]},
            ],
            **fields,
        }

    return declare
