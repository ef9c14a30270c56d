"""Made populations: who is in them, and what the public is told of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd

MISSING = "_U"
Box = Mapping[str, tuple[str, ...]]
"""The finest codes of some variables; variables that are not named are not restricted."""


@dataclass(frozen=True)
class Variable:
    """A variable with its public code lists; a level names the finest codes that each of its codes has."""

    name: str
    codes: tuple[str, ...]
    levels: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    harmless: tuple[str, ...] | None = None
    """Of a sensitive variable: the codes that do no harm to have. None: the variable is not sensitive."""
    varies: bool = False
    """Whether it varies within a person."""

    def described(self) -> dict[str, Any]:
        """Its part of the descriptor."""
        sensitive = self.harmless is not None
        numbers = [int(code) for code in self.codes if code.isdigit()]
        if numbers == list(range(numbers[0] if numbers else 1, len(self.codes) + (numbers or [1])[0])):
            # Levels of whole numbers need not be nested in each other.
            finest: dict[str, Any] = {"integers": _run(self.codes)}
        elif sensitive:
            finest = {"codes": [{"code": c, "harmless": c in (self.harmless or ())} for c in self.codes]}
        else:
            finest = {"codes": [{"code": code} for code in self.codes]}
        levels = [{"name": self.name, **finest}]
        for level, grouped in self.levels.items():
            parts = [_part(code, of, self.harmless or ()) for code, of in grouped.items()]
            levels.append({"name": level, "codes": parts})
        extra = {"sensitive": True} if sensitive else {}
        extra |= {"varies_within_unit": True} if self.varies else {}
        return {"name": self.name, "identifying": "NO", "levels": levels, **extra}


def _run(codes: tuple[str, ...]) -> dict[str, int]:
    return {"first": int(codes[0]), "last": int(codes[-1])}


def _part(code: str, of: tuple[str, ...], harmless: tuple[str, ...]) -> dict[str, Any]:
    told = {"harmless": True} if set(of) <= set(harmless) else {}
    return {"code": code, **({"integers": _run(of)} if of[0].isdigit() else {"parts": list(of)}), **told}


@dataclass(frozen=True)
class World:
    """Records by variable, measure and person; `id`, `household` and `weight` are not public."""

    records: pd.DataFrame
    variables: tuple[Variable, ...]
    measures: tuple[str, ...] = ()
    least: float = 0.0
    """A public lower bound of every measure."""
    most: float = 1e6

    def variable(self, name: str) -> Variable:
        """One variable by its name."""
        return next(one for one in self.variables if one.name == name)

    def parts(self, variable: str, level: str, code: str) -> tuple[str, ...]:
        """The finest codes that a code of a level stands for; the public code lists say so."""
        known = self.variable(variable)
        if level in ("", variable):
            return (code,)
        return (MISSING,) if code == MISSING else tuple(known.levels[level][code])

    def where(self, box: Box) -> pd.DataFrame:
        """The records in a box: for the truth, and for publishers."""
        chosen = pd.Series(True, index=self.records.index)
        for name, codes in box.items():
            chosen &= self.records[name].isin(codes)
        return self.records[chosen]

    @cached_property
    def with_levels(self) -> pd.DataFrame:
        """The records with a column more, `age:halves`, for each level."""
        made = self.records.copy()
        for variable in self.variables:
            for level, grouped in variable.levels.items():
                of = {part: code for code, parts in grouped.items() for part in parts} | {MISSING: MISSING}
                made[f"{variable.name}:{level}"] = made[variable.name].map(of)
        return made

    def to_csv(self, name: str) -> str:
        """The data file; ids begin with the name, so that no other dataset has the same people."""
        out = self.records.copy()
        out["id"] = name + "-" + out["id"].astype(str)
        for variable in self.variables:
            out[variable.name] = out[variable.name].replace(MISSING, "")
        return out.to_csv(index=False)

    def descriptor(self, name: str, file: str = "", source: str = "") -> dict[str, Any]:
        """The descriptor of the file."""
        optional: dict[str, Any] = {}
        if "household" in self.records:
            optional["household"] = {"column": "household"}
        if "weight" in self.records:
            optional["weight"] = {"column": "weight", "decimals": 2}
        if any(variable.varies for variable in self.variables):
            optional["panel"] = True
        bounds = {"decimals": 2, "lower_bound": self.least, "upper_bound": self.most}
        return {
            "name": name,
            "data": {"path": f"{file or name}.csv"},
            "unit": {"column": "id", "label": "person"},
            "source": source or name,
            "design": {"coverage": "CENSUS"},
            "variables": [variable.described() for variable in self.variables],
            "measures": [{"name": measure, "unit": "EUR", **bounds} for measure in self.measures],
            **optional,
        }
