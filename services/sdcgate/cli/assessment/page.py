"""The report as one HTML page that needs nothing else: no scripts, no fonts, no other files."""

from html import escape

from sdcgate.cli.assessment.parts import Bars, Map, Section, Table, percent

_ROW = 26
_GAP = 8
_PLOT = 420
_LETTER = 6.6
"""Width of a letter of the labels, in pixels, about."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_PLOTS = """svg text { fill: var(--ink); font: 12px system-ui, "Segoe UI", Roboto, Arial, sans-serif; }
svg .axis { fill: var(--faint); }
svg rect, svg circle { fill: var(--bar); }
svg circle { opacity: .65; } svg circle.best { fill: #d9542b; opacity: 1; }
svg circle.hollow { fill: none; stroke: var(--faint); stroke-width: 1.5; opacity: 1; }
svg line { stroke: var(--line); } svg line.bound { stroke: #d9542b; stroke-dasharray: 5 4; }
"""
_LIGHT = "svg { --ink: #1c2733; --faint: #667586; --line: #d7dee6; --bar: #2f6fb0; }"
_STYLE = f"""
:root {{ color-scheme: light dark; --ink: #1c2733; --paper: #ffffff; --faint: #667586; --line: #d7dee6;
  --bar: #2f6fb0; --head: #f2f5f8; }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e4eaf0; --paper: #14191f; --faint: #94a3b3;
  --line: #33404d; --bar: #6aa5dd; --head: #1d252d; }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; max-width: 62rem; padding: 2rem 1.25rem 4rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }}
h1 {{ font-size: 1.6rem; margin: 0 0 .25rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.2rem; margin: 2.5rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }}
p {{ margin: .5rem 0; max-width: 46rem; }}
.made, caption, figcaption {{ color: var(--faint); }}
nav {{ margin: 1rem 0 0; font-size: .95rem; }}
nav a {{ color: var(--bar); margin-right: 1rem; white-space: nowrap; }}
.wide {{ overflow-x: auto; margin: 1rem 0; }}
table {{ border-collapse: collapse; font-size: .95rem; }}
caption, figcaption {{ text-align: left; padding: 0 0 .4rem; font-size: .95rem; }}
th, td {{ padding: .3rem .9rem .3rem .5rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }}
thead th {{ background: var(--head); font-weight: 600; }}
td.figure, th.figure {{ text-align: right; font-variant-numeric: tabular-nums; }}
figure {{ margin: 1rem 0; }}
svg {{ max-width: 100%; height: auto; display: block; }}
{_PLOTS}@media print {{ nav {{ display: none; }} body {{ max-width: none; }} h2 {{ break-after: avoid; }} }}
"""


def html_page(title: str, made: str, sections: tuple[Section, ...]) -> str:
    """The page; `made` says when and by what."""
    links = " ".join(f'<a href="#{_anchor(one)}">{escape(one.title)}</a>' for one in sections)
    body = "\n".join(_section(one) for one in sections)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<header>\n"
        f'<h1>{escape(title)}</h1>\n<p class="made">{escape(made)}</p>\n<nav>{links}</nav>\n</header>\n'
        f"<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def standalone(figure: str) -> str:
    """The plot of a figure as an SVG file of its own, in light colours, with its caption as the title."""
    caption = figure.partition("<figcaption>")[2].partition("</figcaption>")[0]
    drawn = figure[figure.index("<svg ") : figure.index("</svg>") + len("</svg>")]
    head, _, rest = drawn.partition(">")
    style = f"<style>{_LIGHT}\n{_PLOTS}</style>"
    return f'{head} xmlns="http://www.w3.org/2000/svg"><title>{caption}</title>{style}{rest}\n'


def _section(section: Section) -> str:
    words = "\n".join(f"<p>{escape(text)}</p>" for text in section.words)
    parts = "\n".join(_part(one) for one in section.parts)
    return (
        f'<section id="{_anchor(section)}">\n<h2>{escape(section.title)}</h2>\n{words}\n{parts}\n</section>'
    )


def _part(part: Table | Bars | Map) -> str:
    match part:
        case Table():
            return _table(part)
        case Bars():
            return bar_plot(part)
        case Map():
            return map_plot(part)


def _anchor(section: Section) -> str:
    return section.title.lower().replace(" ", "-")


def _table(part: Table) -> str:
    kinds = ["" if part.prose or not position else ' class="figure"' for position in range(len(part.headers))]
    head = "".join(
        f'<th scope="col"{kind}>{escape(text)}</th>' for kind, text in zip(kinds, part.headers, strict=True)
    )
    rows = "\n".join(
        "<tr>"
        + "".join(f"<td{kind}>{escape(text)}</td>" for kind, text in zip(kinds, row, strict=True))
        + "</tr>"
        for row in part.rows
    )
    caption = f"<caption>{escape(part.caption)}</caption>" if part.caption else ""
    table = f"<table>{caption}<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def bar_plot(part: Bars) -> str:
    """Bars as an SVG plot, with their figures as text."""
    labels = round(max((len(text) for text in (*part.labels, part.axis)), default=0) * _LETTER) + 12
    ends = round(max((len(text) for text in part.texts), default=0) * _LETTER) + 12
    top = _ROW if part.axis else 0
    height = top + len(part.values) * (_ROW + _GAP)
    largest = max(part.values, default=0.0)
    drawn = []
    if part.axis:
        drawn.append(
            f'<text class="axis" x="{labels - 6}" y="16" text-anchor="end">{escape(part.axis)}</text>'
        )
    for place, (label, value, text) in enumerate(zip(part.labels, part.values, part.texts, strict=True)):
        y = top + place * (_ROW + _GAP)
        width = max(_PLOT * value / largest, 1.0 if value > 0 else 0.0) if largest else 0.0
        middle = y + _ROW / 2 + 4
        drawn.append(
            f'<text x="{labels - 6}" y="{middle:g}" text-anchor="end">{escape(label)}</text>'
            f'<rect x="{labels}" y="{y}" width="{width:.1f}" height="{_ROW}" rx="2"/>'
            f'<text x="{labels + width + 6:.1f}" y="{middle:g}">{escape(text)}</text>'
        )
    total = labels + _PLOT + ends
    return (
        f"<figure><figcaption>{escape(part.caption)}</figcaption>"
        f'<svg width="{total}" height="{height}" viewBox="0 0 {total} {height}" role="img" '
        f'aria-label="{escape(part.caption)}">{"".join(drawn)}</svg></figure>'
    )


def map_plot(part: Map) -> str:
    """Points with their axes from 0 as an SVG plot; each tells what it is where a pointer rests on it."""
    left, width, height = 64, 520, 320
    widest = max((x for x, _ in part.points), default=0.0) or 1.0
    highest = max([*(y for _, y in part.points), part.bound or 0.0], default=0.0) * 1.05 or 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        return left + width * x / widest, 12 + height * (1 - y / highest)

    drawn = []
    for step in range(5):
        level, amount = highest * step / 4, widest * step / 4
        x, y = at(amount, level)
        drawn.append(
            f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="axis" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{percent(level) if part.shares else f'{level:.3g}'}</text>"
            f'<text class="axis" x="{x:.1f}" y="{height + 30}" text-anchor="middle">{percent(amount)}</text>'
        )
    if part.bound is not None:
        _, y = at(0.0, part.bound)
        drawn.append(f'<line class="bound" x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>')
    for place, ((x, y), title) in enumerate(zip(part.points, part.titles, strict=True)):
        across, down = at(x, y)
        kind = ' class="best" r="7"' if place == part.marked else ' r="4"'
        if place in part.hollow:
            kind = ' class="hollow" r="4"'
        drawn.append(
            f'<circle{kind} cx="{across:.1f}" cy="{down:.1f}"><title>{escape(title)}</title></circle>'
        )
    total, bottom = left + width + 24, height + 60
    drawn.append(
        f'<text x="{left + width / 2:g}" y="{bottom - 8}" text-anchor="middle">{escape(part.across)}</text>'
    )
    return (
        f"<figure><figcaption>{escape(part.caption)} Up: {escape(part.up)}.</figcaption>"
        f'<svg width="{total}" height="{bottom}" viewBox="0 0 {total} {bottom}" role="img" '
        f'aria-label="{escape(part.caption)}">{"".join(drawn)}</svg></figure>'
    )
