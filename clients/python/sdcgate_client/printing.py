"""Tables and answers as aligned text: rows down, columns across, a block for each layer and figure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sdcgate_client.answer import (
    ABSENT,
    PERTURBED,
    PUBLISHED,
    SHOWN,
    WITHHELD,
    Answer,
    Comment,
    Dimension,
    Figure,
    Table,
)
from sdcgate_client.models import FIGURES, Model
from sdcgate_client.statistics import Group, Statistic

WITHHELD_MARK = "x"
UNDEFINED_MARK = "-"
MISSING = "_U"
NAMES = {"_T": "total", MISSING: "missing"}
LONGEST_LABEL = 28
MOST_ACROSS = 6
"""More figures of a single group are listed one below the other."""
STEPS = ("survival", "cumulative_hazard")

Codes = tuple[int, ...]
Cells = dict[Codes, int]


def format_answer(answer: Answer, width: int = 110) -> str:
    """Verdict, reasons, table, alternatives and certificate of an answer, to be read by a person."""
    lines = [f"{answer.verdict}  {answer.query}" + ("  (answered before)" if answer.repeated else "")]
    for reason in answer.reasons:
        lines.append(f"  {_clean(reason.code)}: {_clean(reason.message)}")
        if reason.suggestion:
            lines.append(f"    {_clean(reason.suggestion)}")
    for alternative in answer.alternatives:
        lines.append(
            f"  {_standing(alternative)}: {describe_request(alternative.get('model') or alternative)}"
        )
    if answer.table is not None:
        lines += ["", format_table(answer.table, answer.request, width)]
    if answer.model is not None:
        lines += ["", format_model(answer.model)]
    for file in (answer.content.get("files") or {}).get("files", ()):
        lines.append(
            f"  may leave: {_clean(str(file.get('name', '')))}, sha256 {_clean(str(file.get('sha256', '')))}"
        )
    if answer.statistic is not None:
        lines += ["", format_statistic(answer.statistic)]
    for comment in answer.comments:
        lines += ["", *_comment(comment)]
    if answer.certificate:
        head = str(answer.certificate.get("head", ""))[:16]
        lines += [
            "",
            f"certificate: event {answer.certificate.get('sequence')}, head {head}..., "
            f"policy {answer.policy.get('name', '')} {str(answer.policy.get('hash', ''))[:15]}",
        ]
    return "\n".join(lines)


def _standing(alternative: Mapping[str, Any]) -> str:
    """What is known of an alternative."""
    if alternative.get("judged"):
        return "would be released"
    if alternative.get("units_left_out"):
        return "would be released without some units at random"
    return "could be asked"


def _comment(comment: Comment) -> list[str]:
    """Who wrote it, when and for whom; then its lines, indented so that none looks like another part."""
    who = _clean(comment.author) or "an output checker"
    also = " (the researcher reads it)" if comment.author and comment.to_researcher else ""
    said = [f"  {_clean(line)}" for line in comment.text.splitlines()]
    return [f"comment of {who}, {_clean(comment.written)}{also}", *said]


def format_table(table: Table, request: Mapping[str, Any] | None = None, width: int = 110) -> str:
    """A table as aligned text.

    `request` says how many dimensions are rows and columns; without it the first is down, the second
    across, and the others are layers. Lines that would be wider than `width` are continued below.
    """
    layout = _layout(table, request or {})
    cells: Cells = {
        tuple(dimension.cells[cell] for dimension in table.dimensions): cell
        for cell, status in enumerate(table.statuses)
        if status != ABSENT
    }
    empty = _empty_missing(table, cells)
    cells = {key: cell for key, cell in cells.items() if not any(key[at] == code for at, code in empty)}
    blocks: list[str] = []
    for layer in sorted({layout.parts(key)[2] for key in cells}):
        part = {key: cell for key, cell in cells.items() if layout.parts(key)[2] == layer}
        title = ", ".join(
            f"{_dimension_name(table.dimensions[at])} {_code_name(table.dimensions[at], code, labels=True)}"
            for at, code in zip(layout.layers, layer, strict=True)
        )
        blocks += _blocks(table, part, layout, title, width)
    return "\n\n".join(blocks + _legend(table, cells, [at for at, _ in empty]))


def format_model(model: Model) -> str:
    """A model as aligned text: a line a coefficient, then the figures of fit."""
    several = any(one.outcome for one in model.coefficients)
    header = (*(("outcome",) if several else ()), "", *(name.replace("_", " ") for name in FIGURES))
    rows = [
        (
            *((one.outcome,) if several else ()),
            one.name,
            *(WITHHELD_MARK if one.status == WITHHELD else _figure(getattr(one, name)) for name in FIGURES),
        )
        for one in model.coefficients
    ]
    fit = ", ".join(f"{name.lower().replace('_', ' ')} {value:g}" for name, value in model.fit.items())
    lines = [
        f"{model.kind}  {_clean(model.formula)}",
        format_columns([tuple(map(_clean, row)) for row in rows], header),
        f"about {model.units} units, {model.records} records, {model.residual_degrees} residual degrees",
    ]
    if model.withheld:
        lines.append(f"{WITHHELD_MARK}: withheld")
    return "\n".join([*lines, *([fit] if fit else [])])


def format_statistic(statistic: Statistic) -> str:
    """A statistic as aligned text: a line a group, or a figure where a single group has many."""
    header = (*statistic.variables, *(name.replace("_", " ") for name in statistic.figures), "")
    rows = [
        (
            *group.codes,
            *(_of_group(group, name) for name in statistic.figures),
            _unreliable(group, statistic),
        )
        for group in statistic.groups
        if group.figures or group.status == WITHHELD
    ]
    what = " of ".join(filter(None, (statistic.kind, statistic.measure)))
    if len(rows) == 1 and not statistic.variables and len(statistic.figures) > MOST_ACROSS:
        rows, header = list(zip(statistic.figures, rows[0], strict=False)), ("figure", "")
    lines = [_clean(what), format_columns([tuple(map(_clean, row)) for row in rows], header)]
    lines += _steps(statistic)
    if any(WITHHELD_MARK in row for row in rows):
        lines.append(f"{WITHHELD_MARK}: withheld")
    return "\n".join([*lines, *_not_drawn(statistic)])


def _not_drawn(statistic: Statistic) -> list[str]:
    """Why there are no drawings, or fewer than groups."""
    if not statistic.not_drawn_because:
        return []
    groups = ["/".join(statistic.groups[place].codes) for place in statistic.not_drawn if statistic.variables]
    of = f" of {', '.join(groups)}" if groups and statistic.pictures else ""
    return [_clean(f"no picture{of}: {statistic.not_drawn_because}")]


def _unreliable(group: Group, statistic: Statistic) -> str:
    named = [name for name in statistic.figures if name in group.unreliable_figures]
    return f"unreliable{': ' if named else ''}{', '.join(named)}" if group.unreliable else ""


def _steps(statistic: Statistic) -> list[str]:
    """A line a step of the survival curves, with their standard errors."""
    by_name = {(curve.group, curve.name): curve for curve in statistic.curves}
    lines = []
    for name in STEPS:
        rows = [
            (*statistic.groups[group].codes, *(f"{value:g}" for value in (time, height, error)))
            for (group, label), curve in by_name.items()
            if label == name
            for time, height, error in zip(curve.x, curve.y, by_name[group, f"{name}_error"].y, strict=True)
        ]
        if rows:
            header = (*statistic.variables, statistic.measure, name.replace("_", " "), "standard error")
            lines += ["", format_columns([tuple(map(_clean, row)) for row in rows], header)]
    return lines


def _of_group(group: Group, name: str) -> str:
    value = group.figures.get(name)
    return value if isinstance(value, str) else WITHHELD_MARK if value is None else f"{value:g}"


def _figure(value: float | None) -> str:
    return UNDEFINED_MARK if value is None else f"{value:g}"


def describe_request(request: Mapping[str, Any]) -> str:
    """A request in a line: `site by age:ten_years, layers female; units, mean meddol; where ...`."""
    shape = " by ".join(
        text for text in (_dimension_names(request.get(name)) for name in ("rows", "columns")) if text
    )
    parts = [_kind_asked(request) or shape or "all together"]
    if layers := _dimension_names(request.get("layers")):
        parts[0] += f", layers {layers}"
    if figures := request.get("figures"):
        named = ((str(figure.get("statistic", "")).lower(), figure.get("measure")) for figure in figures)
        parts.append(", ".join(" ".join(filter(None, names)) for names in named))
    if conditions := request.get("filter"):
        parts.append(
            "where "
            + " and ".join(
                f"{_dimension_names([condition])} in {','.join(map(str, condition.get('codes', ())))}"
                for condition in conditions
            )
        )
    if request.get("margins"):
        parts.append("with totals")
    return _clean("; ".join(parts))


def _kind_asked(request: Mapping[str, Any]) -> str:
    """Of a model its kind and formula, of a statistic its measures and groups, files; empty of a table."""
    if request.get("files"):
        return f"files {', '.join(str(file.get('name', '')) for file in request['files'])}"
    words = [str(request[name]) for name in ("kind", "formula", "measure", "second") if request.get(name)]
    groups = request.get("groups")
    # Of a model they are one variable, of a statistic dimensions.
    by = str(groups or "") if isinstance(groups, str) else _dimension_names(groups)
    words += [f"by {by}"] if by else []
    words += [f"with instruments {request['instruments']}"] if request.get("instruments") else []
    words += [f"at {request['quantile']:g}"] if request.get("quantile") else []
    return " ".join([*words, *(["weighted"] if request.get("weighted") and request.get("formula") else [])])


def format_columns(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    """A plain list with aligned columns."""
    widths = [max(len(row[at]) for row in (header, *rows)) for at in range(len(header))]
    return "\n".join(
        "  ".join(text.ljust(size) for text, size in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    )


@dataclass(frozen=True, slots=True)
class _Layout:
    """Positions of a table's dimensions down, across and in layers, in this order."""

    rows: Codes
    columns: Codes
    layers: Codes

    def parts(self, key: Codes) -> tuple[Codes, Codes, Codes]:
        """The codes of a cell down, across and in layers."""
        start, end = len(self.rows), len(self.rows) + len(self.columns)
        return key[:start], key[start:end], key[end:]


def _layout(table: Table, request: Mapping[str, Any]) -> _Layout:
    count = len(table.dimensions)
    down, across, deep = (len(request.get(name) or ()) for name in ("rows", "columns", "layers"))
    if down + across + deep != count:
        down, across = min(count, 1), min(max(count - 1, 0), 1)
    places = tuple(range(count))
    return _Layout(places[:down], places[down : down + across], places[down + across :])


def _blocks(table: Table, cells: Cells, layout: _Layout, title: str, width: int) -> Iterator[str]:
    """The blocks of one layer: one for all figures where there are no columns, else one a figure."""
    down = sorted({layout.parts(key)[0] for key in cells})
    across = sorted({layout.parts(key)[1] for key in cells})
    by_place = {layout.parts(key)[:2]: cell for key, cell in cells.items()}
    names = [_codes_name(table, layout.rows, codes, labels=True) or "all" for codes in down]
    corner = ", ".join(_dimension_name(table.dimensions[at]) for at in layout.rows)
    over = ", ".join(_dimension_name(table.dimensions[at]) for at in layout.columns)
    for figures in [[figure] for figure in table.figures] if over else [list(table.figures)]:
        decimals = [_decimals(figure) for figure in figures]
        heads = [
            _codes_name(table, layout.columns, codes) or _clean(figure.column)
            for codes in across
            for figure in figures
        ]
        body = [
            [
                _figure_text(table, figure, by_place.get((row, codes)), digits)
                for codes in across
                for figure, digits in zip(figures, decimals, strict=True)
            ]
            for row in down
        ]
        what = f"{_clean(figures[0].column)} by {over}" if over else ""
        caption = "; ".join(filter(None, (title, what)))
        grid = _grid(corner, names, heads, body, width)
        yield f"{caption}\n{grid}" if caption else grid


def _codes_name(table: Table, places: Codes, codes: Codes, labels: bool = False) -> str:
    return " / ".join(
        _code_name(table.dimensions[at], code, labels) for at, code in zip(places, codes, strict=True)
    )


def _grid(
    corner: str, names: Sequence[str], heads: Sequence[str], body: Sequence[Sequence[str]], width: int
) -> str:
    """Names to the left, figures to the right of their columns; continued below where too wide."""
    left = max(len(text) for text in (corner, *names))
    sizes = [max(len(head), *(len(line[at]) for line in body)) for at, head in enumerate(heads)]
    lines = [(corner, heads), *zip(names, body, strict=True)]
    pieces: list[str] = []
    start = 0
    while start < len(heads):
        end, used = start, left
        while end < len(heads) and (end == start or used + 2 + sizes[end] <= width):
            used += 2 + sizes[end]
            end += 1
        cut = slice(start, end)
        texts = [_line(name.ljust(left), line[cut], sizes[cut]) for name, line in lines]
        pieces.append("\n".join([texts[0], "-" * used, *texts[1:]]))
        start = end
    return "\n\n".join(pieces)


def _line(name: str, texts: Sequence[str], sizes: Sequence[int]) -> str:
    fields = (text.rjust(size) for text, size in zip(texts, sizes, strict=True))
    return "  ".join((name, *fields)).rstrip()


def _figure_text(table: Table, figure: Figure, cell: int | None, decimals: int) -> str:
    if cell is None:
        return ""
    if table.statuses[cell] not in SHOWN:
        return WITHHELD_MARK if table.statuses[cell] == WITHHELD else "?"
    value = figure.values[cell]
    return UNDEFINED_MARK if value is None else f"{value:.{decimals}f}"


def _decimals(figure: Figure) -> int:
    """Decimal places that show all values of a figure as they came, at most six."""
    texts = (f"{value:.6f}".rstrip("0") for value in figure.values if isinstance(value, float))
    return max((len(text) - text.index(".") - 1 for text in texts), default=0)


def _empty_missing(table: Table, cells: Cells) -> list[tuple[int, int]]:
    """Dimensions with the code for missing where all of it is published and nothing is in it."""
    found = []
    for at, dimension in enumerate(table.dimensions):
        if MISSING in dimension.codes:
            code = dimension.codes.index(MISSING)
            part = [cell for key, cell in cells.items() if key[at] == code]
            if all(
                table.statuses[cell] == PUBLISHED and not any(figure.values[cell] for figure in table.figures)
                for cell in part
            ):
                found.append((at, code))
    return found


def _legend(table: Table, cells: Cells, empty: Sequence[int]) -> list[str]:
    legend = []
    if empty:
        names = ", ".join(_dimension_name(table.dimensions[at]) for at in empty)
        legend.append(f"not shown, as nothing is in it: missing {names}")
    if any(table.statuses[cell] == WITHHELD for cell in cells.values()):
        legend.append(f"{WITHHELD_MARK} withheld")
    if any(
        table.statuses[cell] == PUBLISHED and figure.values[cell] is None
        for cell in cells.values()
        for figure in table.figures
    ):
        legend.append(f"{UNDEFINED_MARK} no value: no record has one")
    noisy = [cell for cell in cells.values() if table.statuses[cell] == PERTURBED]
    if noisy:
        legend.append("all figures with noise")
    if any(figure.values[cell] is None for cell in noisy for figure in table.figures):
        legend.append(f"{UNDEFINED_MARK} no value: too few seem to have one")
    return ["   ".join(legend)] if legend else []


def _dimension_name(dimension: Dimension) -> str:
    return _clean(_with_level(dimension.variable, dimension.level))


def _with_level(variable: str, level: str) -> str:
    return f"{variable}:{level}" if level not in ("", variable) else variable


def _dimension_names(dimensions: Any) -> str:
    return " x ".join(
        _with_level(str(item.get("variable", "")), str(item.get("level") or "")) for item in dimensions or ()
    )


def _code_name(dimension: Dimension, code: int, labels: bool = False) -> str:
    text = dimension.codes[code]
    if text in NAMES:
        return NAMES[text]
    if labels and dimension.labels and dimension.labels[code] not in ("", text):
        label = dimension.labels[code]
        text = f"{text} {label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 3] + '...'}"
    return _clean(text)


def _clean(text: str) -> str:
    """Without control characters: what a dataset is called must not move the reader's cursor."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
