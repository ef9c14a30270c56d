"""The report as text for a terminal or a file."""

from typing import TYPE_CHECKING

from sdcgate.cli.assessment.parts import Bars, Map, Section, Table

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDTH = 110
_BAR = 40


def print_report(title: str, sections: tuple[Section, ...], console: "Console | None" = None) -> None:
    """Print all sections; as wide as the terminal, `WIDTH` where there is none."""
    from rich.console import Console
    from rich.rule import Rule
    from rich.text import Text

    console = console or Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDTH
    console.print(Rule(Text(title, style="bold"), align="left"))
    for section in sections:
        console.print()
        console.print(Text(section.title, style="bold"))
        for words in section.words:
            console.print(Text(words))
        for part in section.parts:
            if not isinstance(part, Map):  # the page draws it; its table says the same
                console.print()
                console.print(_table(part) if isinstance(part, Table) else _bars(part))


def _table(part: Table) -> "RenderableType":
    from rich.table import Table as RichTable
    from rich.text import Text

    made = RichTable(box=None, pad_edge=False, title=part.caption or None, title_justify="left")
    for position, header in enumerate(part.headers):
        made.add_column(Text(header), justify="right" if position and not part.prose else "left")
    for row in part.rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


def _bars(part: Bars) -> "RenderableType":
    from rich.table import Table as RichTable
    from rich.text import Text

    made = RichTable(box=None, pad_edge=False, show_header=False, title=part.caption, title_justify="left")
    made.add_column(justify="right")
    made.add_column()
    made.add_column(justify="right")
    largest = max(part.values, default=0.0)
    for label, value, text in zip(part.labels, part.values, part.texts, strict=True):
        length = round(_BAR * value / largest) if largest else 0
        made.add_row(Text(label), Text("█" * max(length, int(value > 0)), style="blue"), Text(text))
    return made
