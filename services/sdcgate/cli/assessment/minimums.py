"""How often the threshold rule asks values to occur, as the command line writes it."""

from typing import NamedTuple


class Minimums(NamedTuple):
    """One minimum for all combinations, or one for each size."""

    minimum: int
    by_size: tuple[int, ...] = ()
    """Of one, two, ... key variables; () where one is for all."""


def minimums_of(text: str) -> Minimums:
    """`3`, or `1:100,2:10,3:3` with every size from 1 on. Raises ValueError where it is neither."""
    wrong = ValueError(
        f"--minimum {text}: write one number, or one for each size from 1, such as 1:100,2:10,3:3"
    )
    try:
        if ":" not in text:
            return Minimums(int(text))
        pairs = sorted(
            (int(size), int(least)) for size, _, least in (one.partition(":") for one in text.split(","))
        )
    except ValueError:
        raise wrong from None
    if [size for size, _ in pairs] != list(range(1, len(pairs) + 1)):
        raise wrong
    return Minimums(max(least for _, least in pairs), tuple(least for _, least in pairs))
