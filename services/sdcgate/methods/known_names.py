"""What there is in place of a name that there is not, from public names: the nearest ones, or a list."""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_COMPARED = 1000
LONGEST_COMPARED = 256
MOST_LISTED = 12


def near_names(name: str, known: Iterable[str]) -> list[str]:
    """Up to three names that are alike, the nearest first; in long lists of those that begin alike."""
    return get_close_matches(name[:LONGEST_COMPARED], _compared(name, [*known]), n=3, cutoff=0.5)


def some_of(name: str, known: Iterable[str]) -> str:
    """All names where they are few, else the nearest of them and how many more there are; empty for none."""
    names = list(dict.fromkeys(known))
    if len(names) <= MOST_LISTED:
        return ", ".join(names)
    compared = _compared(name, names)
    nearest = get_close_matches(name[:LONGEST_COMPARED], compared, n=MOST_LISTED, cutoff=0.1)
    listed = list(dict.fromkeys([*nearest, *names]))[:MOST_LISTED]
    return f"{', '.join(listed)} and {len(names) - len(listed)} more"


def _compared(name: str, known: list[str]) -> list[str]:
    if len(known) <= MOST_COMPARED:
        return known
    return [other for other in known if other[:2] == name[:2]][:MOST_COMPARED]
