"""What differs between two policies, setting by setting."""

from collections.abc import Iterator
from dataclasses import dataclass

from sdcgate.policy.model import Policy
from sdcgate.policy.settings import Setting, settings


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that differs, and at which access levels; of single datasets as `survey at remote`."""

    where: tuple[str, ...]
    old: Setting
    new: Setting


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between an old and a new policy."""

    changes: tuple[Change, ...]
    levels_gone: tuple[str, ...]
    """Access levels at which nothing may be asked any more."""
    levels_new: tuple[str, ...]
    decided_anew: tuple[str, ...]
    """Places at which a query that was answered before is decided anew, as the hash differs."""


def compare(old: Policy, new: Policy) -> Comparison:
    """What differs, at each access level and for the datasets that either policy names."""
    common = [level for level in old.access_levels if level in new.access_levels]
    places = {level: (level, "") for level in common}
    places |= {
        f"{dataset} at {level}": (level, dataset)
        for dataset in dict.fromkeys((*old.datasets, *new.datasets))
        for level in common
        if level in {*old.datasets.get(dataset, ()), *new.datasets.get(dataset, ())}
    }
    found: dict[tuple[str, str, str], list[str]] = {}
    told: dict[tuple[str, str, str], tuple[Setting, Setting]] = {}
    for place, (level, dataset) in places.items():
        for before, after in _differing(old, new, level, dataset):
            key = (before.name, before.text, after.text)
            # What a dataset changes as its access level does is told once.
            if level not in found.get(key, ()):
                found.setdefault(key, []).append(place)
                told[key] = before, after
    names = [setting.name for level in common[:1] for setting in settings(new.effective(level, ""))]

    def order(key: tuple[str, str, str]) -> int:
        return names.index(key[0])

    anew = [
        place
        for place, (level, dataset) in places.items()
        if old.effective(level, dataset).hash != new.effective(level, dataset).hash
    ]
    return Comparison(
        changes=tuple(Change(tuple(found[key]), *told[key]) for key in sorted(found, key=order)),
        levels_gone=tuple(level for level in old.access_levels if level not in new.access_levels),
        levels_new=tuple(level for level in new.access_levels if level not in old.access_levels),
        decided_anew=tuple(anew),
    )


def _differing(old: Policy, new: Policy, level: str, dataset: str) -> Iterator[tuple[Setting, Setting]]:
    before, after = (settings(policy.effective(level, dataset)) for policy in (old, new))
    for one, other in zip(before, after, strict=True):
        if one.value != other.value:
            yield one, other
