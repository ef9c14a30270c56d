"""What the command that ACRO notes with an output says: parsed, never run."""

import ast
from dataclasses import dataclass

METHODS = ("crosstab", "pivot_table", "olsr", "ols", "logitr", "logit", "probitr", "probit")


@dataclass(frozen=True, slots=True)
class Command:
    """A call of crosstab or pivot_table, as far as it can be read; names of columns only."""

    method: str = ""
    index: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    total: str = "All"
    normalized: str = ""
    """Of what its figures are shares: `index`, `columns` or `all`; `?` where that cannot be read."""


ORDER = {
    "crosstab": ("index", "columns", "values", "rownames", "colnames", "aggfunc"),
    "pivot_table": ("data", "values", "index", "columns", "aggfunc"),
}


def read_command(text: str) -> Command:
    """The call in a line of code; an empty command where it cannot be read."""
    try:
        tree = ast.parse(text.strip()[:10_000])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Command()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in ORDER:
            return _read(node)
    return Command()


def _read(call: ast.Call) -> Command:
    method = _name(call.func)
    given = dict(zip(ORDER[method], call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    statistics = _names(given.get("aggfunc"))
    if method == "pivot_table" and "aggfunc" not in given:
        statistics = ("mean",)
    total = given.get("margins_name")
    normalized = given.get("normalize")
    return Command(
        method,
        _names(given.get("index")),
        _names(given.get("columns")),
        _names(given.get("values")),
        statistics,
        str(total.value) if isinstance(total, ast.Constant) else "All",
        _normalized(normalized),
    )


def _normalized(node: ast.expr | None) -> str:
    """Pandas' spellings of what shares are of."""
    match node:
        case None | ast.Constant(value=False):
            return ""
        case ast.Constant(value=True | "all"):
            return "all"
        case ast.Constant(value="index" | "columns" as of):
            return of
        case ast.Constant(value=int(axis)) if axis in (0, 1):
            return ("index", "columns")[axis]
    return "?"


def _names(node: ast.expr | None) -> tuple[str, ...]:
    """The columns that an expression names: `"site"`, `df.site`, `df["site"]`, or a list of such."""
    if isinstance(node, ast.List | ast.Tuple):
        return tuple(name for one in node.elts for name in _names(one))
    found = _name(node)
    return (found,) if found else ()


def _name(node: ast.expr | None) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Attribute(attr=name):
            return name
        case ast.Name(id=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(text))):
            return text
    return ""
