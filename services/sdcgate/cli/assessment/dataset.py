"""What the facility tells of a registered dataset's risk, in words."""

from typing import Any

from sdcgate.cli.assessment.parts import Section, Table, count, percent

OUTCOMES: dict[str, str] = {"MET": "met", "VIOLATED": "VIOLATED", "UNDECIDED": "undecided"}


def dataset_sections(told: dict[str, Any]) -> tuple[Section, ...]:
    """The sections of `POST /v1/datasets/{dataset}:assess`."""
    sections = [_scenarios(told)]
    if "linked_releases" in told:
        sections.append(_linked(told["linked_releases"]))
    if "worst_tables" in told:
        sections.append(_worst_tables(told))
    if "numbers" in told:
        sections.append(_numbers(told["numbers"]))
    if "recodings" in told:
        sections.append(_recodings(told["recodings"]))
    for one in told.get("rule_sets", ()):
        rows = tuple(
            (
                str(rule["rule"]),
                OUTCOMES.get(rule.get("outcome", ""), ""),
                f"{rule['requirement']} {rule['explanation']}",
            )
            for rule in one["rules"]
        )
        table = Table(("rule", "outcome", "why"), rows, prose=True)
        sections.append(Section(f"Rules for release to {one['name']}", (), (table,)))
    if told.get("not_computed"):
        lacking = tuple((str(one["what"]), str(one["reason"])) for one in told["not_computed"])
        sections.append(Section("Not computed", (), (Table(("measure", "why"), lacking, prose=True),)))
    return tuple(sections)


def _scenarios(told: dict[str, Any]) -> Section:
    """The key of all identifying variables, and the scenarios beside it."""
    judged = [*([told["key"]] if "key" in told else []), *told.get("scenarios", ())]
    rows = tuple(
        (
            one["name"],
            count(one["key_cells"]),
            count(one["sample_uniques"]),
            count(one["expected_matches"]),
            percent(one["reidentification_rate"]),
            f"{one['maximum']:.4g}",
            f"{one['threshold']:g}",
            count(one["unsafe_units"]),
        )
        for one in judged
    )
    words = [
        f"{judged[0]['units']:,} units of {told['dataset']} version {told['version']}."
        if judged
        else "No scenario could be judged."
    ]
    if "scenarios_together" in told:
        both = told["scenarios_together"]
        words.append(
            f"All scenarios together: {count(both['expected_matches'])} expected correct matches "
            f"({percent(both['reidentification_rate'])}), {count(both['unsafe_units'])} units at a threshold."
        )
    headers = ("scenario", "keys", "uniques", "matches", "rate", "largest risk", "threshold", "units at it")
    return Section("Scenarios", tuple(words), (Table(headers, rows),) if rows else ())


def _linked(told: dict[str, Any]) -> Section:
    """Another registered release of the same source."""
    crosswise = [one["name"] for one in told["shared"] if not one.get("coherent")]
    words = [
        f"This release has {count(told['units'])} units, the other ({told['other']}) "
        f"{count(told['other_units'])}, of which {count(told['common_units'])} are in both. Both show "
        f"{', '.join(one['name'] for one in told['shared'])}.",
        f"{count(told['single_links'])} units agree with exactly one of the other release by what both show, "
        f"{count(told['one_to_one'])} of them one to one; {count(told['expected_links'])} links at random "
        "are expected to be right.",
    ]
    if crosswise:
        words.append(f"The levels of {', '.join(crosswise)} lie crosswise: both together tell finer codes.")
    rows = tuple(
        (name, count(told[f"expected_matches{field}"]))
        for name, field in (
            ("this release", ""),
            ("the other release", "_other"),
            ("what they share", "_shared"),
            ("both, linked without error", "_union"),
            ("both, by links at random", "_through_links"),
        )
    )
    return Section("Several files of one source", tuple(words), (Table(("key", "matches"), rows),))


def _numbers(told: dict[str, Any]) -> Section:
    """Units that stand alone with their numbers."""
    words = (
        f"{count(told['isolated'])} units are within the widths of fewer than {told['neighbours']} others of "
        f"their key, {count(told['outside'])} of them near nobody who is not; {count(told['largest'])} are "
        "among the three largest of their key in some number.",
    )
    return Section("Numbers", words, ())


def _worst_tables(told: dict[str, Any]) -> Section:
    keys, found = told["key"]["keys"], told["worst_tables"]
    rows = [
        (" x ".join(keys[key] for key in one["keys"]), count(one["key_cells"]), count(one["sample_uniques"]),
         count(one["expected_matches"]))
        for one in found["tables"]
    ]  # fmt: skip
    rows.append(("all identifying variables", "", "", count(found["file_matches"])))
    words = (
        f"The worst of {count(found['looked_at'])} tables of identifying variables that a query may ask for, "
        "by the expected correct matches of its sample uniques.",
    )
    return Section("The worst table", words, (Table(("table", "cells", "uniques", "tau_2"), tuple(rows)),))


def _recodings(told: dict[str, Any]) -> Section:
    """The finest recoding, the best, and those that no other beats."""
    names = [one["levels"] for one in told["variables"]]

    def named(one: dict[str, Any]) -> str:
        return ", ".join(levels[at] for levels, at in zip(names, one["levels"], strict=True))

    bound = percent(told["maximum_share"])
    rows = tuple(
        (
            named(one),
            count(one["key_cells"]),
            count(one["sample_uniques"]),
            count(one["expected_matches"]),
            percent(one["share"]),
            percent(1 - one["entropy_loss"]),
        )
        for position, one in enumerate(told["recodings"])
        if one["frontier"] or not position
    )
    words = [
        f"{count(told['evaluated'])} of {count(told['possible'])} recodings of the identifying variables "
        "were searched; shown are the finest and those that no other beats in risk and entropy.",
        f"None that was looked at keeps tau_2 under the bound of {bound} of the units."
        if "best" not in told
        else f"The most entropy with tau_2 up to {bound} of the units has: {named(told['best'])}.",
    ]
    headers = ("recoding", "keys", "uniques", "tau_2", "of the units", "entropy left")
    return Section("Recodings", tuple(words), (Table(headers, rows),))
