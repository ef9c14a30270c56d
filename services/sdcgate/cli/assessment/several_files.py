"""Two releases of one source in words."""

from sdcgate.cli.assessment.parts import Bars, Section, Table, count, percent, plural
from sdcgate.methods.risk.several_files import LinkedReleases, LinkedRisk


def several_files_section(linked: LinkedReleases) -> Section:
    """What can be linked, which levels lie crosswise, and what the linked file risks."""
    other, variables, units, found = linked.other, linked.variables, linked.units, linked.found
    links = found.links
    named = ", ".join(variables)
    words = [
        f"This release has {plural(units[0], 'unit')}, the other ({other}) {units[1]:,}. Who has both "
        f"links them by what they share: {named}.",
        f"{plural(links.single, 'unit agrees', 'units agree')} with exactly one of the other release, "
        f"{count(links.one_to_one)} of them one to one. If one of those that agree is taken at random, "
        f"{count(links.expected)} links are expected to be right ({percent(links.expected / units[0])}).",
        "It does not apply to files of different people, and takes values that both show to be the same; "
        "one more release can only add to it.",
    ]
    crosswise = [one for one, own in zip(variables, found.coherence, strict=True) if not own.coherent]
    if crosswise:
        words.append(
            f"The levels of {', '.join(crosswise)} lie crosswise: both codes together tell finer ones than "
            "either release. Take levels of which one groups the other's codes."
        )
    levels = Table(
        ("shared variable", "codes", "codes of the other", "both together", "levels"),
        tuple(
            (
                one,
                count(own.first_codes),
                count(own.second_codes),
                count(own.joint_codes),
                "coherent" if own.coherent else "crosswise",
            )
            for one, own in zip(variables, found.coherence, strict=True)
        ),
    )
    if found.risk is None:
        words.append(
            "Nothing tells which units of the two are the same: links are counted as if everybody of this "
            "release were in the other, and the risk of the linked file is not known. Name the unit's id."
        )
        return Section("Several files of one source", tuple(words), (levels,))
    rows = _risks(found.risk)
    words.append(
        f"{plural(found.risk.common, 'unit is', 'units are')} in both. Expected correct matches with the "
        "population, by the design, of all units:"
    )
    bars = Bars(
        "Expected correct matches",
        tuple(name for name, _, _, _ in rows),
        tuple(matches for _, _, _, matches in rows),
        tuple(count(matches) for _, _, _, matches in rows),
    )
    table = Table(
        ("key", "keys", "uniques", "matches"),
        tuple((name, cells, uniques, count(matches)) for name, cells, uniques, matches in rows),
    )
    return Section("Several files of one source", tuple(words), (table, bars, levels))


def _risks(risk: LinkedRisk) -> tuple[tuple[str, str, str, float], ...]:
    keys = (
        ("this release", risk.first),
        ("the other release", risk.second),
        ("what they share", risk.shared),
        ("both, linked without error", risk.union),
    )
    told = [
        (name, count(one.key_cells), count(one.sample_uniques), one.expected_matches) for name, one in keys
    ]
    return (*told, ("both, by links at random", "", "", risk.through_links))
