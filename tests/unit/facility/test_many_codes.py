"""Variables of very many codes, of which many occur nowhere."""

from types import SimpleNamespace
from typing import Any

import pytest

from sdcgate.facility import boxes


def test_codes_that_do_not_occur_are_not_looked_for_bit_by_bit(monkeypatch) -> None:
    """A table of 10^5 codes has a mask for each; half of a minute went into those of nobody."""
    dataset: Any = SimpleNamespace(occurring=lambda _: 0b1011)

    def looked_at(*_: object) -> None:
        pytest.fail("looked at bit by bit")

    monkeypatch.setattr(boxes, "bits", looked_at)
    boxes._gathered.cache_clear()

    found = [boxes.compressed(dataset, "code", 1 << code) for code in range(6)]

    assert found == [0b001, 0b010, 0, 0b100, 0, 0]
