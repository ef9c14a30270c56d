"""The threshold rule in words."""

from sdcgate.cli.assessment.parts import Section, Table, count, plural
from sdcgate.methods.risk.file_report import ThresholdSection
from sdcgate.methods.risk.threshold import Identifying


def threshold_section(found: ThresholdSection, titles: tuple[str, ...]) -> Section:
    """Combinations of a few variables with rare values."""
    words = (
        f"{_asked(found.minimums)} times or more in the file: "
        f"{plural(found.looked_at, 'combination')} were looked at, "
        f"{plural(found.unsafe_units, 'unit has', 'units have')} a rare value in at least one.",
        *(
            f"Every combination of variables by class, {_classes(one.classes)}, must occur "
            f"{one.minimum} times."
            for one in found.class_minimums
        ),
    )
    rows = tuple(
        (
            " x ".join(titles[key] for key in one.keys),
            count(one.cells),
            count(one.unsafe_cells),
            count(one.unsafe_units),
        )
        for one in found.worst
    )
    table = Table(
        ("combination", "values", "rare values", "units"), rows, "The combinations with the most units."
    )
    return Section("Threshold rule", words, (table,) if rows else ())


def _classes(classes: tuple[Identifying, ...]) -> str:
    """`extremely x very x identifying`: what a variable of each class is."""
    names = {Identifying.YES: "identifying", Identifying.VERY: "very", Identifying.EXTREMELY: "extremely"}
    return " x ".join(names[one] for one in classes)


def _asked(minimums: tuple[int, ...]) -> str:
    if len(set(minimums)) == 1:
        return f"Every combination of up to {plural(len(minimums), 'variable')} must occur {minimums[0]}"
    sizes = ", ".join(
        f"of {plural(size, 'variable')} {least}" for size, least in enumerate(minimums, start=1)
    )
    return f"Every combination must occur often enough, {sizes}"
