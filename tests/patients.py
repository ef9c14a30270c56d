"""Patients who fall ill sooner or later: data for survival curves, significance tests and correlations."""

from typing import Any

import numpy as np
import pandas as pd

CODES = {"sex": ["f", "m"], "plan": ["a", "b", "c"], "ward": ["big", "small"], "status": ["ill", "well"]}


def patients(number: int = 600) -> pd.DataFrame:
    """People who fall ill in one of eight months or are well in the ninth; three of them in a small ward."""
    rng = np.random.default_rng(8)
    month = rng.geometric(0.12, number).clip(max=9)
    sex, plan = rng.choice(["f", "m"], number), rng.choice(["a", "b", "c"], number)
    return pd.DataFrame(
        {
            "id": np.arange(number),
            "sex": sex,
            "plan": plan,
            "ward": np.where(np.arange(number) < 3, "small", "big"),
            "status": np.where(month < 9, "ill", "well"),
            "month": month.astype(float),
            "day": np.round(rng.weibull(1.2, number) * 300, 3),
            "income": np.round(
                3000 + rng.normal(0, 500, number) + 150 * (sex == "m") + 90 * (plan == "c"), 2
            ),
            "wealth": np.round(20_000 + rng.normal(0, 4000, number), 2),
            "age": rng.integers(20, 80, number),
        }
    )


def descriptor(**varies: Any) -> dict[str, Any]:
    """Of `patients.csv`; `varies_within_unit` where a person has several records."""
    return {
        "name": "patients",
        "source": "patients",
        "data": {"path": "patients.csv", "format": "CSV"},
        "unit": {"column": "id"},
        "design": {"coverage": "SAMPLE", "sampling_fraction": 0.1},
        "variables": [
            {
                "name": name,
                "identifying": "NO",
                **varies,
                "levels": [{"codes": [{"code": code} for code in codes]}],
            }
            for name, codes in CODES.items()
        ],
        "measures": [
            {"name": name, "decimals": 3, "lower_bound": 0, "upper_bound": upper}
            for name, upper in (("month", 12), ("day", 9999), ("income", 1e5), ("wealth", 1e6))
        ]
        + [{"name": "age", "lower_bound": -1, "upper_bound": 120}],
    }
