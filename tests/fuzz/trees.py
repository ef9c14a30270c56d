"""Trees of mappings and lists, as descriptors, policies and JSON bodies are, changed in one place."""

import random
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 100, 2**31, 2**63, -(2**63) - 1, 10**30, 0.5, 1e308, 5e-324, float("nan"),
    float("inf"), "", "x", "_U", "_T", "site", "YES", "refuse", "\0", "x" * 5000, [], {}, [[]], {"a": 1},
    ["x"], "people.csv", "../people.csv", "x" * 300 + ".csv", "package:__main__/a.csv",
    "package:statsmodels/__init__.py", "CSV", "é", "\n",
)  # fmt: skip


def chances() -> st.SearchStrategy[random.Random]:
    """A seed an input."""
    return st.integers(0, 2**64 - 1).map(random.Random)


def _value(chance: random.Random) -> Any:
    # A copy: a later change of it must not be one of all others.
    return deepcopy(chance.choice(VALUES))


def change_tree(tree: Any, chance: random.Random) -> None:
    """Change one place of a tree of mappings and lists."""
    while True:
        if isinstance(tree, dict):
            key = chance.choice([*tree, "surplus"])
        elif tree:
            key = chance.randrange(len(tree))
        else:
            tree.append(_value(chance))
            return
        inner = tree.get(key) if isinstance(tree, dict) else tree[key]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.75:
            tree = inner
            continue
        match chance.randrange(5):
            case 0 if key != "surplus":
                del tree[key]
            case 1 if isinstance(tree, list):
                tree.extend([inner] * chance.choice((1, 2, 50)))
            case 2 if isinstance(inner, list) and inner:
                inner.append(chance.choice(inner))
            case _:
                tree[key] = _value(chance)
        return
