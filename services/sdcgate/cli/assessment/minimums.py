"""How often the threshold rule asks values to occur, as the command line writes it."""

from typing import NamedTuple

from sdcgate.methods.risk.threshold import ClassMinimum, Identifying

CLASSES = {one.name.lower(): one for one in Identifying if one is not Identifying.NO}


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


def class_minimum_of(text: str) -> ClassMinimum:
    """`extremely*very*yes=100`. Raises ValueError where it is none."""
    names, _, least = text.rpartition("=")
    classes = names.split("*")
    if not (least.isascii() and least.isdigit() and int(least) > 0 and set(classes) <= CLASSES.keys()):
        raise ValueError(
            f"--class-minimum {text}: write {', '.join(CLASSES)} and a number, such as extremely*very*yes=100"
        )
    return ClassMinimum(tuple(CLASSES[name] for name in classes), int(least))


def class_of(text: str) -> tuple[str, Identifying]:
    """`region=extremely`. Raises ValueError where it is none."""
    key, _, name = text.rpartition("=")
    if not key or name not in CLASSES:
        raise ValueError(f"--identifying {text}: write a key variable and {', '.join(CLASSES)}: region=very")
    return key, CLASSES[name]
