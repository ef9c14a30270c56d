"""Numbers that identify by being far from others: read from the command line, told in words."""

import numpy as np

from sdcgate.cli.assessment.parts import Section, Table, count, percent, plural
from sdcgate.methods.risk.file_numbers import LARGEST, NumbersSection, NumberWidth
from sdcgate.methods.risk.file_report import FileFacts


def near_of(text: str) -> NumberWidth:
    """`sales=10%` or `employees=5`. Raises ValueError where it is neither."""
    column, _, width = text.rpartition("=")
    try:
        number = float(width.removesuffix("%"))
    except ValueError:
        number = 0.0
    if not (column and np.isfinite(number) and number > 0):
        raise ValueError(
            f"--near {text}: write a number and a width above 0, such as sales=10% or employees=5"
        )
    return NumberWidth(column, number / 100 if width.endswith("%") else number, width.endswith("%"))


def numbers_section(found: NumbersSection, facts: FileFacts) -> Section:
    """How many records stand alone with their numbers among those of their key."""
    boxes = ", ".join(
        f"{one.name} within {percent(one.width) if one.relative else f'{one.width:g}'}"
        for one in found.numbers
    )
    keys = ", ".join(one.key.title for one in facts.keys)
    words = (
        f"A record can be confused with others that have the same {keys} and {boxes}. "
        f"{plural(found.isolated, 'record has', 'records have')} fewer than {found.minimum} of them: "
        f"{percent(found.isolated / facts.units)}.",
        "The widths are what an intruder does not know; in a sample people outside of it are near, too.",
    )
    rows = (
        (f"fewer than {found.minimum} neighbours: isolated", count(found.isolated)),
        ("isolated, and near no record that is not", count(found.outside)),
        (f"among the {LARGEST} largest of their categories in some number", count(found.largest)),
    )
    return Section("Numbers", words, (Table(("records that are", "number"), rows),))
