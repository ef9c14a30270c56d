"""Recodings of the key in words: a table, and the R-U map."""

from sdcgate.cli.assessment.parts import Map, Section, Table, count, percent, plural
from sdcgate.methods.risk.recoding_comparison import ComparedRecoding, RecodingComparison


def recoding_section(found: RecodingComparison) -> Section:
    """Recodings of the key, and the one to take."""
    finest, best = found.rows[0].measured, found.best

    def named(recoding: tuple[int, ...]) -> str:
        return ", ".join(names[level] for names, level in zip(found.levels, recoding, strict=True))

    some = "" if len(found.rows) == found.possible else f" (of {found.possible:,} that there are)"
    words = [
        f"{plural(len(found.rows), 'recoding')}{some} of the key by registered levels. Risk is the share of "
        "the file that is expected to be matched correctly as sample uniques, by the design; information is "
        "the entropy of the key that is left.",
        f"The most information with a risk of at most {percent(found.bound)}: {named(best.recoding)}."
        if best is not None
        else "No recoding has a risk at the bound or below."
        if found.finished
        else f"None of the {found.evaluated:,} recodings that were looked at is at the bound or below.",
    ]
    shown = [finest.recoding, *(() if best is None else (best.recoding,))]
    steps = [one.recoding for one in found.measured if sum(one.recoding) == 1]
    by_levels = {row.measured.recoding: row for row in found.rows}
    asked = [by_levels[recoding] for recoding in dict.fromkeys([*shown, *steps])]
    with_variance = finest.between_share is not None
    with_access = any(row.access for row in found.rows)
    rows = tuple(_recoding(named(row.measured.recoding), row, with_variance, with_access) for row in asked)
    headers = (
        *("recoding", "keys", "uniques", "tau_2", "of the file", "largest risk", "entropy left"),
        *("variance left",) * with_variance,
        *("may go to",) * with_access,
    )
    drawn = Map(
        "R-U map: a point is a recoding, the red one the best under the bound.",
        "information: share of the entropy of the finest key",
        "risk: tau_2 as a share of the file",
        tuple((one.entropy_share, one.share) for one in found.measured),
        tuple(f"{named(one.recoding)}: {percent(one.share)}" for one in found.measured),
        None if best is None else found.measured.index(best),
        found.bound if found.bound <= 2 * max(one.share for one in found.measured) else None,
    )
    return Section("Recodings", tuple(words), (Table(headers, rows), drawn))


def _recoding(name: str, row: ComparedRecoding, with_variance: bool, with_access: bool) -> tuple[str, ...]:
    one = row.measured
    figures: tuple[str, ...] = (
        name,
        count(one.key_cells),
        count(one.sample_uniques),
        count(one.expected_matches),
        percent(one.share),
        percent(one.maximum),
        percent(one.entropy_share),
    )
    if with_variance:
        figures += (percent(one.between_share or 0.0),)
    return (*figures, row.access or "nobody") if with_access else figures
